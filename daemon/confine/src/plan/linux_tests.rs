//! Plans for Linux and macOS, made on Linux.

use super::*;
use crate::machine::Bubblewrap;

fn support() -> SandboxSupport {
    SandboxSupport {
        bubblewrap: Bubblewrap::Works("/usr/bin/bwrap".into()),
        scopes: None,
        landlock: 6,
        seccomp: true,
        counts_processes: true,
        seatbelt: false,
    }
}

fn planned(
    home: &Path,
    program: &str,
    sandbox: &ServerSandbox,
    support: &SandboxSupport,
) -> Result<ConfinedCommand, String> {
    let dirs = SandboxDirs {
        private: home.join("cache/sandboxes"),
        egress: home.join("run/egress"),
        protected: vec![home.join("state")],
        record: GrantRecord::new(home.join("grants.json")),
    };
    let command = ServerCommand {
        identity: "files",
        spec: SpawnSpec {
            program: program.into(),
            args: vec!["--flag".into()],
            env: vec![
                ("HOME".into(), home.into()),
                ("XDG_RUNTIME_DIR".into(), "/run/user/1".into()),
            ],
            cwd: home.to_owned(),
            tag: "files".to_owned(),
            limits: TreeLimits::default(),
        },
        dirs: &dirs,
        muxd: Path::new("/opt/muxd"),
    };
    let inputs = ConfineInputs {
        command,
        sandbox,
        support,
        others: &[],
    };
    confine(inputs).map_err(|error| error.to_string())
}

fn plan_of(command: &ConfinedCommand) -> ConfinementPlan {
    serde_json::from_str(command.spec.args[1].to_str().unwrap()).unwrap()
}

#[test]
fn plan_for_macos_is_one_profile_with_the_targets_of_links() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    for folder in ["state", "data"] {
        fs::create_dir(home.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(home.join("data"), home.join("link")).unwrap();
    let mac = SandboxSupport {
        seatbelt: true,
        ..SandboxSupport::default()
    };
    let sandbox = ServerSandbox {
        read: vec![home.join("link")],
        ..ServerSandbox::default()
    };
    let command = planned(&home, "/usr/bin/x", &sandbox, &mac).unwrap();
    assert_eq!(command.spec.program, Path::new("/usr/bin/sandbox-exec"));
    let [flag, profile, words @ ..] = &command.spec.args[..] else {
        panic!("{command:?}");
    };
    assert_eq!(flag, "-p");
    assert_eq!(words, ["/usr/bin/x", "--flag"]);
    let profile = profile.to_str().unwrap();
    for folder in ["link", "data"] {
        let rule = format!("(allow file-read* (subpath {:?}))", home.join(folder));
        assert!(profile.contains(&rule), "{rule}\n{profile}");
    }
    let tmp = variable(&command.spec.env, "TMPDIR").unwrap();
    assert!(Path::new(tmp).starts_with(home.join("cache/sandboxes")));
    let rule = format!("(allow file-read* file-write* (subpath {tmp:?}))");
    assert!(profile.contains(&rule), "{rule}\n{profile}");
    assert!(!profile.contains(home.join("state").to_str().unwrap()));
    assert_eq!(variable(&command.spec.env, RUNTIME_DIR_VARIABLE), None);
    let hosts = ServerSandbox {
        network: SandboxNetwork::Hosts(vec!["a.example".parse().unwrap()]),
        ..sandbox
    };
    let refused = planned(&home, "/usr/bin/x", &hosts, &mac).unwrap_err();
    assert!(refused.contains("need Linux"), "{refused}");
}

#[test]
fn what_cannot_be_enforced_does_not_start_and_names_the_fix() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    fs::create_dir(home.join("state")).unwrap();
    let plain = ServerSandbox::default();
    let hosts = ServerSandbox {
        network: SandboxNetwork::Hosts(vec!["a.example".parse().unwrap()]),
        ..plain.clone()
    };
    let granting = |path: &Path| ServerSandbox {
        read: vec![path.to_owned()],
        ..plain.clone()
    };
    let limited = |memory, processes| ServerSandbox {
        memory,
        processes,
        ..plain.clone()
    };
    let without_bubblewrap = SandboxSupport {
        bubblewrap: Bubblewrap::NotInstalled,
        ..support()
    };
    let without_filters = SandboxSupport {
        seccomp: false,
        ..support()
    };
    let nothing = SandboxSupport::default();
    let old_landlock = SandboxSupport {
        landlock: 5,
        ..nothing.clone()
    };
    for (program, sandbox, support, part) in [
        ("/usr/bin/docker", &plain, &support(), "container"),
        ("/usr/bin/x", &plain, &nothing, "install bubblewrap"),
        ("/usr/bin/x", &plain, &old_landlock, "install bubblewrap"),
        ("/usr/bin/x", &plain, &without_filters, "seccomp"),
        ("/usr/bin/x", &hosts, &without_bubblewrap, "list of hosts"),
        (
            "/usr/bin/x",
            &limited(Some(64 << 20), None),
            &without_bubblewrap,
            "remove sandbox.memory",
        ),
        (
            "/usr/bin/x",
            &limited(None, Some(64)),
            &without_bubblewrap,
            "remove sandbox.processes",
        ),
        (
            "/usr/bin/x",
            &granting(home),
            &without_bubblewrap,
            "only be hidden",
        ),
        (
            "/usr/bin/x",
            &granting(&home.join("state")),
            &support(),
            "muxd's own",
        ),
        (
            "/usr/bin/x",
            &granting(&home.join("none")),
            &support(),
            "create it",
        ),
    ] {
        let error = planned(home, program, sandbox, support).unwrap_err();
        assert!(error.contains(part), "{program}: {error}");
    }
}

