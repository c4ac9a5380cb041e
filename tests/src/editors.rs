//! The packages for editors, compiled by `scripts/editors`, and their tests, run by Node.
//!
//! Invariant: each test has its own folder. Tests can therefore compile in parallel.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{
    Output, TestEnv, clients,
    env::{binary, compiler, output, setup_variable},
};

/// The npm packages that they are compiled against and packaged with.
const MODULES: &str = "MUX_TEST_EDITORS";

/// A folder with both packages, compiled.
pub struct Editors {
    folder: tempfile::TempDir,
    /// More environment variables for the tests.
    variables: Vec<(&'static str, PathBuf)>,
}

impl Default for Editors {
    fn default() -> Self {
        Self::compiled()
    }
}

impl Editors {
    pub fn compiled() -> Self {
        let folder = tempfile::tempdir().unwrap();
        output(script("editors").arg(folder.path())).ok();
        let variables = Vec::new();
        Self { folder, variables }
    }

    /// Gives the tests a path in an environment variable.
    pub fn tell(&mut self, name: &'static str, path: &Path) {
        self.variables.push((name, path.to_owned()));
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs one test file of a package in a home. Fails unless some tests pass and none fail.
    #[track_caller]
    pub fn tests(&self, package: &str, file: &str, env: &TestEnv) {
        let file = self.path(&format!("tests/{package}/test/{file}.test.js"));
        let modules = PathBuf::from(setup_variable(MODULES, "--editors"));
        let ran = output(
            Command::new(clients::node())
                .args(["--test", "--test-reporter=tap"])
                .arg(&file)
                .current_dir(env.home())
                .env("MUX_TEST_HOME", env.home())
                .env("MUX_TEST_DAEMON", binary("muxd"))
                .env("MUX_TEST_FRAMES", source("tests/data/frames"))
                .env(
                    "MUX_TEST_TSSERVER",
                    modules.join("typescript/lib/tsserver.js"),
                )
                .env("MUX_TEST_PLUGINS", self.folder.path())
                .envs(self.variables.iter().map(|(name, path)| (name, path)))
                .env_remove("MUX_HOME"),
        )
        .ok();
        let passed = ran.stdout.lines().find_map(|l| l.strip_prefix("# pass "));
        let passed: usize = passed.and_then(|n| n.parse().ok()).unwrap_or(0);
        assert!(passed > 0, "{ran:#?}");
    }

    /// Type-checks one more file next to the client's sources.
    pub fn compile(&self, name: &str, text: &str) -> Output {
        let file = self.path(name);
        std::fs::write(&file, text).unwrap();
        output(
            Command::new(compiler())
                .args(["--noEmit", "--strict", "--exactOptionalPropertyTypes"])
                .args([
                    "--module",
                    "nodenext",
                    "--target",
                    "es2022",
                    "--skipLibCheck",
                ])
                .args(["--types", "node", "--typeRoots"])
                .arg(Path::new(&setup_variable(MODULES, "--editors")).join("@types"))
                .arg(file),
        )
    }
}

/// A file of this repository.
pub fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join(path)
}

/// One of `scripts/`, with its environment.
pub fn script(name: &str) -> Command {
    let mut command = Command::new(source("scripts").join(name));
    command
        .env("MUX_TEST_TSC", compiler())
        .env(MODULES, setup_variable(MODULES, "--editors"))
        .env("MUX_TEST_NODE", clients::node());
    command
}
