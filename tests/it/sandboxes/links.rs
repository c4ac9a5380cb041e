//! Links that a server makes do not lead it, or another server, to files that were not granted.

use std::{fs, os::unix::fs::symlink, thread};

use mux_tests::{
    TestEnv,
    env::{self, binary},
};
use serde_json::json;

use super::has_bubblewrap;

fn server(name: &str, sandbox: &str) -> String {
    let entry = env::server(name, &binary("mux-fixture-server"), &["--attempts"]);
    format!("{entry}sandbox = {sandbox}\n")
}

fn attempt(env: &TestEnv, name: &str, what: &str, target: &str) -> Result<String, String> {
    let arguments = json!({ "what": what, "target": target }).to_string();
    let output = env.mux(["--json", "call", &format!("{name}.attempt"), &arguments]);
    match output.code {
        0 => Ok(output.json()["result"].as_str().unwrap().to_owned()),
        _ => Err(format!("{}{}", output.stdout, output.stderr)),
    }
}

fn home() -> TestEnv {
    let env = TestEnv::new();
    for folder in ["proj/docs", ".ssh"] {
        fs::create_dir_all(env.path(folder)).unwrap();
    }
    fs::write(env.path(".ssh/id_rsa"), "PRIVATE KEY").unwrap();
    env
}

#[test]
fn link_that_one_server_made_does_not_lead_another_one_elsewhere() {
    if !has_bubblewrap() {
        return;
    }
    for target in ["../.ssh", ".."] {
        let env = home();
        let config = [
            server("wr", "{ write = [\"~/proj\"] }"),
            server("rd", "{ read = [\"~/proj/docs\"] }"),
            server("rw", "{ write = [\"~/proj/docs\"] }"),
        ];
        env.write_config(&config.concat());
        let proj = env.path("proj").display().to_string();
        let script = format!("cd {proj} && mv docs old && ln -s {target} docs");
        attempt(&env, "wr", "sh", &script).unwrap();
        assert!(env.path("proj/docs").is_symlink());
        // Neither at a later start nor at the first one.
        for name in ["rd", "rw"] {
            let read = format!(
                "cat {proj}/docs/id_rsa {proj}/docs/.ssh/id_rsa; echo x > {proj}/docs/written"
            );
            let refused = attempt(&env, name, "sh", &read).unwrap_err();
            assert!(
                refused.contains("which the server `wr` may change"),
                "{refused}"
            );
            assert!(refused.contains("grant "), "{refused}");
            assert!(!refused.contains("PRIVATE"), "{refused}");
        }
        assert!(!env.path(".ssh/written").exists());
        let check = env.mux(["config", "check"]);
        let text = format!("{}{}", check.stdout, check.stderr);
        assert!(text.contains("the server `wr` may change"), "{text}");
        let shown = env.mux(["servers", "sandbox", "rd"]);
        let text = format!("{}{}", shown.stdout, shown.stderr);
        assert!(text.contains("the server `wr` may change"), "{text}");
        // The line that was named grants it.
        let real = env.path(if target == ".." { "proj/old" } else { ".ssh" });
        let entry = server("rd", &format!("{{ read = [{real:?}] }}"));
        env.write_config(&[&config[0], &*entry].concat());
        env.mux(["reload"]).ok();
        attempt(&env, "rd", "list", real.to_str().unwrap()).unwrap();
    }
}

#[test]
fn path_that_leads_elsewhere_than_at_its_first_grant_is_refused_until_the_entry_changes() {
    if !has_bubblewrap() {
        return;
    }
    let env = home();
    env.write_config(&server("rd", "{ read = [\"~/proj/docs\"] }"));
    let docs = env.path("proj/docs").display().to_string();
    assert_eq!(attempt(&env, "rd", "list", &docs).unwrap(), "got through: ");
    env.mux(["stop"]).ok();
    // By any program: no server has write access here.
    fs::rename(env.path("proj/docs"), env.path("proj/old")).unwrap();
    symlink("../.ssh", env.path("proj/docs")).unwrap();
    let refused = attempt(&env, "rd", "list", &docs).unwrap_err();
    let ssh = env.path(".ssh").canonicalize().unwrap();
    let fix = format!("write \\\"{}\\\" in sandbox.read instead", ssh.display());
    assert!(refused.contains(&fix), "{refused}\n{fix}");
    let shown = env.mux(["servers", "sandbox", "rd"]).stdout;
    assert!(shown.contains("in sandbox.read instead"), "{shown}");
    env.write_config(&server("rd", &format!("{{ read = [{ssh:?}] }}")));
    env.mux(["reload"]).ok();
    let listed = attempt(&env, "rd", "list", ssh.to_str().unwrap()).unwrap();
    assert_eq!(listed, "got through: id_rsa");
}

#[test]
fn folders_that_are_exchanged_during_starts_never_show_the_home() {
    if !has_bubblewrap() {
        return;
    }
    let env = home();
    for folder in ["proj/a/data", "proj/b"] {
        fs::create_dir_all(env.path(folder)).unwrap();
    }
    // Not above muxd's own folders, which are refused anyway.
    symlink("../../.ssh", env.path("proj/b/data")).unwrap();
    let sandbox = "{ write = [\"~/proj\"], read = [\"~/proj/a/data\"] }";
    env.write_config(&server("rd", sandbox));
    let data = env.path("proj/a/data").display().to_string();
    // The effect of a session with write access on others, here faster than in practice.
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let a = env.path("proj/a");
    let b = env.path("proj/b");
    let exchanging = thread::spawn(move || {
        use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            renameat2(AT_FDCWD, &a, AT_FDCWD, &b, RenameFlags::RENAME_EXCHANGE).unwrap();
        }
    });
    for _ in 0..12 {
        let met = attempt(&env, "rd", "list", &data);
        assert!(
            !met.as_deref().unwrap_or_default().contains("id_rsa"),
            "{met:?}"
        );
        env.mux(["servers", "restart", "rd"]);
    }
    drop(stop);
    exchanging.join().unwrap();
}

#[test]
fn program_behind_a_linked_folder_does_not_grant_itself_other_folders() {
    if !has_bubblewrap() {
        return;
    }
    let env = home();
    fs::create_dir_all(env.path("code/tools/bin")).unwrap();
    symlink("code/tools", env.path("tools")).unwrap();
    fs::copy(
        binary("mux-fixture-server"),
        env.path("code/tools/bin/server"),
    )
    .unwrap();
    let entry = env::server("srv", &env.path("tools/bin/server"), &["--attempts"]);
    env.write_config(&format!("{entry}sandbox = {{ write = [\"~/code\"] }}\n"));
    let home = env.home().display().to_string();
    let script = format!(
        "cd {home}/code && mkdir other && mv tools/bin other/bin && ln -s {home}/code/other/bin tools/bin && echo 'home = {home}/.ssh/bin' > tools/pyvenv.cfg"
    );
    attempt(&env, "srv", "sh", &script).unwrap();
    env.mux(["servers", "restart", "srv"]);
    let met = attempt(&env, "srv", "read", &format!("{home}/.ssh/id_rsa"));
    assert!(
        !met.as_deref()
            .is_ok_and(|met| met.starts_with("got through")),
        "{met:?}"
    );
    let shown = env.mux(["servers", "sandbox", "srv"]);
    let text = format!("{}{}", shown.stdout, shown.stderr);
    assert!(text.contains("the server `srv` may change"), "{text}");
}