#[test]
fn paths_that_a_server_could_replace_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    let code = home.join("code");
    for folder in ["state", "code/data", "dotfiles/mux", ".config", ".ssh"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(home.join(".ssh"), code.join("keys")).unwrap();
    let planned = |sandbox: ServerSandbox| planned(&home, "/usr/bin/x", &sandbox, &support());
    let writing = |paths: &[&Path]| ServerSandbox {
        write: paths.iter().map(|path| path.to_path_buf()).collect(),
        ..ServerSandbox::default()
    };
    let error = planned(writing(&[&home])).unwrap_err();
    assert!(error.contains("grant folders beside it"), "{error}");
    let linked = ServerSandbox {
        read: vec![code.join("keys")],
        ..writing(&[&code])
    };
    let error = planned(linked).unwrap_err();
    assert!(
        error.contains("which the server `files` may change"),
        "{error}"
    );
    let inside = ServerSandbox {
        read: vec![code.join("data")],
        ..writing(&[&code])
    };
    planned(inside).unwrap();
    // The configuration of muxd behind a link.
    std::os::unix::fs::symlink(home.join("dotfiles/mux"), home.join(".config/mux")).unwrap();
    let dirs = SandboxDirs {
        private: home.join("cache"),
        egress: home.join("run"),
        protected: vec![home.join(".config/mux")],
        record: GrantRecord::new(home.join("grants.json")),
    };
    for folder in [".config", "dotfiles", "dotfiles/mux"] {
        let write = [GrantedPath::resolve(&home.join(folder)).unwrap()];
        hidden_paths(&[], &write, &dirs, &support()).unwrap_err();
    }
}

