//! One open session: a process, the protocol on its pipes, and the tools it offers.
//!
//! Invariant: a call is sent at most once. When the session ends before the answer came, nobody can
//! know whether it happened, and the caller is told so.

use std::{
    borrow::Cow,
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use rmcp::{
    ClientHandler, RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
        ClientCapabilities, ClientConfig, ClientRequest, Implementation, PaginatedRequestParams,
        RequestId, ServerResult, Tool,
    },
    service::{
        NotificationContext, Peer, PeerRequestOptions, RunningService, ServiceError, serve_client,
    },
};
use serde_json::{Map, Value};
use tokio::{sync::Notify, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info, warn};

use super::{
    process::Launcher,
    stderr::{self, LastLines, Log},
    transport::StdioTransport,
};
use crate::{
    catalog::{ToolDescription, ToolSet},
    keeper::{ChildExit, KeptChild},
    settings::ServerDefinition,
};

/// Bounds a list of tools that never ends.
const MAX_TOOLS: usize = 10_000;
const MAX_PAGES: usize = 500;
/// JSON-RPC's code for it.
const METHOD_NOT_FOUND: i32 = -32601;
/// Lines of standard error that an error repeats.
const SHOWN_LINES: usize = 10;
/// Between the end of a server's input and TERM, and between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last words of a process that has ended may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A session that is open, or was.
#[derive(Debug)]
pub struct Session {
    peer: Peer<RoleClient>,
    tools: ArcSwap<ToolSet>,
    pub pid: u32,
    /// What the server calls itself, with its version.
    pub identity: Option<String>,
    pub protocol: Option<String>,
    pub start_time: Duration,
    calls: TaskTracker,
    /// Asked to end.
    closing: CancellationToken,
    /// Over, and `cause` says why.
    known: CancellationToken,
    /// Over, and the process is gone.
    ended: CancellationToken,
    /// Why it ended; guarded for the one write.
    cause: Mutex<Option<String>>,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It never left the daemon.
    #[error("the session had ended before the call was sent")]
    NotSent,
    /// It may or may not have happened.
    #[error("the server ended before it answered: {0}")]
    Unknown(String),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The server answered with a protocol error.
    #[error("{message}")]
    Refused {
        code: i32,
        message: String,
        data: Option<Value>,
    },
    #[error("{0}")]
    Protocol(String),
}

