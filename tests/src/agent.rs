//! An agent that talks to `mux mcp` in plain JSON-RPC lines, in either era of the protocol.
//!
//! Invariant: every line on the server's standard output is JSON-RPC. An agent that hears anything else
//! fails its test.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{TestEnv, process};

/// Whoever does not answer by then never will.
const HANG: Duration = Duration::from_secs(90);
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    inbox: Receiver<Value>,
    next: u64,
    /// Travels with each request, in the second era.
    meta: Option<Value>,
    /// What came meanwhile and was no answer.
    pub heard: Vec<Value>,
    /// Answers that came before somebody waited for them.
    answers: Vec<Value>,
}

impl Agent {
    /// Of the first era: it shakes hands, and can do what `capabilities` says.
    pub fn legacy(env: &TestEnv, args: &[&str], capabilities: Value) -> Self {
        let mut agent = Self::start(env.command("mux").arg("mcp").args(args));
        agent.ask(
            "initialize",
            json!({
                "protocolVersion": LEGACY,
                "capabilities": capabilities,
                "clientInfo": { "name": "test-agent", "version": "1.0" },
            }),
        );
        agent.notify("notifications/initialized", json!({}));
        agent
    }

    /// Of the second era: every request says who asks and what it can do.
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
                // A test that is over hears nothing more.
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

    /// The result of a request.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.result(id)
    }

    /// The error of a request, which must fail.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_some(), "{answer}");
        answer["error"].take()
    }

    /// The result of a tool.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// What a program returned, which must succeed.
    #[track_caller]
    pub fn run(&mut self, code: &str) -> Value {
        let mut result = self.call("run", json!({ "code": code }));
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"]["result"].take()
    }

    /// The names that it is offered.
    #[track_caller]
    pub fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Sends a request and does not wait.
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

    /// The whole answer to a request.
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

    /// The first request or notification of this method that was not taken yet.
    #[track_caller]
    pub fn hear(&mut self, method: &str) -> Value {
        loop {
            let heard = self.heard.iter().position(|m| m["method"] == method);
            if let Some(place) = heard {
                return self.heard.remove(place);
            }
            let message = self.receive();
            self.keep(message);
        }
    }

    /// Whether a request has been answered by now; what came is kept.
    pub fn has_answer(&mut self, id: u64) -> bool {
        while let Ok(message) = self.inbox.try_recv() {
            self.keep(message);
        }
        self.answers.iter().any(|message| message["id"] == id)
    }

    /// Something that no client should send.
    pub fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    /// Closes its end, and waits for the server to leave.
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
        // It may have gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
