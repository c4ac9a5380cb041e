//! The memory of several clients with ten servers each: every client with its own processes, as agents
//! start them, and all of them at one muxd.
//!
//! Figures are proportional set sizes: a page that several processes share is counted once in all.

use std::{collections::BTreeMap, fs, time::Instant};

use anyhow::Context;
use futures::future::try_join_all;
use mux_tests::{Agent, TestEnv, env::server, process};
use serde_json::json;

use super::{
    bare::Bare,
    figures::{fact, millis},
    real,
};

/// Of the six real ones, some twice.
const SERVERS: usize = 10;

pub(crate) async fn measure(clients: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir_in("/tmp")?;
    let servers: Vec<real::Real> = real::all(folder.path());
    let ten = || servers.iter().cycle().take(SERVERS);

    let began = Instant::now();
    let mut own = Vec::new();
    for _ in 0..clients {
        own.extend(
            try_join_all(ten().map(|server| Bare::connect(&server.program, &server.args))).await?,
        );
    }
    let took = began.elapsed();
    let me = i32::try_from(std::process::id())?;
    let alone = pss_below(me);
    fact(
        &format!("{clients} clients, {SERVERS} servers each, nothing shared: PSS"),
        &format!(
            "{} MiB in {} processes, up after {:.0} ms",
            alone.0 >> 20,
            alone.1,
            millis(took)
        ),
    );
    for session in own {
        session.close().await?;
    }

    let env = TestEnv::new().with_default_log();
    let mut config = String::new();
    for (n, entry) in ten().enumerate() {
        let args: Vec<&str> = entry.args.iter().map(String::as_str).collect();
        config += &server(&format!("{}{n}", entry.name), &entry.program, &args);
    }
    env.write_config(&config);
    let began = Instant::now();
    let mut agents = Vec::new();
    for _ in 0..clients {
        let mut agent = Agent::legacy(&env, &[], json!({}));
        for (n, entry) in ten().enumerate() {
            let path = format!("{}{n}.{}", entry.name, entry.tool);
            agent.call(
                "call",
                json!({ "path": path, "arguments": entry.arguments }),
            );
        }
        agents.push(agent);
    }
    let took = began.elapsed();
    let daemon = env.daemon().context("no daemon")?;
    let (bytes, count) = pss_below(daemon);
    let faces: u64 = agents.iter().map(|agent| pss(agent.pid())).sum();
    let shared = bytes + pss(daemon) + faces;
    fact(
        "the same at one muxd, with every `mux mcp`: PSS",
        &format!(
            "{} MiB in {} processes, up after {:.0} ms",
            shared >> 20,
            count + 1 + agents.len(),
            millis(took)
        ),
    );
    fact("ratio", &format!("{:.1}", alone.0 as f64 / shared as f64));
    for (name, bytes) in by_name(daemon) {
        fact(
            &format!("  of these: {name}"),
            &format!("{} MiB", bytes >> 20),
        );
    }
    Ok(())
}

/// Bytes and processes.
fn pss_below(pid: i32) -> (u64, usize) {
    let below = process::descendants(pid);
    (below.iter().map(|pid| pss(*pid)).sum(), below.len())
}

/// The daemon's tree, by the names of the programs.
fn by_name(daemon: i32) -> BTreeMap<String, u64> {
    let mut names = BTreeMap::new();
    for pid in std::iter::once(daemon).chain(process::descendants(daemon)) {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        *names.entry(name.trim().to_owned()).or_default() += pss(pid);
    }
    names
}

/// In bytes. 0 for a process that has just ended.
fn pss(pid: i32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find(|line| line.starts_with("Pss:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
