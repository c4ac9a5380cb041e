//! What a server wants to know of the client whose call made it ask.
//!
//! Invariant: a question is answered by the one connection that waits for this session, or at once by
//! us; and while it is open, that connection's clocks stand still.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
#[expect(deprecated, reason = "servers of today ask for them")]
use rmcp::model::{CreateMessageResult, ListRootsResult, Root};
use rmcp::model::{ElicitResult, ElicitationAction, ErrorCode, ErrorData, MetaObject};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{sync::Semaphore, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{ears::Ears, in_flight::Party};
use crate::{
    notices::{Answer, AskKind, Question},
    settings::{Roots, ServerDefinition},
};

/// Questions of one session that are open at once.
const MOST: usize = 16;
/// What MCP says when a user declines that something is sampled.
const REJECTED: ErrorCode = ErrorCode(-1);

#[derive(Debug)]
pub(super) struct Asks {
    server: String,
    ears: Arc<Ears>,
    room: Semaphore,
    /// How long a client may take.
    limit: Duration,
    roots: Roots,
}

/// Who is asked.
#[derive(Default)]
pub(super) struct Whom {
    /// None if there is nobody.
    pub(super) party: Option<Party>,
    pub(super) workspace: Option<PathBuf>,
    /// The server's own name for the question.
    pub(super) key: Option<String>,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error(
        "nobody can be asked: not exactly one client waits for this session, or it cannot answer"
    )]
    Nobody,
    #[error("more than {MOST} questions of this server are open")]
    TooMany,
    #[error("nobody answered within {0:?} (limits.ask)")]
    Limit(Duration),
    /// The client, the call or the server's own interest has gone.
    #[error("nobody waits for the answer any more")]
    Gone,
    #[error("{0}")]
    Refused(String),
}

impl Unanswered {
    /// What a client says is between it and the server.
    fn logged(&self) -> String {
        match self {
            Self::Refused(_) => "the client refused to answer".into(),
            why => why.to_string(),
        }
    }
}

impl Asks {
    pub(super) fn new(server: &str, ears: Arc<Ears>, definition: &ServerDefinition) -> Self {
        Self {
            server: server.to_owned(),
            ears,
            room: Semaphore::new(MOST),
            limit: definition.ask,
            roots: definition.roots.clone(),
        }
    }

    /// Whether it may ask for roots.
    pub(super) fn has_roots(&self) -> bool {
        self.roots != Roots::Off
    }

    /// Whoever has something on its way: a question of the old era names no call.
    pub(super) fn anybody(&self) -> Whom {
        let party = self.ears.in_flight.party();
        let workspace = party.as_ref().and_then(|p| p.caller.workspace.clone());
        Whom {
            party,
            workspace,
            key: None,
        }
    }

    /// A user who cannot be asked has declined; one who has gone has cancelled.
    pub(super) async fn elicit(
        &self,
        whom: Whom,
        params: Value,
        given_up: &CancellationToken,
    ) -> ElicitResult {
        let kind = AskKind::Elicitation;
        let answer = self.ask(whom, kind, params, check_elicited, given_up).await;
        answer.unwrap_or_else(|why| {
            let action = match why {
                Unanswered::Gone => ElicitationAction::Cancel,
                _ => ElicitationAction::Decline,
            };
            let mut meta = MetaObject::default();
            meta.0.insert("muxd/reason".into(), why.to_string().into());
            ElicitResult::new(action).with_meta(meta)
        })
    }

    #[expect(deprecated, reason = "servers of today ask for it")]
    pub(super) async fn sample(
        &self,
        whom: Whom,
        params: Value,
        given_up: &CancellationToken,
    ) -> Result<CreateMessageResult, ErrorData> {
        let check = check_as::<CreateMessageResult>;
        let kind = AskKind::Sampling;
        let answer = self.ask(whom, kind, params, check, given_up).await;
        answer.map_err(|why| {
            let message = format!("nothing was sampled: {why}");
            ErrorData::new(REJECTED, message, None)
        })
    }

    /// As the entry says; otherwise the client's own, or the directory in which it works, or that of everybody who
    /// shares the session.
    #[expect(deprecated, reason = "servers of today ask for them")]
    pub(super) async fn roots(&self, whom: Whom, given_up: &CancellationToken) -> ListRootsResult {
        match &self.roots {
            Roots::Workspace => {}
            Roots::Off => return ListRootsResult::new(Vec::new()),
            Roots::These(these) => {
                return ListRootsResult::new(these.iter().filter_map(|it| root_of(it)).collect());
            }
        }
        let workspace = self.ears.asks_for_roots(whom.workspace.clone());
        let check = check_as::<ListRootsResult>;
        let params = Value::Object(serde_json::Map::new());
        let kind = AskKind::Roots;
        let answer = self.ask(whom, kind, params, check, given_up).await;
        answer.unwrap_or_else(|_| {
            let root = workspace.and_then(|folder| root_of(&folder));
            ListRootsResult::new(root.into_iter().collect())
        })
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        whom: Whom,
        kind: AskKind,
        params: Value,
        check: fn(&Value) -> Result<(), String>,
        given_up: &CancellationToken,
    ) -> Result<T, Unanswered> {
        let outcome = self.asked(whom, kind, params, check, given_up).await;
        if let Err(why) = &outcome {
            self.ears
                .note(&format!("[muxd] {kind:?}: {}", why.logged()));
        }
        serde_json::from_value(outcome?).map_err(|e| Unanswered::Refused(misshapen(&e)))
    }

