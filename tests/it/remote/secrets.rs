//! Proxies; and that no secret in a URL, a header or a proxy setting is ever shown.

use std::fs;

use mux_tests::{TestEnv, proxy::Proxy};

use super::{Remote, info};

fn with_env(env: &TestEnv, lines: &str) {
    env.dirs.prepare().unwrap();
    fs::write(env.dirs.env_file(), lines).unwrap();
}

#[test]
fn proxy_and_its_exceptions_come_from_the_captured_environment() {
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
        // The credentials of the proxy are sent: `me:pr0xy-secret`.
        let output = |head: &String| {
            head.to_ascii_lowercase()
                .contains("proxy-authorization: basic")
        };
        assert!(heads.iter().all(output), "{heads:?}");
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
