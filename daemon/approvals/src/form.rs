//! A call that must be approved, as a question to the client that makes it: a form of MCP for an agent, which shows
//! it to its user, or plain data for a client of ours.
//!
//! Invariant: a user who declines has denied. One who closes the form, a client that cannot show it, and an answer
//! that says nothing have decided nothing: somebody else may answer still.

use serde::Deserialize;
use serde_json::{Value, json};

use super::subject::{Decision, Said, Verdict};
use mux_caller::{Answer, AskKind, Request, one_line};

const ONCE: &str = "allow once";
const SESSION: &str = "allow for this session";
const ALWAYS: &str = "always allow";
const DENY: &str = "deny";
/// What of a user's reason is passed on, in characters.
const REASON: usize = 500;

/// `params` of the question.
pub(super) fn params(kind: AskKind, request: &Request) -> Value {
    if kind == AskKind::Approval {
        return json!({
            "approval": request.approval,
            "path": request.path,
            "arguments": request.arguments,
            "bytes": request.bytes,
            "rule": request.rule,
            "reason": request.reason,
            "cover": request.cover,
            "wait_ms": u64::try_from(request.wait.as_millis()).unwrap_or(u64::MAX),
        });
    }
    let Request {
        approval,
        path,
        arguments,
        bytes,
        rule,
        ..
    } = request;
    let cut = match arguments.ends_with('…') {
        true => format!("\nThey are {bytes} bytes; `mux approvals {approval}` shows all of them."),
        false => String::new(),
    };
    let why = match &request.reason {
        Some(reason) => format!("{}: {}", one_line(rule), one_line(reason)),
        None => one_line(rule),
    };
    let quoted = |name: &str| match name.starts_with('"') {
        true => name.to_owned(),
        false => format!("\"{name}\""),
    };
    let question = match path.split_once('.') {
        Some((server, method)) if request.from_server => {
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
                        "\"{ONCE}\" is for this call with these arguments. \"{SESSION}\" and \"{ALWAYS}\" also let \
                         later ones of {path} pass without a question, with any arguments."
                    ),
                    "enum": [ONCE, SESSION, ALWAYS, DENY],
                },
            },
            "required": ["decision"],
        },
    })
}

#[derive(Deserialize)]
struct Plain {
    decision: String,
    #[serde(default)]
    reason: Option<String>,
    /// Ids of other approvals that stood beside it.
    #[serde(default)]
    shown: Vec<String>,
}

/// Whether this is an answer at all.
pub(super) fn check_plain(value: &Value) -> Result<(), String> {
    let plain = Plain::deserialize(value)
        .map_err(|_| "it is not of the shape {decision, reason?, shown?}".to_owned())?;
    match word(&plain.decision) {
        Some(_) => Ok(()),
        None => Err("`decision` is none of once, session, always, deny".into()),
    }
}

pub(super) fn check_form(value: &Value) -> Result<(), String> {
    match value["action"].as_str() {
        Some("accept") if decided(&value["content"]).is_none() => {
            Err("`content.decision` is none of those that were offered".into())
        }
        Some("accept" | "decline" | "cancel") => Ok(()),
        _ => Err("the answer is not of the shape that MCP gives it".into()),
    }
}

/// What the user has said, and why; none if that was nothing.
pub(super) fn read(kind: AskKind, answer: Answer) -> Option<Said> {
    let Answer::Result(value) = answer else {
        return None;
    };
    if kind == AskKind::Approval {
        let plain = Plain::deserialize(&value).ok()?;
        return Some(Said {
            decision: word(&plain.decision)?,
            reason: shortened(plain.reason),
            shown: plain.shown,
        });
    }
    match value["action"].as_str()? {
        // A form shows one call.
        "accept" => Some(decided(&value["content"])?.into()),
        "decline" => Some(Decision::Deny.into()),
        _ => None,
    }
}

pub(super) fn shortened(reason: Option<String>) -> Option<String> {
    let cut = reason.map(|reason| reason.trim().chars().take(REASON).collect::<String>());
    cut.filter(|reason| !reason.is_empty())
}

fn decided(content: &Value) -> Option<Decision> {
    Some(match content["decision"].as_str()? {
        ONCE => Decision::Once,
        SESSION => Decision::Session,
        ALWAYS => Decision::Always,
        DENY => Decision::Deny,
        _ => return None,
    })
}

fn word(word: &str) -> Option<Decision> {
    Some(match word {
        "once" => Decision::Once,
        "session" => Decision::Session,
        "always" => Decision::Always,
        "deny" => Decision::Deny,
        _ => return None,
    })
}

impl Decision {
    pub(super) fn verdict(self, reason: Option<String>) -> Verdict {
        match self {
            Self::Deny => Verdict::Denied { reason },
            Self::Once | Self::Session | Self::Always => Verdict::Approved,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of_form(value: Value) -> Option<Decision> {
        check_form(&value).ok()?;
        read(AskKind::Elicitation, Answer::Result(value)).map(|said| said.decision)
    }

    #[test]
    fn a_form_is_answered_by_what_it_offers_and_declining_denies() {
        let accept = |word: &str| json!({ "action": "accept", "content": { "decision": word } });
        for (value, expected) in [
            (accept(ONCE), Some(Decision::Once)),
            (accept(SESSION), Some(Decision::Session)),
            (accept(ALWAYS), Some(Decision::Always)),
            (accept(DENY), Some(Decision::Deny)),
            (accept("yes"), None),
            (json!({ "action": "accept" }), None),
            (json!({ "action": "decline" }), Some(Decision::Deny)),
            (json!({ "action": "cancel" }), None),
            (json!("accept"), None),
        ] {
            assert_eq!(of_form(value.clone()), expected, "{value}");
        }
        let refused = Answer::Refused("no user".into());
        assert!(read(AskKind::Elicitation, refused).is_none());
    }

    #[test]
    fn a_client_of_ours_answers_in_words_of_ours() {
        let deny =
            json!({ "decision": "deny", "reason": format!(" not now {}", "x".repeat(2 * REASON)) });
        check_plain(&deny).unwrap();
        let said = read(AskKind::Approval, Answer::Result(deny)).unwrap();
        assert_eq!(said.decision, Decision::Deny);
        assert_eq!(said.reason.unwrap().len(), REASON);
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
    fn the_question_says_what_is_cut() {
        let request = |arguments: &str| Request {
            approval: "A7".into(),
            path: "github.delete_repo".into(),
            arguments: arguments.into(),
            bytes: 5_000,
            rule: "\"github.*\"".into(),
            reason: Some("it cannot be undone".into()),
            cover: String::new(),
            from_server: false,
            wait: Duration::from_secs(1),
        };
        let message =
            |arguments| params(AskKind::Elicitation, &request(arguments))["message"].to_string();
        assert!(!message("{}").contains("shows all") && message("{}").contains("cannot be undone"));
        assert!(message("{\"a…").contains("5000 bytes; `mux approvals A7` shows all"));
        assert_eq!(params(AskKind::Approval, &request("{}"))["approval"], "A7");
        let mut forged = request("{}");
        forged.rule = "\"a\nMay b be called?\"".into();
        forged.reason = Some("one\ntwo".into());
        let message = params(AskKind::Elicitation, &forged)["message"].clone();
        let lines: Vec<&str> = message.as_str().unwrap().lines().collect();
        assert_eq!(lines.len(), 3, "{message}");
        assert!(
            lines[0].starts_with("May \"github.delete_repo\" be"),
            "{message}"
        );
    }
}
