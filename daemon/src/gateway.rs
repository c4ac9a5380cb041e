//! The one way of every tool call, whoever makes it: guest, command line, pass-through.
//!
//! resolve the server → its session → resolve the tool as the caller sees it → policy → arguments → a place in line →
//! the call → the value.
//!
//! Invariant: policy is asked here and nowhere else, with the canonical path, after every other
//! spelling of the name has been resolved.

mod arguments;
mod attempts;
mod offers;
mod standing;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, RwLock},
    time::{Duration, Instant},
};

use mux_sandbox::{Fault, Kind, Target};
use serde_json::Value;
use tracing::{debug, info_span};

pub use self::{
    arguments::Arguments,
    offers::{Asking, Offered},
};
use self::{arguments::Readers, attempts::Attempts, standing::Sent};
use crate::{
    catalog::{Scope, Scopes, Tool, ToolSet, value_of},
    notices::Progress,
    policy::{Decision, Policy},
    projects::Outlook,
    settings::{Agents, ResultCheck},
    upstream::{CallError, Held, Sending, Server, Upstreams, Whose},
};

/// Is told what happens to a call.
pub trait CallObserver: Send + Sync {
    /// The call waits for a server that is being started.
    fn server_starting(&self, server: &str);
    fn server_ready(&self, server: &str, took: Duration);
    /// The call goes out. `path` is canonical. Gives the number by which its end is told.
    fn call_started(&self, path: &str) -> u32;
    /// The server tells how far the call is; not more often than somebody can follow.
    fn call_progress(&self, call: u32, path: &str, progress: Progress);
    fn call_ended(&self, call: u32, path: &str, took: Duration, outcome: Result<usize, &Fault>);
    /// Its server ended before it answered, and the call is sent again because it does no harm.
    fn call_repeated(&self, path: &str, cause: &str);
}

/// Resolves names, asks policy, and calls.
#[derive(Debug)]
pub struct Gateway {
    upstreams: Arc<Upstreams>,
    policy: RwLock<Policy>,
    scopes: RwLock<Scopes>,
    readers: Readers,
}

/// One call as somebody asks for it.
pub struct Call {
    pub target: Target,
    pub arguments: Arguments,
    /// A shorter time than the server's own.
    pub within: Option<Duration>,
    pub asking: Asking,
}

impl Gateway {
    pub fn new(upstreams: Arc<Upstreams>, policy: Policy) -> Self {
        Self {
            upstreams,
            policy: RwLock::new(policy),
            scopes: RwLock::default(),
            readers: Readers::new(),
        }
    }

    pub fn upstreams(&self) -> &Arc<Upstreams> {
        &self.upstreams
    }

    pub fn set_policy(&self, policy: Policy) {
        *self
            .policy
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = policy;
    }

    /// Who sees what from now on. The index of what they see is made anew.
    pub fn set_views(&self, agents: &Agents, projects: BTreeMap<Arc<Path>, Arc<Outlook>>) {
        *self
            .scopes
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = Scopes::new(agents, projects);
    }

    /// What an agent sees now, within a project or elsewhere.
    pub fn scope(&self, agent: Option<&str>, project: Option<&Path>) -> Arc<Scope> {
        self.scopes
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .within(project, agent)
    }

