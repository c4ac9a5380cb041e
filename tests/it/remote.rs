//! Servers behind a URL: streamable HTTP, HTTP+SSE, Unix sockets, and failures of these transports.
//!
//! Invariant: whatever happens to a request, its call takes effect at most once. The caller learns whether it did, or
//! that this is unknown.

mod bounds;
mod faults;
mod origins;
mod secrets;
mod tls;
mod ways;

use std::{fs, path::PathBuf};

use mux_tests::{Running, TestEnv};
use serde_json::Value;

/// A fixture server over HTTP, which ends with the test.
struct Remote {
    _running: Running,
    /// Includes the path. For a Unix socket, the host does not exist.
    url: String,
    requests: PathBuf,
    calls: PathBuf,
}

impl Remote {
    fn start(env: &TestEnv, name: &str, flags: &[&str]) -> Self {
        let requests = env.path(&format!("{name}.requests"));
        let calls = env.path(&format!("{name}.calls"));
        let mut command = env.command("mux-fixture-server");
        command.args(["--http", "--name", name, "--request-log"]);
        command.arg(&requests).arg("--call-log").arg(&calls);
        command.args(flags);
        let mut running = Running::start(&mut command);
        let address = running.next_line_of_output();
        let url = match address.trim().parse::<u16>() {
            Ok(port) => format!("http://127.0.0.1:{port}/mcp"),
            Err(_) => "http://fixture.invalid/mcp".into(),
        };
        Self {
            _running: running,
            url,
            requests,
            calls,
        }
    }

    /// The entry `[servers.NAME]` for this server.
    fn entry(&self, name: &str) -> String {
        format!("[servers.{name}]\nurl = {:?}\n", self.url)
    }

    /// The requests that the server received, in order.
    fn requests(&self) -> Vec<Value> {
        lines(&self.requests)
    }

    /// The number of received requests with this HTTP method and message.
    fn count(&self, method: &str, message: &str) -> usize {
        let requests = self.requests().into_iter();
        let wanted = |r: &Value| r["method"] == method && r["message"] == message;
        requests.filter(wanted).count()
    }

    /// How often a tool was called.
    fn calls(&self, tool: &str) -> usize {
        let calls = lines(&self.calls).into_iter();
        calls.filter(|call| call["tool"] == tool).count()
    }
}

/// A home with one fixture server over HTTP, named `fix`.
fn with_remote(flags: &[&str]) -> (TestEnv, Remote) {
    let env = TestEnv::new();
    let remote = Remote::start(&env, "fix", flags);
    env.write_config(&remote.entry("fix"));
    (env, remote)
}

/// The entry of `mux servers --json` for one server.
fn info(env: &TestEnv, name: &str) -> Value {
    let servers = env.mux(["servers", "--json"]).ok().json();
    let servers = servers.as_array().unwrap();
    let found = servers.iter().find(|server| server["name"] == name);
    found.unwrap().clone()
}

fn lines(file: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A program that appends a line to this file.
fn marking(file: &std::path::Path) -> String {
    format!(
        "return await mux.fix.side_effect({})",
        serde_json::json!({ "file": file, "line": "mark" })
    )
}
