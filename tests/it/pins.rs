//! Tools that change after they were trusted, names that imitate others, invisible characters, and results that do not
//! match their schema.

mod accept;
mod changes;
mod names;

use std::{fs, path::PathBuf};

use mux_tests::TestEnv;
use serde_json::{Value, json};

/// A text that the server adds to the definition of a trusted tool.
const POISON: &str = "POISON";

/// A home with the fixture server `fix`, whose tools a test can change.
struct Home {
    env: TestEnv,
    changes: PathBuf,
    log: PathBuf,
}

impl Home {
    /// `keys` are added to the server's entry.
    fn new(keys: &str) -> Self {
        let env = TestEnv::new();
        let changes = env.path("changes.json");
        let log = env.path("calls");
        let args = [
            "--changes",
            changes.to_str().unwrap(),
            "--call-log",
            log.to_str().unwrap(),
        ];
        let config = format!("{}{keys}\n", env.fixture("fix", &args));
        env.write_config(&config);
        Self { env, changes, log }
    }

    /// A home whose user has called `echo`, and whose server has since changed the definition of `echo`.
    fn poisoned(keys: &str) -> Self {
        let home = Self::new(keys);
        home.echo().ok();
        home.change(&poison());
        home.announce();
        home
    }

    fn change(&self, changes: &Value) {
        fs::write(&self.changes, changes.to_string()).unwrap();
    }

    /// Makes the server announce that its tools have changed.
    fn announce(&self) {
        self.env.mux(["call", "fix.list_changed"]).ok();
    }

    fn echo(&self) -> mux_tests::env::Output {
        self.env.mux(["--json", "call", "fix.echo", "text=hello"])
    }

    #[track_caller]
    fn echo_is_refused(&self) {
        self.echo().fails(
            5,
            &[
                "fix.echo has changed since you first trusted it",
                "\"denied\"",
                "mux servers accept fix",
            ],
        );
    }

    fn warnings(&self) -> Vec<String> {
        let servers = self.env.mux(["--json", "servers"]).ok().json();
        let warnings = servers[0]["warnings"].as_array().cloned();
        let warnings = warnings.unwrap_or_default().into_iter();
        warnings
            .map(|warning| warning["text"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The tools that were called so far, in the order of the server's log.
    fn called(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let tools = lines.filter_map(|line| line["tool"].as_str().map(str::to_owned));
        tools.collect()
    }
}

/// Another description, another title and another argument of `echo`.
fn poison() -> Value {
    let schema = json!({
        "type": "object",
        "properties": { "text": { "type": "string" }, POISON: { "type": "string", "description": POISON } },
    });
    json!({ "echo": { "list": { "title": POISON, "description": POISON, "inputSchema": schema } } })
}