    async fn asked(
        &self,
        whom: Whom,
        kind: AskKind,
        params: Value,
        check: fn(&Value) -> Result<(), String>,
        given_up: &CancellationToken,
    ) -> Result<Value, Unanswered> {
        let _room = self.room.try_acquire().map_err(|_| Unanswered::TooMany)?;
        let party = whom.party.ok_or(Unanswered::Nobody)?;
        let question = Question {
            server: self.server.clone(),
            cause: party.caller.cause.clone(),
            kind,
            key: whom.key,
            params,
            check,
        };
        self.ears.pages.opened(&question.params, &party);
        let mut asked = party.mailbox.ask(question).ok_or(Unanswered::Nobody)?;
        // It may take minutes, and a client may never answer.
        party.seat.iter().for_each(|seat| seat.leave());
        let _standing: Vec<_> = party.clocks.iter().map(|clock| clock.hold()).collect();
        let calls_over = join_all(party.over.iter().map(CancellationToken::cancelled));
        tokio::select! {
            answer = asked.answered() => match answer {
                Some(Answer::Result(value)) => Ok(value),
                Some(Answer::Refused(why)) => Err(Unanswered::Refused(why)),
                None => Err(Unanswered::Gone),
            },
            () = given_up.cancelled() => Err(Unanswered::Gone),
            _ = calls_over => Err(Unanswered::Gone),
            () = sleep(self.limit) => Err(Unanswered::Limit(self.limit)),
        }
    }
}

fn check_as<T: DeserializeOwned>(value: &Value) -> Result<(), String> {
    T::deserialize(value).map(drop).map_err(|e| misshapen(&e))
}

/// serde's own words quote what a user has answered, which may be a secret.
fn misshapen(error: &serde_json::Error) -> String {
    let what = error.classify();
    format!("the answer is not of the shape that MCP gives it ({what:?})")
}

/// What a form was filled with has names.
fn check_elicited(value: &Value) -> Result<(), String> {
    let result = ElicitResult::deserialize(value).map_err(|e| misshapen(&e))?;
    match (result.action, result.content) {
        (ElicitationAction::Accept, Some(content)) if !content.is_object() => {
            Err("`content` is no object".into())
        }
        _ => Ok(()),
    }
}

#[expect(deprecated, reason = "servers of today ask for them")]
fn root_of(folder: &Path) -> Option<Root> {
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned());
    let root = Root::new(uri_of(folder.to_str()?)?);
    Some(name.into_iter().fold(root, Root::with_name))
}

/// `file://` and the path, with everything escaped that is not plain.
fn uri_of(path: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let escaped = path.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    path.starts_with('/')
        .then(|| format!("file://{}", escaped.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_becomes_a_uri() {
        assert_eq!(
            uri_of("/home/me/my notes/ä").as_deref(),
            Some("file:///home/me/my%20notes/%C3%A4")
        );
        assert_eq!(uri_of("notes"), None);
    }

    #[test]
    fn an_answer_has_the_shape_of_its_kind() {
        for (right, value) in [
            (true, json!({ "action": "accept", "content": { "a": 1 } })),
            (true, json!({ "action": "accept" })),
            (true, json!({ "action": "decline" })),
            (false, json!({ "action": "accept", "content": 7 })),
            (false, json!({ "action": "maybe" })),
            (false, json!([])),
        ] {
            assert_eq!(check_elicited(&value).is_ok(), right, "{value}");
        }
    }

    #[test]
    fn what_a_user_answered_stands_in_no_error_and_no_log() {
        let secret = "hunter2";
        let elicited = check_elicited(&json!({ "action": secret })).unwrap_err();
        let sampled = check_as::<ElicitResult>(&json!(secret)).unwrap_err();
        for error in [elicited, sampled] {
            assert!(
                error.contains("shape") && !error.contains(secret),
                "{error}"
            );
        }
        let refused = Unanswered::Refused(secret.into());
        assert!(!refused.logged().contains(secret));
        assert!(Unanswered::TooMany.logged().contains("16"));
    }
}
