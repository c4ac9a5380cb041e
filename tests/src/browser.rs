//! A real browser, driven by Node, for the page of `mux ui`.
//!
//! The tests of the page are the JavaScript files in `tests/browser`. Each is run against its own page.
//!
//! Invariant: of each test file that is run, some tests pass and none fail.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Running, TestEnv,
    editors::source,
    env::{binary, output, variable},
};

const PROGRAM: &str = "MUX_TEST_BROWSER";
/// Playwright, which drives the browser.
const DRIVER: &str = "MUX_TEST_PLAYWRIGHT";

pub struct Browser {
    program: PathBuf,
    driver: PathBuf,
}

impl Browser {
    /// Finds the installed browser, or returns the reason why there is none.
    pub fn here() -> Result<Self, String> {
        let setup_variable = |name: &str| variable(name).map(PathBuf::from);
        match (setup_variable(PROGRAM), setup_variable(DRIVER)) {
            (Some(program), Some(driver)) if program.exists() && driver.exists() => {
                Ok(Self { program, driver })
            }
            _ => Err("no browser is here (scripts/setup --browser)".into()),
        }
    }

    /// Runs one test file against a page.
    #[track_caller]
    pub fn tests(&self, file: &str, env: &TestEnv, page: &Page) {
        let mut node = self.node(env, page);
        node.args(["--test", "--test-reporter=tap"]);
        let ran = output(node.arg(source(&format!("tests/browser/{file}.test.mjs")))).ok();
        let passed = ran.stdout.lines().find_map(|l| l.strip_prefix("# pass "));
        let passed: usize = passed.and_then(|n| n.parse().ok()).unwrap_or(0);
        assert!(passed > 0, "{ran:#?}");
    }

    /// Takes the pictures of `tests/browser/pictures.mjs` into a directory.
    #[track_caller]
    pub fn pictures(&self, folder: &Path, env: &TestEnv, page: &Page) {
        let mut node = self.node(env, page);
        node.arg(source("tests/browser/pictures.mjs"));
        output(node.env("MUX_PICTURES", folder)).ok();
    }

    fn node(&self, env: &TestEnv, page: &Page) -> Command {
        let mut node = Command::new("node");
        node.current_dir(env.home())
            .env(PROGRAM, &self.program)
            .env(DRIVER, self.driver.join("index.mjs"))
            .env("MUX_TEST_HOME", env.home())
            .env("MUX_TEST_MUX", binary("mux"))
            .env("MUX_TEST_PAGE", &page.url)
            .env("MUX_TEST_PAGE_PID", page.running.pid().to_string())
            .env_remove("MUX_HOME");
        node
    }
}

/// A running `mux ui`.
pub struct Page {
    pub running: Running,
    /// The URL of the page, with the token.
    pub url: String,
}

impl Page {
    pub fn serve(env: &TestEnv) -> Self {
        Self::serve_with(env, &[])
    }

    #[track_caller]
    pub fn serve_with(env: &TestEnv, more: &[&str]) -> Self {
        let mut running = env.begin(["ui", "--no-open"].iter().chain(more));
        let url = running.next_line_of_output().trim().to_owned();
        assert!(url.contains("/#token="), "{url:?}: {:#?}", running.wait());
        Self { running, url }
    }

    /// The URL of the page, without the token.
    pub fn origin(&self) -> &str {
        self.url
            .split_once("/#")
            .map_or(&self.url, |(origin, _)| origin)
    }

    pub fn token(&self) -> &str {
        self.url
            .split_once("#token=")
            .map_or("", |(_, token)| token)
    }
}

/// The names of the test files in `tests/browser`, without `.test.mjs`.
pub fn files() -> Vec<String> {
    let folder = source("tests/browser");
    let mut found: Vec<String> = std::fs::read_dir(Path::new(&folder))
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            Some(name.strip_suffix(".test.mjs")?.to_owned())
        })
        .collect();
    found.sort();
    found
}
