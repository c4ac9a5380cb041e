//! The path of every tool call, whether from a program, the command line or a pass-through, and of requests for
//! resources, prompts and completions.
//!
//! The crate depends on upstream, catalog, policy, approvals, audit, callers and secrets. The crate does not know runs
//! or wire messages.
//!
//! resolve the server → its session → resolve the tool as the caller sees it → policy, which may hold the call → its
//! pin → arguments → a slot among the server's calls → the call, once → secrets in its result → the value.
//!
//! - Only `permission` asks policy, before anything about a call's arguments is revealed. Rules on arguments decide on
//!   the text that is sent. `explanation` explains policy's decision without a call. `approval` requests approval
//!   through `mux-approvals`.
//! - `graphql_policy` decides on the effects of a GraphQL document or selection: each field of a root type counts as
//!   the tool of its function. This runs outside the runtime's threads and within limits.
//! - `arguments` parses arguments, long ones off the runtime's threads. `resolve_tool` finds the tool that a call would
//!   reach, and `dispatch` checks the tool again before its call is sent. `call_attempts` decides if a call may be sent
//!   again. `call_fault` words the errors of calls. `result_secrets` searches servers' answers for secrets.
//! - `resources_and_prompts` is the same path for resources, prompts and completions. `server_requests` lets policy
//!   decide on servers' requests to clients (elicitation, sampling, roots): `mux-upstream` passes the request and a
//!   future of its answer.
//! - `reader` decides what a caller may see of the data learned from others' calls.
//! - `sandbox_hint` adds a hint to errors that a server's sandbox may have caused.
//! - `spans` names the trace spans of requests: a span begins for each call, and its context is sent in the request's
//!   `_meta` or headers.
//!
//! An audit entry begins before a name is resolved and ends with the outcome. A call uses the scope at the time of the
//! call: changed rules and servers apply even during a run.
//!
//! Invariants:
//!
//! - Policy is asked only here, with the canonical path, after every other form of the name has been resolved: for step
//!   programs as for all others, and for servers' requests.
//! - A call is sent at most once, unless it provably was not sent, or both the tool and the user declare a repetition
//!   harmless.

mod approval;
mod arguments;
mod call_attempts;
mod call_fault;
mod dispatch;
mod explanation;
mod graphql_policy;
mod permission;
mod reader;
mod resolve_tool;
mod resources_and_prompts;
mod result_secrets;
mod sandbox_hint;
mod server_requests;
mod spans;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::RwLock;

use mux_wire::{CallTarget, Fault, FaultKind};
use serde_json::Value;
use tracing::{debug, info, info_span};

use self::{
    arguments::ArgumentReaders,
    call_attempts::CallAttempts,
    call_fault::fault_of_call_error,
    dispatch::{DispatchedCall, PermittedCall},
    graphql_policy::DocumentJudges,
    permission::{PermissionRequest, PermissionSubject},
    reader::digest_of,
    resolve_tool::requested_path,
    result_secrets::search_answer,
    sandbox_hint::add_sandbox_hint,
};
pub use self::{
    arguments::CallArguments,
    explanation::{CallExplanation, HypotheticalCall},
    resources_and_prompts::{CallContext, NOT_READY_DETAILS, OfferLists},
};
use mux_approvals::{ApprovalEvent, Approvals};
use mux_audit::{AuditLog, CallAuditGuard};
use mux_caller::{ClientOrigin, ProgressUpdate};
use mux_catalog::{Scope, Scopes, Tool, ToolSet, Witness, value_of};
use mux_policy::PolicySet;
use mux_settings::{
    AgentViews, ResultCheck, ServerEndpoint,
    projects::{ProjectDenials, ProjectView, WorkspaceContext},
};
use mux_sources::SOURCE_WARNING;
use mux_telemetry::{
    metrics::CallMeter,
    trace::{TraceScope, Tracer},
};
use mux_text::{
    json_weight,
    tool_path::{read_tool_path, split_tool_path},
};
use mux_upstream::{
    CallInFlight, CallerIdentity, HeldSession, RequestOptions, Server, Slot, Upstreams,
};

