//! The MCP server itself, which dispatches each request of the protocol to the module that handles it.

use std::sync::OnceLock;

use mux_proto::version::BUILD;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, ClientCapabilities, CompleteRequestParams,
        CompleteResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse, Implementation,
        InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ResultType, ServerCapabilities, ServerConfig, SubscribeRequestParams,
        SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    McpOptions, ServedTools, builtin_calls,
    catalog::ToolCatalog,
    daemon_access::DaemonAccess,
    daemon_link::DaemonLink,
    notice_follower::NoticeFollower,
    notification_receivers::{ListChanges, NotificationReceivers},
    pending_jobs::{self, JobOutput, JobRegistry, JobStep},
    profiles::SessionProfile,
    question_messages,
    question_router::QuestionRouter,
    resources_and_prompts::ResourcesAndPrompts,
    result_reader::ResultReader,
    roots,
    subscriptions::{ResourceSubscriber, ResourceSubscriptions},
    tool_results,
};

pub(super) struct MuxMcpServer {
    show: ServedTools,
    structured: bool,
    profile: SessionProfile,
    /// A workspace was set on the command line.
    has_workspace: bool,
    link: DaemonLink,
    catalog: ToolCatalog,
    offers: ResourcesAndPrompts,
    subscriptions: ResourceSubscriptions,
    jobs: JobRegistry,
    audience: NotificationReceivers,
    follower: NoticeFollower,
    following: OnceLock<()>,
    /// Cancelled when the agent has closed our standard input.
    over: CancellationToken,
}

impl MuxMcpServer {
    pub(super) fn new(options: McpOptions, link: DaemonLink, over: CancellationToken) -> Self {
        let question_router = QuestionRouter::default();
        let audience = NotificationReceivers::default();
        let profile = SessionProfile::new(options.profile);
        let catalog = ToolCatalog::new(link.clone(), &options, profile.clone());
        let offers = ResourcesAndPrompts::new(link.clone(), options.show.clone());
        let subscriptions = ResourceSubscriptions::new(link.clone(), offers.clone());
        let follower = NoticeFollower {
            link: link.clone(),
            question_router: question_router.clone(),
            audience: audience.clone(),
            catalog: catalog.clone(),
            offers: offers.clone(),
            subscriptions: subscriptions.clone(),
            changed: watch::Sender::new(ListChanges::default()),
        };
        Self {
            show: options.show,
            structured: options.structured,
            profile,
            has_workspace: options.workspace.is_some(),
            link,
            catalog,
            offers,
            subscriptions,
            jobs: JobRegistry::new(question_router),
            audience,
            follower,
            following: OnceLock::new(),
            over,
        }
    }

    /// Introduces the agent to the daemon, on its first request.
    fn on_first_request(&self, client: Option<Implementation>, able: Option<ClientCapabilities>) {
        self.following.get_or_init(|| {
            if able.is_some_and(|able| question_messages::shows_forms(&able)) {
                self.link.enable_approvals();
            }
            if let Some(client) = client {
                self.profile.set_client(&client.name);
                let profile = self.profile.get();
                self.link.update_identity(|me| {
                    me.name = client.name;
                    me.version = client.version;
                    me.profile = Some(profile.name.clone());
                });
            }
            tokio::spawn(self.follower.clone().follow_forever());
        });
    }

    async fn find_workspace(&self, context: &NotificationContext<RoleServer>) {
        if self.has_workspace {
            return;
        }
        if let Some(root) = roots::first_local_root(&context.peer).await {
            self.link.update_identity(|me| me.workspace = Some(root));
        }
    }

    fn daemon_access(&self) -> DaemonAccess {
        DaemonAccess {
            link: self.link.clone(),
            fences: self.catalog.fence_rules(),
            reader: ResultReader::new(self.profile.get(), self.structured),
        }
    }

