//! The path of one tool call, from the name that the caller wrote to the value that it gets.
//!
//! Invariant: a phase that may reveal something about a tool or its arguments comes after policy, and a phase that costs
//! the user's attention comes after all checks that could reject the call without it.

use std::{sync::Arc, time::Instant};

use mux_wire::Fault;
use serde_json::{Map, Value};
use tracing::{debug, info, info_span};

use super::{
    CallArguments, CallContext, CallObserver, CallTimeouts, Gateway, ResolvedTarget, ToolCall,
    call_attempts::CallAttempts,
    caller_sessions::CallerSessions,
    dispatch::DispatchedCall,
    is_source, no_such_tool,
    permission::{ApprovalReason, PermissionRequest, PermissionSubject},
    reader::digest_of,
    result_secrets::search_answer,
    sandbox_hint::add_sandbox_hint,
    spans,
};
use mux_audit::CallAuditGuard;
use mux_catalog::{Tool, ToolSet, Witness, value_of};
use mux_settings::ResultCheck;
use mux_sources::SOURCE_WARNING;
use mux_telemetry::metrics::CallMeter;
use mux_text::json_weight;
use mux_upstream::{
    CallInFlight, CallerIdentity, HeldSession, RequestOptions, Server, Session, Slot,
};

/// One call on its way.
pub(super) struct CallPath<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) server: Arc<Server>,
    /// The tool's name as the caller wrote it.
    name: String,
    /// Set if the result is returned as the server sent it.
    raw: bool,
    pub(super) arguments: CallArguments,
    declared_only: bool,
    timeouts: CallTimeouts,
    pub(super) context: CallContext,
    identity: CallerIdentity,
    /// The identity of the approval, if the call needed one.
    pub(super) approved: Option<String>,
    observer: &'a dyn CallObserver,
    entry: &'a mut CallAuditGuard,
    meter: &'a mut CallMeter,
}

/// The tool on which policy decides, as its session listed it.
pub(super) struct ListedTool {
    /// The canonical path.
    pub(super) path: String,
    pub(super) tool: Arc<Tool>,
    /// All tools of the session at that time.
    pub(super) tools: Arc<ToolSet>,
}

impl<'a> CallPath<'a> {
    /// Finds the server. Nothing is started yet.
    pub(super) fn begin(
        gateway: &'a Gateway,
        call: ToolCall,
        observer: &'a dyn CallObserver,
        entry: &'a mut CallAuditGuard,
        meter: &'a mut CallMeter,
    ) -> Result<Self, Fault> {
        let mut context = call.context;
        context.scope = gateway.scope_now(&context);
        let ResolvedTarget { server, tool, raw } =
            gateway.resolve_server(call.target, &context.scope)?;
        meter.at(server.meters());
        Ok(Self {
            gateway,
            timeouts: CallTimeouts::of(&server, call.within)?,
            server,
            name: tool,
            raw,
            arguments: call.arguments,
            declared_only: call.declared_only,
            identity: CallerIdentity::of(&context.caller),
            context,
            approved: None,
            observer,
            entry,
            meter,
        })
    }

    pub(super) async fn run(mut self) -> Result<String, Fault> {
        // A session first, because only an open session lists the tools that its server has now.
        let mut held = self.sessions().ready().await?;
        let listed = self.find_tool(&held.session).await?;
        // Now, because everything below may end the call, and the audit log names the tool and not the caller's spelling.
        self.record_tool(&listed);
        // Policy before the checks, whose errors reveal something about the tool and its schema.
        let ask = self.ask_policy(&listed).await?;
        // The checks before the approval: the user is not asked about a call that cannot be sent.
        self.check_call(&listed).await?;
        if let Some(ask) = ask {
            self.wait_for_approval(ask, &listed).await?;
            // Again, because the approval may have taken minutes.
            held = self.sessions().ready().await?;
        }
        // The arguments last, because an approval replaces them by the arguments that were shown.
        let (permit, arguments) = self.queue(&held.slot, &listed.tool).await?;
        // From here on the call counts as sent, for users, limits and statistics.
        let started = Instant::now();
        let number = self.announce(&listed);
        let sent = self.send(held, permit, &listed, arguments, number).await;
        let took = started.elapsed();
        let outcome = match sent {
            Ok(sent) => self.value_of(sent, &listed.path).await,
            Err(fault) => Err(fault),
        };
        let outcome = match outcome {
            Err(fault) => Err(add_sandbox_hint(&self.server, self.identity.is_user, fault).await),
            ok => ok,
        };
        let path = &listed.path;
        info_span!("call", path).in_scope(|| match &outcome {
            Ok(_) => debug!(?took, "call ended"),
            Err(fault) => info!(?took, kind = %fault.kind, "call failed"),
        });
        let observed = outcome.as_ref().map(String::len);
        self.observer.call_ended(number, path, took, observed);
        outcome
    }

