//! Rules on long arguments do not block threads of the runtime.

use std::fmt::Write as _;

use mux_tests::{Canary, TestEnv};

/// The number of rules. Each rule reads the argument several times.
const RULES: usize = 80;

#[test]
fn policy_rules_on_long_arguments_do_not_block_the_runtime() {
    let env = TestEnv::new().watching_polls();
    let mut config = env.fixture("fix", &[]);
    for rule in 0..RULES {
        write!(
            config,
            "[[policy]]\nmatch = \"fix.*\"\naction = \"deny\"\narguments = {{ text = {{ regex = \"y+{rule}$\" }} }}\n"
        )
        .unwrap();
    }
    env.write_config(&config);
    env.result("return await mux.fix.echo({ text: 'x' })");
    let canary = Canary::of(env.daemon().unwrap());
    let metrics = || env.mux(["metrics"]).ok().stdout;
    for (case, program) in [
        (
            "arguments",
            "(await mux.fix.echo({ text: 'y'.repeat(200_000) })).length",
        ),
        ("typed", "await mux.fix.add({ a: 1, b: 2 })"),
    ] {
        canary.begin(&metrics());
        env.result(&format!("return {program}"));
        canary.end(case, &metrics()).unwrap();
    }
    let denied = env.error("return await mux.fix.echo({ text: 'y'.repeat(200_000) + '7' })");
    assert_eq!(denied["kind"], "denied", "{denied}");
}
