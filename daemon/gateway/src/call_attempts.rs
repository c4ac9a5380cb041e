//! Decides if a call or another request is sent a second time.
//!
//! Invariant: a call that may have happened is sent again at most once, and only if that is harmless: its tool declares
//! so, and so does the user for its server.

use std::sync::atomic::{AtomicBool, Ordering};

use mux_wire::Fault;

use super::dispatch::DispatchedCall;
use mux_catalog::Tool;
use mux_settings::RetryPolicy;
use mux_upstream::{BackChannelRemedy, CallError, Server};

/// Allows one more attempt at a request that was not sent: its session ended while it was queued, or a moment ago.
#[derive(Debug, Default)]
pub(super) struct UnsentRetry {
    used: bool,
}

impl UnsentRetry {
    /// True if this answer allows another attempt.
    pub(super) fn should_retry<T>(&mut self, answer: &Result<T, CallError>) -> bool {
        matches!(answer, Err(CallError::NotSent)) && !std::mem::replace(&mut self.used, true)
    }
}

pub(super) struct CallAttempts {
    retry: RetryPolicy,
    unsent: UnsentRetry,
    /// The first attempt that may have happened and has no result. This attempt is the outcome unless a later attempt
    /// is answered.
    first: Option<DispatchedCall>,
    is_reported: AtomicBool,
}

impl CallAttempts {
    pub(super) fn of(server: &Server) -> Self {
        let definition = server.definition().as_ref();
        Self::with(definition.map_or(RetryPolicy::Never, |it| it.retry))
    }

    fn with(retry: RetryPolicy) -> Self {
        Self {
            retry,
            unsent: UnsentRetry::default(),
            first: None,
            is_reported: AtomicBool::new(false),
        }
    }

    /// True if a call of this tool, as its session now describes it, may be sent.
    pub(super) fn allows_send(&self, tool: &Tool) -> bool {
        self.first.is_none() || self.is_harmless(tool)
    }

    /// The reason the next attempt is a repetition. Returned once.
    pub(super) fn take_retry_cause(&self) -> Option<&str> {
        let cause = match &self.first.as_ref()?.answer {
            Err(CallError::Unknown(cause)) => cause,
            Err(CallError::NoBackChannel(it)) => &it.message,
            _ => return None,
        };
        (!self.is_reported.swap(true, Ordering::Relaxed)).then_some(cause)
    }

    /// True if the outcome of this attempt allows another.
    pub(super) fn should_retry(&mut self, sent: &Result<DispatchedCall, Fault>) -> bool {
        let Ok(sent) = sent else { return false };
        match &sent.answer {
            Err(error) if self.first.is_none() && may_have_happened(error) => {
                self.first = Some(sent.clone());
                self.is_harmless(&sent.tool)
            }
            answer => self.unsent.should_retry(answer),
        }
    }

    /// The outcome for the caller. A later attempt that was not accepted says nothing about the first.
    pub(super) fn into_outcome(
        self,
        last: Result<DispatchedCall, Fault>,
    ) -> Result<DispatchedCall, Fault> {
        let taken = last.as_ref().is_ok_and(|last| {
            !matches!(
                last.answer,
                Err(CallError::NotSent
                    | CallError::SignIn(_)
                    | CallError::Credential { .. }
                    | CallError::Forbidden { .. }
                    | CallError::Unfit(_)
                    | CallError::Declined(_))
            )
        });
        match self.first {
            Some(first) if !taken => Ok(first),
            _ => last,
        }
    }

    fn is_harmless(&self, tool: &Tool) -> bool {
        retry_allows(self.retry, tool.read_only, tool.idempotent == Some(true))
    }
}

/// True if the call may have had effects: its outcome is unknown, or its tool made a request that this session's era
/// does not support, after it had begun.
fn may_have_happened(error: &CallError) -> bool {
    match error {
        CallError::Unknown(_) => true,
        CallError::NoBackChannel(it) => it.remedy == BackChannelRemedy::Reopened,
        _ => false,
    }
}

