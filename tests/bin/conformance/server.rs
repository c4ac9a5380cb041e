//! The handler: requests in, results out, and the state that this server keeps between them.

#![expect(
    deprecated,
    reason = "MCP has deprecated logging and resources/subscribe, and clients still want them"
)]

use std::{
    fs::OpenOptions,
    hash::RandomState,
    io::Write,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompleteResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        LoggingLevel, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::{
    asks::{Asker, Stop, is_modern},
    calls, offers, tools,
};

/// Which list has changed.
#[derive(Clone, Copy)]
enum List {
    Tools,
    Prompts,
}

pub(crate) struct Server {
    extra_tool: AtomicBool,
    extra_prompt: AtomicBool,
    level: Mutex<LoggingLevel>,
    /// For subscribers. Clients of the old era are notified without a subscription.
    changes: broadcast::Sender<List>,
    /// Of the listeners that were accepted and do not listen yet.
    accepted: Mutex<Vec<broadcast::Receiver<List>>>,
    seal: RandomState,
    journal: Option<PathBuf>,
}

impl Server {
    pub(crate) fn new(journal: Option<PathBuf>) -> Self {
        Self {
            extra_tool: AtomicBool::new(false),
            extra_prompt: AtomicBool::new(false),
            level: Mutex::new(LoggingLevel::Debug),
            changes: broadcast::channel(16).0,
            accepted: Mutex::default(),
            seal: RandomState::new(),
            journal,
        }
    }

    pub(crate) fn has_extra_tool(&self) -> bool {
        self.extra_tool.load(Ordering::Relaxed)
    }

    pub(crate) fn log_level(&self) -> LoggingLevel {
        *self.level.lock().unwrap()
    }

    pub(crate) async fn change_tools(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.extra_tool.fetch_xor(true, Ordering::Relaxed);
        self.announce(List::Tools, context).await
    }

    pub(crate) async fn change_prompts(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.extra_prompt.fetch_xor(true, Ordering::Relaxed);
        self.announce(List::Prompts, context).await
    }

    async fn announce(
        &self,
        list: List,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_modern(context) {
            // Without listeners there is nobody to tell.
            _ = self.changes.send(list);
            return Ok(());
        }
        let method = match list {
            List::Tools => "notifications/tools/list_changed",
            List::Prompts => "notifications/prompts/list_changed",
        };
        calls::notify(context, method, json!({})).await
    }

    /// One line in the journal, if there is one.
    pub(crate) fn note(&self, line: &str) {
        let Some(path) = &self.journal else { return };
        let file = OpenOptions::new().create(true).append(true).open(path);
        // A journal that cannot be written shows in the test that reads it.
        drop(file.and_then(|mut file| writeln!(file, "{line}")));
    }
}

/// One of rmcp's results, from what MCP says it looks like. rmcp takes the mark of the new era away again
/// where the request is of the old one.
fn typed<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    value["resultType"] = json!("complete");
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "logging": {}, "completions": {},
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "subscribe": true }
        });
        let capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("mux-conformance-server", "1"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all(
            self.has_extra_tool(),
        )))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let state = params.request_state.as_deref();
        let given = params.input_responses.clone();
        let asker = Asker::new(&context, &self.seal, state, given)?;
        match calls::call(self, &params, &asker, &context).await {
            Ok(result) => Ok(typed::<CallToolResult>(result)?.into()),
            Err(Stop::Input(wanted)) => Ok(wanted.into()),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        typed(offers::resources())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        typed(offers::templates())
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(typed::<ReadResourceResult>(offers::read(&params.uri)?)?.into())
    }

    // The watched resource never changes, so no state is needed.
    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        offers::read(&params.uri).map(drop)
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        typed(offers::prompts(self.extra_prompt.load(Ordering::Relaxed)))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let state = params.request_state.as_deref();
        let given = params.input_responses.clone();
        let asker = Asker::new(&context, &self.seal, state, given)?;
        let arguments = Value::from(params.arguments.unwrap_or_default());
        match offers::prompt(&params.name, &arguments, &asker).await {
            Ok(result) => Ok(typed::<GetPromptResult>(result)?.into()),
            Err(Stop::Input(wanted)) => Ok(wanted.into()),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        typed(offers::completions(&params.argument.value))
    }

    async fn set_level(
        &self,
        params: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_modern(&context) {
            let gone = rmcp::model::ErrorCode::METHOD_NOT_FOUND;
            return Err(ErrorData::new(gone, "logging/setLevel", None));
        }
        *self.level.lock().unwrap() = params.level;
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        wanted: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The acknowledgement follows immediately, and a change may follow that before `listen` is
        // polled.
        let changes = self.changes.subscribe();
        self.accepted.lock().unwrap().push(changes);
        Some(wanted.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let accepted = self.accepted.lock().unwrap().pop();
        let mut changes = accepted.unwrap_or_else(|| self.changes.subscribe());
        loop {
            let list = tokio::select! {
                () = context.cancelled() => return Ok(()),
                list = changes.recv() => list,
            };
            let sink = context.sink();
            // The sink refuses notifications without a subscription, which we can ignore.
            let sent = match list {
                Ok(List::Tools) => sink.notify_tool_list_changed().await,
                Ok(List::Prompts) => sink.notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
            drop(sent);
        }
    }
}
