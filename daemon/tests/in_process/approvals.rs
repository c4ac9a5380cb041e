//! Calls that need approval: they are held, answered by any client, and resumed later if not answered in time.
//!
//! Invariant: a call that was not approved is never sent, and no call is sent twice.

mod defaults;
mod grants;
mod held;
mod offers;
mod resume;

use std::fs;

use mux_proto::{ApprovalInfo, Error};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{client::Client, home::Home};

/// Ends the wait for an answer soon.
const SOON: &str = "[approvals]\nwait = \"1s\"\n";
/// Allows `side_effect`: a resumed run would need approval for it, because it calls itself destructive.
const MARKS: &str = "[[policy]]\nmatch = \"fix.side_effect\"\naction = \"allow\"\n";

/// A home with the fixture server `fix`, whose tool `counter` needs approval, and `more` configuration.
fn asking(more: &str) -> Home {
    let home = Home::new();
    let changes = home.path("changes.json");
    let fix = home.fixture("fix", &["--changes", changes.to_str().unwrap()]);
    let rule = "pins = \"off\"\n[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\n";
    home.write_config(&format!("{fix}{rule}{more}"));
    home
}

/// The arguments of a call that counts by `by`.
fn by(by: u64) -> Value {
    json!({ "key": "a", "by": by })
}

/// A step that writes a line to the marks.
fn mark(home: &Home, line: &str) -> (&'static str, Value) {
    let file = home.path("marks");
    ("fix.side_effect", json!({ "file": file, "line": line }))
}

/// The lines that `side_effect` wrote.
fn marks(home: &Home) -> Vec<String> {
    let text = fs::read_to_string(home.path("marks")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Begins a call of `counter`, and waits until it is the only held call.
async fn held(
    client: &Client,
    arguments: Value,
) -> (JoinHandle<Result<Value, Error>>, ApprovalInfo) {
    let call = client.begin("counter", arguments);
    let mut approvals = client.approvals_once(1).await;
    (call, approvals.remove(0))
}

/// The saved records of runs and calls that wait for approval.
fn records(home: &Home) -> usize {
    let database = rusqlite::Connection::open(home.dirs.history()).unwrap();
    let count = "SELECT count(DISTINCT owner) FROM held_approvals";
    let count: u32 = database.query_row(count, [], |row| row.get(0)).unwrap();
    count as usize
}

/// Replaces a string in the configuration, and reloads it.
async fn change(home: &Home, client: &Client, from: &str, to: &str) {
    let text = fs::read_to_string(home.dirs.config_file()).unwrap();
    assert!(text.contains(from), "{text}");
    home.write_config(&text.replacen(from, to, 1));
    client.reload().await;
}
