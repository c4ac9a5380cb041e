//! Requests of a server (elicitation, sampling, roots) to the client whose call caused them.
//!
//! Invariant: a question is answered by the only connection with calls in flight on this session, or immediately by the
//! daemon. While the question is open, that connection's clocks are paused. The total pause is limited, however many
//! servers ask however often. No question reaches a client before [`ServerRequestPolicy`] has allowed it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use futures::future::{BoxFuture, join_all};
use mux_wire::{Fault, FaultKind};
use reqwest::Url;
#[expect(deprecated, reason = "current servers ask for them")]
use rmcp::model::{CreateMessageResult, ListRootsResult, Root};
use rmcp::model::{ElicitResult, ElicitationAction, ErrorCode, ErrorData, MetaObject};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{sync::Semaphore, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    notification_router::NotificationRouter,
    question_text,
    url_elicitation::{PageRefusal, page_of},
};
use crate::calls::CallingClient;
use mux_caller::{Caller, ClientAnswer, ClientQuestion, QuestionKind};
use mux_settings::{AskLimits, RootsSetting, ServerDefinition};

/// The maximum number of open questions of one session.
const MAX_OPEN_QUESTIONS: usize = 16;
/// Tells the user where to answer an elicitation that reached no client.
const TERMINAL_HINT: &str =
    "; `mux run` and `mux call` ask at a terminal (standard input and standard error)";
/// The details of a fault if the default, not a rule, denied the request.
pub const DENIED_BY_DEFAULT: &str = r#"{"denied_by":"default"}"#;
/// MCP's error code for sampling that the user declined.
const SAMPLING_REJECTED: ErrorCode = ErrorCode(-1);

/// The policy for servers' requests. Empty until it is set.
pub type RequestPolicy = Arc<OnceLock<Weak<dyn ServerRequestPolicy>>>;

/// The policy for the server's requests to clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestPolicyContext {
    /// The identity of the server, unique among servers with the same name.
    pub(crate) identity: String,
    pub(crate) policy: RequestPolicy,
}

/// Decides whether a server may ask something of a client.
pub trait ServerRequestPolicy: Send + Sync {
    /// Polls `answer` once the request is allowed, and never if it is denied.
    fn answer_if_allowed<'a>(
        &'a self,
        request: ServerRequest<'a>,
        answer: BoxFuture<'a, Result<Value, ServerRequestError>>,
    ) -> BoxFuture<'a, Result<Value, ServerRequestError>>;
}

/// A request from a server.
pub struct ServerRequest<'a> {
    pub name: &'a str,
    /// Distinguishes the server from a server of the same name in another project.
    pub identity: &'a str,
    /// The MCP method.
    pub method: &'static str,
    pub params: &'a Value,
    /// The caller for whose call the server is working. `None` if there is no such caller, or if it is ambiguous.
    pub caller: Option<&'a Arc<Caller>>,
    /// Must be called before a user is asked to approve the request, to release the call's permit meanwhile.
    pub release_permit: &'a (dyn Fn() + Send + Sync),
}

#[derive(Debug)]
pub(crate) struct ServerRequests {
    server: String,
    requests: RequestPolicyContext,
    router: Arc<NotificationRouter>,
    open_questions: Semaphore,
    /// The time limits for answers.
    limits: AskLimits,
    roots: RootsSetting,
}

/// The recipient of a question.
#[derive(Default)]
pub(crate) struct RequestRecipient {
    /// `None` if no client can be asked.
    pub(crate) client: Option<CallingClient>,
    pub(crate) workspace: Option<PathBuf>,
    /// The server's key for the question.
    pub(crate) key: Option<String>,
}

/// The reason a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ServerRequestError {
    #[error(
        "no client can be asked: not exactly one client has calls in this session, or it cannot answer"
    )]
    Nobody,
    #[error("more than {MAX_OPEN_QUESTIONS} questions of this server are open")]
    TooMany,
    #[error("no answer within {0:?} (limits.ask)")]
    Limit(Duration),
    #[error(
        "the questions of servers have held this call or its run for {0:?} in all, which is the limit (limits.ask_total)"
    )]
    Total(Duration),
    /// The client or the call has ended, or the server has cancelled the request.
    #[error("the answer is no longer needed")]
    Gone,
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Page(PageRefusal),
    /// Denied by a rule, by the default, or by the user. The text of a rule is for the user, not for the server.
    #[error("the user of muxd does not allow it{}", policy_hint(.0))]
    Denied(Box<Fault>),
}

