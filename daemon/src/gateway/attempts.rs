//! When a call is sent a second time.
//!
//! Invariant: what may have happened is sent again at most once, and only if it does no harm: its tool says so,
//! and so does the user, of its server.

use crate::{
    catalog::Tool,
    settings::Retry,
    upstream::{CallError, Server},
};

pub(super) struct Attempts {
    /// Whether it may happen twice.
    harmless: bool,
    unsent: bool,
}

impl Attempts {
    pub(super) fn of(server: &Server, tool: &Tool) -> Self {
        let retry = server
            .definition()
            .as_ref()
            .map_or(Retry::Never, |it| it.retry);
        Self {
            harmless: allows(retry, tool.read_only, is_idempotent(tool)),
            unsent: true,
        }
    }

    /// Whether to try again after this.
    pub(super) fn another(&mut self, error: &CallError) -> bool {
        match error {
            // It may have ended while the call stood in line, or a moment ago.
            CallError::NotSent => std::mem::take(&mut self.unsent),
            CallError::Unknown(_) => std::mem::take(&mut self.harmless),
            _ => false,
        }
    }
}

fn allows(retry: Retry, read_only: Option<bool>, idempotent: bool) -> bool {
    let read_only = read_only == Some(true);
    match retry {
        Retry::Never => false,
        Retry::ReadOnly => read_only,
        Retry::Idempotent => read_only || idempotent,
    }
}

fn is_idempotent(tool: &Tool) -> bool {
    let hints = tool.extra.get("annotations");
    hints.and_then(|hints| hints.get("idempotentHint")?.as_bool()) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_no_harm_is_sent_again_and_only_where_the_user_says_so() {
        for (retry, read_only, idempotent, again) in [
            (Retry::Never, Some(true), true, false),
            (Retry::ReadOnly, Some(true), false, true),
            (Retry::ReadOnly, Some(false), true, false),
            (Retry::ReadOnly, None, true, false),
            (Retry::Idempotent, Some(true), false, true),
            (Retry::Idempotent, Some(false), true, true),
            (Retry::Idempotent, None, false, false),
        ] {
            let allowed = allows(retry, read_only, idempotent);
            assert_eq!(allowed, again, "{retry:?} {read_only:?} {idempotent}");
        }
    }

    #[test]
    fn each_reason_counts_once() {
        let unknown = CallError::Unknown("why".into());
        let mut attempts = Attempts {
            harmless: true,
            unsent: true,
        };
        assert!(attempts.another(&unknown) && !attempts.another(&unknown));
        assert!(attempts.another(&CallError::NotSent) && !attempts.another(&CallError::NotSent));
        let late = CallError::TimedOut(std::time::Duration::ZERO);
        assert!(!attempts.another(&late));
    }
}
