//! Resources, prompts and completions, on the same path as a call: the server, policy, its session, a slot, the
//! request.
//!
//! Invariant: policy and the agent's scope are asked with the canonical path `server.method`, such as
//! `files.resources/read`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use mux_sandbox::QueueKey;
use mux_wire::{Fault, FaultKind};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    CallObserver, CallTimeouts, Gateway,
    call_attempts::UnsentRetry,
    caller_sessions::CallerSessions,
    fault_of_call_error,
    permission::{ApprovalReason, PermissionRequest, PermissionSubject, deny_if_ask},
    result_secrets::search_answer,
    spans,
};
use mux_audit::CallAuditGuard;
use mux_caller::{Caller, Mailbox, ProgressUpdate};
use mux_catalog::Scope;
use mux_journal::RunJournal;
use mux_text::json_weight;
use mux_upstream::{
    CallError, CallerIdentity, ContentRequest, HeldSession, ListKind, RequestOptions, Server,
};

/// MCP's code for a resource that does not exist.
const RESOURCE_NOT_FOUND_CODE: i32 = -32002;
/// The timeout for each server if all are asked: a server that hangs must not delay the lists of the others.
const LIST_SERVER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a completion waits for a server that is starting.
const COMPLETION_PATIENCE: Duration = Duration::from_secs(2);
/// The details of a fault about a server that may answer later.
pub const NOT_READY_DETAILS: &str = r#"{"not_ready":true}"#;

/// The context of a request to a server.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The queue key for the server's call slots.
    pub turn: QueueKey,
    /// The caller's view.
    pub scope: Arc<Scope>,
    /// The recipient of questions and notifications meanwhile.
    pub caller: Arc<Caller>,
    /// The run that makes the request.
    pub run: Option<Arc<RunJournal>>,
    /// The index of the call in the run's journal.
    pub call: Option<usize>,
    /// Set if the default asks even if no user can answer at this moment. A run that began where its user could be
    /// asked gains no freedom once detached, and a resumed run had a call that waited.
    pub asks: bool,
}

/// The lists of one kind from several servers.
#[derive(Debug, Default)]
pub struct OfferLists {
    /// The lists with their servers' names.
    pub lists: Vec<(String, Arc<Vec<Value>>)>,
    /// The servers that gave no list, with the reason.
    pub missing: Vec<(String, Fault)>,
}

impl Gateway {
    /// All items of this kind, from one server or from all. A server without such items has an empty list. `wait`
    /// limits the time for each server. Without it, a single server has the time of a call.
    pub async fn list_offers(
        &self,
        kind: ListKind,
        server: Option<&str>,
        wait: Option<Duration>,
        context: &CallContext,
    ) -> Result<OfferLists, Fault> {
        let wait = wait.or(server.is_none().then_some(LIST_SERVER_TIMEOUT));
        let scope = self.scope_now(context);
        let servers = match server {
            Some(name) => {
                let server = self.upstreams().find_visible(name, &scope)?;
                self.permit_list(&server, kind, context).await?;
                vec![server]
            }
            None => self.upstreams().visible_servers(&scope),
        };
        let named = server.is_some();
        let asked = servers.iter().map(|server| async move {
            if !named {
                self.permit_list(server, kind, context).await?;
            }
            if self
                .scope_now(context)
                .hides_path(server.name(), kind.method())
            {
                return Ok(Arc::default());
            }
            match wait {
                // On the heap: the futures of a session are large, and each server has one.
                None => Box::pin(self.fetch_list(server, kind, context)).await,
                Some(wait) => Box::pin(self.list_in_time(server, kind, wait, context)).await,
            }
        });
        let mut offered = OfferLists::default();
        for (server, list) in servers.iter().zip(join_all(asked).await) {
            let name = server.name().to_owned();
            match list {
                Ok(list) => offered.lists.push((name, list)),
                Err(fault) => offered.missing.push((name, fault)),
            }
        }
        Ok(offered)
    }

    /// The list, within `wait`. A server that has no session, or does not answer in time, has the list of its last
    /// session.
    async fn list_in_time(
        &self,
        server: &Arc<Server>,
        kind: ListKind,
        wait: Duration,
        context: &CallContext,
    ) -> Result<Arc<Vec<Value>>, Fault> {
        let identity = CallerIdentity::of(&context.caller);
        let held = server.open_session(&identity);
        if held.is_none()
            && let Some(list) = server.remembered_list(&identity, kind).await
        {
            return Ok(list);
        }
        let failure = server.start_failure();
        let patience = match &held {
            Some(held) => held.session.list_patience(kind, wait),
            None => server.list_patience(wait),
        };
        let listed = timeout(patience, self.fetch_list(server, kind, context)).await;
        let fault = match listed {
            Ok(Ok(list)) => return Ok(list),
            Ok(Err(fault)) => fault,
            Err(_) => failure.unwrap_or_else(|| list_timeout_fault(server.name(), wait)),
        };
        if let Some(list) = server.remembered_list(&identity, kind).await {
            Ok(list)
        } else {
            server.announce_list_unavailable(&identity, kind);
            Err(fault)
        }
    }