/// The hint to write a rule, which is not a secret if no rule exists.
fn policy_hint(fault: &Fault) -> String {
    let is_default = fault.details.as_deref() == Some(DENIED_BY_DEFAULT);
    let hint = fault.hint.as_ref().filter(|_| is_default);
    hint.map_or_else(String::new, |hint| format!(": {hint}"))
}

impl ServerRequestError {
    /// The text for the server's log, without the words of a client.
    fn log_text(&self) -> String {
        match self {
            Self::Refused(_) => "the client refused to answer".into(),
            Self::Denied(fault) => fault.message.clone(),
            why => why.to_string(),
        }
    }

    /// The error kind for a call that fails with this.
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Nobody | Self::Refused(_) | Self::Page(_) => FaultKind::Unavailable,
            Self::TooMany => FaultKind::Busy,
            Self::Limit(_) | Self::Total(_) => FaultKind::Timeout,
            Self::Gone => FaultKind::Cancelled,
            Self::Denied(fault) => fault.kind,
        }
    }
}

impl ServerRequests {
    pub(crate) fn new(
        server: &str,
        router: Arc<NotificationRouter>,
        definition: &ServerDefinition,
        requests: RequestPolicyContext,
    ) -> Self {
        Self {
            server: server.to_owned(),
            requests,
            router,
            open_questions: Semaphore::new(MAX_OPEN_QUESTIONS),
            limits: definition.ask,
            roots: definition.roots.clone(),
        }
    }

    /// True if the server may ask for roots.
    pub(super) fn has_roots(&self) -> bool {
        self.roots != RootsSetting::Off
    }

    /// The only client with requests in flight: a question of the legacy era names no call.
    pub(super) fn sole_recipient(&self) -> RequestRecipient {
        let client = self.router.in_flight.calling_client();
        let workspace = client.as_ref().and_then(|p| p.caller.workspace.clone());
        RequestRecipient {
            client,
            workspace,
            key: None,
        }
    }

    /// Asks for elicitation. A user who cannot be asked counts as declining, and a user who is gone as cancelling.
    pub(crate) async fn elicit(
        &self,
        recipient: RequestRecipient,
        params: Value,
        cancelled: &CancellationToken,
    ) -> ElicitResult {
        let kind = QuestionKind::Elicitation;
        let opens_page = params["mode"] == "url";
        let asked = (kind, params, None);
        let answer = self
            .ask_logged(recipient, asked, check_elicitation, cancelled)
            .await;
        let answer = answer.map(|mut answer: ElicitResult| {
            if opens_page {
                // The user's input on a page is only for that page.
                answer.content = None;
            }
            answer
        });
        answer.unwrap_or_else(|why| {
            let action = match why {
                ServerRequestError::Gone => ElicitationAction::Cancel,
                _ => ElicitationAction::Decline,
            };
            let reason = match why {
                ServerRequestError::Nobody => format!("{why}{TERMINAL_HINT}"),
                why => why.to_string(),
            };
            let mut meta = MetaObject::default();
            meta.0.insert("muxd/reason".into(), reason.into());
            ElicitResult::new(action).with_meta(meta)
        })
    }

    #[expect(deprecated, reason = "current servers ask for it")]
    pub(crate) async fn sample(
        &self,
        recipient: RequestRecipient,
        params: Value,
        cancelled: &CancellationToken,
    ) -> Result<CreateMessageResult, ErrorData> {
        let check = check_as::<CreateMessageResult>;
        let asked = (QuestionKind::Sampling, params, None);
        let answer = self.ask_logged(recipient, asked, check, cancelled).await;
        answer.map_err(|why| {
            let message = format!("nothing was sampled: {why}");
            ErrorData::new(SAMPLING_REJECTED, message, None)
        })
    }

    /// The roots, as configured in the entry. Otherwise the client's own roots, or its working directory, or the
    /// workspace of the session.
    #[expect(deprecated, reason = "current servers ask for them")]
    pub(crate) async fn roots(
        &self,
        recipient: RequestRecipient,
        cancelled: &CancellationToken,
    ) -> ListRootsResult {
        match &self.roots {
            RootsSetting::Workspace => {}
            RootsSetting::Off => return ListRootsResult::new(Vec::new()),
            RootsSetting::These(configured) => {
                return ListRootsResult::new(
                    configured.iter().filter_map(|it| root_of(it)).collect(),
                );
            }
        }
        let workspace = self.router.roots_requested(recipient.workspace.clone());
        let own = workspace.and_then(|folder| root_of(&folder));
        let own = ListRootsResult::new(own.into_iter().collect());
        let params = Value::Object(serde_json::Map::new());
        let asked = (QuestionKind::Roots, params, serde_json::to_value(&own).ok());
        let check = check_as::<ListRootsResult>;
        let answer = self.ask_logged(recipient, asked, check, cancelled).await;
        answer.unwrap_or_else(|_| ListRootsResult::new(Vec::new()))
    }

