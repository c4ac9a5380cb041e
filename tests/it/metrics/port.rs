//! The metrics port: disabled, protected by a token, changed, already in use, and only on loopback.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
};

use mux_tests::TestEnv;

use super::reader::Page;

/// An address with a port that is free at this moment.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn listening(env: &TestEnv, address: &str) {
    let server = env.fixture("fix", &[]);
    env.write_config(&format!("[metrics]\nlisten = {address:?}\n{server}"));
}

/// Status, headers and body of one request.
fn get(address: SocketAddr, host: &str, token: Option<&str>, more: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let token = token.unwrap_or_default();
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: {host}\r\n{token}{more}\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase(), body.to_owned())
}

/// Polls the daemon's status until the condition is true.
#[track_caller]
fn until(env: &TestEnv, is: impl Fn() -> bool) {
    for _ in 0..500 {
        if is() {
            return;
        }
        env.mux(["status"]).ok();
    }
    panic!("it does not come");
}

fn problems(env: &TestEnv) -> String {
    env.mux(["--json", "status"]).ok().json()["problems"].to_string()
}

#[test]
fn metrics_port_requires_the_token_and_a_local_host_header() {
    let env = TestEnv::new();
    let address = free();
    listening(&env, &address.to_string());
    env.mux(["metrics", "--token"])
        .fails(1, &["[metrics] listen"]);
    env.result("return mux.fix.add({ a: 1, b: 2 })");
    until(&env, || TcpStream::connect(address).is_ok());
    let token = env.mux(["metrics", "--token"]).ok().stdout;
    let token = token.trim();
    let mode = fs::metadata(env.dirs.metrics_token())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!((token.len(), mode & 0o777), (64, 0o600));

    let here = address.to_string();
    let (status, head, body) = get(address, &here, Some(token), "");
    assert_eq!(status, 200, "{body}");
    assert!(
        head.contains("content-type: text/plain; version=0.0.4"),
        "{head}"
    );
    assert!(head.contains("cache-control: no-store"), "{head}");
    let page = Page::read(&body);
    let called = [("server", "fix"), ("outcome", "ok")];
    assert_eq!(page.value("muxd_calls_total", &called), Some(1.0));
    let accept = "Accept: application/openmetrics-text;version=1.0.0\r\n";
    let (_, head, body) = get(address, &here, Some(token), accept);
    assert!(
        head.contains("content-type: application/openmetrics-text"),
        "{head}"
    );
    assert!(body.ends_with("# EOF\n"), "{body}");

    for (host, given, expected) in [
        (here.as_str(), None, 401),
        (&here, Some("0000"), 401),
        ("evil.test", Some(token), 421),
        ("", Some(token), 421),
    ] {
        let (status, _, body) = get(address, host, given, "");
        assert_eq!(status, expected, "{host} {given:?}");
        assert!(!body.contains("muxd_") && !body.contains(token), "{body}");
    }
    // The token is not logged.
    assert!(!env.log().contains(token));
    // A connection without a complete request does not block others.
    let silent = TcpStream::connect(address).unwrap();
    assert_eq!(get(address, "localhost", Some(token), "").0, 200);
    drop(silent);
}

#[test]
fn metrics_port_follows_the_configuration_and_a_port_in_use_is_reported() {
    let env = TestEnv::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    listening(&env, &address.to_string());
    env.result("return 1");
    until(&env, || problems(&env).contains("[metrics] listen"));
    let doctor = env.mux(["doctor"]);
    assert!(
        doctor.stdout.contains("metrics are not served"),
        "{doctor:#?}"
    );
    let other = free();
    listening(&env, &other.to_string());
    until(&env, || TcpStream::connect(other).is_ok());
    assert_eq!(problems(&env), "[]");
    // Back to the first address, which is free now.
    drop(taken);
    listening(&env, &address.to_string());
    until(&env, || TcpStream::connect(address).is_ok());
    assert!(TcpStream::connect(other).is_err());
    listening(&env, "0.0.0.0:9464");
    until(&env, || TcpStream::connect(address).is_err());
    assert!(
        problems(&env).contains("not a loopback address"),
        "{}",
        problems(&env)
    );
    let config = env.dirs.config_file();
    env.mux(["config", "check", config.to_str().unwrap()])
        .fails(1, &["127.0.0.1:PORT"]);
    // The daemon still serves.
    env.result("return mux.fix.add({ a: 1, b: 2 })");
}
