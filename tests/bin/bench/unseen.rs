//! Programs per second that no agent has sent before, of several agents over `mux mcp`.

use std::{
    process::Command,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use mux_tests::{
    Agent, TestEnv,
    env::{binary, compiler, server},
};
use serde_json::{Value, json};

use super::{
    commands::start_with_snapshot,
    figures::{Samples, fact, row},
};

const AGENTS: usize = 8;
/// How long each figure is taken.
const DURATION: Duration = Duration::from_secs(10);

pub(crate) fn measure() -> anyhow::Result<()> {
    let fixture = binary("mux-fixture-server");
    let config = format!(
        "[check]\ntsc = {:?}\n{}",
        compiler(),
        server("fix", &fixture, &[])
    );
    let env = TestEnv::with_config(&config).with_default_log();
    start_with_snapshot(&env)?;

    let alone = crowd(
        || {
            let mut server = Agent::start(&mut Command::new(&fixture));
            server.initialize(json!({}));
            server
        },
        |server, number| {
            let sum = server.call("add", json!({ "a": 1, "b": number }));
            let sum = server.call(
                "add",
                json!({ "a": sum["structuredContent"]["sum"], "b": 2 }),
            );
            let text = sum["structuredContent"]["sum"].to_string();
            server.call("echo", json!({ "text": text }))
        },
    );
    row(
        "three calls, each client with a server of its own",
        &alone.0,
    );
    let baseline = rate(&alone.0, alone.1);
    fact("that often per second", &format!("{baseline:.0}"));
    for (name, check, goal) in [("checked", true, 300), ("unchecked", false, 500)] {
        let programs = crowd(
            || Agent::legacy(&env, &[], json!({})),
            |agent, number| {
                let code = format!(
                    "const n = {number}; const a = await mux.fix.add({{ a: 1, b: n }});\n\
                     const b = await mux.fix.add({{ a: a.sum, b: 2 }});\n\
                     return await mux.fix.echo({{ text: '{name} ' + b.sum }})"
                );
                agent.call("run", json!({ "check": check, "code": code }))
            },
        );
        row(
            &format!("the same as a program never seen, {name}"),
            &programs.0,
        );
        let each = rate(&programs.0, programs.1);
        fact(
            &format!("programs per second, {name} (goal {goal})"),
            &format!(
                "{each:.0}, ratio to the servers alone {:.3}",
                each / baseline
            ),
        );
    }
    Ok(())
}

/// Each agent repeats it, concurrently with the others. Returns each time, and the total duration.
fn crowd(
    connect: impl Fn() -> Agent + Sync,
    work: impl Fn(&mut Agent, usize) -> Value + Sync,
) -> (Samples, Duration) {
    let connect = &connect;
    let work = &work;
    let ready = &Barrier::new(AGENTS);
    let agents: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..AGENTS)
            .map(|agent| {
                scope.spawn(move || {
                    let mut samples = Samples::default();
                    let mut client = connect();
                    ready.wait();
                    let began = Instant::now();
                    for number in (agent..).step_by(AGENTS) {
                        let result = samples.time(|| work(&mut client, number));
                        assert_ne!(result["isError"], true, "{result}");
                        if began.elapsed() > DURATION {
                            break;
                        }
                    }
                    (samples, began.elapsed())
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let mut all = Samples::default();
    let mut took = Duration::ZERO;
    for (samples, time) in agents {
        all.extend(samples);
        took = took.max(time);
    }
    (all, took)
}

fn rate(samples: &Samples, took: Duration) -> f64 {
    samples.count() as f64 / took.as_secs_f64()
}
