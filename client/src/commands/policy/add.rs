//! `mux policy add`: writes a `[[policy]]` rule into config.toml.

use mux_client::within_seconds;
use mux_proto::{Error, Kind};
use mux_typegen::names::spell;
use serde_json::{Map, Value};

use super::{
    super::{
        CommandFailure, CommandResult,
        config::{
            change::ConfigSource,
            config_key::{ConfigKey, most_similar_name},
        },
        connect_if_running,
        repeated_edit::repeat_edit,
    },
    reachability::{covers_glob, covers_rule},
};
use crate::{
    args,
    render::{self, ConfigEdit},
};

pub(super) async fn add_rule(args: &args::PolicyAddArgs, json: bool) -> CommandResult {
    let rule = Value::Object(build_rule(args)?);
    let mut edit = repeat_edit(async || write_rule(&rule, args).await).await?;
    // The rule is written: without a daemon that answers, only the remark on unknown servers is left out.
    if let Ok(Some(session)) = connect_if_running().await
        && let Ok(Ok(servers)) = session.client.servers(within_seconds(10)).await
    {
        let names: Vec<String> = servers.into_iter().map(|server| server.name).collect();
        edit.warnings.extend(unmatched(&rule, &names));
    }
    Ok(render::show(&edit, json, render::config_edit))
}

/// Writes the rule, and notes which rules are not reached.
async fn write_rule(
    rule: &Value,
    args: &args::PolicyAddArgs,
) -> Result<ConfigEdit, CommandFailure> {
    let source = ConfigSource::read()?;
    let document = source.document()?;
    let text = document.with_list_item("policy", rule, args.last)?.text();
    let rules = document.values()["policy"].as_array();
    let rules = rules.map(Vec::as_slice).unwrap_or_default();
    let number = if args.last { rules.len() + 1 } else { 1 };
    let summary = format!("rule {number} is added");
    let mut edit = source.apply(&text, summary, None, args.dry_run).await?;

    for (index, other) in rules.iter().enumerate() {
        let shown = describe(other);
        if args.last && covers_rule(other, rule) {
            let number = index + 1;
            edit.warnings.push(format!(
                "it is never reached: rule {number} ({shown}) applies first; omit --last to put it before that rule"
            ));
            break;
        }
        if !args.last && covers_rule(rule, other) {
            let number = index + 2;
            edit.notes.push(format!(
                "rule {number} ({shown}) now comes after it and is never reached"
            ));
        }
    }
    let agents = document.section_entries(&["agents"]).into_iter();
    let own = agents.filter(|(_, entry)| entry.get("policy").is_some());
    edit.notes.extend(
        own.map(|(name, _)| format!("[agents.{name}] has its own rules, which replace [[policy]]")),
    );
    Ok(edit)
}

fn build_rule(args: &args::PolicyAddArgs) -> Result<Map<String, Value>, Error> {
    let mut rule = Map::new();
    rule.insert("match".into(), args.path.as_str().into());
    for (key, value) in &args.when {
        let path = match key.split_once('.') {
            // The path into the arguments may also have dots.
            Some((table @ ("arguments" | "annotations"), name)) => vec![table, name],
            _ => vec![key.as_str()],
        };
        let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
        if let ["match" | "action" | "reason" | "arguments" | "annotations"] =
            path.iter().map(String::as_str).collect::<Vec<_>>()[..]
        {
            let message = format!("--when {key} is not a condition");
            return Err(Error::new(Kind::Validation, message).hint(
                "conditions are server, agent, client, workspace, verb, annotations.NAME and arguments.PATH",
            ));
        }
        let key = ConfigKey::of_rule(path)?;
        let value = key.parse_value(value);
        match key.path.as_slice() {
            [table, name] => rule
                .entry(table.as_str())
                .or_insert_with(|| Value::Object(Map::new()))
                .as_object_mut()
                .and_then(|table| table.insert(name.clone(), value)),
            path => rule.insert(path.concat(), value),
        };
    }
    rule.insert("action".into(), args.action.as_str().into());
    if let Some(reason) = &args.reason {
        rule.insert("reason".into(), reason.as_str().into());
    }
    Ok(rule)
}

