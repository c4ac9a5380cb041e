//! Saved configuration files take effect without `mux reload`, however they are saved.

use std::fs;

use mux_tests::{TestEnv, mux_snapshot, process};

use super::{names, problems, server, until};

#[test]
fn config_takes_effect_however_it_is_saved() {
    let env = TestEnv::with_fixtures(&[("one", &[])]);
    env.mux(["call", "one.pid"]).ok();
    let file = env.dirs.config_file();
    let kept = env.fixture("one", &[]);
    let with = |name: &str| format!("{kept}{}", env.fixture(name, &[]));
    let saved = |wanted: &[&str]| {
        until(
            &format!("{wanted:?}"),
            || names(&env),
            |found| found == wanted,
        );
    };

    env.write_config(&with("written"));
    saved(&["one", "written"]);
    let new = env.path("config.toml.swp");
    fs::write(&new, with("renamed")).unwrap();
    fs::rename(&new, &file).unwrap();
    saved(&["one", "renamed"]);
    // Saved like vim does: the old file is moved away and a new one written.
    fs::rename(&file, env.path("config.toml~")).unwrap();
    fs::write(&file, with("replaced")).unwrap();
    saved(&["one", "replaced"]);
    // Written in pieces.
    let whole = with("pieces");
    let (half, rest) = whole.split_at(40);
    fs::write(&file, half).unwrap();
    fs::write(&file, format!("{half}{rest}")).unwrap();
    saved(&["one", "pieces"]);
    for n in 0..100 {
        env.write_config(&with(&format!("saved{n}")));
    }
    saved(&["one", "saved99"]);
    assert_eq!(problems(&env), Vec::<String>::new());
    assert_eq!(env.starts("one").len(), 1, "it was never touched");
    let loads = env.log().matches("configuration loaded").count();
    assert!(loads < 20, "{loads} loads");
    // `mux reload` reports the last change, which was not reported before, as already active.
    let report = env.mux(["reload", "--json"]).ok().json();
    assert_eq!(report["added"], serde_json::json!([]));
    assert_eq!(report["earlier"]["report"]["added"][0], "saved99");
    let report = env.mux(["reload", "--json"]).ok().json();
    assert!(report.get("earlier").is_none(), "{report:#}");
}

#[test]
fn config_broken_or_removed_keeps_the_last_valid_one_in_force() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.mux(["call", "fix.pid"]).ok();
    let good = fs::read_to_string(env.dirs.config_file()).unwrap();
    let until_warned = |part: &str| {
        let is_so = |found: &Vec<String>| found.iter().any(|p| p.contains(part));
        until(part, || problems(&env), is_so);
        env.mux(["call", "fix.pid"]).ok();
    };
    env.write_config("[servers.fix\n");
    until_warned("not valid TOML");
    fs::remove_file(env.dirs.config_file()).unwrap();
    until_warned("is gone, and its last content stays active");
    mux_snapshot!(env.mux(["reload"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: [HOME]/config.toml is gone, and its last content stays active; restore it, or leave an empty file to have no servers
      hint: the last good configuration stays active
    ");
    env.write_config(&good);
    until("no problem", || problems(&env), Vec::is_empty);
    assert_eq!(env.starts("fix").len(), 1);
    // An empty file is a valid configuration.
    env.write_config("");
    until("no server", || names(&env), Vec::is_empty);
    assert_eq!(problems(&env), Vec::<String>::new());
    let gone = process::wait_for_end(env.starts("fix")[0], std::time::Duration::from_secs(30));
    assert!(gone);
}

#[test]
fn config_changes_restart_a_changed_server_after_its_calls() {
    let env = TestEnv::with_fixtures(&[("fix", &[]), ("other", &[])]);
    env.mux(["call", "other.pid"]).ok();
    let code = "console.log(await mux.fix.pid());\n\
                const met = mux.fix.barrier({ name: 'b', parties: 2 });\n\
                await mux.fix.echo({ text: 'sent' }); console.log('waiting'); return await met";
    let mut run = env.begin(["run", "-e", code]);
    run.wait_for("waiting");
    let old = env.starts("fix")[0];
    env.write_config(&format!(
        "{}{}",
        env.fixture("fix", &["--name", "new"]),
        env.fixture("other", &[])
    ));
    let call = || env.mux(["call", "fix.pid"]).ok().stdout;
    until("another process", call, |pid| pid.trim() != old.to_string());
    assert!(process::is_alive(old), "its call is not over");
    run.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(run.wait().code, 130);
    assert!(process::wait_for_end(
        old,
        std::time::Duration::from_secs(30)
    ));
    assert_eq!(env.starts("other").len(), 1);
}

#[test]
fn config_env_file_and_symlink_target_are_watched() {
    let env = TestEnv::new();
    let dotfiles = env.path("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    let target = dotfiles.join("mux.toml");
    let entry = format!(
        "{}env = {{ TOKEN = \"${{TOKEN}}\" }}\n",
        env.fixture("fix", &[])
    );
    fs::write(&target, &entry).unwrap();
    std::os::unix::fs::symlink("dotfiles/mux.toml", env.dirs.config_file()).unwrap();
    fs::write(env.dirs.env_file(), "TOKEN=first\n").unwrap();
    let token = || env.mux(["call", "fix.env", "name=TOKEN"]).ok().stdout;
    assert_eq!(token().trim(), "first");
    fs::write(env.dirs.env_file(), "TOKEN=second\n").unwrap();
    until("the second", token, |token| token.trim() == "second");
    mux_snapshot!(env.mux(["reload"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    nothing changed (1 server)
    already active (loaded [AGE]): servers: fix (env.TOKEN) changed
    ----- stderr -----
    ");
    fs::write(&target, format!("{entry}{}", env.fixture("more", &[]))).unwrap();
    until("more", || names(&env), |names| names.len() == 2);
    assert_eq!(server(&env, "fix")["starts"], 1);
}
