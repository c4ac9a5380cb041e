//! Access control of `mux ui`, over a raw socket: hosts, origins, tokens, codes; and how `mux ui` ends.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    time::Duration,
};

use mux_tests::{Page, TestEnv};
use nix::{
    sys::{signal::Signal, stat::Mode},
    unistd::mkfifo,
};
use serde_json::Value;

use super::event_stream::EventStream;

const HANG: Duration = Duration::from_mins(1);

/// An HTTP response, with its headers in lower case.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: String,
    pub(super) content: String,
}

/// Sends a request, in which `HOST`, `ORIGIN` and `TOKEN` are replaced, and reads the response to its end.
pub(super) fn send(page: &Page, head: &str, content: &str) -> Answer {
    let mut socket = request(page, head, content);
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    let (head, content) = text.split_once("\r\n\r\n").unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        headers: head.to_lowercase(),
        content: content.to_owned(),
    }
}

pub(super) fn request(page: &Page, head: &str, content: &str) -> BufReader<TcpStream> {
    let host = page.origin().strip_prefix("http://").unwrap();
    let head = head
        .trim()
        .replace("ORIGIN", page.origin())
        .replace("HOST", host)
        .replace("TOKEN", page.token())
        .replace('\n', "\r\n");
    let mut socket = TcpStream::connect(host).unwrap();
    socket.set_read_timeout(Some(HANG)).unwrap();
    let length = content.len();
    let text = format!("{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{content}");
    socket.write_all(text.as_bytes()).unwrap();
    BufReader::new(socket)
}

#[test]
fn page_is_public_and_the_api_requires_the_token() {
    let env = TestEnv::new();
    let page = Page::serve(&env);
    let shell = send(&page, "GET / HTTP/1.1\nHost: HOST", "");
    assert_eq!(shell.status, 200);
    assert!(shell.content.contains("<title>muxd</title>"));
    let grants = "GET /api/grants HTTP/1.1\nHost: HOST";
    for (more, status) in [
        ("", 401),
        ("\nAuthorization: Bearer wrong", 401),
        ("\nCookie: token=TOKEN", 401),
        ("\nAuthorization: Bearer TOKEN", 200),
        ("\nAuthorization: Bearer TOKEN\nOrigin: ORIGIN", 200),
        (
            "\nAuthorization: Bearer TOKEN\nOrigin: http://evil.example",
            403,
        ),
        (
            "\nAuthorization: Bearer TOKEN\nSec-Fetch-Site: cross-site",
            403,
        ),
    ] {
        let answer = send(&page, &format!("{grants}{more}"), "");
        assert_eq!(answer.status, status, "{more}: {}", answer.content);
    }
    let rebound = "GET / HTTP/1.1\nHost: evil.example:80";
    assert_eq!(send(&page, rebound, "").status, 421);
    let rebound = "GET /api/grants HTTP/1.1\nHost: evil.example\nAuthorization: Bearer TOKEN";
    assert_eq!(send(&page, rebound, "").status, 421);
    assert_eq!(
        send(
            &page,
            "GET http://evil.example/api/grants HTTP/1.1\nHost: HOST",
            ""
        )
        .status,
        401
    );
}

#[test]
fn every_response_forbids_what_the_page_does_not_need() {
    let env = TestEnv::new();
    let page = Page::serve(&env);
    for path in ["/", "/main.js", "/style.css", "/nothing", "/api/grants"] {
        let answer = send(&page, &format!("GET {path} HTTP/1.1\nHost: HOST"), "");
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self';",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(answer.headers.contains(header), "{path} lacks {header}");
        }
        assert!(!answer.headers.contains("unsafe-"), "{}", answer.headers);
        assert!(
            !answer.headers.contains("access-control"),
            "{}",
            answer.headers
        );
        assert!(!answer.headers.contains("set-cookie"), "{}", answer.headers);
    }
}

