//! The files that `mux service install` would write, checked with the tools of the service manager.

use std::{fs, path::PathBuf, process::Command};

use mux_tests::{TestEnv, env, left_out};

/// Writes the files of `mux service install --dry-run` into the home. Returns their paths.
fn written(env: &TestEnv) -> Vec<PathBuf> {
    let shown = env.mux(["--json", "service", "install", "--dry-run"]);
    let shown = shown.ok().json();
    assert_eq!(shown["dry_run"], true);
    let files = shown["files"].as_array().unwrap();
    let written = files.iter().map(|file| {
        let wanted = PathBuf::from(file["path"].as_str().unwrap());
        assert!(!wanted.exists(), "nothing is written for show");
        let path = env.path(wanted.file_name().unwrap().to_str().unwrap());
        fs::write(&path, file["text"].as_str().unwrap()).unwrap();
        path
    });
    written.collect()
}

#[test]
fn the_units_name_this_home_and_this_muxd() {
    let env = TestEnv::new();
    let files = written(&env);
    let [service, socket] = files.as_slice() else {
        panic!("two files, not {files:?}");
    };
    let service = fs::read_to_string(service).unwrap();
    let muxd = env::binary("muxd");
    for line in [
        format!("ExecStart=\"{}\"", muxd.display()),
        format!("Environment=\"MUX_HOME={}\"", env.home().display()),
        "Type=notify".into(),
        "KillMode=mixed".into(),
    ] {
        assert!(service.lines().any(|l| l == line), "{line}\n{service}");
    }
    let socket = fs::read_to_string(socket).unwrap();
    let line = format!("ListenStream={}", env.dirs.socket().display());
    assert!(socket.lines().any(|l| l == line), "{socket}");
    assert!(!env.path(".config").exists());
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let env = TestEnv::new();
    let files = written(&env);
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--user", "--man=no"]).args(&files);
    verify
        .env("XDG_RUNTIME_DIR", env.home())
        .env("HOME", env.home());
    let output = match verify.output() {
        Ok(output) => output,
        Err(error) => {
            left_out("the units", &format!("systemd-analyze: {error}"));
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // systemd also warns about units that are not ours.
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("muxd")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn without_a_service_manager_nothing_is_written_and_the_alternative_is_named() {
    let env = TestEnv::new();
    // No bus and no service manager, as after `su` or in a container.
    let output = env.mux(["service", "install"]);
    output.fails(3, &["the first client starts it"]);
    assert!(!env.path(".config").exists());
    assert_eq!(env.result("return 1"), 1);
    env.mux(["service", "uninstall"]).ok();
    env.mux(["service", "status"])
        .fails(3, &["no service is installed", "started by a client"]);
}