#[test]
fn plan_grants_what_the_entry_says_and_hides_what_is_muxds() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    fs::create_dir(home.join("state")).unwrap();
    let sandbox = ServerSandbox {
        read: vec![home.clone()],
        memory: Some(64 << 20),
        processes: Some(64),
        ..ServerSandbox::default()
    };
    let command = planned(&home, "/usr/bin/server", &sandbox, &support()).unwrap();
    assert_eq!(command.spec.program, Path::new("/opt/muxd"));
    assert_eq!(command.spec.args[2..], ["/usr/bin/server", "--flag"]);
    assert!(variable(&command.spec.env, "XDG_RUNTIME_DIR").is_none());
    assert_eq!(command.spec.limits.memory, Some(64 << 20));
    let plan = plan_of(&command);
    let words = plan.bubblewrap.unwrap().args;
    let state = home.join("state").display().to_string();
    let hidden = words
        .windows(2)
        .any(|pair| pair[0] == "--tmpfs" && pair[1] == state);
    assert!(hidden, "{words:?}");
    assert!(words.contains(&"--unshare-all".to_owned()));
    assert_eq!(plan.network, PlannedNetwork::None);
    assert!(plan.own_namespaces && plan.unix_sockets);
    // Abstract sockets are reached over a shared network, where Landlock does not cover them.
    for (landlock, unix_sockets) in [(6, true), (5, false)] {
        let sandbox = ServerSandbox {
            network: SandboxNetwork::Any,
            ..ServerSandbox::default()
        };
        let support = SandboxSupport {
            landlock,
            ..support()
        };
        let command = planned(&home, "/usr/bin/server", &sandbox, &support).unwrap();
        assert_eq!(plan_of(&command).unix_sockets, unix_sockets);
    }
}

#[test]
fn package_managers_fetch_into_a_cache_of_the_servers_own() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    let offline = ServerSandbox::default();
    let online = ServerSandbox {
        network: SandboxNetwork::Any,
        ..offline.clone()
    };
    let env_of = |program, sandbox, name| {
        let command = planned(&home, program, sandbox, &support()).unwrap();
        variable(&command.spec.env, name).map(|value| value.to_str().unwrap().to_owned())
    };
    let own = |program: &str, name| {
        let folder = home.join("cache/sandboxes/files");
        let folder = fs::read_dir(folder).unwrap().filter_map(|entry| {
            let cache = entry.unwrap().path().join(name);
            cache.exists().then(|| cache.to_str().unwrap().to_owned())
        });
        let found: Vec<_> = folder.collect();
        assert_eq!(found.len(), 1, "{program}: {found:?}");
        found.into_iter().next()
    };
    assert_eq!(
        env_of("/usr/bin/npx", &offline, "npm_config_offline").as_deref(),
        Some("true")
    );
    assert_eq!(env_of("/usr/bin/npx", &online, "npm_config_offline"), None);
    assert_eq!(
        env_of("/usr/bin/npx", &online, "npm_config_cache"),
        own("npx", "npm")
    );
    for (name, part) in [("UV_CACHE_DIR", "cache"), ("UV_TOOL_DIR", "tools")] {
        let folder = env_of("/usr/bin/uvx", &online, name);
        let uv = own("uvx", "uv").unwrap();
        assert_eq!(folder, Some(format!("{uv}/{part}")));
    }
}

#[test]
fn list_of_hosts_leads_through_a_proxy_in_an_empty_network() {
    let dir = tempfile::tempdir().unwrap();
    let sandbox = ServerSandbox {
        network: SandboxNetwork::Hosts(vec!["a.example:443".parse().unwrap()]),
        ..ServerSandbox::default()
    };
    let command = planned(dir.path(), "/usr/bin/server", &sandbox, &support()).unwrap();
    assert!(
        command
            .egress
            .as_ref()
            .unwrap()
            .starts_with(dir.path().join("run/egress"))
    );
    assert_eq!(
        variable(&command.spec.env, "HTTPS_PROXY").unwrap(),
        "http://127.0.0.1:3128"
    );
    // The forwarder's threads are not the server's.
    let tasks = sandbox.max_processes() + OWN_PROCESSES + FORWARDER_THREADS;
    assert_eq!(command.spec.limits.tasks, Some(tasks));
    let plan = plan_of(&command);
    assert_eq!(plan.processes, Some(tasks));
    assert!(matches!(plan.network, PlannedNetwork::Proxy(_)));
    assert!(
        !plan
            .bubblewrap
            .unwrap()
            .args
            .contains(&"--share-net".to_owned())
    );
}