    /// Makes one call and gives the value that a program gets, as JSON text.
    pub async fn call(&self, call: Call, observer: &dyn CallObserver) -> Result<String, Fault> {
        let (server, name, raw) = self.resolve(call.target, &call.asking.scope)?;
        let (within, whole) = call_times(&server, call.within)?;
        let whose = Whose::of(&call.asking.caller);
        let Held {
            mut slot,
            mut session,
        } = ready(&server, &whose, observer).await?;
        let tools = session.current_tools().await;
        let seen = |tools| find(&call.asking.scope.view(tools), server.name(), &name);
        let tool = match seen(&tools) {
            // It may be newer than a list whose time was over.
            Err(_) => seen(&session.current_tools().await),
            tool => tool,
        }?;
        let path = tool.path();
        self.allow(&path, &call.asking.scope)?;
        tool.check_standing()?;
        call.arguments
            .check_nesting()
            .map_err(|fault| fault.path(&path))?;
        // What nobody has a place for is kept as text.
        let early = match call.arguments.are_long() {
            true => Some(slot.place(&call.asking.turn).await),
            false => None,
        };
        let arguments = self.readers.read(&tool, &call.arguments).await?;
        let mut place = match early {
            Some(place) => place,
            None => slot.place(&call.asking.turn).await,
        };
        let span = info_span!("call", path);
        let started = Instant::now();
        let number = observer.call_started(&path);
        let mut attempts = Attempts::of(&server);
        let mut read = Some(arguments);
        let sent = loop {
            let sending = Sending {
                caller: Some(&call.asking.caller),
                place: Some(&place),
                within,
                whole,
                progress: &|progress| observer.call_progress(number, &path, progress),
            };
            let lets = |tool: &Tool| {
                let lets = server.serves(&slot, &whose) && attempts.lets(tool);
                if let (true, Some(cause)) = (lets, attempts.repeats()) {
                    observer.call_repeated(&path, cause);
                }
                lets
            };
            let (read, given) = (read.take(), &call.arguments);
            let sent = self
                .send(&session, &tool, read, given, &lets, &sending)
                .await;
            if !attempts.another(&sent) {
                break attempts.outcome(sent);
            }
            let next = match ready(&server, &whose, observer).await {
                Ok(next) => next,
                Err(fault) => break attempts.outcome(Err(fault)),
            };
            if !Arc::ptr_eq(&next.slot, &slot) {
                // The two may be places of one line.
                drop(place);
                place = next.slot.place(&call.asking.turn).await;
            }
            Held { slot, session } = next;
        };
        let outcome = sent.and_then(|Sent { tool, answer }| {
            let result = answer.map_err(|error| failure(&path, error))?;
            match raw {
                true => Ok(result.to_string()),
                false => value_of(&tool, result, result_check(&server))
                    .map(|value| self.observed(&tool, value)),
            }
        });
        let took = started.elapsed();
        span.in_scope(|| debug!(?took, ok = outcome.is_ok(), "call ended"));
        observer.call_ended(number, &path, took, outcome.as_ref().map(String::len));
        outcome
    }

    /// The text of a value, from which its type is learned if nobody has declared it.
    fn observed(&self, tool: &Arc<Tool>, value: Value) -> String {
        let text = value.to_string();
        if tool.output_schema.is_none() {
            self.upstreams.catalog().observe(tool, value, text.len());
        }
        text
    }

    /// The server and the tool's name as the caller spelled it.
    fn resolve(&self, target: Target, scope: &Scope) -> Result<(Arc<Server>, String, bool), Fault> {
        if let Some(fault) = target.too_long() {
            return Err(fault);
        }
        let (server, tool, raw) = match target {
            Target::Own { name } => {
                return Err(Fault::new(
                    Kind::NotFound,
                    format!("there is no function `mux.{name}`"),
                ));
            }
            Target::Named { server, tool } => (server, tool, false),
            Target::Path { path, raw } => match path.split_once('.') {
                Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                    (server.to_owned(), tool.to_owned(), raw)
                }
                _ => {
                    return Err(Fault::new(
                        Kind::NotFound,
                        format!("{path:?} is not the path of a tool"),
                    )
                    .hint("a path is `server.tool`"));
                }
            },
        };
        let found = self
            .upstreams
            .find_seen(&server, scope)
            .map_err(|f| f.path(format!("{server}.{tool}")))?;
        Ok((found, tool, raw))
    }

    fn allow(&self, path: &str, scope: &Scope) -> Result<(), Fault> {
        let project = scope.project();
        if let Some((project, rule)) = project.and_then(|p| Some((p, p.denial(path)?))) {
            let root = project.root.display();
            let message =
                format!("{path} is denied by the policy {rule:?} of the project in {root}");
            return Err(Fault::new(Kind::Denied, message)
                .hint("it stands in the project's .mux.toml")
                .path(path));
        }
        let policy = self
            .policy
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        match policy.decide(path) {
            Decision::Allow => Ok(()),
            Decision::Deny { rule } => Err(Fault::new(
                Kind::Denied,
                format!("{path} is denied by the policy {rule:?}"),
            )
            .hint("change [[policy]] in config.toml, then run `mux reload`")
            .path(path)),
            Decision::Ask { rule } => Err(Fault::new(
                Kind::Denied,
                format!("{path} must be approved by the policy {rule:?}, and nobody can be asked"),
            )
            .hint("this version cannot ask; change the rule to allow or deny")
            .path(path)),
        }
    }
}

