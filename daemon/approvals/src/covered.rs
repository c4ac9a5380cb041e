//! Whether somebody has answered for a call before, and what is written down of each answer.
//!
//! Invariant: whoever gives or takes back a word leaves a line in the audit log, whichever way he came.

use std::sync::Arc;

use super::{Approvals, Decided, Decision, Grant, Session, Subject};
use mux_audit::{Audit, Deed};
use mux_caller::{Caller, Origin};

impl Approvals {
    /// From now on answers are written down there.
    pub fn tell(&self, audit: &Arc<Audit>) {
        // There is one log in a daemon.
        self.audit.get_or_init(|| Arc::clone(audit));
    }

    /// Nobody is asked for it: it was allowed for this session, or always.
    pub fn is_covered(&self, subject: &Subject, caller: &Caller) -> bool {
        let session = Session::of(caller);
        self.book().is_granted(session.as_ref(), subject.cover) || self.is_granted(subject)
    }

    /// An answer that counted, and who gave it.
    pub fn note_answer(&self, decided: Option<&Decided>, decision: Decision, by: &Origin) {
        let (Some(decided), Some(audit)) = (decided, self.audit.get()) else {
            return;
        };
        let (deed, how) = match decision {
            Decision::Once => (Deed::CallApproved, "once"),
            Decision::Session => (Deed::CallApproved, "session"),
            Decision::Always => (Deed::CallApproved, "always"),
            Decision::Deny => (Deed::CallDenied, "deny"),
        };
        let view = &decided.view;
        // Those that went with it are of the same tool.
        for id in [view.id()].iter().chain(&decided.released) {
            audit.note(deed, &format!("{id} {} ({how})", view.subject.path), by);
        }
    }

    /// What was always allowed is not any more.
    pub fn note_revoked(&self, name: &str, grant: &Grant, by: &Origin) {
        if let Some(audit) = self.audit.get() {
            let subject = format!("{name} {}", grant.path);
            audit.note(Deed::ApprovalRevoked, &subject, by);
        }
    }
}
