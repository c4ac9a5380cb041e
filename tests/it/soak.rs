//! `scripts/soak`, for some seconds: it runs, prints its samples, and finds no error.

use std::process::Command;

use mux_tests::{env, env::binary};

#[test]
fn short_soak_succeeds_without_a_wrong_answer() {
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
