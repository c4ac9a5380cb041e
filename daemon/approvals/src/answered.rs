//! Lookup of earlier answers for a call, and the audit lines of answers.
//!
//! Invariant: every answer and every revocation leaves a line in the audit log, regardless of the client.

use std::sync::Arc;

use super::{ApprovalSubject, Approvals, DecisionOutcome, Grant, GrantSession, UserDecision};
use mux_audit::{AdminEvent, AuditLog};
use mux_caller::{Caller, ClientOrigin};

impl Approvals {
    /// Sets the audit log that records answers.
    pub fn set_audit(&self, audit: &Arc<AuditLog>) {
        // There is one log in a daemon.
        self.audit.get_or_init(|| Arc::clone(audit));
    }

    /// True if the call needs no question, because a grant for this session or a lasting grant covers it.
    pub fn is_granted_for(&self, subject: &ApprovalSubject, caller: &Caller) -> bool {
        let session = GrantSession::of(caller);
        self.book().is_granted(session.as_ref(), subject.cover) || self.is_always_granted(subject)
    }

    /// Records an accepted answer and the client that gave it.
    pub fn audit_answer(
        &self,
        decided: Option<&DecisionOutcome>,
        decision: UserDecision,
        by: &ClientOrigin,
    ) {
        let (Some(decided), Some(audit)) = (decided, self.audit.get()) else {
            return;
        };
        let (deed, how) = match decision {
            UserDecision::Once => (AdminEvent::CallApproved, "once"),
            UserDecision::Session => (AdminEvent::CallApproved, "session"),
            UserDecision::Always => (AdminEvent::CallApproved, "always"),
            UserDecision::Deny => (AdminEvent::CallDenied, "deny"),
        };
        let view = &decided.view;
        // The calls that were released with it are calls of the same tool.
        for id in [view.id()].iter().chain(&decided.released) {
            audit.record_admin_event(deed, &format!("{id} {} ({how})", view.subject.path), by);
        }
    }

    /// Records that a lasting grant was revoked.
    pub fn audit_revoked(&self, name: &str, grant: &Grant, by: &ClientOrigin) {
        if let Some(audit) = self.audit.get() {
            let subject = format!("{name} {}", grant.path);
            audit.record_admin_event(AdminEvent::ApprovalRevoked, &subject, by);
        }
    }
}
