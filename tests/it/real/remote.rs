//! Real servers over HTTP: the reference server and a server on the Python SDK, each in all its modes.

use std::{net::TcpListener, path::Path};

use mux_tests::{
    Running, TestEnv,
    env::{npm, pypi},
};
use serde_json::json;

use super::server_info;

/// A port that was free a moment ago: these servers do not report the port that they bind.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Starts the reference server in this mode and waits until it serves. Returns it and its base URL.
fn everything(env: &TestEnv, mode: &str) -> (Running, String) {
    let port = free_port();
    let mut command = env.command("mux");
    command = {
        let mut real = std::process::Command::new(npm("mcp-server-everything"));
        real.env_clear();
        real.envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        real.arg(mode).env("PORT", port.to_string());
        real
    };
    let mut running = Running::start(&mut command);
    running.wait_for(&format!("port {port}"));
    (running, format!("http://127.0.0.1:{port}"))
}

#[test]
fn real_everything_answers_over_streamable_http_and_sse_like_over_stdio() {
    for (mode, path, transport) in [
        ("streamableHttp", "/mcp", "streamable-http"),
        ("sse", "/sse", "sse"),
    ] {
        let env = TestEnv::new();
        let (_running, host) = everything(&env, mode);
        let remote = format!("[servers.far]\nurl = \"{host}{path}\"\n");
        env.write_config(&format!("{remote}{}", super::everything()));
        let both = env.result(
            "const ask = async (s) => [
                 await s.echo({ message: 'hello' }),
                 await s.get_sum({ a: 2, b: 3 }),
                 await s.get_structured_content({ location: 'New York' }),
                 await s.trigger_long_running_operation({ duration: 1, steps: 4 }),
                 await s.echo({}).catch((error) => error.kind),
             ];
             return await Promise.all([ask(mux.far), ask(mux.everything)])",
        );
        assert_eq!(both[0], both[1], "{mode}");
        assert_eq!(both[0][0], "Echo: hello");
        assert_eq!(server_info(&env, "far")["transport"], transport);
        assert_eq!(server_info(&env, "everything")["transport"], "stdio");
        let resources = env.result("return (await mux.resources.far.list()).length");
        assert!(resources.as_u64() > Some(0), "{mode}: {resources}");
        env.mux(["servers", "restart", "far"]).ok();
        assert_eq!(
            env.result("return await mux.far.echo({ message: 'x' })"),
            "Echo: x"
        );
    }
}

#[test]
fn real_python_server_answers_in_every_http_mode_of_its_sdk() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/remote.py");
    for (mode, flag, path) in [
        ("streamable-http", "", "/mcp"),
        ("streamable-http", "json", "/mcp"),
        ("streamable-http", "stateless", "/mcp"),
        ("sse", "", "/sse"),
    ] {
        let env = TestEnv::new();
        let port = free_port();
        let mut command = std::process::Command::new(pypi("python3"));
        command.arg(&program).args([mode, &port.to_string(), flag]);
        let mut running = Running::start(&mut command);
        running.wait_for("Uvicorn running");
        env.write_config(&format!(
            "[servers.py]\nurl = \"http://127.0.0.1:{port}{path}\"\n"
        ));
        let said = env.result(
            "const all = await Promise.all(['a', 'b', 'c'].map((text) => mux.py.shout({ text })));
             const value = (found) => found.result ?? found;
             return [...all, await mux.py.count({ to: 3 })].map(value)",
        );
        assert_eq!(said, json!(["A", "B", "C", 3]), "{mode} {flag}");
    }
}
