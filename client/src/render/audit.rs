//! The audit log, one line per entry.
//!
//! Invariant: client and server names are escaped for the terminal.

use super::terminal::println;
use mux_typegen::names::display_path;
use serde_json::{Value, json};

use super::{
    human_units, note, print_document, run_number,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, one_line, paint},
    table::{cut_line, terminal_columns},
};

const MAX_AUDIT_FIELD_CHARS: usize = 200;

pub(crate) fn audit(entries: &[Value], torn: usize, json: bool) {
    if json {
        return print_document(&json!({ "entries": entries, "torn": torn }));
    }
    for entry in entries {
        audit_entry(entry);
    }
    if torn > 0 {
        let lines = human_units::count_text(torn, "line");
        note(&format!(
            "{lines} cannot be read: damaged by a crash or edited by hand"
        ));
    }
}

pub(crate) fn audit_entry(entry: &Value) {
    println!("{}", cut_line(&entry_line(entry), terminal_columns()));
}

fn entry_line(entry: &Value) -> String {
    let text = |key: &str| {
        one_line(
            entry[key].as_str().unwrap_or_default(),
            MAX_AUDIT_FIELD_CHARS,
        )
    };
    let at = text("at");
    let at = match humantime::parse_rfc3339(&at) {
        Ok(time) => human_units::time_text(time),
        Err(_) => at,
    };
    let at = paint(DIM, at);
    let who = match (text("client"), text("agent")) {
        (client, agent) if client.is_empty() && agent.is_empty() => "muxd".to_owned(),
        (client, agent) if agent.is_empty() => client,
        (client, agent) => format!("{client}/{agent}"),
    };
    let who = paint(NAME, who);
    if entry["kind"] != "call" {
        let what = text("kind").replace('_', " ");
        return format!("{at}  {who}  {}  {}", paint(STRONG, what), text("subject"));
    }
    let outcome = match text("outcome") {
        ok if ok == "ok" => paint(GOOD, ok),
        kind if matches!(kind.as_str(), "denied" | "pending" | "cancelled") => paint(WARN, kind),
        kind => paint(ERROR, kind),
    };
    let mut more = vec![human_units::duration_text(
        entry["ms"].as_f64().unwrap_or_default(),
    )];
    more.extend(entry["bytes"].as_u64().map(human_units::size_text));
    let decision = text("decision");
    let by = text("by");
    match by.is_empty() {
        _ if decision.is_empty() => {}
        true => more.push(decision),
        false => more.push(format!("{decision} by {by}")),
    }
    let reaches = entry["reaches"].as_array().map_or(&[][..], Vec::as_slice);
    let reaches: Vec<&str> = reaches.iter().filter_map(Value::as_str).collect();
    if !reaches.is_empty() {
        more.push(one_line(
            &format!("reaches {}", reaches.join(" ")),
            MAX_AUDIT_FIELD_CHARS,
        ));
    }
    let run = text("run");
    let run = run_number(&run);
    if !run.is_empty() {
        let call = entry["call"].as_u64();
        more.push(match call {
            Some(call) => format!("run {run} #{call}"),
            None => format!("run {run}"),
        });
    }
    let more = paint(DIM, more.join(", "));
    let path = text("path");
    let path = display_path(&path);
    format!("{at}  {who}  {path}  {outcome}  {more}")
}
