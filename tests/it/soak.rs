//! `scripts/soak`, for some seconds: it runs, finds nothing wrong, and would say so.

use std::process::Command;

use mux_tests::{env, env::binary};

#[test]
fn a_short_soak_has_no_wrong_answer_and_leaves_nothing() {
    let mut soak = Command::new(binary("mux-soak"));
    soak.args(["--minutes", "0.2", "--every", "2", "--fault-ms", "100"]);
    let output = env::output(&mut soak).ok();
    assert!(output.stdout.ends_with("ok\n"), "{output:#?}");
    assert!(output.stdout.contains("wrong 0"), "{output:#?}");
    let lines = output.stdout.lines();
    assert!(
        lines.filter(|line| line.contains(" s  ")).count() >= 3,
        "{output:#?}"
    );
}
