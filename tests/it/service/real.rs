//! A real user manager of systemd, in its own mount namespace, with the home and a runtime directory of the test.
//! Where none can run, the test is skipped.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use mux_tests::{Output, Running, TestEnv, env, left_out, process};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::HANG;

const SYSTEMD: [&str; 2] = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"];

struct Manager<'a> {
    env: &'a TestEnv,
    runtime: PathBuf,
    systemd: Option<Running>,
}

impl<'a> Manager<'a> {
    /// Starts a user manager. The error is the reason why none can run here.
    fn start(env: &'a TestEnv) -> Result<Self, String> {
        let systemd = SYSTEMD.into_iter().find(|path| fs::exists(path).unwrap());
        let systemd = systemd.ok_or("there is no systemd")?;
        let runtime = env.path("xdg");
        fs::create_dir(&runtime).unwrap();
        // systemd runs only on a system that systemd has booted, which it detects by this directory.
        let script =
            "mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec \"$0\" --user";
        let mut command = Command::new("unshare");
        if nix::unistd::geteuid().is_root() {
            command.arg("-m")
        } else {
            command.arg("-rm")
        };
        command.args(["/bin/sh", "-c", script, systemd]);
        let muxd = env.command("muxd");
        command.env_clear().current_dir(env.home());
        let passed = muxd.get_envs();
        command.envs(passed.filter_map(|(name, value)| Some((name, value?))));
        command
            .env_remove("MUX_HOME")
            .env("XDG_RUNTIME_DIR", &runtime);
        let mut manager = Self {
            env,
            runtime,
            systemd: None,
        };
        let mut systemd = Running::start_as_is(command.stdin(Stdio::null()));
        systemd.close_output();
        let pid = systemd.pid();
        manager.systemd = Some(systemd);
        while manager.systemctl(&["show", "--property=Version"]).code != 0 {
            if !process::is_alive(pid) {
                return Err("no user manager can be run here".into());
            }
        }
        Ok(manager)
    }

    fn in_session(&self, mut command: Command) -> Output {
        env::output(command.env("XDG_RUNTIME_DIR", &self.runtime))
    }

    fn systemctl(&self, args: &[&str]) -> Output {
        let mut command = Command::new("systemctl");
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.arg("--user").args(args);
        self.in_session(command)
    }

    fn mux(&self, args: &[&str]) -> Output {
        let mut command = self.env.command("mux");
        command.args(args);
        self.in_session(command)
    }

    fn result(&self, code: &str) -> Value {
        self.mux(&["--json", "run", "-e", code]).ok().json()["result"].take()
    }

    fn status(&self) -> Value {
        self.mux(&["--json", "status"]).ok().json()
    }

    fn shows(&self, unit: &str, property: &str) -> String {
        let property = format!("--property={property}");
        let output = self.systemctl(&["show", unit, &property, "--value"]);
        output.ok().stdout.trim().to_owned()
    }
}

impl Drop for Manager<'_> {
    fn drop(&mut self) {
        if let Some(systemd) = self.systemd.take() {
            systemd.signal(Signal::SIGTERM);
            if !process::wait_for_end(systemd.pid(), HANG) {
                systemd.signal(Signal::SIGKILL);
            }
        }
    }
}

/// A user manager, or `None` where none can be run.
fn user_manager(env: &TestEnv) -> Option<Manager<'_>> {
    Manager::start(env)
        .map_err(|why| left_out("a real user manager of systemd", &why))
        .ok()
}

/// The units that are in the home.
fn unit_files(env: &TestEnv) -> Vec<PathBuf> {
    let entries = fs::read_dir(env.path(".config/systemd/user"));
    let entries = entries.into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| !path.is_dir()).collect()
}