/// The caller's session, with word to the observer if it has to be opened first.
async fn ready(server: &Server, whose: &Whose, observer: &dyn CallObserver) -> Result<Held, Fault> {
    if let Some(held) = server.open_session(whose) {
        return Ok(held);
    }
    if server.definition().is_ok() {
        observer.server_starting(server.name());
    }
    let asked = Instant::now();
    let held = server.session(whose).await?;
    observer.server_ready(server.name(), asked.elapsed());
    Ok(held)
}

pub(crate) fn find(tools: &ToolSet, server: &str, name: &str) -> Result<Arc<Tool>, Fault> {
    match tools.find(name) {
        Some(tool) => Ok(Arc::clone(tool)),
        None => Err(no_such_tool(tools, server, name)),
    }
}

pub(crate) fn no_such_tool(tools: &ToolSet, server: &str, name: &str) -> Fault {
    let path = format!("{server}.{name}");
    let fault = Fault::new(Kind::NotFound, format!("there is no tool `{path}`")).path(path);
    match tools.nearest(name).as_slice() {
        [] => fault.hint(format!("see `mux tools --server {server}`")),
        near => {
            let near: Vec<String> = near
                .iter()
                .filter_map(|name| tools.find(name))
                .map(|tool| tool.signature())
                .collect();
            fault.hint(format!("did you mean\n{}", near.join("\n")))
        }
    }
}

fn result_check(server: &Server) -> ResultCheck {
    let definition = server.definition().as_ref();
    definition.map_or_else(
        |_| ResultCheck::default(),
        |definition| definition.check_results,
    )
}

/// How long one call of this server may be quiet, and take; what somebody asks for is the whole of it. Without
/// any time it would be sent, and cancelled at once.
fn call_times(server: &Server, asked: Option<Duration>) -> Result<(Duration, Duration), Fault> {
    let Ok(definition) = server.definition() else {
        // It has no session.
        return Ok((Duration::ZERO, Duration::ZERO));
    };
    let most = definition.call_timeout;
    let whole = definition.total_timeout;
    let whole = asked.map_or(whole, |asked| asked.min(whole));
    if whole.is_zero() || most.is_zero() {
        let message = "a timeout of 0 leaves no time for a call: nothing was sent";
        return Err(
            Fault::new(Kind::Validation, message).hint(match most.is_zero() {
                true => "call_timeout in the server's entry must be longer",
                false => "give it more time, or none to have that of the server",
            }),
        );
    }
    Ok((most.min(whole), whole))
}

fn failure(path: &str, error: CallError) -> Fault {
    let fault = match error {
        CallError::NotSent => {
            Fault::new(Kind::Unavailable, format!("{path} was not called: {error}"))
                .hint("try again")
        }
        CallError::Unknown(cause) => Fault::new(
            Kind::UnknownOutcome,
            format!("{path} was sent, and no answer came: {cause}"),
        )
        .hint("it may or may not have happened; look before you call it again"),
        CallError::TimedOut(within) => Fault::new(
            Kind::Timeout,
            format!("{path} did not answer within {within:?} and was cancelled"),
        )
        .hint("call_timeout in the server's entry allows more"),
        CallError::SignIn(challenge) => {
            let server = path.split('.').next().unwrap_or(path);
            Fault::new(
                Kind::AuthRequired,
                format!("{path} was not called: {challenge}"),
            )
            .hint(format!(
                "`mux servers login {server}`, or give a token in its `headers`; then call it again"
            ))
        }
        CallError::Declined(why) => Fault::new(
            Kind::Unavailable,
            format!("{path} was not taken by the server: {why}"),
        ),
        CallError::TooLong(whole) => Fault::new(
            Kind::Timeout,
            format!("{path} took longer than {whole:?} in all and was cancelled"),
        )
        .hint("it may have told of progress; total_timeout in the server's entry allows more"),
        CallError::Refused {
            code,
            message,
            data,
        } => {
            let mut fault = Fault::new(Kind::Tool, message);
            fault.details = Some(serde_json::json!({ "code": code, "data": data }).to_string());
            fault
        }
        CallError::TooMuch(message) => Fault::new(Kind::Limit, format!("{path}: {message}")),
        CallError::Protocol(message) => {
            Fault::new(Kind::Internal, format!("{path}: {message}")).hint("see `mux logs`")
        }
    };
    fault.path(path)
}