    fn sessions(&self) -> CallerSessions<'_> {
        CallerSessions {
            server: &self.server,
            identity: &self.identity,
            context: &self.context,
            observer: self.observer,
        }
    }

    async fn find_tool(&self, session: &Session) -> Result<ListedTool, Fault> {
        let scope = &self.context.scope;
        let mut tools = session.current_tools().await;
        let mut found = scope.view(&tools).find(&self.name).cloned();
        if found.is_none() {
            // The tool may be missing because the list was outdated.
            tools = session.current_tools().await;
            found = scope.view(&tools).find(&self.name).cloned();
        }
        if let Some(tool) = found {
            Ok(ListedTool {
                path: tool.path(),
                tool,
                tools,
            })
        } else {
            let offered = scope.offered(&tools);
            Err(no_such_tool(&offered, self.server.name(), &self.name))
        }
    }

    fn record_tool(&mut self, listed: &ListedTool) {
        self.entry.set_path(&listed.path);
        self.meter.of_tool(&listed.tool.name);
        if !self.arguments.are_long() {
            // Recorded now, in case the call ends before the arguments are checked.
            self.entry
                .set_arguments(|| self.arguments.as_text(&listed.tool));
        }
    }

    async fn ask_policy(&mut self, listed: &ListedTool) -> Result<Option<ApprovalReason>, Fault> {
        let request = PermissionRequest {
            path: &listed.path,
            server: &self.server,
            what: PermissionSubject::Tool(&listed.tool, &listed.tools, &self.arguments),
            context: &self.context,
        };
        self.gateway.permit(&request, self.entry).await
    }

    /// Checks the tool's pin, the depth of the arguments and, if the caller wishes, their names.
    async fn check_call(&self, listed: &ListedTool) -> Result<(), Fault> {
        listed.tool.check_standing()?;
        self.arguments
            .check_depth_off_thread()
            .await
            .map_err(|fault| fault.path(&listed.path))?;
        if !self.declared_only {
            return Ok(());
        }
        let declaring = Arc::clone(&listed.tool);
        let judge = move |read: Result<_, Fault>| match read {
            Ok(values) => declaring.check_argument_names(&values),
            // Reported when the arguments are read for the call.
            Err(_) => Ok(()),
        };
        self.gateway
            .readers
            .judge_arguments(&listed.tool, &self.arguments, judge)
            .await?
    }

    async fn wait_for_approval(
        &mut self,
        ask: ApprovalReason,
        listed: &ListedTool,
    ) -> Result<(), Fault> {
        self.approved = Some(ask.identity.clone());
        let request = PermissionRequest {
            path: &listed.path,
            server: &self.server,
            what: PermissionSubject::Tool(&listed.tool, &listed.tools, &self.arguments),
            context: &self.context,
        };
        let approving =
            self.gateway
                .approve_call(ask, &request, self.raw, self.observer, self.entry);
        self.arguments = Box::pin(approving).await?;
        Ok(())
    }

    /// Waits for a slot among the server's calls, and reads the arguments. Long arguments stay text until their call has
    /// a slot.
    async fn queue(
        &mut self,
        slot: &Arc<Slot>,
        tool: &Arc<Tool>,
    ) -> Result<(CallInFlight, Map<String, Value>), Fault> {
        let early = if self.arguments.are_long() {
            Some(slot.acquire_call(&self.context.turn).await)
        } else {
            None
        };
        let readers = &self.gateway.readers;
        let arguments = readers.read_checked(tool, &self.arguments).await?;
        self.entry
            .set_arguments(|| serde_json::to_string(&arguments).unwrap_or_default());
        let permit = match early {
            Some(permit) => permit,
            None => slot.acquire_call(&self.context.turn).await,
        };
        Ok((permit, arguments))
    }

    /// Tells everybody that the call is sent. Returns its number.
    fn announce(&mut self, listed: &ListedTool) -> u32 {
        let number = self.observer.call_started(&listed.path);
        self.entry.set_call_number(number);
        self.meter.sent();
        self.server.count_call();
        // Named by the server's questions.
        Arc::make_mut(&mut self.context.caller).tool = Some(listed.path.as_str().into());
        self.gateway.upstreams.catalog().count_use(&listed.tool);
        number
    }

    /// Sends the call once, and again only as far as `CallAttempts` allows.
    async fn send(
        &self,
        mut held: HeldSession,
        mut permit: CallInFlight,
        listed: &ListedTool,
        arguments: Map<String, Value>,
        number: u32,
    ) -> Result<DispatchedCall, Fault> {
        let caller = &self.context.caller;
        let mut attempts = CallAttempts::of(&self.server);
        let mut read = Some(arguments);
        loop {
            let name = &listed.tool.name;
            let traced = spans::tool_call_span(&caller.trace, &self.server, &held.session, name);
            let options = RequestOptions {
                caller: Some(caller),
                permit: Some(permit.permit_slot()),
                within: self.timeouts.without_progress,
                whole: self.timeouts.total,
                progress: &|progress| self.observer.call_progress(number, &listed.path, progress),
                trace: traced.trace().context().map(|context| &**context),
            };
            let sent = self
                .dispatch(&held, listed, read.take(), &attempts, &options)
                .await;
            traced.end_with(|| spans::error_type(sent.as_ref().map(|sent| &sent.answer)));
            if !attempts.should_retry(&sent) {
                return attempts.into_outcome(sent);
            }
            (held, permit) = match self.sessions().next(&held.slot, permit).await {
                Ok(next) => next,
                Err(fault) => return attempts.into_outcome(Err(fault)),
            };
        }
    }

    /// The final decision to send the call, on this session and for the tool as described now.
    pub(super) fn may_send(
        &self,
        slot: &Arc<Slot>,
        listed: &ListedTool,
        now: &Tool,
        attempts: &CallAttempts,
    ) -> bool {
        let may = self.server.serves(slot, &self.identity) && attempts.allows_send(now);
        if may && let Some(cause) = attempts.take_retry_cause() {
            let cause = cause.lines().next().unwrap_or_default();
            let warning = format!("is sent again, because it changes nothing: {cause}");
            self.observer.call_warned(&listed.path, &warning);
        }
        may
    }

    /// The text of the result, which has been searched for secrets. Its type is learned if the tool declares none.
    async fn value_of(&self, sent: DispatchedCall, path: &str) -> Result<String, Fault> {
        let DispatchedCall { tool, answer } = sent;
        let server = &self.server;
        let result = search_answer(server, path, answer).await?;
        if self.raw {
            let result = without_foreign_warning(server, result);
            return Ok(json_weight::to_text(result).await);
        }
        if let Some(warning) = source_warning(server, &result) {
            self.observer.call_warned(path, &warning);
        }
        let catalog = self.gateway.upstreams.catalog();
        let value = value_of(&tool, result, result_check(server), catalog.learned()).await?;
        if tool.has_output_schema() {
            return Ok(json_weight::to_text(value).await);
        }
        let (value, text) = json_weight::with_text(value).await;
        let witness = Witness {
            caller: digest_of(&self.context.caller.origin),
            arguments: self.arguments.digest(),
        };
        catalog.observe(&tool, (value, text.len()), witness);
        Ok(text)
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

fn result_check(server: &Server) -> ResultCheck {
    let definition = server.definition().as_ref();
    definition.map_or_else(
        |_| ResultCheck::default(),
        |definition| definition.check_results,
    )
}
