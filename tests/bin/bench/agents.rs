//! The cost of `mux mcp` for an agent: its start, a call, a program. The baseline is the server alone,
//! used in the same way.

use std::{process::Command, time::Instant};

use mux_tests::{Agent, TestEnv, env::binary, process};
use serde_json::{Value, json};

use super::{
    commands::start_with_snapshot,
    figures::{Samples, fact, millis, row},
    library_relay, relay,
};

/// Concurrent agents, for the memory that each takes.
const CROWD: usize = 20;

pub(crate) fn measure(rounds: usize) -> anyhow::Result<()> {
    let env = TestEnv::with_fixtures(&[("fix", &[])]).with_default_log();
    start_with_snapshot(&env)?;

    let mut starts = Samples::default();
    let mut agents = Vec::new();
    for _ in 0..CROWD {
        let began = Instant::now();
        let mut agent = Agent::legacy(&env, &[], json!({}));
        agent.tools();
        starts.push(began.elapsed());
        agents.push(agent);
    }
    row("start, handshake, list of tools (daemon warm)", &starts);
    let rss: Vec<u64> = agents
        .iter()
        .map(|agent| process::resident_bytes(agent.pid()))
        .collect();
    let mean = rss.iter().sum::<u64>() / rss.len() as u64;
    fact("memory of one `mux mcp`", &format!("{} KiB", mean >> 10));
    let Some(mut agent) = agents.pop() else {
        return Ok(());
    };
    drop(agents);

    let server_program = binary("mux-fixture-server");
    let mut server = Agent::start(&mut Command::new(&server_program));
    server.initialize(json!({}));
    let text = json!({ "text": "hello" });
    let alone = timed(rounds, &mut server, "echo", &text);
    row("tools/call of the server alone", &alone);
    let folder = tempfile::tempdir_in("/tmp")?;
    let socket = folder.path().join("relay.sock");
    let mut copied = Agent::start(&mut relay::command(
        relay::ARGUMENT,
        &socket,
        &server_program,
    )?);
    copied.initialize(json!({}));
    row(
        "the same through two processes that copy bytes",
        &timed(rounds, &mut copied, "echo", &text),
    );
    let socket = folder.path().join("library-relay.sock");
    let mut forwarded = Agent::start(&mut relay::command(
        library_relay::ARGUMENT,
        &socket,
        &server_program,
    )?);
    forwarded.initialize(json!({}));
    row(
        "the same through two processes with only rmcp and tarpc",
        &timed(rounds, &mut forwarded, "echo", &text),
    );
    let path = json!({ "path": "fix.echo", "arguments": text });
    let through = timed(rounds, &mut agent, "call", &path);
    row("the same through `call`", &through);
    let over = millis(through.median()) - millis(alone.median());
    fact("overhead at p50", &format!("{over:.3} ms"));
    let mut passed = Agent::legacy(&env, &["--passthrough=fix"], json!({}));
    row(
        "the same in pass-through",
        &timed(rounds, &mut passed, "echo", &text),
    );
    let code = json!({ "code": "return await mux.fix.echo({ text: 'hello' })" });
    row("as a program", &timed(rounds, &mut agent, "run", &code));
    let query = json!({ "query": "add numbers" });
    row("search", &timed(rounds, &mut agent, "search", &query));
    Ok(())
}

fn timed(rounds: usize, agent: &mut Agent, tool: &str, arguments: &Value) -> Samples {
    let mut samples = Samples::default();
    for _ in 0..10 {
        agent.call(tool, arguments.clone());
    }
    for _ in 0..rounds {
        samples.time(|| agent.call(tool, arguments.clone()));
    }
    samples
}
