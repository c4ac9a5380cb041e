//! An honest server works in its sandbox, and keeps it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    process::Command,
    thread,
};

use mux_tests::{
    TestEnv,
    env::{npm, output},
};

use super::{attempt, has_bubblewrap, server};

#[test]
fn granted_paths_are_readable_and_writable_and_a_change_of_them_restarts_the_server() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    for folder in ["notes", "notes/out", "other"] {
        fs::create_dir_all(env.path(folder)).unwrap();
        fs::write(env.path(folder).join("a.txt"), "text").unwrap();
    }
    let grants = |read: &str| format!("{{ read = [\"~/{read}\"], write = [\"~/notes/out\"] }}");
    env.write_config(&server(&grants("notes")));
    let at = |name: &str| env.path(name).display().to_string();
    assert_eq!(
        attempt(&env, "read", &at("notes/a.txt")),
        "got through: 4 bytes"
    );
    assert_eq!(
        attempt(&env, "write", &at("notes/out/b.txt")),
        "got through: written"
    );
    assert!(env.path("notes/out/b.txt").exists());
    assert!(attempt(&env, "write", &at("notes/b.txt")).contains("Read-only file system"));
    assert!(attempt(&env, "read", &at("other/a.txt")).starts_with("refused"));
    let shown = env.mux(["servers"]).ok().stdout;
    assert!(
        shown.contains("in a sandbox (namespaces, landlock, seccomp, limits); network: none"),
        "{shown}"
    );

    env.write_config(&server(&grants("other")));
    env.mux(["reload"]).ok();
    assert_eq!(
        attempt(&env, "read", &at("other/a.txt")),
        "got through: 4 bytes"
    );
    assert!(attempt(&env, "read", &at("notes/a.txt")).starts_with("refused"));
}

#[test]
fn files_that_are_lost_with_the_empty_home_are_named() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    env.write_config(&server("true"));
    let target = env.path("note.txt").display().to_string();
    assert_eq!(attempt(&env, "write", &target), "got through: written");
    assert!(!env.path("note.txt").exists());
    let before = env.mux(["servers"]).ok().stdout;
    assert!(!before.contains("were lost"), "{before}");
    env.mux(["servers", "restart", "box"]).ok();
    let shown = env.mux(["servers", "box"]).ok().stdout;
    let said = "files that it wrote into the empty home of its sandbox were lost when its session ended: ~/note.txt";
    assert!(shown.contains(said), "{shown}");
    let doctor = env.mux(["doctor"]);
    assert!(doctor.stdout.contains("--suggest"), "{doctor:#?}");
}

#[test]
fn listed_hosts_are_reached_through_the_proxy_and_refusals_are_shown() {
    if !has_bubblewrap() {
        return;
    }
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = origin.local_addr().unwrap();
    thread::spawn(move || {
        for mut connection in origin.incoming().flatten() {
            drop(BufReader::new(&connection).read_line(&mut String::new()));
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
            connection.write_all(answer.as_bytes()).ok();
        }
    });
    let env = TestEnv::new();
    env.write_config(&server(&format!("{{ network = [\"{address}\"] }}")));
    let url = format!("http://{address}/");
    assert_eq!(attempt(&env, "proxied", &url), "got through: hello");
    assert!(attempt(&env, "proxied", "http://other.example/").contains("403"));
    assert!(attempt(&env, "tcp", &address.to_string()).starts_with("refused"));
    assert!(attempt(&env, "resolve", "example.com").starts_with("refused"));
    let shown = env.mux(["servers"]).ok().stdout;
    assert!(
        shown.contains("its sandbox denied a connection to other.example:80"),
        "{shown}"
    );
    let log = env.mux(["servers", "logs", "box"]).ok().stdout;
    assert!(
        log.contains("refused a connection to other.example:80"),
        "{log}"
    );

    // The next daemon takes over the server and its way out.
    let pid = attempt(&env, "pid", "");
    env.mux(["restart", "--upgrade"]).ok();
    assert_eq!(attempt(&env, "pid", ""), pid);
    assert_eq!(attempt(&env, "proxied", &url), "got through: hello");
    assert!(attempt(&env, "tcp", &address.to_string()).starts_with("refused"));
    let shown = env.mux(["servers"]).ok().stdout;
    assert!(shown.contains("in a sandbox (namespaces, "), "{shown}");

    // The proxy ends with the server's last session.
    let sockets = || {
        let folders = fs::read_dir(env.dirs.runtime.join("egress"))
            .into_iter()
            .flatten();
        folders.flatten().count()
    };
    assert_eq!(sockets(), 1);
    env.write_config("");
    env.mux(["reload"]).ok();
    env.mux(["stop"]).ok();
    assert_eq!(sockets(), 0);
}

