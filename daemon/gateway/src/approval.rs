//! Calls for which policy requires approval, on their way through [`Approvals`](mux_approvals::Approvals).
//!
//! Invariant: after an approval, exactly the arguments and the tool that were shown are sent.

use std::sync::Arc;

use mux_wire::{Fault, FaultKind};
use serde_json::Value;

use super::{
    CallArguments, CallContext, CallObserver, Gateway,
    permission::{ApprovalReason, PermissionRequest, PermissionSubject},
};
use mux_approvals::{ApprovalCover, ApprovalEvent, ApprovalRequester, ApprovalSubject};
use mux_audit::CallAuditGuard;
use mux_text::digest::Digest;

/// The subject that the user sees. Its approval covers this tool of a server with this configuration, asked for this
/// reason.
fn approval_subject(
    wanted: &PermissionRequest<'_>,
    ask: ApprovalReason,
    tool: &Value,
    given: &Value,
) -> Result<ApprovalSubject, Fault> {
    let pins = wanted.server.pin_key()?;
    let definition = wanted.server.definition().as_ref();
    let written = definition.map_or([0; 32], |known| *known.written.key());
    let digest = Digest::new().text(pins.definition()).bytes(&written);
    let definition = blake3::Hash::from(digest.key()).to_hex();
    let cover = ApprovalCover::new(wanted.path, &definition, tool, &ask.identity);
    let why = (ask.rule, ask.reason);
    let origin = Arc::clone(&wanted.context.caller.origin);
    let path = wanted.path.to_owned();
    Ok(ApprovalSubject::new(path, cover, given, why, origin))
}

impl Gateway {
    /// Waits until the call is approved and returns its arguments exactly as shown. Fails if the call is not approved.
    pub(super) async fn approve_call(
        &self,
        ask: ApprovalReason,
        wanted: &PermissionRequest<'_>,
        raw: bool,
        observer: &dyn CallObserver,
        entry: &mut CallAuditGuard,
    ) -> Result<CallArguments, Fault> {
        let PermissionSubject::Tool(tool, _, arguments) = &wanted.what else {
            return Err(Fault::new(
                FaultKind::Internal,
                "only the call of a tool has arguments",
            ));
        };
        // Invalid arguments are rejected before anyone is asked.
        let read = Value::Object(self.readers.read_checked(tool, arguments).await?);
        let rule = ask.rule.trim_matches('"').to_owned();
        let subject = approval_subject(wanted, ask, &tool.definition(), &read)?;
        let arguments = CallArguments::Complete(Arc::clone(&subject.arguments));
        self.ask_and_recheck(subject, &rule, wanted, raw, observer, entry)
            .await?;
        Ok(arguments)
    }

    /// Waits for the approval of a resource or prompt request, or of a server's request.
    pub(super) async fn approve_offer(
        &self,
        ask: ApprovalReason,
        wanted: &PermissionRequest<'_>,
        observer: &dyn CallObserver,
        entry: &mut CallAuditGuard,
    ) -> Result<(), Fault> {
        let rule = ask.rule.trim_matches('"').to_owned();
        let subject = match &wanted.what {
            PermissionSubject::Offer(given) => {
                approval_subject(wanted, ask, &Value::Null, given)?.of_offer()
            }
            // Not a tool of the same name.
            PermissionSubject::Request(params) => {
                approval_subject(wanted, ask, &"request".into(), params)?.of_server_request()
            }
            PermissionSubject::Tool(..) => {
                return Err(Fault::new(
                    FaultKind::Internal,
                    "a tool call is not an offer",
                ));
            }
        };
        self.ask_and_recheck(subject, &rule, wanted, true, observer, entry)
            .await
    }

    /// Asks the user, and asks policy again if the rules have changed meanwhile.
    async fn ask_and_recheck(
        &self,
        subject: ApprovalSubject,
        rule: &str,
        wanted: &PermissionRequest<'_>,
        raw: bool,
        observer: &dyn CallObserver,
        entry: &mut CallAuditGuard,
    ) -> Result<(), Fault> {
        let caller = &wanted.context.caller;
        let decision = if self.approvals.is_granted_for(&subject, caller) {
            "granted"
        } else {
            "approved"
        };
        let rules = self.policies();
        let answered = self
            .ask_user(subject, wanted.context, raw, observer)
            .await
            .inspect_err(|fault| {
                if fault.kind == FaultKind::Denied {
                    entry.set_decision("denied", rule);
                }
            });
        answered?;
        if !Arc::ptr_eq(&rules, &self.policies()) {
            // The new rules may deny the call. If they ask, the user has just been asked.
            self.permit(wanted, entry).await?;
        }
        entry.set_decision(decision, rule);
        Ok(())
    }

    async fn ask_user(
        &self,
        subject: ApprovalSubject,
        context: &CallContext,
        raw: bool,
        observer: &dyn CallObserver,
    ) -> Result<(), Fault> {
        let asker = ApprovalRequester {
            caller: &context.caller,
            run: context.run.as_ref(),
            call: context.call,
            raw,
        };
        let tell = |event: ApprovalEvent<'_>| observer.approval_changed(event);
        self.approvals.ask(subject, asker, &tell).await
    }
}
