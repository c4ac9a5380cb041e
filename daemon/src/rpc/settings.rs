//! An agent's active settings, and the problems of a configuration.

use std::{fmt::Write as _, path::Path};

use mux_proto as wire;
use serde_json::json;

use super::connection::ConnectionState;
use crate::daemon::{ConfigView, Daemon};
use mux_policy::RuleList;

pub(super) fn report(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: &wire::SettingsRequest,
) -> wire::SettingsReport {
    let agent = request.agent.as_deref();
    let ConfigView {
        mut settings,
        mut text,
        has_agent,
    } = daemon.config_view(agent);
    settings.extend(server_rows(daemon, connection));
    let mut notes = Vec::new();
    if let (Some(agent), false) = (agent, has_agent) {
        notes.push(format!(
            "the configuration has no section for the agent {agent:?}: the general settings apply to it"
        ));
    }
    let sight = connection.sight();
    for denied in sight.denied() {
        let rules = denied.rules().iter();
        settings.extend(rules.map(|rule| wire::Setting {
            name: format!("policy.{}", rule.number),
            value: json!(format!("deny {}", rule.matches().join(" "))),
            from: wire::SettingSource::Project,
            line: None,
            file: match &*rule.list {
                RuleList::Project(root, _) => Some(root.join(".mux.toml")),
                RuleList::Everybody | RuleList::Agent(_) => None,
            },
        }));
    }
    let of_projects = settings
        .iter()
        .filter(|setting| setting.from == wire::SettingSource::Project);
    for setting in of_projects {
        let file = setting.file.as_deref().unwrap_or(Path::new("project"));
        let line = format!("{}: {}  # {}", setting.name, setting.value, file.display());
        _ = writeln!(text, "# {}", line.replace(char::is_control, " "));
    }
    wire::SettingsReport {
        file: daemon.paths.config.clone(),
        settings,
        text,
        notes,
    }
}

pub(super) async fn check(
    daemon: &Daemon,
    request: &wire::CheckConfigRequest,
) -> wire::Result<wire::ConfigReport> {
    let report = daemon.look_at_config(&request.text, &request.file).await;
    report.map_err(|why| wire::Error::new(wire::Kind::Unavailable, why))
}

/// One row for each server, with its command line or address as written.
fn server_rows(daemon: &Daemon, connection: &ConnectionState) -> Vec<wire::Setting> {
    let all = daemon
        .gateway
        .upstreams()
        .visible_servers(&connection.sight());
    let disabled = daemon.disabled();
    let names = all.iter().map(|server| server.name());
    let names: Vec<&str> = names.chain(disabled.keys().map(String::as_str)).collect();
    let lines = daemon.lines_of_servers(&names);
    let own = all.iter().map(|server| {
        let project = server.project();
        let shown = match server.definition() {
            Ok(definition) => definition.endpoint.shown(),
            Err(problem) => format!("cannot be used: {problem}"),
        };
        wire::Setting {
            name: format!("servers.{}", server.name()),
            value: json!(shown),
            from: match project {
                Some(_) => wire::SettingSource::Project,
                None => wire::SettingSource::Config,
            },
            line: lines
                .get(server.name())
                .copied()
                .filter(|_| project.is_none()),
            file: project.map(Path::to_owned),
        }
    });
    let off = disabled.iter().map(|(name, shown)| wire::Setting {
        name: format!("servers.{name}"),
        value: json!(format!("disabled: {shown}")),
        from: wire::SettingSource::Config,
        line: lines.get(name).copied(),
        file: None,
    });
    own.chain(off).collect()
}