fn describe(rule: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(texts) => {
            let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
            texts.join(" ")
        }
        _ => "*".into(),
    };
    format!("{} {}", text(&rule["action"]), text(&rule["match"]))
}

/// Why a rule can apply to no call now.
fn unmatched(rule: &Value, names: &[String]) -> Option<String> {
    let path = rule["match"].as_str()?;
    let server = match (&rule["server"], path.split_once('.')) {
        (Value::String(named), _) => named,
        (_, Some((server, _))) => server,
        (_, None) if path.contains('*') => return None,
        (_, None) => {
            return Some(format!(
                "it matches nothing: a path is SERVER.TOOL, as in `{path}.*`"
            ));
        }
    };
    let is_match = |name: &str| match server.split_once('*') {
        // A `*` may also match the dot.
        Some((head, _)) => name.starts_with(head),
        None => covers_glob(server, name),
    };
    let is_known = names
        .iter()
        .any(|name| is_match(name) || is_match(&spell(name)));
    (!is_known).then(|| {
        let near =
            most_similar_name(server, names).map(|near| format!(" (did you mean `{near}`?)"));
        format!(
            "no server or source matches `{server}` now{}",
            near.unwrap_or_default()
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use mux_proto::PolicyAction;

    use super::*;

    fn arguments(when: &[(&str, &str)]) -> args::PolicyAddArgs {
        args::PolicyAddArgs {
            path: "files.*".into(),
            action: PolicyAction::Ask,
            when: when
                .iter()
                .map(|(key, value)| ((*key).into(), (*value).into()))
                .collect(),
            reason: Some("why".into()),
            last: false,
            dry_run: false,
        }
    }

    #[test]
    fn conditions_become_keys_of_the_rule() {
        let rule = build_rule(&arguments(&[
            ("agent", "small-*"),
            ("verb", "[\"PUT\", \"DELETE\"]"),
            ("annotations.destructive", "true"),
            ("arguments.path", "/etc/*"),
            ("arguments.items[*].kind", "3"),
            ("arguments.body.amount", "{ over = 100 }"),
        ]));
        let expected = json!({
            "match": "files.*",
            "agent": "small-*",
            "verb": ["PUT", "DELETE"],
            "annotations": { "destructive": true },
            "arguments": { "path": "/etc/*", "items[*].kind": 3, "body.amount": { "over": 100 } },
            "action": "ask",
            "reason": "why",
        });
        assert_eq!(Value::Object(rule.unwrap()), expected);
        for (wrong, expected) in [
            ("agnet", "no key"),
            ("match", "is not a condition"),
            ("annotations.x", "no key"),
        ] {
            let error = build_rule(&arguments(&[(wrong, "x")])).unwrap_err();
            assert!(error.message.contains(expected), "{wrong}: {error:?}");
        }
    }

    #[test]
    fn rule_for_no_server_is_recognized() {
        let names = ["files", "my-notes"].map(str::to_owned);
        for (path, expected) in [
            ("files.*", None),
            ("*", None),
            ("*.delete_*", None),
            ("f*.read", None),
            ("x*.read", Some("no server or source matches `x*`")),
            ("my_notes.x", None),
            ("fils.read", Some("did you mean `files`")),
            ("git.*", Some("no server or source matches `git` now")),
            ("files", Some("as in `files.*`")),
        ] {
            let warning = unmatched(&json!({ "match": path }), &names);
            match (&warning, expected) {
                (None, None) => {}
                (Some(warning), Some(expected)) if warning.contains(expected) => {}
                _ => panic!("{path}: {warning:?}"),
            }
        }
    }
}