    async fn fetch_list(
        &self,
        server: &Arc<Server>,
        kind: ListKind,
        context: &CallContext,
    ) -> Result<Arc<Vec<Value>>, Fault> {
        let path = method_path(server, kind.method());
        let within = CallTimeouts::of(server, None)?.without_progress;
        let identity = CallerIdentity::of(&context.caller);
        let mut unsent = UnsentRetry::default();
        loop {
            let held = server.session(&identity).await;
            let held = held.inspect_err(|_| server.announce_list_unavailable(&identity, kind))?;
            let HeldSession { slot, session } = held;
            let _in_flight = if session.has_cached_list(kind) {
                None
            } else {
                Some(slot.acquire_call(&context.turn).await)
            };
            // The session may have moved to another workspace while this was queued.
            let list = if server.serves(&slot, &identity) {
                slot.list_and_announce(&session, kind, within).await
            } else {
                Err(CallError::NotSent)
            };
            if unsent.should_retry(&list) {
                continue;
            }
            return match list {
                Ok(list) => Ok(list),
                Err(error) => Err(fault_of_offer_error(&path, error).await),
            };
        }
    }

    /// Requests one resource, prompt or completion, in MCP's format. Audited like a call.
    pub async fn request_offer(
        &self,
        server: &str,
        wanted: &ContentRequest,
        context: &CallContext,
        observer: &dyn CallObserver,
    ) -> Result<Value, Fault> {
        let path = format!("{server}.{}", wanted.method());
        let mut entry = self.audit.begin_call(&path, None, &context.caller);
        let given = wanted.policy_arguments();
        entry.set_arguments(|| given.to_string());
        let fetched = self.permit_and_request(server, wanted, given, context, observer, &mut entry);
        let (outcome, bytes) = match fetched.await {
            Ok((value, bytes)) => (Ok(value), bytes),
            Err(fault) => (Err(fault), 0),
        };
        entry.finish(outcome.as_ref().map(|_| bytes));
        outcome
    }

    /// Returns the value with the length of its text.
    async fn permit_and_request(
        &self,
        server: &str,
        wanted: &ContentRequest,
        given: Value,
        context: &CallContext,
        observer: &dyn CallObserver,
        entry: &mut CallAuditGuard,
    ) -> Result<(Value, usize), Fault> {
        let authorized =
            self.authorize_offer(server, wanted.method(), given.clone(), context, entry);
        let (server, path, ask) = authorized.await?;
        match (ask, wanted) {
            (None, _) => {}
            // Clients request completions for every typed letter.
            (ask, ContentRequest::Completion(_)) => deny_if_ask(&path, ask)?,
            (Some(ask), ContentRequest::Resource { .. } | ContentRequest::Prompt { .. }) => {
                let permission = PermissionRequest {
                    path: &path,
                    server: &server,
                    what: PermissionSubject::Offer(given),
                    context,
                };
                let approved = self.approve_offer(ask, &permission, observer, entry);
                approved.await?;
            }
        }
        let timeouts = CallTimeouts::of(&server, None)?;
        let identity = CallerIdentity::of(&context.caller);
        let trace = &context.caller.trace;
        let sessions = CallerSessions {
            server: &server,
            identity: &identity,
            context,
            observer,
        };
        let mut held = match wanted {
            // Clients show the available items while the user types.
            ContentRequest::Completion(_) => {
                let patience = server.list_patience(COMPLETION_PATIENCE);
                let ready = timeout(patience, sessions.ready()).await;
                ready.unwrap_or_else(|_| Err(not_ready_fault(server.name())))?
            }
            ContentRequest::Resource { .. } | ContentRequest::Prompt { .. } => {
                sessions.ready().await?
            }
        };
        let mut permit = held.slot.acquire_call(&context.turn).await;
        let started = Instant::now();
        let number = observer.call_started(&path);
        entry.set_call_number(number);
        let traced = spans::offer_request_span(trace, &server, &held.session, wanted);
        let mut unsent = UnsentRetry::default();
        let outcome = loop {
            let sending = RequestOptions {
                caller: Some(&context.caller),
                permit: Some(permit.permit_slot()),
                within: timeouts.without_progress,
                whole: timeouts.total,
                progress: &|progress: ProgressUpdate| {
                    observer.call_progress(number, &path, progress);
                },
                trace: traced.trace().context().map(|context| &**context),
            };
            let answer = if server.serves(&held.slot, &identity) {
                held.session.request_content(wanted, &sending).await
            } else {
                Err(CallError::NotSent)
            };
            if !unsent.should_retry(&answer) {
                break answer;
            }
            (held, permit) = match sessions.next(&held.slot, permit).await {
                Ok(next) => next,
                Err(fault) => {
                    observer.call_ended(number, &path, started.elapsed(), Err(&fault));
                    return Err(fault);
                }
            };
        };
        traced.end_with(|| spans::error_type(Ok(&outcome)));
        let took = started.elapsed();
        let missing = outcome.as_ref().is_err_and(is_missing_resource);
        let outcome = match search_answer(&server, &path, outcome).await {
            Ok(value) => {
                let (value, text) = json_weight::with_text(value).await;
                Ok((value, text.len()))
            }
            Err(fault) if missing => Err(Fault {
                kind: FaultKind::NotFound,
                ..fault
            }),
            Err(fault) => Err(fault),
        };
        let result = outcome.as_ref().map(|(_, bytes)| *bytes);
        observer.call_ended(number, &path, took, result);
        outcome
    }

