//! The client's side of one fixture server: it writes requests and reads lines.
//!
//! Invariant: it keeps no answers in stock. A line is read when a test asks for it, so that the
//! order in which the server wrote is what the test sees.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The test's end of one fixture server, which is killed with it.
pub(crate) struct Peer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
}

impl Peer {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self {
            child,
            stdin,
            stdout,
            next_id: 0,
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").expect("the server reads");
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.post(method, params);
        let reply = self.line();
        assert_eq!(reply["id"], id);
        reply
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// Sends a call without waiting for its answer, and returns its id.
    pub(crate) fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.post(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    fn post(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(crate) fn tool_names(&mut self) -> Vec<String> {
        let list = self.request("tools/list", json!({}))["result"]["tools"].take();
        let tools = list.as_array().expect("a list of tools");
        tools
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect()
    }

    pub(crate) fn line(&mut self) -> Value {
        let line = self.raw_line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn raw_line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line of UTF-8");
        line
    }

    /// What the server still writes until its stdout ends.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.stdout
            .read_to_string(&mut rest)
            .expect("stdout is UTF-8");
        rest
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().expect("the server ends").code()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mux-fixture-server"));
    command.args(args);
    command
}