/// Receives the events of a call.
pub trait CallObserver: Send + Sync {
    /// The call waits for a server that is being started.
    fn server_starting(&self, server: &str);
    fn server_ready(&self, server: &str, took: Duration);
    /// The call is sent. `path` is canonical. Returns the number that identifies the call in later events.
    fn call_started(&self, path: &str) -> u32;
    /// The server reports progress. Rate-limited.
    fn call_progress(&self, call: u32, path: &str, progress: ProgressUpdate);
    fn call_ended(&self, call: u32, path: &str, took: Duration, outcome: Result<usize, &Fault>);
    /// The approval of the call has changed: it waits, or no longer waits.
    fn approval_changed(&self, word: ApprovalEvent<'_>);
    /// The call continues or has a result, and something about it deserves a warning.
    fn call_warned(&self, path: &str, warning: &str);
}

/// Resolves names, asks policy, and calls.
#[derive(Debug)]
pub struct Gateway {
    upstreams: Arc<Upstreams>,
    audit: Arc<AuditLog>,
    policies: RwLock<Arc<PolicySet>>,
    scopes: RwLock<Scopes>,
    approvals: Arc<Approvals>,
    readers: ArgumentReaders,
    documents: DocumentJudges,
    tracer: Tracer,
    /// Counts the replacements of rules and scopes.
    configuration: AtomicU64,
}

/// One requested call.
pub struct ToolCall {
    pub target: CallTarget,
    pub arguments: CallArguments,
    /// Set if arguments that the tool's schema does not declare are rejected.
    pub declared_only: bool,
    /// A timeout shorter than the server's own.
    pub within: Option<Duration>,
    pub asking: CallContext,
}

impl Gateway {
    pub fn new(
        upstreams: Arc<Upstreams>,
        approvals: Arc<Approvals>,
        audit: Arc<AuditLog>,
        tracer: Tracer,
    ) -> Self {
        approvals.set_audit(&audit);
        Self {
            upstreams,
            audit,
            policies: RwLock::default(),
            scopes: RwLock::default(),
            approvals,
            readers: ArgumentReaders::new(),
            documents: DocumentJudges::new(),
            tracer,
            configuration: AtomicU64::new(0),
        }
    }

    pub fn upstreams(&self) -> &Arc<Upstreams> {
        &self.upstreams
    }

    /// The audit log of calls and decisions.
    pub fn audit(&self) -> &Arc<AuditLog> {
        &self.audit
    }

    /// The tracer for clients' requests.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    pub fn approvals(&self) -> &Arc<Approvals> {
        &self.approvals
    }

    /// Replaces the rules. Rules that stay keep their counts.
    pub fn set_policies(&self, policies: PolicySet) {
        policies.follow(&self.policies());
        *self.policies.write() = Arc::new(policies);
        self.configuration.fetch_add(1, Ordering::AcqRel);
    }

    /// The active rules.
    pub fn policies(&self) -> Arc<PolicySet> {
        let policies = self.policies.read();
        Arc::clone(&policies)
    }

    /// Replaces the scopes of all agents. Their search indexes are rebuilt.
    pub fn set_scopes(
        &self,
        agents: &AgentViews,
        projects: BTreeMap<Arc<Path>, Arc<ProjectView>>,
        denials: ProjectDenials,
    ) {
        let scopes = Scopes::new(agents, projects, denials);
        *self.scopes.write() = scopes;
        self.configuration.fetch_add(1, Ordering::AcqRel);
    }

    /// Identifies the current rules and scopes.
    fn configuration(&self) -> u64 {
        self.configuration.load(Ordering::Acquire)
    }

    /// The current scope of an agent in a workspace.
    pub fn scope(&self, agent: Option<&str>, place: &WorkspaceContext) -> Arc<Scope> {
        self.scopes.read().scope_within(place, agent)
    }

    /// The caller's scope by the current configuration, which may be newer than the run.
    pub fn scope_now(&self, asking: &CallContext) -> Arc<Scope> {
        let agent = asking.caller.origin.agent.as_deref();
        self.scopes.read().refresh_scope(&asking.scope, agent)
    }

    /// The scope of the caller's agent in its workspace.
    fn scope_of(&self, origin: &ClientOrigin) -> Arc<Scope> {
        let scopes = self.scopes.read();
        let place = origin.workspace.as_deref();
        let place = place.map(|workspace| scopes.workplace_of(workspace));
        scopes.scope_within(&place.unwrap_or_default(), origin.agent.as_deref())
    }

    /// Makes one call and returns the program's value as JSON. Every outcome is written to the audit log.
    pub async fn call(&self, call: ToolCall, observer: &dyn CallObserver) -> Result<String, Fault> {
        let path = requested_path(&call.target);
        let arguments = call.arguments.as_json();
        let mut entry = self.audit.begin_call(&path, arguments, &call.asking.caller);
        let mut meter = self.upstreams.metrics().begin_call();
        let outcome = self.execute_call(call, observer, (&mut entry, &mut meter));
        let outcome = outcome.await;
        meter.ended(outcome.as_ref().err().map(|fault| fault.kind));
        entry.finish(outcome.as_ref().map(String::len));
        outcome
    }

