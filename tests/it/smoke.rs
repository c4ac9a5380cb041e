//! The shortest end-to-end test, which `scripts/test` also runs with the second engine.

use mux_tests::TestEnv;
use serde_json::json;

#[test]
fn engine_smoke_a_program_calls_tools_and_prints() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let output = env
        .mux([
            "run",
            "-e",
            "const sums: number[] = await Promise.all([1, 2, 3].map(async (n) => \
             (await mux.fix.add({ a: n, b: n })).sum));\nconsole.log('sums', sums);\nreturn sums;",
        ])
        .ok();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&output.stdout).unwrap(),
        json!([2, 4, 6])
    );
    assert!(output.stderr.contains("sums [2, 4, 6]"), "{output:#?}");
    assert_eq!(env.starts("fix").len(), 1);
}
