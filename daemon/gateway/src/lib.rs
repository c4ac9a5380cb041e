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
//!   reach. `call_path` has the phases of a call, and `dispatch` checks the tool again before its call is sent.
//!   `caller_sessions` opens sessions, `call_attempts` decides if a call may be sent again, `call_fault` words the errors of calls. `result_secrets` searches servers' answers for secrets.
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
mod call_path;
mod caller_sessions;
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
    time::Duration,
};

use parking_lot::RwLock;

use mux_wire::{CallTarget, Fault, FaultKind};

use self::{
    arguments::ArgumentReaders, call_fault::fault_of_call_error, call_path::CallPath,
    graphql_policy::DocumentJudges, resolve_tool::requested_path,
};
pub use self::{
    arguments::CallArguments,
    explanation::{CallExplanation, HypotheticalCall},
    resources_and_prompts::{CallContext, NOT_READY_DETAILS, OfferLists},
};
use mux_approvals::{ApprovalEvent, Approvals};
use mux_audit::AuditLog;
use mux_caller::{ClientOrigin, ProgressUpdate};
use mux_catalog::{Scope, Scopes, Tool, ToolSet};
use mux_policy::PolicySet;
use mux_settings::{
    AgentViews,
    projects::{ProjectDenials, ProjectView, WorkspaceContext},
};
use mux_telemetry::trace::Tracer;
use mux_text::tool_path::{read_tool_path, split_tool_path};
use mux_upstream::{Server, Upstreams};

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
    fn approval_changed(&self, event: ApprovalEvent<'_>);
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
    pub context: CallContext,
}

/// The tool that a call names.
struct ResolvedTarget {
    server: Arc<Server>,
    /// The tool's name as the caller wrote it.
    tool: String,
    /// Set if the result is returned as the server sent it.
    raw: bool,
}

/// How long a request may take.
struct CallTimeouts {
    without_progress: Duration,
    total: Duration,
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
    pub fn scope(&self, agent: Option<&str>, workspace: &WorkspaceContext) -> Arc<Scope> {
        self.scopes.read().scope_within(workspace, agent)
    }

    /// The caller's scope by the current configuration, which may be newer than the run.
    pub fn scope_now(&self, context: &CallContext) -> Arc<Scope> {
        let agent = context.caller.origin.agent.as_deref();
        self.scopes.read().refresh_scope(&context.scope, agent)
    }

    /// The scope of the caller's agent in its workspace.
    fn scope_of(&self, origin: &ClientOrigin) -> Arc<Scope> {
        let scopes = self.scopes.read();
        let workspace = origin.workspace.as_deref();
        let workspace = workspace.map(|root| scopes.workplace_of(root));
        scopes.scope_within(&workspace.unwrap_or_default(), origin.agent.as_deref())
    }

    /// Makes one call and returns the program's value as JSON. Every outcome is written to the audit log.
    pub async fn call(&self, call: ToolCall, observer: &dyn CallObserver) -> Result<String, Fault> {
        let path = requested_path(&call.target);
        let arguments = call.arguments.as_json();
        let mut entry = self
            .audit
            .begin_call(&path, arguments, &call.context.caller);
        let mut meter = self.upstreams.metrics().begin_call();
        let outcome = match CallPath::begin(self, call, observer, &mut entry, &mut meter) {
            Ok(path) => path.run().await,
            Err(fault) => Err(fault),
        };
        meter.ended(outcome.as_ref().err().map(|fault| fault.kind));
        entry.finish(outcome.as_ref().map(String::len));
        outcome
    }

    /// Finds the server that a target names.
    fn resolve_server(&self, target: CallTarget, scope: &Scope) -> Result<ResolvedTarget, Fault> {
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
        let server = self
            .upstreams
            .find_visible(&server, scope)
            .map_err(|fault| fault.path(format!("{server}.{tool}")))?;
        Ok(ResolvedTarget { server, tool, raw })
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

fn is_source(server: &Server) -> bool {
    server.source().is_some()
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

impl CallTimeouts {
    /// `asked` limits the total. Zero is an error, because the call would be sent and immediately cancelled.
    fn of(server: &Server, asked: Option<Duration>) -> Result<Self, Fault> {
        let Ok(definition) = server.definition() else {
            // Such a server has no session.
            return Ok(Self {
                without_progress: Duration::ZERO,
                total: Duration::ZERO,
            });
        };
        let most = definition.call_timeout;
        let total = definition.total_timeout;
        let total = asked.map_or(total, |asked| asked.min(total));
        if total.is_zero() || most.is_zero() {
            let message = "a timeout of 0 leaves no time for a call: nothing was sent";
            return Err(
                Fault::new(FaultKind::Validation, message).hint(if most.is_zero() {
                    "call_timeout in the server's entry must be longer"
                } else {
                    "give a longer timeout, or none to use the server's"
                }),
            );
        }
        Ok(Self {
            without_progress: most.min(total),
            total,
        })
    }
}
