//! Lists the agents that are connected, each with the profile by which output is adapted to it.

use mux_proto::{ConnectedAgent, Status};

use super::CheckGroup;
use crate::mcp::AgentProfile;

pub(super) fn check_connected_agents(group: &mut CheckGroup, status: &Status) {
    for agent in &status.agents {
        check_agent(group, agent);
    }
}

fn check_agent(group: &mut CheckGroup, agent: &ConnectedAgent) {
    let ConnectedAgent {
        name,
        version,
        profile,
        ..
    } = agent;
    let Some(profile) = profile.as_deref() else {
        return;
    };
    let Some(known) = AgentProfile::find(profile) else {
        group.note(
            format!("{name} {version} has the profile {profile}, which this mux does not know"),
            Some("restart the agent, so that it starts this mux"),
        );
        return;
    };
    let limits = known.limits();
    let seen = match &known.version {
        Some(seen) if seen != version => format!(", as seen in {} {seen}", known.title),
        _ => String::new(),
    };
    let limits = if limits.is_empty() {
        String::new()
    } else {
        format!(": it {}", limits.join(", "))
    };
    group.ok(format!(
        "{name} {version} has the profile {profile}{seen}{limits}"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connected_agent_is_named_with_its_profile() {
        let agent = |name: &str, profile: Option<&str>| ConnectedAgent {
            name: name.into(),
            version: "1.0".into(),
            profile: profile.map(str::to_owned),
            ..ConnectedAgent::default()
        };
        let mut group = CheckGroup::new("connected agents");
        check_agent(&mut group, &agent("codex-mcp-client", Some("codex")));
        check_agent(&mut group, &agent("x", Some("careful")));
        check_agent(&mut group, &agent("y", Some("newer")));
        check_agent(&mut group, &agent("z", None));
        let lines: Vec<&str> = group
            .checks
            .iter()
            .map(|check| check.message.as_str())
            .collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(
            lines[0].starts_with("codex-mcp-client 1.0 has the profile codex, as seen in Codex "),
            "{lines:?}"
        );
        assert!(lines[0].contains("does not notice new tools"), "{lines:?}");
        assert!(
            lines[1].starts_with("x 1.0 has the profile careful: it "),
            "{lines:?}"
        );
        assert!(
            lines[2].ends_with("which this mux does not know"),
            "{lines:?}"
        );
    }
}