    async fn execute_call(
        &self,
        mut call: ToolCall,
        observer: &dyn CallObserver,
        (entry, meter): (&mut CallAuditGuard, &mut CallMeter),
    ) -> Result<String, Fault> {
        call.asking.scope = self.scope_now(&call.asking);
        let (server, name, raw) = self.resolve_server(call.target, &call.asking.scope)?;
        meter.at(server.meters());
        let (within, whole) = call_timeouts(&server, call.within)?;
        let caller = Arc::clone(&call.asking.caller);
        let whose = CallerIdentity::of(&caller);
        let trace = &caller.trace;
        let HeldSession {
            mut slot,
            mut session,
        } = ready_session(&server, (&whose, trace), observer).await?;
        let mut tools = session.current_tools().await;
        let scope = &call.asking.scope;
        let seen = |tools: &Arc<ToolSet>| match scope.view(tools).find(&name) {
            Some(tool) => Ok(Arc::clone(tool)),
            None => Err(no_such_tool(&scope.offered(tools), server.name(), &name)),
        };
        let tool = match seen(&tools) {
            // The tool may be missing because the list was outdated.
            Err(_) => {
                tools = session.current_tools().await;
                seen(&tools)
            }
            tool => tool,
        }?;
        let path = tool.path();
        entry.set_path(&path);
        meter.of_tool(&tool.name);
        if !call.arguments.are_long() {
            // Recorded now, in case the call ends before the arguments are checked.
            entry.set_arguments(|| call.arguments.as_text(&tool));
        }
        let wanted = PermissionRequest {
            path: &path,
            server: &server,
            what: PermissionSubject::Tool(&tool, &tools, &call.arguments),
            asking: &call.asking,
        };
        let ask = self.permit(&wanted, entry).await?;
        tool.check_standing()?;
        call.arguments
            .check_depth_off_thread()
            .await
            .map_err(|fault| fault.path(&path))?;
        if call.declared_only {
            let declaring = Arc::clone(&tool);
            let judge = move |read: Result<_, Fault>| match read {
                Ok(values) => declaring.check_argument_names(&values),
                // Reported when the arguments are read for the call.
                Err(_) => Ok(()),
            };
            self.readers
                .judge_arguments(&tool, &call.arguments, judge)
                .await??;
        }
        let mut approved = None;
        if let Some(ask) = ask {
            approved = Some(ask.identity.clone());
            let approving = self.approve_call(ask, (&wanted, raw), observer, entry);
            call.arguments = Box::pin(approving).await?;
            // The approval may have taken minutes.
            HeldSession { slot, session } =
                ready_session(&server, (&whose, trace), observer).await?;
        }
        let permitted = PermittedCall {
            tool: Arc::clone(&tool),
            tools,
            approved,
        };
        // Long arguments stay text until their call has a slot.
        let early = if call.arguments.are_long() {
            Some(slot.acquire_call(&call.asking.turn).await)
        } else {
            None
        };
        let arguments = self.readers.read_checked(&tool, &call.arguments).await?;
        entry.set_arguments(|| serde_json::to_string(&arguments).unwrap_or_default());
        let mut permit = match early {
            Some(permit) => permit,
            None => slot.acquire_call(&call.asking.turn).await,
        };
        let span = info_span!("call", path);
        let started = Instant::now();
        let number = observer.call_started(&path);
        entry.set_call_number(number);
        meter.sent();
        server.count_call();
        // Named by the server's questions.
        Arc::make_mut(&mut call.asking.caller).tool = Some(path.as_str().into());
        self.upstreams.catalog().count_use(&tool);
        let mut attempts = CallAttempts::of(&server);
        let witness = Witness {
            caller: digest_of(&caller.origin),
            arguments: call.arguments.digest(),
        };
        let mut read = Some(arguments);
        let sent = loop {
            let traced = spans::tool_call_span(trace, &server, &session, &tool.name);
            let sending = RequestOptions {
                caller: Some(&call.asking.caller),
                permit: Some(permit.permit_slot()),
                within,
                whole,
                progress: &|progress| observer.call_progress(number, &path, progress),
                trace: traced.trace().context().map(|context| &**context),
            };
            let lets = |tool: &Tool| {
                let lets = server.serves(&slot, &whose) && attempts.allows_send(tool);
                if let (true, Some(cause)) = (lets, attempts.take_retry_cause()) {
                    let cause = cause.lines().next().unwrap_or_default();
                    let warning = format!("is sent again, because it changes nothing: {cause}");
                    observer.call_warned(&path, &warning);
                }
                lets
            };
            let read = read.take();
            let given = (&call.arguments, &call.asking);
            let at = (&*server, &*session);
            let sent = self
                .dispatch_call(at, &permitted, read, given, &lets, &sending)
                .await;
            traced.end_with(|| spans::error_type(sent.as_ref().map(|sent| &sent.answer)));
            if !attempts.should_retry(&sent) {
                break attempts.into_outcome(sent);
            }
            let held = (&slot, permit);
            match next_session(&server, (&call.asking, &whose), observer, held).await {
                Ok((next, next_permit)) => {
                    permit = next_permit;
                    HeldSession { slot, session } = next;
                }
                Err(fault) => break attempts.into_outcome(Err(fault)),
            }
        };
        let took = started.elapsed();
        let outcome = match sent {
            Ok(DispatchedCall { tool, answer }) => {
                match search_answer(&server, &path, answer).await {
                    Ok(result) if raw => {
                        let result = without_foreign_warning(&server, result);
                        Ok(json_weight::to_text(result).await)
                    }
                    Ok(result) => {
                        if let Some(warning) = source_warning(&server, &result) {
                            observer.call_warned(&path, &warning);
                        }
                        let value = self.value_of(&server, &tool, result).await;
                        self.learn_output_type(&tool, value, witness).await
                    }
                    Err(fault) => Err(fault),
                }
            }
            Err(fault) => Err(fault),
        };
        let is_user = whose.is_user;
        let outcome = match outcome {
            Err(fault) => Err(add_sandbox_hint(&server, is_user, fault).await),
            ok => ok,
        };
        span.in_scope(|| match &outcome {
            Ok(_) => debug!(?took, "call ended"),
            Err(fault) => info!(?took, kind = %fault.kind, "call failed"),
        });
        observer.call_ended(number, &path, took, outcome.as_ref().map(String::len));
        outcome
    }

