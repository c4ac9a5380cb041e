//! Tries the profiles of installed agents, runs sessions with `mux mcp` in them, and shows the results as a table for
//! the guide (`scripts/agents`).
//!
//! The exit code is 1 if a profile does not fit its program, or if something of `mux mcp` does not reach a model.

#[path = "agents/table.rs"]
mod table;

use std::{process::ExitCode, time::SystemTime};

use clap::Parser;
use mux_tests::{
    editors::source,
    real_agents::{BadServers, MuxSession, Probe, Profile, RealAgent, list_contradiction},
};

use self::table::Row;

/// The guide, and the comments around the table in it.
const GUIDE: &str = "docs/guides/agents.md";
const BEGIN: &str = "<!-- scripts/agents writes from here -->";
const END: &str = "<!-- to here -->";

/// Shows how much popular agents pass on to their models.
#[derive(Parser)]
#[command(name = "mux-agents")]
struct Args {
    /// Only this agent
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Write the table into the guide
    #[arg(long, conflicts_with = "only")]
    write: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for agent in RealAgent::all() {
        if !args.only.is_empty() && !args.only.contains(&agent.name) {
            continue;
        }
        let Some(version) = agent.version() else {
            anyhow::ensure!(!args.write, "{} is not installed", agent.name);
            say(&format!("{} is not installed", agent.name));
            continue;
        };
        say(&format!("{} {version}", agent.name));
        let profile = Profile::named(&agent.name);
        let probe = Probe::of(&agent, &profile);
        let session = MuxSession::of(&agent, &profile);
        let beside_bad = BadServers::of(&agent);
        problems.extend(probe.contradictions(&agent, &profile));
        problems.extend(list_contradiction(&agent, &profile));
        let of_mux = session.problems.iter().chain(&beside_bad.problems);
        problems.extend(of_mux.map(|problem| format!("{}: {problem}", agent.name)));
        rows.push(Row {
            profile,
            version,
            probe,
            session,
            beside_bad,
        });
    }
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let (today, _) = today.split_once('T').unwrap_or((&today, ""));
    let table = table::markdown(&rows, today);
    if args.write {
        write(&table)?;
    } else {
        say(&format!("\n{table}"));
    }
    for problem in &problems {
        say(&format!("FAILED: {problem}"));
    }
    Ok(if problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn write(table: &str) -> anyhow::Result<()> {
    let path = source(GUIDE);
    let text = std::fs::read_to_string(&path)?;
    let parts = text.split_once(BEGIN);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        anyhow::bail!("{GUIDE} has no place for the table: {BEGIN} and {END}");
    };
    std::fs::write(path, format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "its findings are its output")]
fn say(line: &str) {
    println!("{line}");
}