    /// Subscribes the mailbox's connection to changes of a resource.
    pub async fn subscribe_resource(
        &self,
        server: &str,
        uri: &str,
        mailbox: &Arc<Mailbox>,
        context: &CallContext,
    ) -> Result<(), Fault> {
        let given = json!({ "uri": uri });
        let entry = &mut CallAuditGuard::disabled();
        let (server, path, ask) = self
            .authorize_offer(server, "resources/subscribe", given, context, entry)
            .await?;
        deny_if_ask(&path, ask)?;
        let mut unsent = UnsentRetry::default();
        loop {
            let caller = &context.caller;
            let HeldSession { slot, session } = server.session(&CallerIdentity::of(caller)).await?;
            let followed = slot.follow(&session, uri, mailbox, caller).await?;
            if unsent.should_retry(&followed) {
                continue;
            }
            return match followed {
                Ok(()) => Ok(()),
                Err(error) => Err(fault_of_offer_error(&path, error).await),
            };
        }
    }

    /// Ends the connection's subscription.
    pub async fn unsubscribe_resource(
        &self,
        server: &str,
        uri: &str,
        scope: &Scope,
        connection: u64,
    ) -> Result<(), Fault> {
        let server = self.upstreams().find_visible(server, scope)?;
        server.unfollow(uri, connection).await;
        Ok(())
    }

    /// The server and the canonical path, if the caller sees it and policy does not deny it.
    async fn authorize_offer(
        &self,
        server: &str,
        method: &str,
        given: Value,
        context: &CallContext,
        entry: &mut CallAuditGuard,
    ) -> Result<(Arc<Server>, String, Option<ApprovalReason>), Fault> {
        let scope = self.scope_now(context);
        let server = self.upstreams().find_visible(server, &scope)?;
        let path = method_path(&server, method);
        if scope.hides_path(server.name(), method) {
            let message = format!("there is no `{path}`");
            return Err(Fault::new(FaultKind::NotFound, message).path(path));
        }
        entry.set_path(&path);
        let ask = self
            .permit_offer(&server, method, given, context, entry)
            .await?;
        Ok((server, path, ask))
    }

    /// Checks policy for a list. Lists cannot be approved: clients read them constantly without their user.
    async fn permit_list(
        &self,
        server: &Server,
        kind: ListKind,
        context: &CallContext,
    ) -> Result<(), Fault> {
        let entry = &mut CallAuditGuard::disabled();
        let ask = self
            .permit_offer(server, kind.method(), json!({}), context, entry)
            .await?;
        deny_if_ask(&method_path(server, kind.method()), ask)
    }

    /// Asks policy about a request other than a tool call.
    async fn permit_offer(
        &self,
        server: &Server,
        method: &str,
        given: Value,
        context: &CallContext,
        entry: &mut CallAuditGuard,
    ) -> Result<Option<ApprovalReason>, Fault> {
        let wanted = PermissionRequest {
            path: &method_path(server, method),
            server,
            what: PermissionSubject::Offer(given),
            context,
        };
        self.permit(&wanted, entry).await
    }
}

fn method_path(server: &Server, method: &str) -> String {
    format!("{}.{method}", server.name())
}

fn list_timeout_fault(server: &str, wait: Duration) -> Fault {
    let message = format!("`{server}` gave no list within {wait:?}");
    Fault {
        details: Some(NOT_READY_DETAILS.into()),
        ..Fault::new(FaultKind::Unavailable, message).hint("it may be starting or busy; ask again")
    }
}

fn not_ready_fault(server: &str) -> Fault {
    let message = format!("`{server}` was not ready within {COMPLETION_PATIENCE:?}");
    Fault::new(FaultKind::Unavailable, message).hint("it is starting; try again")
}

fn is_missing_resource(error: &CallError) -> bool {
    matches!(error, CallError::Refused { code, .. } if *code == RESOURCE_NOT_FOUND_CODE)
}

async fn fault_of_offer_error(path: &str, error: CallError) -> Fault {
    let missing = is_missing_resource(&error);
    let mut fault = fault_of_call_error(path, error).await;
    if missing {
        fault.kind = FaultKind::NotFound;
    }
    fault
}
