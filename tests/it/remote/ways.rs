//! The transports to a remote server: how each is detected, shown and closed.

use std::fs;

use mux_tests::TestEnv;
use serde_json::json;

use super::{Remote, info, with_remote};

#[test]
fn streamable_http_session_is_opened_shared_shown_and_closed() {
    for flags in [&[][..], &["--json"], &["--no-stream"], &["--restless"]] {
        let (env, remote) = with_remote(flags);
        let pids = env.result("return await Promise.all([1, 2, 3].map(() => mux.fix.pid({})))");
        assert_eq!(pids[0], pids[1], "{flags:?}: one session");
        assert_eq!(env.result("return await mux.fix.pid({})"), pids[0]);
        assert_eq!(remote.count("POST", "initialize"), 1, "{flags:?}");
        let shown = info(&env, "fix");
        assert_eq!(shown["transport"], "streamable-http");
        assert_eq!(shown["state"], "ready");
        assert_eq!(shown["command"], remote.url);
        assert!(shown.get("pid").is_none(), "{shown:#}");
        env.mux(["stop"]).ok();
        assert_eq!(remote.count("DELETE", ""), 1, "{flags:?}: said goodbye");
        // The first session id stays in use, regardless of later responses. The two requests before it, which probe
        // the protocol era and shake hands, have no session id.
        let all = remote.requests();
        let ids = all.iter().map(|r| &r["headers"]["mcp-session-id"]);
        let ids: Vec<_> = ids.skip_while(|id| id.is_null()).collect();
        assert_eq!(ids.len() + 2, all.len());
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
}

#[test]
fn sse_only_server_is_detected_once() {
    let env = TestEnv::new();
    let remote = Remote::start(&env, "fix", &["--sse"]);
    env.write_config(&remote.entry("fix"));
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'hi' })"),
        "hi"
    );
    assert_eq!(info(&env, "fix")["transport"], "sse");
    env.mux(["servers", "restart", "fix"]).ok();
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'hi' })"),
        "hi"
    );
    // The second session did not try a POST, which this server answers with 405.
    let streams = remote.count("GET", "");
    assert_eq!(
        (streams, info(&env, "fix")["starts"].as_u64()),
        (2, Some(2))
    );
    let sessions = env
        .result("return await Promise.all([1, 2, 3, 4].map((n) => mux.fix.add({ a: n, b: 1 })))");
    let sums: Vec<_> = sessions
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["sum"].clone())
        .collect();
    assert_eq!(sums, [2, 3, 4, 5].map(|n| json!(n)));
}

#[test]
fn configured_transport_is_used_without_fallback() {
    let env = TestEnv::new();
    let elder = Remote::start(&env, "elder", &["--sse"]);
    let newer = Remote::start(&env, "newer", &[]);
    let config = format!(
        "{}transport = \"streamable-http\"\n{}transport = \"sse\"\n[servers.right]\nurl = {:?}\ntransport = \"sse\"\n",
        elder.entry("elder"),
        newer.entry("newer"),
        elder.url,
    );
    env.write_config(&config);
    env.mux(["call", "right.echo", "text=x"]).ok();
    env.mux(["call", "elder.echo", "text=x"])
        .fails(3, &["HTTP 405", "`transport`"]);
    env.mux(["call", "newer.echo", "text=x"])
        .fails(3, &["unavailable"]);
    assert_eq!(newer.count("POST", "initialize"), 0);
}

#[test]
fn unix_socket_is_used_over_both_transports() {
    for flags in [&[][..], &["--sse"]] {
        let env = TestEnv::new();
        let socket = env.path("fix.sock");
        let path = socket.to_str().unwrap();
        let remote = Remote::start(&env, "fix", &[flags, &["--unix", path]].concat());
        env.write_config(&format!("{}socket = {path:?}\n", remote.entry("fix")));
        assert_eq!(
            env.result("return await mux.fix.echo({ text: 'hi' })"),
            "hi"
        );
        let host = remote.requests()[0]["headers"]["host"].clone();
        assert_eq!(host, "fixture.invalid", "{flags:?}");
        let shown = info(&env, "fix");
        assert!(
            shown["command"].as_str().unwrap().ends_with(path),
            "{shown:#}"
        );
    }
}

#[test]
fn path_that_is_no_socket_or_has_another_owner_is_refused() {
    let env = TestEnv::new();
    let file = env.path("no.sock");
    fs::write(&file, "").unwrap();
    let entry = |path: &str| format!("[servers.fix]\nurl = \"http://x/mcp\"\nsocket = {path:?}\n");
    env.write_config(&entry(file.to_str().unwrap()));
    env.mux(["call", "fix.echo"]).fails(3, &["is not a socket"]);
    env.stop();
    env.write_config(&entry("gone.sock"));
    env.mux(["call", "fix.echo"])
        .fails(3, &["gone.sock", "is the server running?"]);
    env.stop();
    // Only root can change the owner of a socket.
    if nix::unistd::geteuid().is_root() {
        let path = env.path("fix.sock");
        let remote = Remote::start(&env, "fix", &["--unix", path.to_str().unwrap()]);
        nix::unistd::chown(&path, Some(nix::unistd::Uid::from_raw(65_534)), None).unwrap();
        env.write_config(&entry(path.to_str().unwrap()));
        env.mux(["call", "fix.echo"])
            .fails(3, &["belongs to another user (uid 65534)"]);
        assert!(remote.requests().is_empty());
    }
}

#[test]
fn error_of_an_unreachable_server_has_a_remedy() {
    let env = TestEnv::new();
    let remote = Remote::start(&env, "fix", &["--fault", "html", "--on", "initialize"]);
    let wrong = remote.url.replace("/mcp", "/elsewhere");
    let entries = [
        (
            "refused",
            "http://127.0.0.1:1/mcp",
            "is the server running?",
        ),
        (
            "nowhere",
            "http://host.invalid/mcp",
            "check the host of `url`",
        ),
        ("wrong", wrong.as_str(), "check the path of `url`"),
        ("page", remote.url.as_str(), "text/html"),
        (
            "tls",
            &remote.url.replace("http:", "https:"),
            "does it speak https?",
        ),
    ];
    let config = entries.map(|(name, url, _)| format!("[servers.{name}]\nurl = {url:?}\n"));
    env.write_config(&config.concat());
    for (name, _, fix) in entries {
        env.mux(["call", &format!("{name}.echo")])
            .fails(3, &["unavailable", fix]);
        let shown = info(&env, name);
        assert_eq!(shown["state"], "failed");
        assert!(shown["reason"].as_str().unwrap().contains(fix), "{shown:#}");
    }
    for (status, exit, fix) in [
        ("status=401", 5, "mux servers login"),
        ("status=403", 5, "lacks the scope"),
        ("status=500", 3, "on the server's side"),
        ("status=429", 3, "try again later"),
    ] {
        let env = TestEnv::new();
        let remote = Remote::start(&env, "fix", &["--fault", status, "--on", "initialize"]);
        env.write_config(&remote.entry("fix"));
        env.mux(["call", "fix.echo"]).fails(exit, &[fix]);
    }
}