    async fn start_call(
        &self,
        asked: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<JobStep, ErrorData> {
        if let Some(state) = asked.request_state {
            return self
                .jobs
                .resume_job(&state, asked.input_responses, context)
                .await;
        }
        let name = asked.name.as_ref();
        if self.show == ServedTools::Programs
            && let Some(begin) =
                builtin_calls::builtin_work(self.daemon_access(), name, asked.arguments.clone())
        {
            return self
                .jobs
                .start_job(context, asked.input_responses, begin)
                .await;
        }
        let path = self.catalog.resolve_tool_path(name).await;
        let Some(path) = path.map_err(tool_results::protocol_error)? else {
            let known = self.catalog.known_names().join(", ");
            let message = format!("there is no tool `{name}`; available: {known}");
            return Err(ErrorData::invalid_params(message, None));
        };
        let access = self.daemon_access();
        let arguments = asked.arguments.unwrap_or_default();
        let whole = self.show != ServedTools::Programs;
        let begin = move |job| builtin_calls::direct_call(access, path, arguments, whole, job);
        let brought = asked.input_responses;
        self.jobs.start_job(context, brought, begin).await
    }
}

fn wrong_request_kind() -> ErrorData {
    ErrorData::invalid_params("this requestState belongs to another kind of request", None)
}

/// Results of legacy servers have no `resultType`: it is added here, and rmcp strips it for legacy agents.
impl ServerHandler for MuxMcpServer {
    #[expect(deprecated, reason = "agents of the first era hear logs")]
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("mux", BUILD);
        info.server_info.title = Some("mux: all your MCP servers".into());
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let client = &request.client_info;
        let able = &request.capabilities;
        self.on_first_request(Some(client.clone()), Some(able.clone()));
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = self.catalog.instructions().await;
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        let mut info = self.get_info();
        info.instructions = self.catalog.instructions().await;
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, info))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.audience.set_agent(context.peer.clone());
        self.find_workspace(&context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.find_workspace(&context).await;
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        let tools = self.catalog.list().await;
        let tools = tools.map_err(tool_results::protocol_error)?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        match self.start_call(request, &context).await? {
            JobStep::Done(JobOutput::Tool(mut result)) => {
                result.result_type.get_or_insert(ResultType::COMPLETE);
                Ok(result.into())
            }
            JobStep::Done(_) => Err(wrong_request_kind()),
            JobStep::Asks(input) => Ok(input.into()),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        let resources = self.offers.resources().await;
        let resources = resources.map_err(tool_results::protocol_error)?;
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        let templates = self.offers.templates().await;
        let templates = templates.map_err(tool_results::protocol_error)?;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        let step = if let Some(state) = request.request_state {
            let answers = request.input_responses;
            self.jobs.resume_job(&state, answers, &context).await?
        } else {
            let begin = self.offers.read(&request.uri)?;
            let brought = request.input_responses;
            self.jobs.start_job(&context, brought, begin).await?
        };
        match step {
            JobStep::Done(JobOutput::Resource(mut result)) => {
                result.result_type.get_or_insert(ResultType::COMPLETE);
                if !pending_jobs::is_modern(&context) {
                    // The server may be of another era than the agent.
                    (result.ttl_ms, result.cache_scope) = (None, None);
                }
                Ok(result.into())
            }
            JobStep::Done(_) => Err(wrong_request_kind()),
            JobStep::Asks(input) => Ok(input.into()),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        let prompts = self.offers.prompts().await;
        let prompts = prompts.map_err(tool_results::protocol_error)?;
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        let step = if let Some(state) = request.request_state.take() {
            let answers = request.input_responses;
            self.jobs.resume_job(&state, answers, &context).await?
        } else {
            let brought = request.input_responses.take();
            let begin = self.offers.prompt(request);
            self.jobs.start_job(&context, brought, begin).await?
        };
        match step {
            JobStep::Done(JobOutput::Prompt(mut result)) => {
                result.result_type.get_or_insert(ResultType::COMPLETE);
                Ok(result.into())
            }
            JobStep::Done(_) => Err(wrong_request_kind()),
            JobStep::Asks(input) => Ok(input.into()),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        let meta = context.meta.0.0.clone();
        let mut result = self.offers.complete(request, meta).await?;
        result.result_type.get_or_insert(ResultType::COMPLETE);
        Ok(result)
    }

    #[expect(deprecated, reason = "agents of the first era choose what they hear")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let level = serde_json::to_value(request.level).unwrap_or_default();
        self.audience.set_level(level.as_str().unwrap_or("info"));
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.on_first_request(context.client_info(), context.client_capabilities());
        self.subscriptions
            .set_subscribed(&request.uri, ResourceSubscriber::Agent, true)
            .await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions
            .set_subscribed(&request.uri, ResourceSubscriber::Agent, false)
            .await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.audience.accept_subscription();
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let asked = context.request_context();
        self.on_first_request(asked.client_info(), asked.client_capabilities());
        let uris = context.accepted().resource_subscriptions.clone();
        let uris = uris.unwrap_or_default();
        let subscribed = self.audience.subscribe(context.sink().clone()).await;
        let holder = ResourceSubscriber::Subscription(subscribed.number);
        let mut refused = Ok(());
        for uri in &uris {
            refused = self.subscriptions.set_subscribed(uri, holder, true).await;
            if refused.is_err() {
                break;
            }
        }
        if refused.is_ok() {
            tokio::select! {
                () = context.cancelled() => {}
                () = self.over.cancelled() => return Ok(()),
            }
        }
        for uri in &uris {
            // Unsubscribing from a server that no longer exists may fail.
            drop(self.subscriptions.set_subscribed(uri, holder, false).await);
        }
        refused
    }
}