impl Session {
    /// Starts the process and shakes hands. An error tells a person what to do.
    pub(super) async fn open(
        name: &str,
        definition: &ServerDefinition,
        launcher: &Launcher,
        log: PathBuf,
    ) -> Result<Arc<Self>, String> {
        let started = Instant::now();
        let mut child = launcher.launch(name, definition).await?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("the process has no pipes".into());
        };
        let pid = child.pid;
        let (last_lines, stderr_ended) = stderr::drain(stderr, log.clone());
        let handler = Handler {
            log: log.clone(),
            tools_changed: Arc::new(Notify::new()),
        };
        let tools_changed = Arc::clone(&handler.tools_changed);
        let transport = StdioTransport::new(stdout, stdin, log);
        let handshake = async {
            let service = serve_client(handler, transport)
                .await
                .map_err(|e| format!("the handshake failed: {e}"))?;
            let tools = list_tools(service.peer()).await?;
            Ok::<_, String>((service, tools))
        };
        let outcome = tokio::select! {
            biased;
            outcome = handshake => outcome,
            exit = child.wait() => Err(format!("the process ended at once ({exit})")),
            () = tokio::time::sleep(definition.start_timeout) => {
                Err(format!("it was not ready within {:?} (start_timeout)", definition.start_timeout))
            }
        };
        let (service, tools) = match outcome {
            Ok(ready) => ready,
            Err(problem) => {
                child.stop(GRACE).await;
                _ = timeout(LAST_WORDS, stderr_ended).await;
                return Err(with_last_words(problem, &last_lines));
            }
        };
        let set = ToolSet::new(name, tools, &definition.exclude);
        for warning in &set.warnings {
            warn!(server = name, "{warning}");
        }
        let peer_info = service.peer().peer_info();
        let session = Arc::new(Self {
            peer: service.peer().clone(),
            tools: ArcSwap::from_pointee(set),
            pid,
            identity: peer_info.as_ref().and_then(|info| {
                info.server_info
                    .as_ref()
                    .map(|s| format!("{} {}", s.name, s.version))
            }),
            protocol: peer_info.map(|info| info.protocol_version.to_string()),
            start_time: started.elapsed(),
            calls: TaskTracker::new(),
            closing: CancellationToken::new(),
            known: CancellationToken::new(),
            ended: CancellationToken::new(),
            cause: Mutex::new(None),
        });
        info!(server = name, pid, took = ?session.start_time, tools = session.tools().len(), "session open");
        let watch = Watch {
            name: name.to_owned(),
            exclude: definition.exclude.clone(),
            last_lines,
        };
        tokio::spawn(watch.over(Arc::clone(&session), service, child, tools_changed));
        Ok(session)
    }

    pub fn tools(&self) -> Arc<ToolSet> {
        self.tools.load_full()
    }

    pub fn is_open(&self) -> bool {
        !self.known.is_cancelled()
            && !self.closing.is_cancelled()
            && !self.peer.is_transport_closed()
    }

    /// Resolves when the session is over and its process is gone.
    pub(super) async fn ended(&self) -> String {
        self.ended.cancelled().await;
        self.cause()
    }

    fn cause(&self) -> String {
        let cause = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
        cause
            .clone()
            .unwrap_or_else(|| "the session was closed".into())
    }

    /// Sends one call. Dropping the future cancels it at the server.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        within: Duration,
    ) -> Result<Value, CallError> {
        let _counted = self.calls.token();
        if !self.is_open() {
            return Err(CallError::NotSent);
        }
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::from(CallToolRequest::new(params));
        let handle = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await
            .map_err(|error| self.failed(error))?;
        let guard = CancelOnDrop {
            peer: self.peer.clone(),
            id: Some(handle.id.clone()),
        };
        let answer = tokio::select! {
            biased;
            answer = timeout(within, handle.await_response()) => answer,
            // rmcp notices the end of the pipes itself; this is for a process that left them open.
            () = self.known.cancelled() => Ok(Err(ServiceError::TransportClosed)),
        };
        match answer {
            Ok(answer) => {
                guard.disarm();
                match answer {
                    Ok(ServerResult::CallToolResult(result)) => {
                        serde_json::to_value(result).map_err(|e| CallError::Protocol(e.to_string()))
                    }
                    Ok(_) => Err(CallError::Protocol("the answer is no tool result".into())),
                    Err(error) => Err(self.failed_after_end(error).await),
                }
            }
            Err(_) => Err(CallError::TimedOut(within)),
        }
    }

    /// Resolves when no call is on its way.
    pub(super) async fn idle(&self) {
        self.calls.close();
        self.calls.wait().await;
    }

    /// Closes the session; the process is ended by the task that watches it.
    pub(super) fn close(&self, cause: &str) {
        self.set_cause(cause.to_owned());
        self.closing.cancel();
    }

    fn set_cause(&self, cause: String) {
        let mut slot = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert(cause);
    }

    fn failed(&self, error: ServiceError) -> CallError {
        match error {
            ServiceError::McpError(error) => CallError::Refused {
                code: error.code.0,
                message: error.message.into_owned(),
                data: error.data,
            },
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                CallError::Unknown(self.cause())
            }
            other => CallError::Protocol(other.to_string()),
        }
    }

    /// The reason for the end is known a moment after the end itself.
    async fn failed_after_end(&self, error: ServiceError) -> CallError {
        if matches!(
            error,
            ServiceError::TransportClosed | ServiceError::TransportSend(_)
        ) {
            _ = timeout(LAST_WORDS, self.known.cancelled()).await;
        }
        self.failed(error)
    }
}

