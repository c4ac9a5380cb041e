//! Checks the agents on this machine: whether they have mux, and which servers they have in addition.
//!
//! Invariant: of the agents' other entries only names are shown, never values.

use std::path::Path;

use mux_proto::endpoint::Dirs;

use super::{
    super::env_path,
    CheckGroup,
    config_file::{self, ConfiguredProcess},
};
use crate::{
    agents::{Agent, AgentFile, AgentPaths, OperatingSystem, command_words},
    found_program::is_executable,
};

pub(super) fn check_agents(group: &mut CheckGroup, dirs: &Dirs) {
    // Without a home directory no agent can be found.
    if let Some(places) = AgentPaths::new(OperatingSystem::current(), env_path) {
        let ours = config_file::read_configured_processes(dirs);
        for agent in Agent::all().filter(|agent| places.seems_installed(*agent)) {
            let file = places.agent_config_file(agent);
            check_agent(group, agent, &file, &places.tilde_path(&file), &ours);
        }
    }
}

fn check_agent(
    group: &mut CheckGroup,
    agent: Agent,
    file: &Path,
    shown: &str,
    ours: &[ConfiguredProcess],
) {
    let title = agent.display_name();
    let name = agent.name();
    let install = format!("`mux install {name}`");
    let read = AgentFile::read(file).map_err(|error| error.to_string());
    let document = read.and_then(|read| {
        let document = read.parse(agent.format());
        document.map_err(|error| format!("{shown}: {error}"))
    });
    let document = match document {
        Ok(document) => document,
        Err(problem) => {
            let fix = format!("fix the file, which {title} cannot read either; then {install}");
            group.warn(format!("{title}: {problem}"), fix);
            return;
        }
    };
    let entries = document.section_entries(agent.servers_section(&document));
    let mux_entries = agent.mux_entries(&document);
    for (_, mux_entry) in &mux_entries {
        let program = Path::new(&mux_entry.command);
        if program.is_absolute() && !is_executable(program) {
            group.fail(
                format!("{title} starts {}, which does not exist", program.display()),
                format!("{install} writes the path of the mux you are running now"),
            );
        }
    }
    if mux_entries.is_empty() {
        group.note(format!("{title} does not have mux"), Some(&install));
        return;
    }
    let twice: Vec<&str> = entries
        .iter()
        .filter(|(entry, value)| ours.iter().any(|own| is_same_server(own, entry, value)))
        .map(|(entry, _)| *entry)
        .collect();
    if twice.is_empty() {
        group.ok(format!("{title} has mux"));
    } else {
        group.warn(
            format!(
                "{title} has servers that mux also has: {}; each runs twice, and its tools are listed twice",
                twice.join(", ")
            ),
            format!("`mux import --move --from {name}` removes them from {shown}"),
        );
    }
}

/// Returns true if an agent's entry is one of our servers, judged by its name and program, or by its
/// whole command line.
fn is_same_server(own: &ConfiguredProcess, entry: &str, value: &serde_json::Value) -> bool {
    let words = command_words(value);
    let Some((program, args)) = words.split_first() else {
        return false;
    };
    *program == own.command && (entry == own.name || args == own.args)
}

#[cfg(test)]
mod tests {
    use super::{super::CheckVerdict, *};
    use crate::agents::tests::system_path;

    fn checks_of(text: &str) -> Vec<(CheckVerdict, String)> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mcp.json");
        std::fs::write(&file, text).unwrap();
        let ours = [ConfiguredProcess {
            name: "git".into(),
            command: "uvx".into(),
            args: vec!["mcp-server-git".into()],
        }];
        let mut group = CheckGroup::new("agents");
        check_agent(
            &mut group,
            Agent::Cursor,
            &file,
            "~/.cursor/mcp.json",
            &ours,
        );
        let checks = group.checks.into_iter();
        checks.map(|check| (check.verdict, check.message)).collect()
    }

    #[test]
    fn missing_broken_and_duplicate_agent_entries_are_reported() {
        let mux = r#""mux": { "command": "mux", "args": ["mcp"] }"#;
        let of = |entries: &str| checks_of(&format!(r#"{{ "mcpServers": {{ {entries} }} }}"#));
        assert_eq!(of(mux), [(CheckVerdict::Ok, "Cursor has mux".into())]);
        assert_eq!(
            of("")[0],
            (CheckVerdict::Note, "Cursor does not have mux".into())
        );
        let gone = of(&format!(
            r#""mux": {{ "command": "{}", "args": ["mcp"] }}"#,
            system_path("/no/such/mux").display()
        ));
        assert_eq!(gone[0].0, CheckVerdict::Failure, "{gone:?}");
        let twice = of(&format!(
            r#"{mux}, "other": {{ "command": "uvx", "args": ["mcp-server-git"], "env": {{ "T": "s3cret" }} }},
               "git": {{ "command": "uvx", "args": ["mcp-server-git==1"] }}, "time": {{ "command": "uvx" }}"#
        ));
        assert_eq!(twice[0].0, CheckVerdict::Warning);
        assert!(twice[0].1.contains("also has: other, git; "), "{twice:?}");
        assert!(!twice[0].1.contains("s3cret"));
        assert_eq!(checks_of("{ nonsense")[0].0, CheckVerdict::Warning);
    }
}
