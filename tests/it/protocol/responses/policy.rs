//! Rules and settings, every field filled in.

use mux_proto::{
    ConfigProblem, ConfigReport, PolicyAction, PolicyExplanation, PolicyList, PolicyOutcome,
    PolicyRule, PolicyStep, ProjectText, Setting, SettingSource, SettingsReport,
    service::MuxResponse,
};
use serde_json::json;

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let rule = |action| PolicyRule {
        number: 2,
        action,
        matches: vec!["fix.*".into()],
        conditions: vec!["arguments.a = { over = 3 }".into()],
        reason: Some("it costs".into()),
        mistake: Some("unknown key `agnet`".into()),
        agent: Some("small-model".into()),
        project: Some("/work".into()),
        project_text: Some(ProjectText::Approved),
        decided: 7,
    };
    let list = PolicyList {
        rules: [PolicyAction::Allow, PolicyAction::Ask, PolicyAction::Deny]
            .map(rule)
            .into(),
        own: true,
        allowed_by_default: 5,
        destructive_by_default: 1,
    };
    let step = |outcome| PolicyStep {
        rule: rule(PolicyAction::Deny),
        outcome,
        because: "match: it is about \"a.*\"".into(),
    };
    let explanation = PolicyExplanation {
        path: "fix.add".into(),
        known: true,
        action: PolicyAction::Ask,
        rule: Some(rule(PolicyAction::Ask)),
        depends: true,
        steps: [
            PolicyOutcome::Elsewhere,
            PolicyOutcome::Unmet,
            PolicyOutcome::Depends,
            PolicyOutcome::Decides,
        ]
        .map(step)
        .into(),
        hints: vec![("read_only".into(), true)],
        verb: Some("GET".into()),
        notes: vec!["this agent does not see it".into()],
    };
    let setting = |from| Setting {
        name: "limits.wall".into(),
        value: json!("5s"),
        from,
        line: Some(3),
        file: Some("/srv/app/.mux.toml".into()),
    };
    let report = SettingsReport {
        file: "/home/me/config.toml".into(),
        settings: [
            SettingSource::Default,
            SettingSource::Config,
            SettingSource::Agent,
            SettingSource::Project,
        ]
        .map(setting)
        .into(),
        text: "[limits]\nwall = \"5s\"  # config.toml:3\n".into(),
        notes: vec!["nothing is said of the agent".into()],
    };
    let checked = ConfigReport {
        problems: vec![
            ConfigProblem {
                line: Some(2),
                message: "limits.wall = 1h is not between 1s and 5m; the default is used".into(),
                advisory: false,
            },
            ConfigProblem {
                line: Some(7),
                message: "[servers.fix]: sandbox.read = /srv/data does not exist".into(),
                advisory: true,
            },
        ],
        servers: 1,
    };
    vec![
        ("policy", MuxResponse::Policy(Ok(list))),
        (
            "explain_policy",
            MuxResponse::ExplainPolicy(Ok(explanation)),
        ),
        ("settings", MuxResponse::Settings(Ok(report))),
        ("check_config", MuxResponse::CheckConfig(Ok(checked))),
    ]
}
