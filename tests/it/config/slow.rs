//! A slow server does not delay others.
//!
//! Invariant: these tests do not measure time, but an order: the others finish before the slow one answers.

use mux_tests::TestEnv;
use serde_json::json;

#[test]
fn config_slow_server_answers_last_though_called_first() {
    let env = TestEnv::with_fixtures(&[
        ("slow", &["--slow-start", "3000"]),
        ("fix", &[]),
        ("other", &[]),
    ]);
    let code = "const order: string[] = [];\n\
                const ask = (name: string) => mux[name].echo({ text: name }).then((text) => order.push(text));\n\
                await Promise.all(['slow', 'fix', 'other', 'fix'].map(ask));\n\
                return order";
    let order = env.result(code);
    assert_eq!(order[3], "slow", "{order}");
}

#[test]
fn config_mute_server_delays_no_other_client() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}start_timeout = \"150s\"\n{}",
        env.fixture("mute", &["--mute"]),
        env.fixture("fix", &[]),
    ));
    // One call from a program that does not wait for it, one from the command line.
    let code = "mux.mute.echo({ text: 'x' }).catch(() => {});\n\
                return await mux.fix.echo({ text: 'done' })";
    let document = env.mux(["--json", "run", "-e", code]).ok().json();
    assert_eq!(document["result"], "done");
    assert_eq!(
        document["console"][0]["text"],
        "the program returned before mute.echo had ended, which was cancelled; await it"
    );
    let waiting = env.begin(["call", "mute.echo", "text=x"]);

    for args in [
        &["call", "fix.echo", "text=x"][..],
        &["tools", "--server", "fix"],
        &["types", "fix"],
        &["servers", "restart", "fix"],
        &[
            "run",
            "-e",
            "return await Promise.all([1, 2, 3].map((a) => mux.fix.add({ a, b: 1 })))",
        ],
        &["check", "-e", "return 1"],
        &["reload"],
        &["logs"],
        &["status"],
    ] {
        env.mux(args).ok();
    }
    // All commands are done while the server is still starting.
    let servers = env.mux(["servers", "--json"]).ok().json();
    assert_eq!(servers[1]["state"], "starting", "{servers:#}");
    assert_eq!(env.starts("mute").len(), 1);
    // The command does not delay the daemon's exit either.
    env.mux(["stop", "--now"]).ok();
    assert_ne!(waiting.wait().code, 0);
    assert!(!mux_tests::process::is_alive(env.starts("mute")[0]));
}

#[test]
fn config_slow_call_delays_no_other_call_on_the_same_session() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    // The first call returns only after a call that is sent later.
    let code = "const first = mux.fix.barrier({ name: 'b', parties: 2 });\n\
                const between = await mux.fix.echo({ text: 'between' });\n\
                const second = await mux.fix.barrier({ name: 'b', parties: 2 });\n\
                return [between, second, await first]";
    let met = "2 were waiting at b";
    assert_eq!(env.result(code), json!(["between", met, met]));
}