/// Tells the server that nobody waits for the answer any more.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl CancelOnDrop {
    fn disarm(mut self) {
        self.id = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        tokio::spawn(async move {
            let reason = Some("the caller no longer waits".to_owned());
            let params = CancelledNotificationParam::new(Some(id), reason);
            if let Err(error) = peer
                .send_notification(CancelledNotification::new(params).into())
                .await
            {
                debug!(%error, "a cancellation was not sent");
            }
        });
    }
}

/// What watches a session until its end.
struct Watch {
    name: String,
    exclude: Vec<String>,
    last_lines: LastLines,
}

impl Watch {
    async fn over(
        self,
        session: Arc<Session>,
        service: RunningService<RoleClient, Handler>,
        child: KeptChild,
        tools_changed: Arc<Notify>,
    ) {
        let cancel = service.cancellation_token();
        let mut serving = pin!(service.waiting());
        let exit = loop {
            tokio::select! {
                exit = child.wait() => break Some(exit),
                () = session.closing.cancelled() => break None,
                // The pipes are closed; most processes follow at once and say why by their status.
                _ = &mut serving => break timeout(LAST_WORDS, child.wait()).await.ok(),
                () = tools_changed.notified() => self.refresh(&session).await,
            }
        };
        session.set_cause(self.cause(exit));
        session.known.cancel();
        cancel.cancel();
        child.stop(GRACE).await;
        info!(
            server = self.name,
            pid = session.pid,
            cause = session.cause(),
            "session over"
        );
        session.ended.cancel();
    }

    fn cause(&self, exit: Option<ChildExit>) -> String {
        let what = match exit {
            Some(exit) => format!("the process ended ({exit})"),
            None => "it closed its output or broke the protocol".into(),
        };
        with_last_words(what, &self.last_lines)
    }

    async fn refresh(&self, session: &Session) {
        match list_tools(&session.peer).await {
            Ok(tools) => {
                let set = ToolSet::new(&self.name, tools, &self.exclude);
                info!(
                    server = self.name,
                    tools = set.len(),
                    "the tools have changed"
                );
                session.tools.store(Arc::new(set));
            }
            Err(error) => warn!(
                server = self.name,
                error, "the changed tools cannot be listed"
            ),
        }
    }
}

/// What a server may ask of us, and what it tells us.
struct Handler {
    log: PathBuf,
    tools_changed: Arc<Notify>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let implementation = Implementation::new("muxd", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), implementation)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }

    #[expect(
        deprecated,
        reason = "servers of today log this way; the next era's do not"
    )]
    async fn on_logging_message(
        &self,
        params: rmcp::model::LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let text = match params.data {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Log::open(&self.log).write(&format!("[{:?}] {}", params.level, text.trim_end()));
    }
}

async fn list_tools(peer: &Peer<RoleClient>) -> Result<Vec<ToolDescription>, String> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match peer.list_tools(Some(page)).await {
            Ok(page) => page,
            // A server without tools need not know the method.
            Err(ServiceError::McpError(e)) if e.code.0 == METHOD_NOT_FOUND => return Ok(tools),
            Err(error) => return Err(format!("its tools cannot be listed: {error}")),
        };
        tools.extend(page.tools.into_iter().map(describe));
        if tools.len() > MAX_TOOLS {
            return Err(format!("it lists more than {MAX_TOOLS} tools"));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(format!("its list of tools has more than {MAX_PAGES} pages"))
}

fn describe(tool: Tool) -> ToolDescription {
    let annotations = tool.annotations.as_ref();
    ToolDescription {
        title: tool
            .title
            .clone()
            .or_else(|| annotations.and_then(|a| a.title.clone())),
        read_only: annotations.and_then(|a| a.read_only_hint),
        destructive: annotations.and_then(|a| a.destructive_hint),
        description: tool.description.map(Cow::into_owned),
        input_schema: Value::Object((*tool.input_schema).clone()),
        output_schema: tool
            .output_schema
            .map(|schema| Value::Object((*schema).clone())),
        name: tool.name.into_owned(),
    }
}

fn with_last_words(problem: String, lines: &LastLines) -> String {
    let lines = lines.get();
    let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    if shown.is_empty() {
        problem
    } else {
        format!("{problem}; its last words:\n  {}", shown.join("\n  "))
    }
}
