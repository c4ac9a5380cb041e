//! What editors have: the package for Node, the extension for VS Code, and the document of the contract.
//!
//! The tests of both packages are TypeScript and stand beside them; here each file of them has a home with a daemon
//! of its own. Invariant: no test of a package is run by nobody.

mod client;
mod document;
mod extension;
mod types;

use mux_tests::{TestEnv, env::compiler};

/// A home with the fixture server `fix`, of which `counter` has to be approved, and with the type checker.
fn home() -> TestEnv {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fix}[check]\ntsc = {:?}\n[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\n",
        compiler()
    ));
    env
}

/// Fails unless the files of tests in this folder are these.
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
