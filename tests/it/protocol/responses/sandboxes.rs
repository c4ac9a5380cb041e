//! Sandboxes of servers.

use mux_proto::{
    SandboxInfo, SandboxProfile, SandboxState, SandboxSuggestion, service::MuxResponse,
};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let profile = SandboxProfile {
        server: "fix".into(),
        sandbox: SandboxInfo {
            state: SandboxState::On,
            layers: vec!["namespaces".into()],
            read: vec!["/home/me/notes".into()],
            ..SandboxInfo::default()
        },
        memory: Some(512 << 20),
        processes: Some(64),
        enforceable: vec!["namespaces".into()],
        problem: Some("/home/me/notes does not exist".into()),
        system: vec!["/usr".into()],
        program: vec!["/home/me/node_modules".into()],
        private: vec!["/home/me/.local/state/mux/sandboxes/fix/npm".into()],
        empty_home: true,
    };
    let suggestion = SandboxSuggestion {
        server: "fix".into(),
        read: vec!["/home/me/notes".into()],
        write: vec!["/home/me/notes/out".into()],
        hosts: vec!["api.example.com:443".into()],
        any_network: true,
        remarks: vec!["it reads /home/me/.ssh, where secrets are".into()],
    };
    vec![
        ("sandbox", MuxResponse::Sandbox(Ok(profile))),
        (
            "suggest_sandbox",
            MuxResponse::SuggestSandbox(Ok(suggestion)),
        ),
        ("end_observation", MuxResponse::EndObservation(Ok(()))),
    ]
}
