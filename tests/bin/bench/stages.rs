//! Where the time of a call and of a run goes: processor time and changes of threads of each process on its way.
//!
//! Other work on the machine makes a call slower, but hardly changes these.

use std::collections::BTreeMap;

use mux_tests::{Agent, TestEnv};
use serde_json::json;

use super::{
    commands::start_with_snapshot,
    figures::fact,
    processes::{self, ProcessSample, WorkDone},
};

/// Calls of one program.
const CALLS_PER_RUN: usize = 500;

/// A measured operation: its name, how many operations one request has, and the request.
struct MeasuredOperation<'a> {
    name: &'a str,
    operations: usize,
    request: Box<dyn FnMut(&mut MeasuredAgents) + 'a>,
}

struct MeasuredAgents {
    programs: Agent,
    passthrough: Agent,
}

pub(crate) fn measure(rounds: usize) -> anyhow::Result<()> {
    let env = TestEnv::with_fixtures(&[("fix", &[])]).with_default_log();
    start_with_snapshot(&env)?;
    let mut agents = MeasuredAgents {
        programs: Agent::legacy(&env, &[], json!({})),
        passthrough: Agent::legacy(&env, &["--passthrough=fix"], json!({})),
    };
    for mut stage in stages() {
        let requests = (rounds / stage.operations).max(3);
        for _ in 0..requests.min(20) {
            (stage.request)(&mut agents);
        }
        let roots = [
            env.daemon().unwrap_or_default(),
            agents.programs.pid(),
            agents.passthrough.pid(),
        ];
        let before = roots.map(ProcessSample::at);
        for _ in 0..requests {
            (stage.request)(&mut agents);
        }
        let after = roots.map(ProcessSample::at);
        let mut by_program = BTreeMap::<String, WorkDone>::new();
        for (before, after) in before.iter().zip(&after) {
            for pid in after.pids() {
                let done = after.done_since(before, pid);
                let sum = by_program.entry(processes::name(pid)).or_default();
                sum.nanos += done.nanos;
                sum.sleeps += done.sleeps;
            }
        }
        let operations = (requests * stage.operations) as f64;
        let shares: Vec<String> = by_program
            .into_iter()
            .map(|(program, done)| {
                let micros = done.nanos as f64 / 1e3 / operations;
                let sleeps = done.sleeps as f64 / operations;
                format!("{program} {micros:.0} µs, {sleeps:.1} sleeps")
            })
            .collect();
        fact(stage.name, &shares.join("; "));
    }
    Ok(())
}

fn stages() -> Vec<MeasuredOperation<'static>> {
    let mut program = 0;
    let mut unseen = move |check: bool| {
        program += 1;
        json!({ "check": check, "code": format!(
            "const n = {program}; const a = await mux.fix.add({{ a: 1, b: n }});\n\
             const b = await mux.fix.add({{ a: a.sum, b: 2 }});\n\
             return await mux.fix.echo({{ text: String(b.sum) }})",
        ) })
    };
    let echo = json!({ "text": "hello" });
    let path = json!({ "path": "fix.echo", "args": echo.clone() });
    let many = json!({ "code": format!(
        "for (let i = 0; i < {CALLS_PER_RUN}; i++) await mux.fix.echo({{ text: 'hello' }}); return 1",
    ) });
    let stage = |name, operations, request| MeasuredOperation {
        name,
        operations,
        request,
    };
    vec![
        stage(
            "one call, through the tool `call`",
            1,
            Box::new(move |agents: &mut MeasuredAgents| {
                drop(agents.programs.call("call", path.clone()));
            }),
        ),
        stage(
            "one call, in pass-through",
            1,
            Box::new(move |agents: &mut MeasuredAgents| {
                drop(agents.passthrough.call("echo", echo.clone()));
            }),
        ),
        stage(
            "one call inside a run",
            CALLS_PER_RUN,
            Box::new(move |agents: &mut MeasuredAgents| {
                drop(agents.programs.call("run", many.clone()));
            }),
        ),
        stage(
            "a run, `return 1`",
            1,
            Box::new(|agents: &mut MeasuredAgents| {
                drop(agents.programs.call("run", json!({ "code": "return 1" })));
            }),
        ),
        stage(
            "a program of three calls, never seen, unchecked",
            1,
            Box::new(move |agents: &mut MeasuredAgents| {
                drop(agents.programs.call("run", unseen(false)));
            }),
        ),
    ]
}
