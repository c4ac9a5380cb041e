//! The parts of a plan that every Unix has.

use super::*;

#[test]
fn private_folder_is_not_that_of_another_command_of_the_same_name() {
    let dirs = SandboxDirs {
        private: "/cache".into(),
        egress: "/run".into(),
        protected: Vec::new(),
        record: GrantRecord::new("/nonexistent".into()),
    };
    let folder = |identity, program: &str, args: &[&str]| {
        let command = ServerCommand {
            identity,
            spec: SpawnSpec {
                program: program.into(),
                args: args.iter().map(OsString::from).collect(),
                env: Vec::new(),
                cwd: "/".into(),
                tag: identity.to_owned(),
                limits: TreeLimits::default(),
            },
            dirs: &dirs,
            muxd: Path::new("/opt/muxd"),
        };
        command.private_folder()
    };
    let own = folder("a", "/usr/bin/npx", &["-y", "good"]);
    assert!(own.starts_with("/cache/a"));
    assert_eq!(own, folder("a", "/usr/bin/npx", &["-y", "good"]));
    for other in [
        folder("b", "/usr/bin/npx", &["-y", "good"]),
        folder("a", "/usr/bin/npx", &["-y", "bad"]),
        folder("a", "/usr/bin/npx", &["-ygood"]),
        folder("a", "/usr/bin/uvx", &["-y", "good"]),
    ] {
        assert_ne!(own, other);
    }
}

#[test]
fn fixes_name_what_works_on_that_system() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("state")).unwrap();
    let dirs = SandboxDirs {
        private: dir.path().join("cache"),
        egress: dir.path().join("run"),
        protected: vec![dir.path().join("state")],
        record: GrantRecord::new(dir.path().join("grants.json")),
    };
    let read = [GrantedPath::resolve(dir.path()).unwrap()];
    let sandbox = ServerSandbox {
        processes: Some(64),
        ..ServerSandbox::default()
    };
    for (seatbelt, names_bubblewrap) in [(true, false), (false, true)] {
        let support = SandboxSupport {
            seatbelt,
            ..SandboxSupport::default()
        };
        let errors = [
            hidden_paths(&read, &[], &dirs, &support).unwrap_err(),
            refuse_unenforceable_limits(&sandbox, &support).unwrap_err(),
        ];
        for error in errors {
            let text = error.to_string();
            assert_eq!(
                text.contains("install bubblewrap"),
                names_bubblewrap,
                "{text}"
            );
        }
    }
}
