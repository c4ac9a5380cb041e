//! The question about a call that must be approved, for the client that makes it: an MCP elicitation form for an agent,
//! or plain data for our own clients.
//!
//! Invariant: declining the form denies the call. A closed form, a client that cannot show it, and an invalid answer
//! decide nothing: another client can still answer.

use serde::Deserialize;
use serde_json::{Value, json};

use super::approval_subject::{ApprovalVerdict, UserAnswer, UserDecision};
use mux_caller::{ApprovalRequest, ClientAnswer, QuestionKind, one_line};

const ONCE_CHOICE: &str = "allow once";
const SESSION_CHOICE: &str = "allow for this session";
const ALWAYS_CHOICE: &str = "always allow";
const DENY_CHOICE: &str = "deny";
/// The maximum length of a user's reason, in characters. The rest is cut.
const MAX_REASON_CHARS: usize = 500;

/// The `params` of the question. `from_server` is true for a request from a server to its client.
pub(super) fn question_params(
    kind: QuestionKind,
    request: &ApprovalRequest,
    from_server: bool,
) -> Value {
    if kind == QuestionKind::Approval {
        return json!(request);
    }
    let ApprovalRequest {
        approval,
        path,
        arguments,
        bytes,
        rule,
        ..
    } = request;
    let cut = if arguments.ends_with('…') {
        format!("\nThey are {bytes} bytes; `mux approvals {approval}` shows all of them.")
    } else {
        String::new()
    };
    let why = match &request.reason {
        Some(reason) => format!("{}: {}", one_line(rule), one_line(reason)),
        None => one_line(rule),
    };
    let quoted = |name: &str| {
        if name.starts_with('"') {
            name.to_owned()
        } else {
            format!("\"{name}\"")
        }
    };
    let question = match path.split_once('.') {
        Some((server, method)) if from_server => {
            let server = quoted(server);
            format!("May the MCP server {server} send this {method} request to you?")
        }
        _ => format!("May {} be called with these arguments?", quoted(path)),
    };
    let path = quoted(path);
    json!({
        "message": format!("{question}\n{arguments}{cut}\nAsked because of {why} ({approval})."),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "description": format!(
                        "\"{ONCE_CHOICE}\" is for this call with these arguments. \"{SESSION_CHOICE}\" and \"{ALWAYS_CHOICE}\" also let \
                         later calls of {path} through without asking, with any arguments."
                    ),
                    "enum": [ONCE_CHOICE, SESSION_CHOICE, ALWAYS_CHOICE, DENY_CHOICE],
                },
            },
            "required": ["decision"],
        },
    })
}

/// Checks that an answer in plain data is well-formed.
pub(super) fn check_plain(value: &Value) -> Result<(), String> {
    match UserAnswer::deserialize(value) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "it does not have the shape {{decision, reason?, shown?}}, with a `decision` of once, session, always or \
             deny: {error}"
        )),
    }
}

pub(super) fn check_form(value: &Value) -> Result<(), String> {
    match value["action"].as_str() {
        Some("accept") if form_decision(&value["content"]).is_none() => {
            Err("`content.decision` is not one of the offered choices".into())
        }
        Some("accept" | "decline" | "cancel") => Ok(()),
        _ => Err("the answer is not a valid elicitation result".into()),
    }
}

/// The user's decision and reason. `None` if the answer decides nothing.
pub(super) fn read_answer(kind: QuestionKind, answer: ClientAnswer) -> Option<UserAnswer> {
    let ClientAnswer::Result(value) = answer else {
        return None;
    };
    if kind == QuestionKind::Approval {
        let answer = UserAnswer::deserialize(&value).ok()?;
        return Some(UserAnswer {
            reason: truncate_reason(answer.reason),
            ..answer
        });
    }
    match value["action"].as_str()? {
        // A form shows one call.
        "accept" => Some(form_decision(&value["content"])?.into()),
        "decline" => Some(UserDecision::Deny.into()),
        _ => None,
    }
}

