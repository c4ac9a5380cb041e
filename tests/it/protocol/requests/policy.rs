//! Rules and settings.

use mux_proto::{
    CheckConfigRequest, ExplainPolicyRequest, PolicyRequest, SettingsRequest, service::MuxRequest,
};
use serde_json::json;

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    let agent = || Some("small-model".to_owned());
    let policy = PolicyRequest { agent: agent() };
    let explain = ExplainPolicyRequest {
        path: "fix.add".into(),
        arguments: Some(json!({ "a": 1, "b": 2 })),
        typed: Vec::new(),
        agent: agent(),
        client: Some("editor".into()),
        workspace: Some("/work".into()),
        config: Some("[[policy]]\nmatch = \"fix.*\"\naction = \"ask\"\n".into()),
    };
    let explain_typed = ExplainPolicyRequest {
        path: "fix.add".into(),
        typed: vec![("a".into(), "1".into())],
        ..ExplainPolicyRequest::default()
    };
    let settings = SettingsRequest { agent: agent() };
    let check_config = CheckConfigRequest {
        text: "[limits]\nwall = \"1h\"\n".into(),
        file: "config.toml".into(),
    };
    vec![
        ("policy", MuxRequest::Policy { request: policy }),
        (
            "explain_policy",
            MuxRequest::ExplainPolicy { request: explain },
        ),
        (
            "explain_policy_typed",
            MuxRequest::ExplainPolicy {
                request: explain_typed,
            },
        ),
        ("settings", MuxRequest::Settings { request: settings }),
        (
            "check_config",
            MuxRequest::CheckConfig {
                request: check_config,
            },
        ),
    ]
}
