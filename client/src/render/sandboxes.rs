//! Prints sandboxes of servers.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use mux_proto::{SandboxProfile, SandboxState, SandboxSuggestion};
use serde_json::{Map, Value, json};

use super::{
    display_path,
    human_units::size_text,
    note, show,
    style::escape_text,
    terminal::{eprintln, println},
};

pub(crate) fn sandbox_profile(profile: &SandboxProfile) {
    let sandbox = &profile.sandbox;
    let server = &profile.server;
    let is_on = sandbox.state == SandboxState::On;
    println!(
        "{server} {}",
        match sandbox.state {
            SandboxState::On => "runs in a sandbox",
            SandboxState::Off => "has no sandbox, as configured: it has all your rights",
            SandboxState::Bare | SandboxState::Other => "has no sandbox: it has all your rights",
        }
    );
    let line = |name: &str, text: &str| println!("  {name:<9} {}", escape_text(text));
    let layers = if sandbox.layers.is_empty() {
        &profile.enforceable
    } else {
        &sandbox.layers
    };
    line(
        "machine",
        &if layers.is_empty() {
            "enforces nothing".to_owned()
        } else {
            format!("enforces {}", layers.join(", "))
        },
    );
    if let Some(problem) = &profile.problem {
        line("problem", problem);
    }
    if is_on {
        paths("read", &sandbox.read);
        paths("write", &sandbox.write);
        line("network", sandbox.network.as_deref().unwrap_or("none"));
        let memory = profile
            .memory
            .map_or("no limit".into(), |bytes| size_text(bytes).clone());
        let processes = profile
            .processes
            .map_or("no limit".into(), |count| count.to_string());
        line(
            "limits",
            &format!("memory: {memory}; processes and threads: {processes}"),
        );
    }
    if profile.problem.is_none() {
        if !is_on {
            println!("its sandbox would contain, regardless of what its entry grants:");
        }
        paths("program", &profile.program);
        paths("private", &profile.private);
        let folders: Vec<&Path> = profile
            .system
            .iter()
            .map(PathBuf::as_path)
            .filter(|path| !path.starts_with("/etc"))
            .collect();
        let files = profile.system.len() - folders.len();
        let folders: Vec<String> = folders.into_iter().map(display_path).collect();
        line(
            "system",
            &format!("{}; {files} paths in /etc", folders.join(", ")),
        );
        if profile.empty_home {
            line(
                "home",
                "an empty one, deleted when the server exits; so is /tmp",
            );
        }
    }
    for denied in &sandbox.denied {
        line("denied", denied);
    }
    if !is_on {
        note(&format!(
            "`mux servers sandbox {server} --suggest` suggests one"
        ));
    }
}

fn paths(name: &str, paths: &[PathBuf]) {
    for (number, path) in paths.iter().enumerate() {
        let name = if number == 0 { name } else { "" };
        println!("  {name:<9} {}", escape_text(&display_path(path)));
    }
}

pub(crate) fn observation_begins(profile: &SandboxProfile, time: Duration) {
    if profile.sandbox.state == SandboxState::On {
        note(&format!(
            "{} runs without its sandbox while it is observed",
            profile.server
        ));
    }
    eprintln!(
        "observing {} for {} s: use its tools from any client; press Enter to stop",
        profile.server,
        time.as_secs()
    );
}

pub(crate) fn sandbox_suggestion(
    name: &str,
    entry: &Map<String, Value>,
    suggestion: &SandboxSuggestion,
    json: bool,
) -> ExitCode {
    let document = json!({ "server": name, "sandbox": entry, "remarks": suggestion.remarks });
    show(&document, json, |_| {
        sandbox_remarks_left(suggestion);
        println!("[servers.{}]", toml_edit::Key::new(name));
        println!("sandbox = {}", inline_table(entry));
    })
}

/// A `sandbox` as written in config.toml.
pub(crate) fn inline_table(entry: &Map<String, Value>) -> String {
    let keys = entry.iter();
    // JSON lists and strings are also valid TOML.
    let keys: Vec<String> = keys
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", keys.join(", "))
}

pub(crate) fn sandbox_remarks_left(suggestion: &SandboxSuggestion) {
    for remark in &suggestion.remarks {
        note(remark);
    }
}
