//! The first command of a day: no daemon runs, and a tool is called.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::ensure;

use super::{
    commands::Place,
    figures::{Samples, fact, row},
};

/// How often it is done. Each takes a daemon's life.
const ROUNDS: usize = 30;
const CALL: [&str; 3] = ["call", "fix.echo", "text=hello"];
/// The same without muxd: Node starts the server, makes its acquaintance and the call, and ends.
const DIRECT: &str = r#"
const server = require("node:child_process").spawn(process.argv[1], { stdio: ["pipe", "pipe", "ignore"] });
const lines = require("node:readline").createInterface({ input: server.stdout });
const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const info = { name: "node", version: "1" };
lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id === 1) {
    send({ method: "notifications/initialized" });
    send({ id: 2, method: "tools/call", params: { name: "echo", arguments: { text: "hello" } } });
  } else if (message.id === 2) {
    console.log(message.result.content[0].text);
    server.kill();
    process.exit(0);
  }
});
send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: info } });
"#;

pub(crate) fn measure(place: &Place, node: Option<&Path>) -> anyhow::Result<()> {
    let home = place.beside(&format!("[servers.fix]\ncommand = {:?}\n", place.fixture))?;
    let mut started = Samples::default();
    let mut first = Samples::default();
    let mut warm = Samples::default();
    let mut whole = Samples::default();
    let mut direct = Samples::default();
    let node = node.unwrap_or(Path::new("node"));
    // Data that is made only once, such as the workers' snapshot and the server's lists.
    home.mux(&CALL)?;
    for _ in 0..ROUNDS {
        home.mux(&["stop", "--now"])?;
        whole.time(|| home.mux(&CALL))?;
        home.mux(&["stop", "--now"])?;
        started.time(|| home.mux(&["servers"]))?;
        first.time(|| home.mux(&CALL))?;
        warm.time(|| home.mux(&CALL))?;
        let said = direct.time(|| {
            Command::new(node)
                .args(["-e", DIRECT])
                .arg(&place.fixture)
                .stdin(Stdio::null())
                .output()
        })?;
        ensure!(said.stdout == b"hello\n", "node says {said:?}");
    }
    row("mux call, no daemon: to its result", &whole);
    row("  of that: the daemon is started (mux servers)", &started);
    row("  of that: the session is opened (mux call, first)", &first);
    row("  for comparison: the same call, warm", &warm);
    row("baseline: node starts the server and calls it", &direct);
    let ratio = |samples: &Samples| direct.median().as_secs_f64() / samples.median().as_secs_f64();
    fact("ratio node / cold at p50", &format!("{:.2}", ratio(&whole)));
    fact("ratio node / warm at p50", &format!("{:.1}", ratio(&warm)));
    Ok(())
}