    async fn value_of(&self, server: &Server, tool: &Tool, result: Value) -> Result<Value, Fault> {
        let learned = self.upstreams.catalog().learned();
        value_of(tool, result, result_check(server), learned).await
    }

    /// Converts a value to JSON, and learns its type if the tool declares none.
    async fn learn_output_type(
        &self,
        tool: &Arc<Tool>,
        value: Result<Value, Fault>,
        witness: Witness,
    ) -> Result<String, Fault> {
        let value = value?;
        if tool.has_output_schema() {
            return Ok(json_weight::to_text(value).await);
        }
        let (value, text) = json_weight::with_text(value).await;
        let catalog = self.upstreams.catalog();
        catalog.observe(tool, (value, text.len()), witness);
        Ok(text)
    }

    /// The server, the tool's name as the caller wrote it, and whether the result is returned raw.
    fn resolve_server(
        &self,
        target: CallTarget,
        scope: &Scope,
    ) -> Result<(Arc<Server>, String, bool), Fault> {
        if let Some(fault) = target.name_limit_fault() {
            return Err(fault);
        }
        let (server, tool, raw) = match target {
            CallTarget::Own { name } => {
                return Err(Fault::new(
                    FaultKind::NotFound,
                    format!("there is no function `mux.{name}`"),
                ));
            }
            CallTarget::Named { server, tool } => (server, tool, false),
            CallTarget::Path { path, raw } => {
                let (server, tool) = self.split_visible_path(&path, scope)?;
                (server, tool, raw)
            }
        };
        let found = self
            .upstreams
            .find_visible(&server, scope)
            .map_err(|f| f.path(format!("{server}.{tool}")))?;
        Ok((found, tool, raw))
    }

    /// Splits a path into server and tool. If the path does not begin with a server name, other forms are tried.
    fn split_visible_path(&self, path: &str, scope: &Scope) -> Result<(String, String), Fault> {
        let is_visible = |server: &str| self.upstreams.find_visible(server, scope).is_ok();
        let read = read_tool_path(path, is_visible);
        let split = split_tool_path(&read);
        let owned = |(server, tool): (&str, &str)| (server.to_owned(), tool.to_owned());
        split.map(owned).ok_or_else(|| {
            let message = format!("{path:?} is not the path of a tool");
            Fault::new(FaultKind::NotFound, message).hint("a path is `server.tool`")
        })
    }
}