fn retry_allows(retry: RetryPolicy, read_only: Option<bool>, idempotent: bool) -> bool {
    let read_only = read_only == Some(true);
    match retry {
        RetryPolicy::Never => false,
        RetryPolicy::ReadOnly => read_only,
        RetryPolicy::Idempotent => read_only || idempotent,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mux_settings::ToolOverrides;

    use super::*;
    use mux_catalog::{ToolDescription, ToolSet};
    use mux_upstream::NoBackChannel;

    #[test]
    fn retry_needs_a_harmless_tool_and_a_retry_policy() {
        for (retry, read_only, idempotent, again) in [
            (RetryPolicy::Never, Some(true), true, false),
            (RetryPolicy::ReadOnly, Some(true), false, true),
            (RetryPolicy::ReadOnly, Some(false), true, false),
            (RetryPolicy::ReadOnly, None, true, false),
            (RetryPolicy::Idempotent, Some(true), false, true),
            (RetryPolicy::Idempotent, Some(false), true, true),
            (RetryPolicy::Idempotent, None, false, false),
        ] {
            let allowed = retry_allows(retry, read_only, idempotent);
            assert_eq!(allowed, again, "{retry:?} {read_only:?} {idempotent}");
        }
    }

    fn tool(read_only: bool) -> Arc<Tool> {
        let description = ToolDescription {
            name: "t".into(),
            input_schema: serde_json::json!({}).into(),
            read_only: Some(read_only),
            ..ToolDescription::default()
        };
        let set = ToolSet::new("s", vec![description], &[], &ToolOverrides::default());
        Arc::clone(set.find("t").unwrap())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the outcome of an attempt")]
    fn sent(read_only: bool, error: CallError) -> Result<DispatchedCall, Fault> {
        Ok(DispatchedCall {
            tool: tool(read_only),
            answer: Err(error),
        })
    }

    #[test]
    fn each_retry_reason_counts_once() {
        let unknown = || sent(true, CallError::Unknown("why".into()));
        let mut attempts = CallAttempts::with(RetryPolicy::ReadOnly);
        assert!(attempts.should_retry(&unknown()) && !attempts.should_retry(&unknown()));
        let unsent = || sent(true, CallError::NotSent);
        assert!(attempts.should_retry(&unsent()) && !attempts.should_retry(&unsent()));
        let late = CallError::TimedOut(std::time::Duration::ZERO);
        assert!(!attempts.should_retry(&sent(true, late)));
    }

    #[test]
    fn retry_in_the_other_era_needs_a_harmless_tool() {
        let failed = |read_only, remedy| {
            let error = NoBackChannel {
                message: "no way back".into(),
                details: serde_json::Value::Null,
                remedy,
            };
            sent(read_only, CallError::NoBackChannel(Box::new(error)))
        };
        for (read_only, remedy, again) in [
            (true, BackChannelRemedy::Reopened, true),
            (false, BackChannelRemedy::Reopened, false),
            (true, BackChannelRemedy::WhenIdle, false),
            (true, BackChannelRemedy::Configured, false),
            (true, BackChannelRemedy::NoOther, false),
        ] {
            let mut attempts = CallAttempts::with(RetryPolicy::ReadOnly);
            assert_eq!(
                attempts.should_retry(&failed(read_only, remedy)),
                again,
                "{read_only} {remedy:?}"
            );
            assert!(!attempts.should_retry(&failed(true, BackChannelRemedy::Reopened)) || !again);
        }
        let mut attempts = CallAttempts::with(RetryPolicy::Never);
        assert!(!attempts.should_retry(&failed(true, BackChannelRemedy::Reopened)));
    }

    #[test]
    fn retry_checks_the_sent_tool_and_the_current_tool() {
        let mut attempts = CallAttempts::with(RetryPolicy::ReadOnly);
        assert!(
            attempts.allows_send(&tool(false)),
            "nothing has happened yet"
        );
        assert!(!attempts.should_retry(&sent(false, CallError::Unknown("why".into()))));
        let mut attempts = CallAttempts::with(RetryPolicy::ReadOnly);
        assert!(attempts.should_retry(&sent(true, CallError::Unknown("why".into()))));
        assert!(attempts.allows_send(&tool(true)) && !attempts.allows_send(&tool(false)));
        assert_eq!(
            (attempts.take_retry_cause(), attempts.take_retry_cause()),
            (Some("why"), None)
        );
    }

    #[test]
    fn unknown_outcome_stays_until_a_later_attempt_is_answered() {
        let first = || {
            let mut attempts = CallAttempts::with(RetryPolicy::ReadOnly);
            assert!(attempts.should_retry(&sent(true, CallError::Unknown("first".into()))));
            attempts
        };
        let fault = Fault::new(mux_wire::FaultKind::Unavailable, "it is gone");
        for last in [
            sent(true, CallError::NotSent),
            sent(true, CallError::Declined("no".into())),
            Err(fault),
        ] {
            let answer = first().into_outcome(last).unwrap().answer;
            assert!(matches!(answer, Err(CallError::Unknown(why)) if why == "first"));
        }
        let answered = Ok(DispatchedCall {
            tool: tool(true),
            answer: Ok(serde_json::json!({})),
        });
        assert!(first().into_outcome(answered).unwrap().answer.is_ok());
    }
}
