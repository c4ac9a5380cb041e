//! Calls that need approval: they are held, answered by any client, and resumed later if not answered in time.
//!
//! Invariant: a call that was not approved is never sent, and no call is sent twice.

mod agents;
mod defaults;
mod grants;
mod held;
mod offers;
mod resume;
mod resume_again;
mod terminal;

use std::{fs, path::PathBuf};

use mux_tests::{Running, TestEnv};
use serde_json::Value;

/// A home with the fixture server `fix`, whose tool `counter` needs approval.
struct Home {
    env: TestEnv,
    log: PathBuf,
    marks: PathBuf,
}

impl Home {
    fn new() -> Self {
        Self::with("")
    }

    /// A home with `more` configuration after the rule.
    fn with(more: &str) -> Self {
        let env = TestEnv::new();
        let log = env.path("calls");
        let marks = env.path("marks");
        let home = Self { env, log, marks };
        home.configure(more);
        home
    }

    fn configure(&self, more: &str) {
        let changes = self.env.path("changes.json");
        let args = [
            "--changes",
            changes.to_str().unwrap(),
            "--call-log",
            self.log.to_str().unwrap(),
        ];
        let fix = self.env.fixture("fix", &args);
        let rule = "pins = \"off\"\n[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\n";
        self.env.write_config(&format!("{fix}{rule}{more}"));
    }

    /// How often the server was sent a call of this tool.
    fn called(&self, tool: &str) -> usize {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.matches(&format!("\"tool\":\"{tool}\"")).count()
    }

    /// The lines that `fix.side_effect` wrote.
    fn marks(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.marks).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Code that appends a line to the marks through `fix.side_effect`.
    fn mark(&self, line: &str) -> String {
        let file = self.marks.to_str().unwrap();
        format!("await mux.fix.side_effect({{ file: {file:?}, line: {line:?} }});\n")
    }

    /// Begins a program and waits until one of its calls is held.
    fn held(&self, code: &str, approval: &str) -> Running {
        let mut run = self.env.begin(["run", "--no-check", "-e", code]);
        run.wait_for(&format!("waiting for approval {approval}"));
        run
    }

    fn approvals(&self) -> Vec<Value> {
        let mut list = self.env.mux(["--json", "approvals"]).ok().json();
        list["approvals"]
            .as_array_mut()
            .unwrap()
            .drain(..)
            .collect()
    }

    /// The number of saved records of runs that wait for approval.
    fn records(&self) -> usize {
        let database = self.env.dirs.state.join("history.db");
        let database = rusqlite::Connection::open(database).unwrap();
        let count = "SELECT count(DISTINCT owner) FROM held_approvals";
        let count: u32 = database.query_row(count, [], |row| row.get(0)).unwrap();
        count as usize
    }
}
