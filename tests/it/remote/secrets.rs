//! Proxies; and that no secret in a URL, a header or a proxy setting is ever shown.

use std::{fmt::Write as _, fs};

use mux_tests::{TestEnv, proxy::Proxy};

use super::{Remote, info};

fn with_env(env: &TestEnv, lines: &str) {
    env.dirs.prepare().unwrap();
    fs::write(env.dirs.env_file(), lines).unwrap();
}

/// A host that only the proxy reaches.
const HOST: &str = "mcp.invalid";

/// The entry `fix` of the server, at another host with the same port.
fn entry_at(host: &str, remote: &Remote) -> String {
    format!(
        "[servers.fix]\nurl = {:?}\n",
        remote.url.replace("127.0.0.1", host)
    )
}

#[test]
fn proxy_comes_from_the_captured_environment() {
    let env = TestEnv::new();
    let remote = Remote::start(&env, "fix", &[]);
    let proxy = Proxy::routed(|host| host.replace(HOST, "127.0.0.1"));
    let port = proxy.port;
    with_env(
        &env,
        &format!("HTTP_PROXY=http://me:pr0xy-secret@127.0.0.1:{port}\n"),
    );
    env.write_config(&entry_at(HOST, &remote));
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'hi' })"),
        "hi"
    );
    let heads = proxy.heads();
    // The credentials of the proxy are sent: `me:pr0xy-secret`.
    let has_credentials = |head: &String| {
        head.to_ascii_lowercase()
            .contains("proxy-authorization: basic")
    };
    assert!(
        !heads.is_empty() && heads.iter().all(has_credentials),
        "{heads:?}"
    );
}

#[test]
fn this_machine_and_exceptions_are_reached_without_the_proxy() {
    for (variables, host) in [
        ("", "127.0.0.1"),
        ("", "localhost"),
        ("no_proxy=*\n", "127.0.0.1"),
    ] {
        let env = TestEnv::new();
        let remote = Remote::start(&env, "fix", &[]);
        let proxy = Proxy::start(None);
        let port = proxy.port;
        with_env(
            &env,
            &format!(
                "HTTP_PROXY=http://127.0.0.1:{port}\nALL_PROXY=http://127.0.0.1:{port}\n{variables}"
            ),
        );
        env.write_config(&entry_at(host, &remote));
        assert_eq!(
            env.result("return await mux.fix.echo({ text: 'hi' })"),
            "hi"
        );
        assert_eq!(proxy.heads(), Vec::<String>::new(), "{host} {variables}");
    }
}

#[test]
fn error_of_a_proxy_names_the_proxy() {
    let answer = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n";
    let answering = format!(
        "http://me:pr0xy-secret@127.0.0.1:{}",
        Proxy::start(Some(answer)).port
    );
    for (proxy, url) in [
        (
            "http://me:pr0xy-secret@127.0.0.1:1",
            "http://mcp.invalid/mcp",
        ),
        (
            "http://me:pr0xy-secret@127.0.0.1:1",
            "https://mcp.invalid/mcp",
        ),
        (&answering, "http://mcp.invalid/mcp"),
    ] {
        let env = TestEnv::new();
        with_env(&env, &format!("all_proxy={proxy}\n"));
        env.write_config(&format!("[servers.fix]\nurl = {url:?}\n"));
        let failed = env.mux(["call", "fix.echo", "text=x"]);
        let shown = proxy.replace("me:pr0xy-secret@", "");
        assert!(
            failed
                .stderr
                .contains(&format!("through the proxy {shown}/ (all_proxy)")),
            "{failed:?}"
        );
        assert!(!failed.stderr.contains("pr0xy-secret"), "{failed:?}");
    }
}

#[test]
fn proxy_in_the_environment_of_the_starting_client_is_ignored() {
    let env = TestEnv::new();
    let remote = Remote::start(&env, "fix", &[]);
    env.write_config(&remote.entry("fix"));
    let proxy = Proxy::start(None);
    let address = format!("http://127.0.0.1:{}", proxy.port);
    let mut command = env.command("mux");
    command.args(["call", "fix.echo", "text=x"]);
    // `SHELL` is not a login shell: that would add these variables to the captured environment.
    command
        .env("HTTP_PROXY", &address)
        .env("SHELL", "/bin/false");
    assert_eq!(mux_tests::env::output(&mut command).code, 0);
    assert!(proxy.heads().is_empty());
}

#[test]
fn no_secret_in_a_url_a_header_or_a_proxy_is_shown_or_logged() {
    const SECRETS: [&str; 4] = [
        "p4ssw0rd-url",
        "k3y-in-query",
        "t0ken-in-header",
        "pr0xy-secret",
    ];
    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
    let proxy = Proxy::start(Some(refusal));
    for fault in ["status=400", "status=500", "cut", "html", "proxy", "gone"] {
        let env = TestEnv::new();
        let flags = ["--fault", fault, "--on", "initialize"];
        let flags = match fault {
            "proxy" | "gone" => &flags[..0],
            _ => &flags[..],
        };
        let remote = Remote::start(&env, "fix", flags);
        let host = match fault {
            "gone" => "127.0.0.1:1/mcp",
            // The proxy does not connect to it.
            "proxy" => "mcp.invalid/mcp",
            _ => remote.url.trim_start_matches("http://"),
        };
        let port = proxy.port;
        let proxies = match fault {
            "proxy" => format!("HTTP_PROXY=http://me:pr0xy-secret@127.0.0.1:{port}\n"),
            _ => String::new(),
        };
        with_env(&env, &format!("{proxies}TOKEN=t0ken-in-header\n"));
        env.write_config(&format!(
            "[servers.fix]\nurl = \"http://me:p4ssw0rd-url@{host}?key=k3y-in-query\"\n\
             headers = {{ Authorization = \"Bearer ${{TOKEN}}\" }}\n"
        ));
        let mut said = format!("{:?}", env.mux(["call", "fix.echo", "text=x"]));
        assert!(said.contains("unavailable"), "{fault}: {said}");
        said.push_str(&info(&env, "fix").to_string());
        for command in [&["doctor"][..], &["status"], &["servers"]] {
            _ = write!(said, "{:?}", env.mux(command));
        }
        env.stop();
        said.push_str(&env.log());
        let own = fs::read_to_string(env.dirs.server_log("fix")).unwrap_or_default();
        said.push_str(&own);
        for secret in SECRETS {
            assert!(!said.contains(secret), "{fault}: {secret} in {said}");
        }
        assert!(
            said.contains("?key=***"),
            "{fault}: the address is shown: {said}"
        );
    }
}
