//! The output of `mux sources`.

use std::path::Path;

use super::terminal::{eprintln, println, report};
use comfy_table::Cell;
use mux_proto::{RefreshedSource, ServerInfo, SourceInfo};

use super::{
    display_path, human_units,
    lists::{print_remarks, server_remarks, state_cell},
    runs::unix_millis,
    style::escape_text,
    table::ListTable,
    warn,
};

/// The maximum number of names of each kind that are listed. The others are counted.
const MAX_NAMED_CHANGES: usize = 20;

pub(crate) fn sources(sources: &[ServerInfo], config: &Path) {
    if sources.is_empty() {
        eprintln!(
            "no source is configured in {}; add one:\n",
            display_path(config)
        );
        eprintln!("mux sources add petstore --openapi petstore.json");
        return;
    }
    let mut table = ListTable::new([
        "SOURCE",
        "KIND",
        "STATE",
        "FUNCTIONS",
        "CALLS",
        "REQUESTS",
        "DESCRIPTION",
        "ADDRESS",
    ])
    .leaving_out(["REQUESTS", "CALLS", "DESCRIPTION", "KIND"]);
    for source in sources {
        let info = source.source.clone().unwrap_or_default();
        let functions = source
            .tools
            .map_or_else(|| "-".into(), |count| count.to_string());
        table.add_row([
            Cell::new(&source.name),
            Cell::new(info.kind.as_deref().unwrap_or("-")),
            state_cell(source.state),
            Cell::new(functions),
            Cell::new(source.calls),
            Cell::new(info.requests),
            Cell::new(description_age(&info, &source.command)),
            Cell::new(escape_text(&source.command)),
        ]);
    }
    println!("{}", table.text());
    for source in sources {
        print_remarks(source, server_remarks(source));
    }
}

/// The age of a description. A file has none, because it is watched for changes.
fn description_age(info: &SourceInfo, address: &str) -> String {
    match info.fetched_ms {
        Some(at) => human_units::age_text(unix_millis().saturating_sub(at)),
        None if address.contains("://") || address.starts_with('$') => "not read yet".into(),
        None => "a file".into(),
    }
}

pub(crate) fn refreshed_source(found: &RefreshedSource) {
    let source = &found.source;
    let functions = found.functions;
    let kinds = [
        ("added", '+', &found.added),
        ("removed", '-', &found.removed),
        ("changed", '~', &found.changed),
    ];
    let same = kinds.iter().all(|(_, _, names)| names.is_empty());
    if same && found.origins.is_empty() && found.notes.is_empty() {
        report!("{source} is unchanged: {functions} functions");
        return;
    }
    for (kind, mark, names) in kinds {
        for name in names.iter().take(MAX_NAMED_CHANGES) {
            report!("{mark} {source}.{}", escape_text(name));
        }
        if names.len() > MAX_NAMED_CHANGES {
            report!("{mark} … {} more {kind}", names.len() - MAX_NAMED_CHANGES);
        }
    }
    report!("{source} has {functions} functions now");
    for origin in &found.origins {
        let origin = escape_text(origin);
        warn(format!(
            "its description now sends calls or secrets to {origin}, which it did not before"
        ));
    }
    for note in &found.notes {
        warn(escape_text(note));
    }
}
