//! The answers of a [`Case`] to the messages of one client, before they are framed.
//!
//! Invariant: it never reads more of a request than its method, id, cursor and offered revision.

use std::collections::HashSet;

use parking_lot::Mutex;
use serde_json::Value;

use super::{
    case::{Case, Habit},
    json_tree::Node,
    messages::{self, REVISIONS},
};

const NEWEST: &str = REVISIONS[REVISIONS.len() - 1];

/// A server and the state that one client left in it.
pub(super) struct ScriptedServer {
    pub(super) case: Case,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_initialized: bool,
    is_spoiled: bool,
    /// How many sessions began.
    begun: usize,
    /// The ids of the sessions that it knows.
    sessions: HashSet<String>,
}

/// The treatment of a request over HTTP before its answer.
pub(super) enum SessionCheck {
    /// The session that this request belongs to or begins.
    Known(Option<String>),
    Lost(Habit),
}

impl ScriptedServer {
    pub(super) fn new(case: Case) -> Self {
        Self {
            case,
            state: Mutex::default(),
        }
    }

    pub(super) fn has(&self, habit: Habit) -> bool {
        self.case.habits.contains(&habit)
    }

    /// The messages that answer a message. Notifications and answers have none.
    pub(super) fn replies(&self, message: &Value) -> Vec<String> {
        let Some(method) = message["method"].as_str() else {
            return Vec::new();
        };
        let is_spoiled = self.note(method);
        let Some(id) = message.get("id") else {
            return Vec::new();
        };
        let offered = message["params"]["protocolVersion"]
            .as_str()
            .unwrap_or(NEWEST);
        let revision = self.case.revision.as_deref().unwrap_or_else(|| {
            let known = REVISIONS.contains(&offered);
            if known { offered } else { NEWEST }
        });
        let templates = if is_spoiled && self.has(Habit::InitializeFirst) {
            vec![text_of(&messages::error(
                -32000,
                "the server is not initialized",
            ))]
        } else if method == "initialize" && !REVISIONS.contains(&offered) {
            self.refusal(offered)
                .unwrap_or_else(|| self.templates(message, method, revision))
        } else {
            self.templates(message, method, revision)
        };
        let fill = |template: String| {
            template
                .replace("$id", &id.to_string())
                .replace("$version", revision)
        };
        templates.into_iter().map(fill).collect()
    }

    /// Returns true if `initialize` was read.
    pub(super) fn is_initialized(&self) -> bool {
        self.state.lock().is_initialized
    }

    /// Begins, finds or loses the session of a request.
    pub(super) fn check_session(&self, message: &Value, id: Option<&str>) -> SessionCheck {
        const LOSSES: [Habit; 4] = [
            Habit::LosesSession400,
            Habit::LosesSession404,
            Habit::LosesSession410,
            Habit::LosesSession200,
        ];
        let loss = LOSSES.into_iter().find(|habit| self.has(*habit));
        if loss.is_none() && !self.has(Habit::Sessions) {
            return SessionCheck::Known(None);
        }
        let mut state = self.state.lock();
        if message["method"] == "initialize" {
            state.begun += 1;
            let id = format!("session-{}", state.begun);
            state.sessions.insert(id.clone());
            return SessionCheck::Known(Some(id));
        }
        let Some(loss) = loss else {
            return SessionCheck::Known(None);
        };
        if message["method"] == "tools/call" {
            // Only the first session is lost: a client that opens another one succeeds.
            state.sessions.remove("session-1");
        }
        let is_known = id.is_some_and(|id| state.sessions.contains(id));
        let needs_none = message["method"] == "server/discover";
        if is_known || needs_none {
            SessionCheck::Known(None)
        } else {
            SessionCheck::Lost(loss)
        }
    }

    /// Remembers a message, and whether the first one was not `initialize`.
    fn note(&self, method: &str) -> bool {
        let mut state = self.state.lock();
        if method == "initialize" {
            state.is_initialized = true;
        } else if !state.is_initialized {
            state.is_spoiled = true;
        }
        state.is_spoiled
    }

    fn refusal(&self, offered: &str) -> Option<Vec<String>> {
        let text = format!("unsupported protocol version {offered}");
        let mut error = messages::error(-32602, &text);
        if self.has(Habit::NamesSupportedRevisions) {
            error["error"]["data"] =
                serde_json::json!({ "supported": REVISIONS, "requested": offered });
        } else if !self.has(Habit::RefusesUnknownRevision) {
            return None;
        }
        Some(vec![text_of(&error)])
    }

    fn templates(&self, message: &Value, method: &str, revision: &str) -> Vec<String> {
        let cursor = &message["params"]["cursor"];
        let next = self.case.answers.get(&format!("{method}?next"));
        let scripted = match next {
            Some(next) if !cursor.is_null() => Some(next),
            _ => self.case.answers.get(method),
        };
        scripted
            .cloned()
            .unwrap_or_else(|| vec![text_of(&messages::answer(method, revision))])
    }
}

fn text_of(message: &Value) -> String {
    Node::from(message).text()
}
