//! Whether somebody has answered for a call before, and what is written down of each answer.
//!
//! Invariant: whoever gives or takes back a word leaves a line in the audit log, whichever way he came.

use std::sync::Arc;

use super::{ApprovalSubject, Approvals, DecisionOutcome, Grant, GrantSession, UserDecision};
use mux_audit::{AdminEvent, AuditLog};
use mux_caller::{Caller, ClientOrigin};

impl Approvals {
    /// From now on answers are written down there.
    pub fn set_audit(&self, audit: &Arc<AuditLog>) {
        // There is one log in a daemon.
        self.audit.get_or_init(|| Arc::clone(audit));
    }

    /// Nobody is asked for it: it was allowed for this session, or always.
    pub fn is_granted_for(&self, subject: &ApprovalSubject, caller: &Caller) -> bool {
        let session = GrantSession::of(caller);
        self.book().is_granted(session.as_ref(), subject.cover) || self.is_always_granted(subject)
    }

    /// An answer that counted, and who gave it.
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
        // Those that went with it are of the same tool.
        for id in [view.id()].iter().chain(&decided.released) {
            audit.record_admin_event(deed, &format!("{id} {} ({how})", view.subject.path), by);
        }
    }

    /// What was always allowed is not any more.
    pub fn audit_revoked(&self, name: &str, grant: &Grant, by: &ClientOrigin) {
        if let Some(audit) = self.audit.get() {
            let subject = format!("{name} {}", grant.path);
            audit.record_admin_event(AdminEvent::ApprovalRevoked, &subject, by);
        }
    }
}