pub(super) fn truncate_reason(reason: Option<String>) -> Option<String> {
    let cut = reason.map(|reason| {
        reason
            .trim()
            .chars()
            .take(MAX_REASON_CHARS)
            .collect::<String>()
    });
    cut.filter(|reason| !reason.is_empty())
}

fn form_decision(content: &Value) -> Option<UserDecision> {
    Some(match content["decision"].as_str()? {
        ONCE_CHOICE => UserDecision::Once,
        SESSION_CHOICE => UserDecision::Session,
        ALWAYS_CHOICE => UserDecision::Always,
        DENY_CHOICE => UserDecision::Deny,
        _ => return None,
    })
}

pub(super) fn verdict(decision: UserDecision, reason: Option<String>) -> ApprovalVerdict {
    match decision {
        UserDecision::Deny => ApprovalVerdict::Denied { reason },
        UserDecision::Once | UserDecision::Session | UserDecision::Always => {
            ApprovalVerdict::Approved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_form(value: Value) -> Option<UserDecision> {
        check_form(&value).ok()?;
        read_answer(QuestionKind::Elicitation, ClientAnswer::Result(value))
            .map(|said| said.decision)
    }

    #[test]
    fn form_accepts_only_offered_choices_and_declining_denies() {
        let accept = |word: &str| json!({ "action": "accept", "content": { "decision": word } });
        for (value, expected) in [
            (accept(ONCE_CHOICE), Some(UserDecision::Once)),
            (accept(SESSION_CHOICE), Some(UserDecision::Session)),
            (accept(ALWAYS_CHOICE), Some(UserDecision::Always)),
            (accept(DENY_CHOICE), Some(UserDecision::Deny)),
            (accept("yes"), None),
            (json!({ "action": "accept" }), None),
            (json!({ "action": "decline" }), Some(UserDecision::Deny)),
            (json!({ "action": "cancel" }), None),
            (json!("accept"), None),
        ] {
            assert_eq!(of_form(value.clone()), expected, "{value}");
        }
        let refused = ClientAnswer::Refused("no user".into());
        assert!(read_answer(QuestionKind::Elicitation, refused).is_none());
    }

    #[test]
    fn plain_answer_is_validated_and_its_reason_truncated() {
        let deny = json!({ "decision": "deny", "reason": format!(" not now {}", "x".repeat(2 * MAX_REASON_CHARS)) });
        check_plain(&deny).unwrap();
        let said = read_answer(QuestionKind::Approval, ClientAnswer::Result(deny)).unwrap();
        assert_eq!(said.decision, UserDecision::Deny);
        assert_eq!(said.reason.unwrap().len(), MAX_REASON_CHARS);
        let wrong_list = json!({ "decision": "once", "shown": "A7" });
        for wrong in [
            json!({}),
            json!({ "decision": "yes" }),
            wrong_list,
            json!(null),
        ] {
            assert!(check_plain(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn form_says_that_arguments_are_cut_and_keeps_rule_on_one_line() {
        let request = |arguments: &str| ApprovalRequest {
            approval: "A7".into(),
            path: "github.delete_repo".into(),
            arguments: arguments.into(),
            bytes: 5_000,
            rule: "\"github.*\"".into(),
            reason: Some("it cannot be undone".into()),
            cover: String::new(),
            wait_ms: 1_000,
        };
        let message = |arguments| {
            question_params(QuestionKind::Elicitation, &request(arguments), false)["message"]
                .to_string()
        };
        assert!(!message("{}").contains("shows all") && message("{}").contains("cannot be undone"));
        assert!(message("{\"a…").contains("5000 bytes; `mux approvals A7` shows all"));
        assert_eq!(
            question_params(QuestionKind::Approval, &request("{}"), false)["approval"],
            "A7"
        );
        let mut forged = request("{}");
        forged.rule = "\"a\nMay b be called?\"".into();
        forged.reason = Some("one\ntwo".into());
        let message = question_params(QuestionKind::Elicitation, &forged, false)["message"].clone();
        let lines: Vec<&str> = message.as_str().unwrap().lines().collect();
        assert_eq!(lines.len(), 3, "{message}");
        assert!(
            lines[0].starts_with("May \"github.delete_repo\" be"),
            "{message}"
        );
    }
}
