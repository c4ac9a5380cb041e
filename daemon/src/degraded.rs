//! Host resources that are exhausted or unusual, with a remedy for each.
//!
//! Invariant: conditions are re-evaluated, not stored. A condition is reported only while it lasts.

mod clock_jump;
mod disk_space;
mod process_pause;

use std::path::PathBuf;

use mux_messages::Degraded;
use parking_lot::Mutex;

pub use self::disk_space::DaemonDirs;
use self::{clock_jump::ClockWatch, process_pause::PauseWatch};
use mux_config::environment::{Environment, HOME_VARIABLE};
use mux_files::rotating_log;
use mux_process::descriptor_limits::{self, MIN_DESCRIPTORS};

/// With fewer free descriptors than this, the next client or server may get none.
const MIN_SPARE_DESCRIPTORS: u64 = 12;

/// The state that is needed to detect host conditions.
#[derive(Debug)]
pub struct HostConditions {
    disks: DaemonDirs,
    clock: Mutex<ClockWatch>,
    pauses: PauseWatch,
}

impl HostConditions {
    pub fn new(disks: DaemonDirs) -> Self {
        Self {
            disks,
            clock: Mutex::new(ClockWatch::start()),
            pauses: PauseWatch::default(),
        }
    }

    /// Detects times when the process was suspended. Never returns.
    pub async fn follow(&self) -> std::convert::Infallible {
        self.pauses.follow().await
    }

    /// All conditions at this moment. `environment` is the servers' environment, once it is known.
    pub fn look(&self, environment: Option<&Environment>) -> Vec<Degraded> {
        let mut found = Vec::new();
        found.extend(descriptors());
        found.extend(self.disks.look());
        found.extend(logs());
        found.extend(environment.into_iter().flat_map(of_environment));
        found.extend(self.clock.lock().look());
        found.extend(self.pauses.look());
        found
    }
}

fn descriptors() -> Option<Degraded> {
    const RAISE_OPEN_FILES_FIX: &str = "raise it where muxd is started, and run `mux restart`: `ulimit -n 4096` (the hard one too), \
                       LimitNOFILE= in the unit of a service, nofile in /etc/security/limits.conf";
    let allowed = descriptor_limits::allowed()?;
    let used = descriptor_limits::in_use();
    let message = match used {
        Err(error) if descriptor_limits::are_used_up(&error) => {
            format!(
                "all {allowed} file descriptors are in use: no server, run or client can get another"
            )
        }
        Ok(used) if used + MIN_SPARE_DESCRIPTORS > allowed => format!(
            "{used} of {allowed} file descriptors are in use: the next server, run or client may get none"
        ),
        _ if allowed < MIN_DESCRIPTORS => {
            format!("muxd may open only {allowed} files, and needs at least {MIN_DESCRIPTORS}")
        }
        _ => return None,
    };
    Some(Degraded::new("descriptors", message, RAISE_OPEN_FILES_FIX))
}

fn logs() -> impl Iterator<Item = Degraded> {
    let still = |path: &PathBuf| !disk_space::can_write(path);
    let unwritten = rotating_log::unwritable_logs().into_iter();
    unwritten
        .filter(move |(path, _)| still(path))
        .map(|(path, why)| {
            Degraded::new(
                "log",
                format!(
                    "{} cannot be written, and its lines are lost: {why}",
                    path.display()
                ),
                "make room, or make it writable; logging resumes by itself",
            )
        })
}

fn of_environment(environment: &Environment) -> Vec<Degraded> {
    let mut found = Vec::new();
    if environment.get(HOME_VARIABLE).is_none() {
        found.push(Degraded::new(
            "no_home",
            format!("{HOME_VARIABLE} is not set: servers start in / and without {HOME_VARIABLE}"),
            format!("set {HOME_VARIABLE} where muxd is started, and run `mux restart`"),
        ));
    }
    if let Some(why) = environment.capture_problem() {
        found.push(Degraded::new(
            "environment",
            why.to_owned(),
            "check whether its startup files wait for input or start another shell without a terminal, then `mux restart`; \
             MUX_RESOLVING_ENVIRONMENT is set while muxd asks",
        ));
    }
    found
}
