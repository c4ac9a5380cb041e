//! The ways in which a daemon, its keeper and its servers end, as data.

use mux_tests::{Running, TestEnv, dice::Dice, process};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ending {
    /// SIGKILL to these processes, in random order.
    Kill(&'static [Who]),
    /// SIGKILL to a daemon whose parent does not reap it: it stays a zombie.
    KillUnreaped,
    /// `mux stop`, with these arguments.
    Stop(&'static [&'static str]),
    /// The servers are removed from the configuration.
    Reload,
    /// SIGKILL to the daemon while a server starts.
    KillInStart,
    StopInStart,
    ReloadInStart,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Who {
    Daemon,
    Keeper,
    Guard,
}

use Who::{Daemon, Guard, Keeper};

pub(super) const ENDINGS: &[Ending] = &[
    Ending::Kill(&[Daemon]),
    Ending::KillUnreaped,
    Ending::Kill(&[Keeper]),
    Ending::Kill(&[Guard]),
    Ending::Kill(&[Daemon, Keeper]),
    Ending::Kill(&[Daemon, Guard]),
    Ending::Kill(&[Keeper, Guard]),
    Ending::Kill(&[Daemon, Keeper, Guard]),
    Ending::Stop(&["--now"]),
    Ending::Stop(&[]),
    Ending::Reload,
    Ending::KillInStart,
    Ending::StopInStart,
    Ending::ReloadInStart,
];

impl Ending {
    pub(super) fn is_in_start(self) -> bool {
        matches!(
            self,
            Self::KillInStart | Self::StopInStart | Self::ReloadInStart
        )
    }

    /// Returns true if the daemon survives.
    pub(super) fn spares_the_daemon(self) -> bool {
        match self {
            Self::Kill(who) => !who.contains(&Daemon),
            Self::Reload | Self::ReloadInStart => true,
            _ => false,
        }
    }

    /// Returns true if no process is left that could end the others before the next daemon starts.
    pub(super) fn takes_all(self) -> bool {
        matches!(self, Self::Kill(who) if who.len() == 3)
    }

    /// Returns true if processes of the shape `BARE` also end.
    pub(super) fn knows_the_bare(self) -> bool {
        match self {
            Self::Kill(who) => !(who.contains(&Keeper) && who.contains(&Guard)),
            Self::Reload | Self::ReloadInStart => false,
            _ => true,
        }
    }

    /// Returns true if servers are asked to exit before they are killed, which takes up to 4 s: they are not
    /// orphans.
    pub(super) fn is_polite(self) -> bool {
        matches!(self, Self::Reload | Self::ReloadInStart)
    }

    /// Starts a daemon as a child of the test, for endings that need it.
    pub(super) fn daemon_of_ones_own(self, env: &TestEnv) -> Option<Running> {
        (self == Self::KillUnreaped).then(|| env.serve())
    }

    pub(super) fn happen(self, env: &TestEnv, dice: &mut Dice) {
        let daemon = env.daemon().unwrap();
        match self {
            Self::Kill(who) => kill(daemon, who, dice),
            Self::KillUnreaped | Self::KillInStart => process::kill(daemon),
            Self::Stop(args) => stop(env, daemon, args),
            Self::StopInStart => stop(env, daemon, &["--now"]),
            Self::Reload | Self::ReloadInStart => {
                env.write_config("");
                env.mux(["reload"]).ok();
            }
        }
    }
}

fn stop(env: &TestEnv, daemon: i32, args: &[&str]) {
    env.mux([&["stop"], args].concat()).ok();
    assert!(process::wait_for_end(daemon, super::PATIENCE));
}

fn kill(daemon: i32, who: &[Who], dice: &mut Dice) {
    let (guard, keeper) = keepers(daemon);
    let mut pids: Vec<i32> = who
        .iter()
        .map(|who| match who {
            Daemon => daemon,
            Keeper => keeper,
            Guard => guard,
        })
        .collect();
    for n in (1..pids.len()).rev() {
        pids.swap(n, dice.below(n + 1));
    }
    pids.into_iter().for_each(process::kill);
}

/// The guard, and the keeper below it.
fn keepers(daemon: i32) -> (i32, i32) {
    let all = process::descendants(daemon);
    let named = |name: &str| {
        let is = |pid: &&i32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|it| it.trim() == name)
        };
        *all.iter().find(is).unwrap_or_else(|| panic!("no {name}"))
    };
    (named("muxd-guard"), named("muxd-keeper"))
}