#[test]
fn layers_shown_are_those_around_the_running_server() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    let other = server("{}").replacen("box", "other", 1);
    env.write_config(&format!("{}{other}", server("{}")));
    // bubblewrap is installed while a server runs without it.
    let path = env.path("bin");
    fs::create_dir(&path).unwrap();
    let mut start = env.command("mux");
    start.env("PATH", &path).args(["servers"]);
    assert!(start.status().unwrap().success());
    attempt(&env, "pid", "");
    let mut find = Command::new("sh");
    let bubblewrap = output(find.args(["-c", "command -v bwrap"])).ok().stdout;
    std::os::unix::fs::symlink(bubblewrap.trim(), path.join("bwrap")).unwrap();
    env.mux(["call", "other.attempt", r#"{"what":"pid"}"#]).ok();
    let servers = env.mux(["--json", "servers"]).ok().json();
    let layers = |name: &str| {
        let mut servers = servers.as_array().unwrap().iter();
        let server = servers.find(|server| server["name"] == name).unwrap();
        server["sandbox"]["layers"].to_string()
    };
    assert_eq!(layers("box"), r#"["landlock","seccomp"]"#);
    assert!(layers("other").contains("namespaces"), "{servers}");
}

#[test]
fn mode_enforce_puts_a_real_server_into_a_sandbox() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    fs::create_dir(env.path("files")).unwrap();
    fs::create_dir(env.path("secret")).unwrap();
    fs::write(env.path("files/a.txt"), "granted").unwrap();
    fs::write(env.path("secret/b.txt"), "hidden").unwrap();
    let files = env.path("files");
    let secret = env.path("secret");
    let entry = mux_tests::env::server(
        "files",
        &npm("mcp-server-filesystem"),
        &[files.to_str().unwrap(), "/"],
    );
    let memory = mux_tests::env::server("memory", &npm("mcp-server-memory"), &[]);
    env.write_config(&format!(
        "[sandbox]\nmode = \"enforce\"\n{entry}roots = \"none\"\nsandbox = {{ read = [\"~/files\"] }}\n{memory}"
    ));
    let read = |path: &std::path::Path| {
        let path = format!("path={}", path.display());
        env.mux(["call", "files.read_text_file", &path])
    };
    assert!(read(&files.join("a.txt")).ok().stdout.contains("granted"));
    let refused = read(&secret.join("b.txt"));
    assert_ne!(refused.code, 0, "{refused:#?}");
    // A server whose entry has no `sandbox` is also in a sandbox.
    env.mux(["call", "memory.read_graph", "{}"]).ok();
    let status = env.mux(["--json", "servers"]).ok().json();
    let states = status.as_array().unwrap().iter();
    assert!(
        states
            .clone()
            .all(|server| server["sandbox"]["state"] == "on"),
        "{status}"
    );
}

#[test]
fn doctor_names_the_servers_without_a_sandbox() {
    let env = TestEnv::new();
    let [open, chosen] = ["open", "chosen"].map(|name| env.fixture(name, &[]));
    env.write_config(&format!("{open}{chosen}sandbox = false\n"));
    env.mux(["servers"]).ok();
    let printed = env.mux(["doctor"]).ok().stdout;
    assert!(
        printed.contains("without a sandbox, with all your rights: open"),
        "{printed}"
    );
    assert!(!printed.contains("open, chosen"), "{printed}");
}
