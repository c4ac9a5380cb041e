//! Policy for a server's requests to the client whose call it handles (elicitation, sampling, roots).
//!
//! Invariant: no such request reaches a client before a rule or the default allows it. Each request with a known caller
//! is a line in the audit log, with the path `server.method`.

use std::time::Duration;

use futures::future::BoxFuture;
use mux_sandbox::QueueKey;
use mux_wire::{Fault, FaultKind};
use serde_json::Value;

use super::{
    CallContext, CallObserver, Gateway,
    permission::{PermissionRequest, PermissionSubject},
};
use mux_approvals::ApprovalEvent;
use mux_audit::CallAuditGuard;
use mux_caller::ProgressUpdate;
use mux_upstream::{ServerRequest, ServerRequestError, ServerRequestPolicy};

impl ServerRequestPolicy for Gateway {
    fn answer_if_allowed<'a>(
        &'a self,
        request: ServerRequest<'a>,
        answer: BoxFuture<'a, Result<Value, ServerRequestError>>,
    ) -> BoxFuture<'a, Result<Value, ServerRequestError>> {
        Box::pin(async move {
            let mut entry = match request.caller {
                Some(caller) => {
                    let path = format!("{}.{}", request.name, request.method);
                    let mut entry = self.audit().begin_call(&path, None, caller);
                    entry.set_arguments(|| request.params.to_string());
                    entry
                }
                None => CallAuditGuard::disabled(),
            };
            let outcome = match self.permit_server_request(&request, &mut entry).await {
                Ok(()) => answer.await,
                Err(fault) => {
                    entry.finish(Err(&fault));
                    return Err(ServerRequestError::Denied(Box::new(fault)));
                }
            };
            match &outcome {
                Ok(value) => entry.finish(Ok(value.to_string().len())),
                Err(why) => entry.finish(Err(&Fault::new(why.kind(), why.to_string()))),
            }
            outcome
        })
    }
}

impl Gateway {
    async fn permit_server_request(
        &self,
        request: &ServerRequest<'_>,
        entry: &mut CallAuditGuard,
    ) -> Result<(), Fault> {
        let path = format!("{}.{}", request.name, request.method);
        let mut servers = self.upstreams().all().into_iter();
        let server = servers.find(|server| server.has_identity(request.identity));
        let server = server.ok_or_else(|| {
            // The server's last session is just ending.
            Fault::new(
                FaultKind::Unavailable,
                format!("{path}: its server is no longer configured"),
            )
        })?;
        let caller = request.caller.cloned().unwrap_or_default();
        let context = CallContext {
            turn: QueueKey {
                owner: "".into(),
                client: 0,
            },
            scope: self.scope_of(&caller.origin),
            caller,
            run: None,
            call: None,
            asks: false,
        };
        let wanted = PermissionRequest {
            path: &path,
            server: &server,
            what: PermissionSubject::Request(request.params),
            context: &context,
        };
        let Some(ask) = self.permit(&wanted, entry).await? else {
            return Ok(());
        };
        if request.caller.is_none() {
            let message = format!("{path} must be approved, but no client call is in progress");
            return Err(Fault::new(FaultKind::Denied, message).path(path));
        }
        (request.release_permit)();
        self.approve_offer(ask, &wanted, &NoopObserver, entry).await
    }
}

/// Ignores call events: the caller gets notifications of the approval itself, and a server's request is not a call of
/// its run.
struct NoopObserver;

impl CallObserver for NoopObserver {
    fn server_starting(&self, _: &str) {}
    fn server_ready(&self, _: &str, _: Duration) {}
    fn call_started(&self, _: &str) -> u32 {
        0
    }
    fn call_progress(&self, _: u32, _: &str, _: ProgressUpdate) {}
    fn call_ended(&self, _: u32, _: &str, _: Duration, _: Result<usize, &Fault>) {}
    fn approval_changed(&self, _: ApprovalEvent<'_>) {}
    fn call_warned(&self, _: &str, _: &str) {}
}