    /// Asks and logs a failure. `own` is the daemon's answer if the client gives none.
    async fn ask_logged<T: DeserializeOwned>(
        &self,
        recipient: RequestRecipient,
        (kind, params, own): (QuestionKind, Value, Option<Value>),
        check: AnswerCheck,
        cancelled: &CancellationToken,
    ) -> Result<T, ServerRequestError> {
        let outcome = self
            .ask_through_policy(recipient, (kind, params, own), check, cancelled)
            .await;
        if let Err(why) = &outcome {
            self.router
                .write_log_line(&format!("[muxd] {kind:?}: {}", why.log_text()));
        }
        serde_json::from_value(outcome?)
            .map_err(|e| ServerRequestError::Refused(malformed_answer(&e)))
    }

    /// Asks if the policy allows it.
    async fn ask_through_policy(
        &self,
        recipient: RequestRecipient,
        (kind, params, own): (QuestionKind, Value, Option<Value>),
        check: AnswerCheck,
        cancelled: &CancellationToken,
    ) -> Result<Value, ServerRequestError> {
        if let Some(Err(refusal)) = page_to_open(kind, &params) {
            if let Some(client) = &recipient.client {
                let cause = client.caller.cause.clone();
                let why = Some(refusal.to_string());
                client.mailbox.push_declined(&self.server, kind, cause, why);
            }
            return Err(ServerRequestError::Page(refusal));
        }
        let _open_question = self
            .open_questions
            .try_acquire()
            .map_err(|_| ServerRequestError::TooMany)?;
        let RequestRecipient { client, key, .. } = recipient;
        let can = |client: &CallingClient| client.mailbox.can_answer(kind);
        if own.is_none() && !client.as_ref().is_some_and(can) {
            if let Some(client) = &client {
                let cause = client.caller.cause.clone();
                client
                    .mailbox
                    .push_declined(&self.server, kind, cause, None);
            }
            return Err(ServerRequestError::Nobody);
        }
        let policy = self.requests.policy.get().and_then(Weak::upgrade);
        let policy = policy.ok_or(ServerRequestError::Gone)?;
        let clocks = || client.iter().flat_map(|client| &client.clocks);
        let asked_before = clocks().map(|clock| clock.paused_for_questions()).max();
        let remaining = (self.limits.total).saturating_sub(asked_before.unwrap_or_default());
        // An answer may take minutes, or never come.
        let _paused: Vec<_> = clocks()
            .map(mux_caller::PausableClock::pause_for_question)
            .collect();
        let release_permit = || {
            let permits = client.iter().flat_map(|client| &client.permit);
            permits.for_each(|permit| permit.release_early());
        };
        let request = ServerRequest {
            name: &self.server,
            identity: &self.requests.identity,
            method: ask_method(kind),
            params: &params,
            caller: client.as_ref().map(|client| &client.caller),
            release_permit: &release_permit,
        };
        let answer = async {
            let asked = match &client {
                Some(client) => {
                    let params = params.clone();
                    self.ask_client(client, kind, key, params, check, remaining)
                        .await
                }
                None => Err(ServerRequestError::Nobody),
            };
            asked.or_else(|why| own.ok_or(why))
        };
        let calls_over = async {
            match &client {
                Some(client) => {
                    join_all(client.finished.iter().map(CancellationToken::cancelled)).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            outcome = policy.answer_if_allowed(request, Box::pin(answer)) => outcome,
            () = cancelled.cancelled() => Err(ServerRequestError::Gone),
            () = calls_over => Err(ServerRequestError::Gone),
        }
    }

    async fn ask_client(
        &self,
        client: &CallingClient,
        kind: QuestionKind,
        key: Option<String>,
        mut params: Value,
        check: AnswerCheck,
        remaining: Duration,
    ) -> Result<Value, ServerRequestError> {
        let AskLimits { one, total } = self.limits;
        if remaining.is_zero() {
            return Err(ServerRequestError::Total(total));
        }
        question_text::sanitize_question(kind, &mut params);
        if let Some(Ok(page)) = page_to_open(kind, &params) {
            params["url"] = String::from(page).into();
        }
        let question = ClientQuestion {
            server: Some(self.server.clone()),
            cause: client.caller.cause.clone(),
            tool: client.tool.clone(),
            kind,
            key,
            params,
            check,
        };
        self.router
            .url_elicitations
            .record_asked(&question.params, client);
        let mut asked = client
            .mailbox
            .ask(question)
            .ok_or(ServerRequestError::Nobody)?;
        client
            .permit
            .iter()
            .for_each(|permit| permit.release_early());
        tokio::select! {
            answer = asked.wait_for_answer() => match answer {
                Some(ClientAnswer::Result(value)) => Ok(value),
                Some(ClientAnswer::Refused(why)) => Err(ServerRequestError::Refused(why)),
                None => Err(ServerRequestError::Gone),
            },
            () = sleep(one.min(remaining)) => Err(if one <= remaining { ServerRequestError::Limit(one) } else { ServerRequestError::Total(total) }),
        }
    }
}

fn page_to_open(kind: QuestionKind, params: &Value) -> Option<Result<Url, PageRefusal>> {
    (kind == QuestionKind::Elicitation)
        .then(|| page_of(params))
        .flatten()
}

/// Checks an answer. The error says what is wrong.
type AnswerCheck = fn(&Value) -> Result<(), String>;

fn ask_method(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Elicitation | QuestionKind::Approval => "elicitation/create",
        QuestionKind::Sampling => "sampling/createMessage",
        QuestionKind::Roots => "roots/list",
    }
}

fn check_as<T: DeserializeOwned>(value: &Value) -> Result<(), String> {
    T::deserialize(value)
        .map(drop)
        .map_err(|e| malformed_answer(&e))
}

/// serde's error texts quote the answer, which may be a secret.
fn malformed_answer(error: &serde_json::Error) -> String {
    let what = error.classify();
    format!("the answer does not have the shape that MCP defines ({what:?})")
}

/// Checks the answer to an elicitation: the content of a form is an object.
fn check_elicitation(value: &Value) -> Result<(), String> {
    let result = ElicitResult::deserialize(value).map_err(|e| malformed_answer(&e))?;
    match (result.action, result.content) {
        (ElicitationAction::Accept, Some(content)) if !content.is_object() => {
            Err("`content` is not an object".into())
        }
        _ => Ok(()),
    }
}

#[expect(deprecated, reason = "current servers ask for them")]
fn root_of(folder: &Path) -> Option<Root> {
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned());
    let root = Root::new(Url::from_file_path(folder).ok()?);
    Some(name.into_iter().fold(root, Root::with_name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    #[expect(deprecated, reason = "current servers ask for them")]
    fn path_of_a_root_is_encoded_as_file_uri() {
        let folder = std::env::temp_dir().join("my notes").join("ä");
        let root = root_of(&folder).unwrap();
        assert!(root.uri.starts_with("file:///"), "{root:?}");
        assert!(root.uri.ends_with("/my%20notes/%C3%A4"), "{root:?}");
        assert_eq!(root.name.as_deref(), Some("ä"));
        assert!(root_of(Path::new("notes")).is_none());
    }

    #[test]
    fn elicitation_answer_must_have_its_shape() {
        for (right, value) in [
            (true, json!({ "action": "accept", "content": { "a": 1 } })),
            (true, json!({ "action": "accept" })),
            (true, json!({ "action": "decline" })),
            (false, json!({ "action": "accept", "content": 7 })),
            (false, json!({ "action": "maybe" })),
            (false, json!([])),
        ] {
            assert_eq!(check_elicitation(&value).is_ok(), right, "{value}");
        }
    }

    #[test]
    fn user_answer_does_not_appear_in_errors_or_logs() {
        let secret = "hunter2";
        let elicited = check_elicitation(&json!({ "action": secret })).unwrap_err();
        let sampled = check_as::<ElicitResult>(&json!(secret)).unwrap_err();
        for error in [elicited, sampled] {
            assert!(
                error.contains("shape") && !error.contains(secret),
                "{error}"
            );
        }
        let refused = ServerRequestError::Refused(secret.into());
        assert!(!refused.log_text().contains(secret));
        assert!(ServerRequestError::TooMany.log_text().contains("16"));
    }
}
