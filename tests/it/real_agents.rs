//! `mux mcp` in the agents that people use, with a model's API that plays a script.
//!
//! Invariant: an agent that is not installed is left out. `scripts/setup --agents` installs the agents of
//! `scripts/test`, and `scripts/setup --agents=all` also the others.

use mux_tests::{
    left_out,
    real_agents::{BadServers, MuxSession, Probe, Profile, RealAgent, list_contradiction},
};

/// The agent, if it is installed.
fn installed(name: &str) -> Option<(RealAgent, Profile)> {
    let agent = RealAgent::named(name);
    if agent.version().is_none() {
        if agent.ci {
            left_out(name, "it is not installed: run `scripts/setup --agents`");
        }
        return None;
    }
    let profile = Profile::named(name);
    Some((agent, profile))
}

/// The profile of an agent is what its program does.
fn profile_fits(name: &str) {
    let Some((agent, profile)) = installed(name) else {
        return;
    };
    let probe = Probe::of(&agent, &profile);
    let mut contradictions = probe.contradictions(&agent, &profile);
    contradictions.extend(list_contradiction(&agent, &profile));
    assert!(
        contradictions.is_empty(),
        "{}\n{:#?}",
        contradictions.join("\n"),
        probe.session().output
    );
}

/// Values, errors and changes reach the model, and the statements about its tools are true.
fn results_arrive(name: &str) {
    let Some((agent, profile)) = installed(name) else {
        return;
    };
    let seen = MuxSession::of(&agent, &profile);
    assert!(
        seen.problems.is_empty(),
        "{}\n{:#?}",
        seen.problems.join("\n"),
        seen.session.output
    );
}

/// Servers that hang or fail do not affect the others.
fn good_servers_arrive(name: &str) {
    let Some((agent, _)) = installed(name) else {
        return;
    };
    let seen = BadServers::of(&agent);
    assert!(
        seen.problems.is_empty(),
        "{}\n{:#?}",
        seen.problems.join("\n"),
        seen.session.output
    );
}

macro_rules! agents {
    ($($module:ident: $name:literal,)+) => {$(
        mod $module {
            #[test]
            fn profile_fits_the_program() {
                super::profile_fits($name);
            }

            #[test]
            fn results_reach_the_model_once() {
                super::results_arrive($name);
            }

            #[test]
            fn good_servers_arrive_beside_bad_ones() {
                super::good_servers_arrive($name);
            }
        }
    )+};
}

agents! {
    claude_code: "claude-code",
    gemini_cli: "gemini-cli",
    codex: "codex",
    opencode: "opencode",
    copilot_cli: "copilot-cli",
    qwen_code: "qwen-code",
}
