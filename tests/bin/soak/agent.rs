//! An agent: its own `mux mcp`, which reads and writes JSON-RPC lines.

use std::{process::Stdio, time::Duration};

use anyhow::{Context, bail};
use mux_tests::TestEnv;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// How long one answer may take. Only a hang is longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);
/// How long `mux mcp` may take to end after its input has.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct McpAgent {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    next: u64,
}

impl McpAgent {
    pub(crate) async fn start(env: &TestEnv, name: &str) -> anyhow::Result<Self> {
        let mut command = env.command("mux");
        command
            .args(["mcp", "--structured", "--agent", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = Command::from(command).kill_on_drop(true).spawn()?;
        let input = child.stdin.take().context("no input")?;
        let output = child.stdout.take().context("no output")?;
        let mut agent = Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            next: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": name, "version": "0" },
        });
        agent.ask("initialize", hello).await?;
        agent
            .send(json!({ "method": "notifications/initialized" }))
            .await?;
        Ok(agent)
    }

    /// Calls a tool: its result, or the text of its error.
    pub(crate) async fn call(
        &mut self,
        tool: &str,
        arguments: Value,
    ) -> anyhow::Result<Result<Value, String>> {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut result = self.ask("tools/call", params).await?;
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            return Ok(Err(text.to_owned()));
        }
        Ok(Ok(result["structuredContent"].take()))
    }

    /// Closes its input, and waits for its end.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        let status = timeout(EXIT_TIMEOUT, child.wait()).await;
        let status = status.context("mux mcp does not end with its input")??;
        if !status.success() {
            bail!("mux mcp ended with {status}");
        }
        Ok(())
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.next += 1;
        let id = self.next;
        self.send(json!({ "id": id, "method": method, "params": params }))
            .await?;
        let answer = timeout(ANSWER_TIMEOUT, self.answer(id)).await;
        let mut answer = answer.with_context(|| format!("{method} hangs"))??;
        if answer.get("error").is_some() {
            bail!("{method}: {}", answer["error"]);
        }
        Ok(answer["result"].take())
    }

    async fn answer(&mut self, id: u64) -> anyhow::Result<Value> {
        loop {
            let line = self
                .output
                .next_line()
                .await?
                .context("mux mcp has ended")?;
            let message: Value = serde_json::from_str(&line)?;
            // Notifications may come in between.
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    async fn send(&mut self, mut message: Value) -> anyhow::Result<()> {
        message["jsonrpc"] = "2.0".into();
        self.input
            .write_all(format!("{message}\n").as_bytes())
            .await?;
        Ok(())
    }
}
