//! The packages for editors (the Node client and the VS Code extension), and the protocol document.
//!
//! The packages have their own tests in TypeScript. Each test file is run here in a home with its own daemon.
//! Invariant: every test file of a package is run.

mod client;
mod document;
mod extension;
mod types;

use mux_tests::{TestEnv, env::compiler};

/// A home with the fixture server `fix`, whose tool `counter` needs approval, and with the type checker.
fn home() -> TestEnv {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fix}[check]\ntsc = {:?}\n[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\n",
        compiler()
    ));
    env
}

/// Fails unless the test files in a folder are exactly these.
#[track_caller]
fn all_are_run(folder: &str, files: &[&str]) {
    let mut found: Vec<String> = std::fs::read_dir(mux_tests::editors::source(folder))
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            Some(name.strip_suffix(".test.ts")?.to_owned())
        })
        .collect();
    found.sort();
    assert_eq!(found, files);
}
