//! Many concurrent agents share servers, and none affects the answers of another.

use std::thread;

use mux_tests::{Agent, TestEnv, process, program_result};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::text;

const AGENTS: usize = 50;
const SERVERS: usize = 20;

/// Calls all servers concurrently with a string that only this agent sends.
const ALL: &str = "const names = Object.keys(mux);\n\
    const said = await Promise.all(names.map(n => mux[n].echo({ text: `${n} ${mux.input}` })));\n\
    return said.join();";

fn servers() -> Vec<String> {
    (0..SERVERS).map(|n| format!("s{n:02}")).collect()
}

#[test]
fn fifty_agents_share_one_process_of_each_of_twenty_servers() {
    let names = servers();
    let fixtures: Vec<(&str, &[&str])> =
        names.iter().map(|n| (n.as_str(), [].as_slice())).collect();
    let env = TestEnv::with_fixtures(&fixtures);
    thread::scope(|scope| {
        for number in 0..AGENTS {
            let env = &env;
            let names = &names;
            scope.spawn(move || {
                let mut agent = match number % 2 {
                    0 => Agent::legacy(env, &[], json!({})),
                    _ => Agent::modern(env, &[], json!({})),
                };
                let nonce = format!("agent-{number}");
                let result = agent.call("run", json!({ "code": ALL, "input": nonce }));
                let expected: Vec<String> = names.iter().map(|n| format!("{n} {nonce}")).collect();
                let said = program_result::value(&result);
                assert_eq!(said, Value::from(expected.join(",")), "{result}");
                let mine = format!("call-of-{nonce}");
                let arguments = json!({ "path": "s07.echo", "arguments": { "text": mine } });
                assert_eq!(text(&agent.call("call", arguments)), mine);
            });
        }
    });
    for name in &names {
        assert_eq!(env.starts(name).len(), 1, "{name}");
    }
}

#[test]
fn flooding_and_killed_agents_do_not_affect_another() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut quiet = Agent::legacy(&env, &[], json!({}));
    let mut floods: Vec<Agent> = (0..3)
        .map(|_| Agent::legacy(&env, &[], json!({})))
        .collect();
    let slow = json!({ "path": "fix.sleep", "arguments": { "ms": 20 } });
    let spin = "for (;;) await Promise.all([1,2,3].map(() => mux.fix.sleep({ ms: 10 })))";
    for flood in &mut floods {
        for _ in 0..300 {
            flood.begin("tools/call", json!({ "name": "call", "arguments": slow }));
        }
        for _ in 0..20 {
            let arguments = json!({ "code": spin, "timeout_seconds": 60 });
            flood.begin(
                "tools/call",
                json!({ "name": "run", "arguments": arguments }),
            );
        }
    }
    for number in 0..10 {
        let code = format!("return await mux.fix.echo({{ text: 'n{number}' }})");
        assert_eq!(quiet.run(&code), json!(format!("n{number}")));
    }
    for flood in floods {
        process::send(flood.pid(), Signal::SIGKILL);
    }
    for number in 0..10 {
        let arguments = json!({ "path": "fix.add", "arguments": { "a": number, "b": 1 } });
        let sum = quiet.call("call", arguments);
        assert_eq!(program_result::value(&sum)["sum"], number + 1, "{sum}");
    }
    // Runs and calls of the killed agents end.
    loop {
        let status = env.mux(["--json", "status"]).ok().json();
        if status["runs"]["running"] == 0 && status["servers"][0]["in_flight"] == 0 {
            break;
        }
    }
    assert_eq!(env.starts("fix").len(), 1);
}