/// The caller's session. The observer is notified if the session must be opened first.
async fn ready_session(
    server: &Server,
    (whose, trace): (&CallerIdentity, &TraceScope),
    observer: &dyn CallObserver,
) -> Result<HeldSession, Fault> {
    if let Some(held) = server.open_session(whose) {
        return Ok(held);
    }
    if server.definition().is_ok() {
        observer.server_starting(server.name());
    }
    let asked = Instant::now();
    let span = spans::session_open_span(trace, server);
    let held = server.session(whose).await;
    span.end_with(|| held.as_ref().err().map(|fault| fault.kind.to_string()));
    match held {
        Ok(held) => {
            observer.server_ready(server.name(), asked.elapsed());
            Ok(held)
        }
        Err(fault) => Err(add_sandbox_hint(server, whose.is_user, fault).await),
    }
}

/// The warning beside the result of a source, such as a page that could not be read.
fn source_warning(server: &Server, result: &Value) -> Option<String> {
    let warning = result.get("_meta")?.get(SOURCE_WARNING)?.as_str()?;
    is_source(server).then(|| warning.to_owned())
}

/// Removes a source's warning from a result unless the server is a source: no other server may warn in the name of
/// muxd.
fn without_foreign_warning(server: &Server, mut result: Value) -> Value {
    if let Some(Value::Object(meta)) = result.get_mut("_meta")
        && meta.contains_key(SOURCE_WARNING)
        && !is_source(server)
    {
        meta.shift_remove(SOURCE_WARNING);
    }
    result
}

fn is_source(server: &Server) -> bool {
    let definition = server.definition();
    definition
        .as_ref()
        .is_ok_and(|it| matches!(it.link, ServerEndpoint::Source(_)))
}

/// The caller's session for another attempt, with a permit of its slot.
async fn next_session(
    server: &Server,
    (asking, whose): (&CallContext, &CallerIdentity),
    observer: &dyn CallObserver,
    (slot, permit): (&Arc<Slot>, CallInFlight),
) -> Result<(HeldSession, CallInFlight), Fault> {
    let next = ready_session(server, (whose, &asking.caller.trace), observer).await?;
    if Arc::ptr_eq(&next.slot, slot) {
        return Ok((next, permit));
    }
    // Both permits may belong to the same limiter.
    drop(permit);
    let permit = next.slot.acquire_call(&asking.turn).await;
    Ok((next, permit))
}

pub fn find_tool(tools: &ToolSet, server: &str, name: &str) -> Result<Arc<Tool>, Fault> {
    match tools.find(name) {
        Some(tool) => Ok(Arc::clone(tool)),
        None => Err(no_such_tool(tools, server, name)),
    }
}

/// The tool with this name, and the tools in the group with this name.
pub fn find_tools_or_group(
    tools: &ToolSet,
    server: &str,
    name: &str,
) -> Result<Vec<Arc<Tool>>, Fault> {
    let tool = tools.find(name);
    let group = tools.in_group(name);
    let named: Vec<_> = tool.into_iter().chain(group).cloned().collect();
    if named.is_empty() {
        Err(no_such_tool(tools, server, name))
    } else {
        Ok(named)
    }
}

pub fn no_such_tool(tools: &ToolSet, server: &str, name: &str) -> Fault {
    let path = format!("{server}.{name}");
    let fault = Fault::new(FaultKind::NotFound, format!("there is no tool `{path}`")).path(path);
    match tools.instead_of(name) {
        Some(hint) => fault.hint(hint),
        None => fault.hints(
            format!("see `mux tools --server {server}`"),
            format!("describe(\"{server}\") shows its tools"),
        ),
    }
}

fn result_check(server: &Server) -> ResultCheck {
    let definition = server.definition().as_ref();
    definition.map_or_else(
        |_| ResultCheck::default(),
        |definition| definition.check_results,
    )
}

/// The timeout without progress and the total timeout of a call. `asked` limits the total. Zero is an error, because
/// the call would be sent and immediately cancelled.
fn call_timeouts(server: &Server, asked: Option<Duration>) -> Result<(Duration, Duration), Fault> {
    let Ok(definition) = server.definition() else {
        // Such a server has no session.
        return Ok((Duration::ZERO, Duration::ZERO));
    };
    let most = definition.call_timeout;
    let whole = definition.total_timeout;
    let whole = asked.map_or(whole, |asked| asked.min(whole));
    if whole.is_zero() || most.is_zero() {
        let message = "a timeout of 0 leaves no time for a call: nothing was sent";
        return Err(
            Fault::new(FaultKind::Validation, message).hint(if most.is_zero() {
                "call_timeout in the server's entry must be longer"
            } else {
                "give a longer timeout, or none to use the server's"
            }),
        );
    }
    Ok((most.min(whole), whole))
}
