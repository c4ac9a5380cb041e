//! One call, from the moment somebody asks for it to its end.
//!
//! Invariant: it becomes one line, also if whoever waited for the call has gone.

use std::{sync::Arc, time::Instant};

use mux_wire::{Fault, Kind};

use super::{
    AuditLog,
    audit_record::{AuditRecord, CallRecord},
};

/// Nothing at all while nothing is written down.
#[must_use]
pub struct CallAuditGuard(Option<OpenCall>);

struct OpenCall {
    audit: Arc<AuditLog>,
    call: Box<CallRecord>,
    began: Instant,
}

impl CallAuditGuard {
    /// Of what is not written down.
    pub fn disabled() -> Self {
        Self(None)
    }

    pub(super) fn begin(audit: Arc<AuditLog>, call: CallRecord) -> Self {
        Self(Some(OpenCall {
            audit,
            call: Box::new(call),
            began: Instant::now(),
        }))
    }

    /// The canonical path, after every other spelling has been resolved.
    pub fn set_path(&mut self, path: &str) {
        if let Some(open) = &mut self.0
            && open.call.path != path
        {
            path.clone_into(&mut open.call.path);
        }
    }

    /// Policy has let it pass, or has not: `by` is the rule, `default`, the project, or who approved it.
    pub fn set_decision(&mut self, decision: &'static str, by: &str) {
        if let Some(open) = &mut self.0 {
            open.call.decision = Some((decision, by.to_owned()));
        }
    }

    /// What else it does, by the paths of functions that would do the same.
    pub fn set_reached(&mut self, paths: &[String]) {
        if let Some(open) = &mut self.0 {
            open.call.set_reached_paths(paths);
        }
    }

    /// The arguments, where they were not JSON from the beginning.
    pub fn set_arguments(&mut self, arguments: impl FnOnce() -> String) {
        if let Some(open) = &mut self.0
            && open.call.arguments.is_none()
        {
            open.call.arguments = Some(arguments().into());
        }
    }

    /// Its number in its run.
    pub fn set_call_number(&mut self, number: u32) {
        if let Some(open) = &mut self.0 {
            open.call.number = Some(number).filter(|number| *number > 0);
        }
    }

    /// How it ended, with the bytes of its value.
    pub fn finish(mut self, outcome: Result<usize, &Fault>) {
        let (kind, bytes) = match outcome {
            Ok(bytes) => ("ok", Some(bytes)),
            Err(fault) => {
                self.set_refusal_decision(&fault.kind);
                (fault.kind.as_str(), None)
            }
        };
        self.close(kind, bytes);
    }

    /// Of a call that policy did not let pass, unless it was said by whom.
    fn set_refusal_decision(&mut self, kind: &Kind) {
        let decision = match kind {
            Kind::Denied => "deny",
            Kind::Pending => "ask",
            _ => return,
        };
        if let Some(open) = &mut self.0 {
            open.call.decision.get_or_insert((decision, String::new()));
        }
    }

    fn close(&mut self, outcome: &'static str, bytes: Option<usize>) {
        if let Some(OpenCall {
            audit,
            mut call,
            began,
        }) = self.0.take()
        {
            call.outcome = outcome;
            call.bytes = bytes;
            call.took = began.elapsed();
            audit.push(AuditRecord::Call(call));
        }
    }
}

impl Drop for CallAuditGuard {
    fn drop(&mut self) {
        self.close(Kind::Cancelled.as_str(), None);
    }
}
