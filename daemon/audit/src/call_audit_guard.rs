//! The audit entry of one call, from the request to the outcome.
//!
//! Invariant: each call becomes one line, even if the future of the call is dropped.

use std::{sync::Arc, time::Instant};

use mux_wire::{Fault, FaultKind};

use super::{
    AuditLog,
    audit_record::{AuditRecord, CallRecord},
};

/// The open entry of a call, or none if the log is disabled. Dropping it records the call as cancelled.
#[must_use]
pub struct CallAuditGuard(Option<OpenCall>);

struct OpenCall {
    audit: Arc<AuditLog>,
    call: Box<CallRecord>,
    began: Instant,
}

impl CallAuditGuard {
    /// A guard that records nothing.
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

    /// Sets the canonical path, once the requested one is resolved.
    pub fn set_path(&mut self, path: &str) {
        if let Some(open) = &mut self.0
            && open.call.path != path
        {
            path.clone_into(&mut open.call.path);
        }
    }

    /// Sets the decision of the policy. `by` is the rule, `default`, the project, or the client that approved the call.
    pub fn set_decision(&mut self, decision: &'static str, by: &str) {
        if let Some(open) = &mut self.0 {
            open.call.decision = Some((decision, by.to_owned()));
        }
    }

    /// Sets the other effects of the call, as the paths of functions with the same effects.
    pub fn set_reached(&mut self, paths: &[String]) {
        if let Some(open) = &mut self.0 {
            open.call.set_reached_paths(paths);
        }
    }

    /// Sets the arguments, if they were not known as JSON at the start.
    pub fn set_arguments(&mut self, arguments: impl FnOnce() -> String) {
        if let Some(open) = &mut self.0
            && open.call.arguments.is_none()
        {
            open.call.arguments = Some(arguments().into());
        }
    }

    /// Sets the number of the call in its run.
    pub fn set_call_number(&mut self, number: u32) {
        if let Some(open) = &mut self.0 {
            open.call.number = Some(number).filter(|number| *number > 0);
        }
    }

    /// Ends the entry. `outcome` is the size of the result in bytes, or the error.
    pub fn finish(mut self, outcome: Result<usize, &Fault>) {
        let (kind, bytes) = match outcome {
            Ok(bytes) => ("ok", Some(bytes)),
            Err(fault) => {
                self.set_refusal_decision(fault.kind);
                (fault.kind.as_str(), None)
            }
        };
        self.close(kind, bytes);
    }

    /// Sets the decision of a call that was refused, if none was set.
    fn set_refusal_decision(&mut self, kind: FaultKind) {
        let decision = match kind {
            FaultKind::Denied => "deny",
            FaultKind::Pending => "ask",
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
        self.close(FaultKind::Cancelled.as_str(), None);
    }
}
