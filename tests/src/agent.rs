//! An agent that talks to `mux mcp` in plain JSON-RPC lines, in either era of MCP.
//!
//! Invariant: every line on the server's standard output is JSON-RPC. Any other line fails the test.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{TestEnv, process, program_result};

/// How long to wait for a message or for the end of the server before the test fails.
const HANG: Duration = Duration::from_secs(90);
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    inbox: Receiver<Value>,
    next: u64,
    /// The `_meta` of each request, in the modern era.
    meta: Option<Value>,
    /// Received requests and notifications that were not taken yet.
    pub heard: Vec<Value>,
    /// Received responses that were not taken yet.
    answers: Vec<Value>,
}

impl Agent {
    /// Starts an agent of the legacy era, which sends `initialize` with these capabilities.
    pub fn legacy(env: &TestEnv, args: &[&str], capabilities: Value) -> Self {
        let mut agent = Self::start(env.command("mux").arg("mcp").args(args));
        agent.initialize(capabilities);
        agent
    }

    /// Starts a session of the legacy era.
    pub fn initialize(&mut self, capabilities: Value) -> Value {
        let result = self.ask(
            "initialize",
            json!({
                "protocolVersion": LEGACY,
                "capabilities": capabilities,
                "clientInfo": { "name": "test-agent", "version": "1.0" },
            }),
        );
        self.notify("notifications/initialized", json!({}));
        result
    }

    /// Starts an agent of the modern era, which sends its client info and capabilities with every request.
    pub fn modern(env: &TestEnv, args: &[&str], capabilities: Value) -> Self {
        let mut agent = Self::start(env.command("mux").arg("mcp").args(args));
        agent.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": { "name": "test-agent", "version": "1.0" },
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        agent
    }

    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, inbox) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                let line = line.unwrap_or_default();
                let message = serde_json::from_str(&line)
                    .unwrap_or_else(|error| json!({ "rubbish": line, "error": error.to_string() }));
                // The test may be over.
                drop(sender.send(message));
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            inbox,
            next: 0,
            meta: None,
            heard: Vec::new(),
            answers: Vec::new(),
        }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Sends a request and returns its result.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.result(id)
    }

    /// Sends a request, which must fail, and returns its error.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_some(), "{answer}");
        answer["error"].take()
    }

    /// Calls a tool and returns its result.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// Runs a program, which must succeed, and returns its result.
    #[track_caller]
    pub fn run(&mut self, code: &str) -> Value {
        let result = self.call("run", json!({ "code": code }));
        assert_eq!(result["isError"], false, "{result}");
        program_result::value(&result)
    }

    /// The names of the tools that the server offers.
    #[track_caller]
    pub fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Sends a request without waiting, and returns its id.
    pub fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        if let Some(meta) = &self.meta {
            let mut meta = meta.clone();
            for (key, value) in params["_meta"].as_object().into_iter().flatten() {
                meta[key] = value.clone();
            }
            params["_meta"] = meta;
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Answers a request of the server.
    pub fn reply(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    #[track_caller]
    pub fn result(&mut self, id: u64) -> Value {
        let mut answer = self.answer(id);
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].take()
    }

    /// Waits for the whole response to a request.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(place) = self.answers.iter().position(is_it) {
            return self.answers.swap_remove(place);
        }
        loop {
            let message = self.receive();
            if is_it(&message) {
                return message;
            }
            self.keep(message);
        }
    }

    /// Waits for the next request or notification of this method that was not taken yet.
    #[track_caller]
    pub fn wait_for(&mut self, method: &str) -> Value {
        loop {
            let heard = self.heard.iter().position(|m| m["method"] == method);
            if let Some(place) = heard {
                return self.heard.remove(place);
            }
            let message = self.receive();
            self.keep(message);
        }
    }

    /// Returns whether a request has been answered by now. Received messages are kept.
    pub fn has_answer(&mut self, id: u64) -> bool {
        while let Ok(message) = self.inbox.try_recv() {
            self.keep(message);
        }
        self.answers.iter().any(|message| message["id"] == id)
    }

    /// Sends a raw line, which may be invalid.
    pub fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    /// Closes the server's input, waits for the server to exit, and returns its exit code.
    #[track_caller]
    pub fn close(mut self) -> i32 {
        drop(self.stdin.take());
        assert!(
            process::wait_for_end(self.pid(), HANG),
            "it stays though its input has ended"
        );
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    fn send(&mut self, message: &Value) {
        self.say(&message.to_string());
    }

    fn keep(&mut self, message: Value) {
        match message.get("method") {
            Some(_) => self.heard.push(message),
            None => self.answers.push(message),
        }
    }

    #[track_caller]
    fn receive(&mut self) -> Value {
        match self.inbox.recv_timeout(HANG) {
            Ok(message) => {
                assert_eq!(message["jsonrpc"], "2.0", "not the protocol: {message}");
                message
            }
            Err(RecvTimeoutError::Timeout) => panic!("mux mcp says nothing: {:?}", self.heard),
            Err(RecvTimeoutError::Disconnected) => panic!("mux mcp has gone: {:?}", self.heard),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // The process may have exited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