#[test]
fn changing_requests_must_have_the_origin_of_the_page() {
    let env = TestEnv::new();
    let page = Page::serve(&env);
    let decide = "POST /api/decide HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN";
    let json = "\nContent-Type: application/json";
    let wanted = r#"{"approval":"A1","decision":"once"}"#;
    for (more, status) in [
        (format!("{json}\nOrigin: ORIGIN"), 404),
        (json.to_owned(), 403),
        (format!("{json}\nOrigin: null"), 403),
        (format!("{json}\nOrigin: http://evil.example"), 403),
        // As an HTML form could send it.
        ("\nContent-Type: text/plain\nOrigin: ORIGIN".to_owned(), 415),
    ] {
        let answer = send(&page, &format!("{decide}{more}"), wanted);
        assert_eq!(answer.status, status, "{more}: {}", answer.content);
    }
    let whole = format!("{decide}{json}\nOrigin: ORIGIN");
    assert_eq!(send(&page, &whole, &" ".repeat(100 << 10)).status, 413);
    assert_eq!(send(&page, &whole, r#"{"approval":7}"#).status, 422);
    let get = "GET /api/decide HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN";
    assert_eq!(send(&page, get, "").status, 405);
}

/// Each request that changes something: its path, a body for something that does not exist, and the status of the
/// answer to a page that may send it.
const ACTIONS: [(&str, &str, u16); 11] = [
    ("decide", r#"{"approval":"A1","decision":"once"}"#, 404),
    ("revoke", r#"{"id":"g1"}"#, 404),
    ("resume", r#"{"id":"A1"}"#, 404),
    ("cancel", r#"{"id":"a-1"}"#, 404),
    ("connect", "{}", 200),
    ("restart", r#"{"server":"none"}"#, 404),
    ("switch", r#"{"server":"none","enabled":false}"#, 404),
    ("login", r#"{"server":"none"}"#, 404),
    ("login/wait", r#"{"login":"none"}"#, 404),
    (
        "login/finish",
        r#"{"login":"none","redirect_url":"x"}"#,
        404,
    ),
    // The error of a call is its outcome.
    ("call", r#"{"path":"none.x"}"#, 200),
];

#[test]
fn every_action_is_refused_to_all_but_the_page() {
    let env = TestEnv::new();
    let page = Page::serve(&env);
    let token = "\nAuthorization: Bearer TOKEN";
    let json = "\nContent-Type: application/json";
    for (path, content, accepted) in ACTIONS {
        for (headers, status) in [
            (format!("{token}{json}\nOrigin: ORIGIN"), accepted),
            (format!("{json}\nOrigin: ORIGIN"), 401),
            (
                format!("\nAuthorization: Bearer x{json}\nOrigin: ORIGIN"),
                401,
            ),
            (format!("{token}{json}"), 403),
            (format!("{token}{json}\nOrigin: null"), 403),
            (format!("{token}{json}\nOrigin: http://evil.example"), 403),
            (
                format!("{token}{json}\nOrigin: ORIGIN\nSec-Fetch-Site: cross-site"),
                403,
            ),
        ] {
            let head = format!("POST /api/{path} HTTP/1.1\nHost: HOST{headers}");
            let answer = send(&page, &head, content);
            assert_eq!(answer.status, status, "{path}{headers}: {}", answer.content);
        }
        let rebound = format!("POST /api/{path} HTTP/1.1\nHost: evil.example{token}{json}");
        assert_eq!(send(&page, &rebound, content).status, 421, "{path}");
        let get = format!("GET /api/{path} HTTP/1.1\nHost: HOST{token}");
        assert_eq!(send(&page, &get, "").status, 405, "{path}");
        if content != "{}" {
            // As an HTML form could send it.
            let form = format!(
                "POST /api/{path} HTTP/1.1\nHost: HOST{token}\nContent-Type: text/plain\nOrigin: ORIGIN"
            );
            let status = send(&page, &form, content).status;
            assert!(matches!(status, 415 | 422), "{path}: {status}");
        }
    }
}

/// The list above has every route that takes a POST.
#[test]
fn every_action_of_the_page_is_in_the_list() {
    let scripts = mux_tests::editors::source("client/src/commands/ui");
    let routes: Vec<String> = ["api.rs", "actions.rs"]
        .iter()
        .map(|file| fs::read_to_string(scripts.join(file)).unwrap())
        .collect();
    assert_eq!(
        routes.concat().matches("post(").count(),
        // `enter` needs no token: it exchanges the one-time code for it.
        ACTIONS.len() + 1
    );
}

#[test]
fn what_the_page_reads_requires_the_token() {
    let env = TestEnv::new();
    let page = Page::serve(&env);
    for (path, status) in [
        ("doctor", 200),
        ("logs?server=none", 404),
        ("sandbox?server=none", 404),
        ("value?handle=none", 422),
    ] {
        let head = format!("GET /api/{path} HTTP/1.1\nHost: HOST");
        assert_eq!(send(&page, &head, "").status, 401, "{path}");
        let head = format!("{head}\nAuthorization: Bearer TOKEN");
        let answer = send(&page, &head, "");
        assert_eq!(answer.status, status, "{path}: {}", answer.content);
    }
}

#[test]
fn refused_actions_change_nothing_and_the_page_does_what_the_commands_do() {
    let env = TestEnv::new();
    let rule =
        "[[policy]]\nmatch = \"fix.env\"\naction = \"deny\"\nreason = \"secrets are there\"\n";
    env.write_config(&format!("{}{rule}", env.fixture("fix", &[])));
    let page = Page::serve(&env);
    let config = || fs::read_to_string(env.path("config.toml")).unwrap();
    let post = |path: &str, more: &str, content: &str| {
        let head =
            format!("POST /api/{path} HTTP/1.1\nHost: HOST\nContent-Type: application/json{more}");
        send(&page, &head, content)
    };
    let off = r#"{"server":"fix","enabled":false}"#;
    let add = r#"{"path":"fix.add","typed":[["a","1"],["b","2"]]}"#;
    let before = config();
    for more in [
        "\nOrigin: ORIGIN",
        "\nAuthorization: Bearer TOKEN",
        "\nAuthorization: Bearer TOKEN\nOrigin: http://evil.example",
    ] {
        for (path, content) in [
            ("switch", off),
            ("call", add),
            ("restart", r#"{"server":"fix"}"#),
        ] {
            assert!(matches!(post(path, more, content).status, 401 | 403));
        }
    }
    assert_eq!(config(), before);
    assert_eq!(env.starts("fix"), [0; 0]);
    let own = "\nAuthorization: Bearer TOKEN\nOrigin: ORIGIN";
    let call = |content: &str| -> Value {
        let answer = post("call", own, content);
        assert_eq!(answer.status, 200, "{}", answer.content);
        serde_json::from_str(&answer.content).unwrap()
    };
    assert_eq!(call(add)["value"]["sum"], 3.0);
    let whole = r#"{"path":"fix.add","arguments":"{\"a\": 1, \"b\": 4}"}"#;
    assert_eq!(call(whole)["value"]["sum"], 5.0);
    let unfit = call(r#"{"path":"fix.add","typed":[["a","1"]]}"#);
    assert_eq!(unfit["error"]["kind"], "validation");
    let denied = call(r#"{"path":"fix.env","typed":[["name","PATH"]]}"#);
    assert_eq!(denied["error"]["kind"], "denied");
    let text = "x".repeat(9 << 20);
    let long = post(
        "call",
        own,
        &format!(r#"{{"path":"fix.echo","typed":[["text","{text}"]]}}"#),
    );
    assert_eq!(long.status, 413);
    assert!(long.content.contains("8 MiB"), "{}", long.content);
    assert_eq!(post("switch", own, off).status, 200);
    assert!(config().contains("enabled = false"));
    let on = r#"{"server":"fix","enabled":true}"#;
    assert_eq!(post("switch", own, on).status, 200);
    assert_eq!(config(), before);
}

/// A browser has six connections for all tabs: calls that are held must leave some for the answers to approvals.
#[test]
fn calls_leave_connections_for_the_answers_that_they_wait_for() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let page = Page::serve(&env);
    let head = "POST /api/call HTTP/1.1\nHost: HOST\nContent-Type: application/json\n\
        Authorization: Bearer TOKEN\nOrigin: ORIGIN";
    let barrier = r#"{"path":"fix.barrier","arguments":"{\"name\":\"go\",\"parties\":4}"}"#;
    let mut held: Vec<_> = (0..3).map(|_| request(&page, head, barrier)).collect();
    while env.mux(["--json", "servers"]).ok().json()[0]["in_flight"] != 3 {}
    let refused = send(&page, head, barrier);
    assert_eq!(refused.status, 503, "{}", refused.content);
    assert!(refused.content.contains("3 calls and restarts"));
    env.mux(["call", "fix.barrier", "name=go", "parties=4"])
        .ok();
    for held in &mut held {
        let mut text = String::new();
        held.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
    assert_eq!(send(&page, head, r#"{"path":"fix.pid"}"#).status, 200);
}

/// The browser gets another URL than the user.
#[test]
fn browser_is_started_with_a_code_that_is_valid_once() {
    let env = TestEnv::new();
    let opener = env.path("opener");
    let output = env.path("opened");
    mkfifo(&output, Mode::S_IRWXU).unwrap();
    let script = format!("#!/bin/sh\necho \"$1\" > {}\n", output.display());
    fs::write(&opener, script).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let mut running = env.begin(["ui", "--browser", opener.to_str().unwrap()]);
    let url = running.next_line_of_output().trim().to_owned();
    let page = Page { running, url };
    let opened = fs::read_to_string(&output).unwrap();
    let (origin, code) = opened.trim().split_once("/#code=").unwrap();
    assert_eq!(origin, page.origin());
    assert!(!opened.contains(page.token()));
    let enter =
        "POST /api/enter HTTP/1.1\nHost: HOST\nOrigin: ORIGIN\nContent-Type: application/json";
    let said = format!(r#"{{"code":"{code}"}}"#);
    assert_eq!(send(&page, enter, r#"{"code":"wrong"}"#).status, 401);
    let entered = send(&page, enter, &said);
    let entered: Value = serde_json::from_str(&entered.content).unwrap();
    assert_eq!(entered["token"], page.token());
    assert_eq!(send(&page, enter, &said).status, 401);
}

#[test]
fn each_start_has_another_token_and_no_token_is_logged() {
    let env = TestEnv::new();
    let one = Page::serve(&env);
    let other = Page::serve(&env);
    assert_ne!(one.token(), other.token());
    assert_eq!(one.token().len(), 43);
    let log = env.log();
    assert!(!log.contains(one.token()) && !log.contains(other.token()));
}

#[test]
fn port_in_use_is_an_error_and_a_free_port_is_used() {
    let env = TestEnv::new();
    let page = Page::serve(&env);
    let port = page.origin().rsplit_once(':').unwrap().1.to_owned();
    env.mux(["ui", "--no-open", "--port", &port])
        .fails(3, &["cannot listen on port", &port, "--port"]);
    drop(page);
    let again = Page::serve_with(&env, &["--port", &port]);
    assert!(again.origin().ends_with(&port));
}

#[test]
fn signal_ends_mux_ui_at_once_even_with_an_open_stream() {
    let env = TestEnv::new();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let page = Page::serve(&env);
        let mut stream = EventStream::open(&page, "");
        stream.until(|message| message["link"]["up"] == true);
        page.running.signal(signal);
        assert!(stream.ends());
        page.running.wait().ok();
    }
    // The daemon stays.
    assert!(env.daemon().is_some());
}

#[test]
fn json_output_has_the_url_and_the_port() {
    let env = TestEnv::new();
    let mut running = env.begin(["--json", "ui", "--no-open"]);
    let mut text = String::new();
    let output: Value = loop {
        text.push_str(&running.next_line_of_output());
        if let Ok(output) = serde_json::from_str(&text) {
            break output;
        }
    };
    let url = output["url"].as_str().unwrap();
    assert!(url.starts_with(&format!("http://127.0.0.1:{}/#token=", output["port"])));
    running.signal(Signal::SIGTERM);
    running.wait().ok();
}

/// The lines of a response, up to its end.
pub(super) fn lines(socket: BufReader<TcpStream>) -> impl Iterator<Item = String> {
    socket.lines().map_while(Result::ok)
}
