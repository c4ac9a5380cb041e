//! `muxd`, its keeper and its guard are not dumpable: other processes of the user cannot read their memory, and they
//! write no core files. Servers are ordinary processes.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::Path,
    process::Command,
};

use mux_tests::{
    TestEnv,
    env::{Output, binary, output},
    process,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The uid of `nobody`. Root may inspect every process, so a test as root runs muxd as this user.
const NOBODY: u32 = 65_534;

/// The home of an unprivileged user.
struct User {
    env: TestEnv,
    /// The uid for commands. `None`: that of the test.
    id: Option<u32>,
}

impl User {
    fn new() -> Self {
        let env = TestEnv::with_fixtures(&[("fix", &[])]);
        let can_start = || {
            let mut command = Command::new(binary("mux"));
            command.arg("--version").uid(NOBODY).gid(NOBODY);
            command.output().is_ok_and(|it| it.status.success())
        };
        let is_root = nix::unistd::geteuid().is_root();
        let id = (is_root && can_start()).then_some(NOBODY);
        if id.is_some() {
            give_to(env.home());
        }
        Self { env, id }
    }

    fn mux(&self, args: &[&str]) -> Output {
        let mut command = self.env.command("mux");
        command.args(args);
        if let Some(id) = self.id {
            command.uid(id).gid(id);
        }
        output(&mut command)
    }
}

fn give_to(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        give_to(&entry.path());
    }
}

/// The soft and hard limits of core files, as in `/proc/PID/limits`.
fn core_limit(pid: i32) -> Vec<String> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max core file size"));
    let words = line.unwrap().split_whitespace().take(2);
    words.map(str::to_owned).collect()
}

/// The private files in `/proc/PID` of a process that is not dumpable belong to root.
fn is_dumpable(pid: i32) -> bool {
    let owner = |name: &str| {
        let file = fs::metadata(format!("/proc/{pid}/{name}")).unwrap();
        file.uid()
    };
    // The directory is readable by everyone, and always belongs to the user.
    owner("environ") == owner("")
}

fn named(name: &str, among: &[i32]) -> i32 {
    let is = |pid: &&i32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
    };
    *among.iter().find(is).unwrap()
}

#[test]
fn muxd_keeper_and_guard_are_not_dumpable_and_servers_are() {
    let user = User::new();
    // Not the limit that muxd sets for itself.
    let (_, hard) = getrlimit(Resource::RLIMIT_CORE).unwrap();
    setrlimit(Resource::RLIMIT_CORE, hard.min(4096), hard).unwrap();
    user.mux(&["call", "fix.echo", "text=hello"]).ok();
    let own = core_limit(i32::try_from(std::process::id()).unwrap());
    let look = |when: &str| {
        let daemon = user.env.daemon().unwrap();
        let server = *user.env.starts("fix").last().unwrap();
        // After an upgrade the keeper is not a child of the new daemon.
        let above = process::ancestors(server);
        let ours = [
            daemon,
            named("muxd-keeper", &above),
            named("muxd-guard", &above),
        ];
        for pid in ours {
            assert_eq!(core_limit(pid)[0], "0", "{when}");
            assert_eq!(core_limit(pid)[1], own[1], "{when}");
        }
        assert_eq!(core_limit(server), own, "{when}");
        if user.id.is_some() || !nix::unistd::geteuid().is_root() {
            for pid in ours {
                assert!(!is_dumpable(pid), "{when}: {pid} of {ours:?}");
            }
            assert!(is_dumpable(server), "{when}");
        }
    };
    look("started");
    // An unprivileged user's muxd can inspect itself, its servers and its workers.
    let metrics = user.mux(&["metrics"]).ok().stdout;
    for name in ["process_open_fds", "process_resident_memory_bytes"] {
        assert!(metrics.contains(name), "{name}: {metrics}");
    }
    user.mux(&[
        "run",
        "-e",
        "return (await mux.fix.add({ a: 1, b: 2 })).sum",
    ])
    .ok();
    user.mux(&["doctor"]).ok();
    user.mux(&["restart", "--upgrade"]).ok();
    user.mux(&["servers", "restart", "fix"]).ok();
    user.mux(&["call", "fix.echo", "text=hello"]).ok();
    look("after an upgrade");
    user.mux(&["stop", "--now"]).ok();
}
