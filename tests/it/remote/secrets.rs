//! Proxies, and that no secret of an address, a header or a proxy is ever shown.

use std::fs;

use mux_tests::{TestEnv, proxy::Proxy};

use super::{Remote, info};

fn with_env(env: &TestEnv, lines: &str) {
    env.dirs.prepare().unwrap();
    fs::write(env.dirs.env_file(), lines).unwrap();
}

#[test]
fn a_proxy_of_the_captured_environment_is_used_and_its_exceptions_are_kept() {
    for (extra, used) in [("", true), ("no_proxy=127.0.0.1\n", false)] {
        let env = TestEnv::new();
        let remote = Remote::start(&env, "fix", &[]);
        let proxy = Proxy::start(None);
        let port = proxy.port;
        with_env(
            &env,
            &format!("HTTP_PROXY=http://me:pr0xy-secret@127.0.0.1:{port}\n{extra}"),
        );
        env.write_config(&remote.entry("fix"));
        assert_eq!(
            env.result("return await mux.fix.echo({ text: 'hi' })"),
            "hi"
        );
        let heads = proxy.heads();
        assert_eq!(!heads.is_empty(), used, "{heads:?}");
        // `me:pr0xy-secret`
        let told = |head: &String| {
            head.to_ascii_lowercase()
                .contains("proxy-authorization: basic")
        };
        assert!(heads.iter().all(told), "{heads:?}");
    }
}

#[test]
fn the_environment_of_whoever_started_the_daemon_names_no_proxy() {
    let env = TestEnv::new();
    let remote = Remote::start(&env, "fix", &[]);
    env.write_config(&remote.entry("fix"));
    let proxy = Proxy::start(None);
    let address = format!("http://127.0.0.1:{}", proxy.port);
    let mut command = env.command("mux");
    command.args(["call", "fix.echo", "text=x"]);
    // What a shell hands on by itself is its user's, and so this is of no login shell.
    command
        .env("HTTP_PROXY", &address)
        .env("SHELL", "/bin/false");
    assert_eq!(mux_tests::env::output(&mut command).code, 0);
    assert!(proxy.heads().is_empty());
}

#[test]
fn no_secret_of_an_address_a_header_or_a_proxy_is_shown_or_logged() {
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
            said.push_str(&format!("{:?}", env.mux(command)));
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
