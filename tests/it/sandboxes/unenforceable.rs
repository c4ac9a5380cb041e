//! A server whose sandbox is wrong or cannot be enforced does not start, and the error names the fix.

use mux_tests::TestEnv;

use super::server;

#[test]
fn mistakes_are_named_with_their_line_and_disable_that_entry_alone() {
    for (sandbox, parts) in [
        ("{ raed = [\"~/x\"] }", &["did you mean `sandbox.read`"][..]),
        (
            "{ network = [\"https://a.example/\"] }",
            &["write its host"],
        ),
        ("{ memory = \"lots\" }", &["not a size"]),
        (
            "{ read = [\"/dev/null/x\"] }",
            &["does not exist", "sandbox.read"],
        ),
    ] {
        let env = TestEnv::new();
        let good = env.fixture("good", &[]);
        env.write_config(&format!("{good}{}", server(sandbox)));
        let checked = env.mux(["config", "check"]);
        let printed = format!("{}{}", checked.stdout, checked.stderr);
        assert!(printed.contains("config.toml:"), "{sandbox}: {printed}");
        for part in parts {
            assert!(printed.contains(part), "{sandbox}: {printed}");
        }
        env.mux(["call", "good.echo", "text=x"]).ok();
        let call = env.mux(["call", "box.attempt", "what=pid"]);
        assert_ne!(call.code, 0, "{sandbox}: {call:#?}");
    }
}

#[test]
fn containers_are_refused_with_what_to_do_instead() {
    let env = TestEnv::new();
    // Whatever the program does: it is known by its name.
    let docker = env.path("docker");
    std::os::unix::fs::symlink("/bin/true", &docker).unwrap();
    let entry = mux_tests::env::server("box", &docker, &["run", "-i", "image"]);
    env.write_config(&format!("{entry}sandbox = {{}}\n"));
    env.mux(["call", "box.attempt", "what=pid"])
        .fails(3, &["container", "sandbox = false", "--network none"]);
}