#[test]
fn systemd_user_manager_starts_restarts_and_uninstalls_muxd() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let Some(systemd) = user_manager(&env) else {
        return;
    };
    // A daemon that a client started makes room for the service.
    systemd.result("return await mux.fix.pid({})");
    let by_client = systemd.status();
    assert_eq!(by_client["started"]["by"], "client");
    let installed = systemd.mux(&["--json", "service", "install"]).ok().json();
    assert_eq!(installed["made_room"], by_client["pid"]);
    let name = installed["service"].as_str().unwrap().to_owned();
    let service = format!("{name}.service");
    let socket = format!("{name}.socket");
    systemd.mux(&["status"]).fails(3, &["no muxd is running"]);
    assert_eq!(systemd.shows(&service, "ActiveState"), "inactive");
    assert_eq!(systemd.shows(&socket, "SubState"), "listening");
    let output = systemd.mux(&["--json", "service", "status"]).ok().json();
    assert_eq!(
        (&output["active"], &output["enabled"]),
        (&true.into(), &true.into())
    );
    assert!(output["pid"].is_null(), "{output}");

    // Twenty concurrent clients start one daemon.
    let clients: Vec<Running> = (0..20)
        .map(|n| {
            let mut command = env.command("mux");
            command.args(["run", "-e", &format!("return {n}")]);
            Running::start(command.env("XDG_RUNTIME_DIR", &systemd.runtime))
        })
        .collect();
    for (n, client) in clients.into_iter().enumerate() {
        assert_eq!(client.wait().ok().stdout.trim(), n.to_string());
    }
    let status = systemd.status();
    let first = status["pid"].as_i64().unwrap();
    let started = &status["started"];
    assert_eq!(started["by"], "systemd");
    assert_eq!(started["service"], service);
    assert_eq!(started["socket_passed"], true);
    assert_eq!(started["watchdog_ms"], 120_000);
    assert_eq!(systemd.shows(&service, "MainPID"), first.to_string());
    assert_eq!(systemd.shows(&service, "SubState"), "running");
    assert!(systemd.shows(&service, "StatusText").contains("client"));
    systemd.mux(&["doctor"]).ok();

    // A daemon that is killed or restarted is replaced.
    process::kill(i32::try_from(first).unwrap());
    assert_eq!(systemd.result("return 1"), 1);
    let second = systemd.status()["pid"].clone();
    assert_ne!(second, first);
    systemd.mux(&["restart"]).ok();
    let third = systemd.status();
    assert_ne!(third["pid"], second);
    assert_eq!(third["started"]["by"], "systemd");

    // After an upgrade the successor is the main process of the service.
    let restarts = systemd.shows(&service, "NRestarts");
    let output = systemd.mux(&["--json", "restart", "--upgrade"]).ok().json();
    assert_eq!(output["before"], third["pid"]);
    let pid = |status: &Value| i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    assert!(process::wait_for_end(pid(&third), HANG));
    assert_eq!(
        systemd.shows(&service, "MainPID"),
        output["pid"].to_string()
    );
    assert_eq!(systemd.shows(&service, "SubState"), "running");
    assert_eq!(systemd.shows(&service, "NRestarts"), restarts);
    let third = systemd.status();
    assert_eq!(third["pid"], output["pid"]);
    assert_eq!(third["started"]["by"], "systemd");
    assert_eq!(systemd.result("return 'warm'"), "warm");

    // A stopped daemon is not started until a client needs it.
    systemd.mux(&["stop"]).ok();
    assert!(process::wait_for_end(pid(&third), HANG));
    systemd.mux(&["status"]).fails(3, &["no muxd is running"]);
    assert_eq!(systemd.shows(&service, "Result"), "success");
    assert_eq!(systemd.result("return 2"), 2);

    // A second installation has nothing to do.
    let again = systemd.mux(&["--json", "service", "install"]).ok().json();
    assert_eq!(again["ran"], Value::Array(Vec::new()));
    assert!(again["made_room"].is_null());

    let fourth = systemd.status()["pid"].as_i64().unwrap();
    systemd.mux(&["service", "uninstall"]).ok();
    assert!(!process::is_alive(i32::try_from(fourth).unwrap()));
    assert!(!env.dirs.socket().exists());
    assert_eq!(unit_files(&env), Vec::<PathBuf>::new());
    systemd
        .mux(&["service", "status"])
        .fails(3, &["no service is installed"]);
    assert_eq!(systemd.result("return 3"), 3);
    assert_eq!(systemd.status()["started"]["by"], "client");
}

/// The kernel's limits of the control group of a process: of memory in bytes, and of the number of tasks.
fn kernel_limits(pid: i32) -> (String, String) {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let group = group.unwrap();
    let read = |places: [String; 2]| {
        let mut found = places
            .iter()
            .filter_map(|place| fs::read_to_string(place).ok());
        found.next().unwrap_or_default().trim().to_owned()
    };
    let root = "/sys/fs/cgroup";
    (
        read([
            format!("{root}{group}/memory.max"),
            format!("{root}/memory{group}/memory.limit_in_bytes"),
        ]),
        read([
            format!("{root}{group}/pids.max"),
            format!("{root}/pids{group}/pids.max"),
        ]),
    )
}

