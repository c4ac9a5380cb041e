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
use mux_upstream::Server;

/// The cover of an approval: this tool, of a server with this configuration, asked for this reason.
fn approval_cover(
    path: &str,
    server: &Server,
    tool: &Value,
    ask: &ApprovalReason,
) -> Result<ApprovalCover, Fault> {
    let pins = server.pin_key()?;
    let written = server
        .definition()
        .as_ref()
        .map_or([0; 32], |known| *known.written.key());
    let digest = Digest::new().text(pins.definition()).bytes(&written);
    let definition = blake3::Hash::from(digest.key()).to_hex();
    Ok(ApprovalCover::new(path, &definition, tool, &ask.identity))
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
        let &PermissionRequest {
            path,
            server,
            context,
            ..
        } = wanted;
        let PermissionSubject::Tool(tool, _, arguments) = &wanted.what else {
            return Err(Fault::new(
                FaultKind::Internal,
                "only the call of a tool has arguments",
            ));
        };
        // Invalid arguments are rejected before anyone is asked.
        let read = Value::Object(self.readers.read_checked(tool, arguments).await?);
        let cover = approval_cover(path, server, &tool.definition(), &ask)?;
        let rule = ask.rule.trim_matches('"').to_owned();
        let why = (ask.rule, ask.reason);
        let origin = Arc::clone(&context.caller.origin);
        let subject = ApprovalSubject::new(path.to_owned(), cover, &read, why, origin);
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
        let &PermissionRequest {
            path,
            server,
            context,
            ..
        } = wanted;
        let (given, from_server) = match &wanted.what {
            PermissionSubject::Offer(given) => (given, false),
            PermissionSubject::Request(params) => (*params, true),
            PermissionSubject::Tool(..) => {
                return Err(Fault::new(
                    FaultKind::Internal,
                    "a tool call is not an offer",
                ));
            }
        };
        // Distinguishes a server's request from a tool of the same name.
        let what = if from_server {
            Value::from("request")
        } else {
            Value::Null
        };
        let cover = approval_cover(path, server, &what, &ask)?;
        let rule = ask.rule.trim_matches('"').to_owned();
        let why = (ask.rule, ask.reason);
        let origin = Arc::clone(&context.caller.origin);
        let subject = ApprovalSubject::new(path.to_owned(), cover, given, why, origin);
        let subject = if from_server {
            subject.of_server_request()
        } else {
            subject.of_offer()
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