#[test]
fn kernel_limits_servers_in_a_sandbox_where_the_user_manager_may() {
    if !crate::sandboxes::has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    env.write_config(&crate::sandboxes::server(
        "{ memory = \"64MiB\", processes = 40 }",
    ));
    let Some(mut systemd) = user_manager(&env) else {
        return;
    };
    let attempt = |systemd: &Manager<'_>, what: &str| {
        let arguments = format!("{{\"what\":\"{what}\"}}");
        let output = systemd.mux(&["call", "box.attempt", &arguments]);
        format!("{}{}", output.stdout, output.stderr)
    };
    attempt(&systemd, "pid");
    let servers = systemd.mux(&["--json", "servers"]).ok().json();
    let layers = servers[0]["sandbox"]["layers"].to_string();
    let below_daemon = process::descendants(env.daemon().unwrap());
    let name = |pid: i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let server = below_daemon
        .iter()
        .copied()
        .find(|pid| name(*pid).trim() == "bwrap");
    let limits = kernel_limits(server.unwrap());
    let expected = ((72 << 20).to_string(), "48".to_owned());
    if limits == expected {
        assert!(layers.contains("cgroup"), "{layers}");
        let met = attempt(&systemd, "fork");
        assert!(!met.contains("got through"), "{met}");
    } else {
        // The manager of a user has no controllers here, and no limits are claimed.
        assert!(!layers.contains("cgroup"), "{layers} with {limits:?}");
    }
    // Without the manager the server starts as before, with the keeper's limits alone.
    let running = systemd.systemd.take().unwrap();
    running.signal(Signal::SIGKILL);
    assert!(process::wait_for_end(running.pid(), HANG));
    fs::remove_dir_all(systemd.runtime.join("systemd")).unwrap();
    systemd.mux(&["servers", "restart", "box"]).ok();
    let met = attempt(&systemd, "pid");
    assert!(!met.contains("error"), "{met}");
    let servers = systemd.mux(&["--json", "servers"]).ok().json();
    let layers = servers[0]["sandbox"]["layers"].to_string();
    assert!(
        layers.contains("limits") && !layers.contains("cgroup"),
        "{layers}"
    );
}

#[test]
fn init_installs_the_service_in_systemd_and_its_undo_command_removes_it() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "[check]\nmode = \"off\"\n{}",
        env.fixture("fix", &[])
    ));
    let Some(systemd) = user_manager(&env) else {
        return;
    };
    let plan = systemd.mux(&["init", "--service", "--dry-run"]);
    let plan = plan.ok().stdout;
    assert!(plan.contains("would install the service"), "{plan}");
    assert_eq!((unit_files(&env), env.daemon()), (Vec::new(), None));

    let done = systemd.mux(&["--json", "init", "--yes", "--service"]);
    let done = done.ok().json();
    assert_eq!(done["program"]["result"]["server"], "fix", "{done:#}");
    let name = done["service"]["service"].as_str().unwrap();
    assert_eq!(unit_files(&env).len(), 2, "{done:#}");
    let service = format!("{name}.service");
    let socket = format!("{name}.socket");
    assert_eq!(systemd.shows(&socket, "SubState"), "running");
    assert_eq!(systemd.shows(&socket, "UnitFileState"), "enabled");
    let daemon = systemd.status();
    assert_eq!(daemon["started"]["by"], "systemd");
    let pid = systemd.shows(&service, "MainPID");
    assert_eq!(pid, daemon["pid"].to_string());

    let again = systemd.mux(&["init", "--yes", "--service"]).ok().stdout;
    assert!(again.contains("nothing to do"), "{again}");
    assert_eq!(systemd.shows(&service, "MainPID"), pid);

    let undo = done["next"].to_string();
    assert!(undo.contains("`mux init --undo`"), "{undo}");
    systemd.mux(&["init", "--undo"]).ok();
    assert!(!process::is_alive(pid.parse().unwrap()));
    assert_eq!(unit_files(&env), Vec::<PathBuf>::new());
    assert_eq!(systemd.shows(&socket, "LoadState"), "not-found");
    assert!(!env.dirs.socket().exists());
}
