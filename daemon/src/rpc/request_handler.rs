//! The methods of the contract for one client.
//!
//! Invariant: no request is answered before `hello`, and everything that a connection started ends with it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use mux_proto::{self as wire, Kind};
use serde_json::Value;
use tarpc::context::Context;
use tokio::time::timeout;
use tracing::{debug, info, trace};

use super::{
    MAX_LONG_POLL, approvals, catalog, connection::ConnectionState, convert, discovery, login,
    long_value, metrics, notices, pins, policy, program_steps, projects, resources_and_prompts,
    runs, sandboxes, secrets, settings, sources, status, tool_call, upgrade,
};
use crate::daemon::{Daemon, LoadTrigger};
use mux_audit::AdminEvent;

/// How long `status` waits for a configuration that is being read.
const CONFIG_WAIT_TIMEOUT: Duration = Duration::from_millis(500);

/// The service of one connection.
#[derive(Clone)]
pub(super) struct RequestHandler(Arc<ConnectionState>);

impl RequestHandler {
    pub(super) fn new(connection: Arc<ConnectionState>) -> Self {
        Self(connection)
    }

    /// The daemon, once its configuration and the client's project have been read.
    async fn configured(&self) -> wire::Result<&Arc<Daemon>> {
        let daemon = self.daemon()?;
        daemon.configured().await;
        self.0.load_project().await;
        Ok(daemon)
    }

    /// Loads the configuration, after the daemon has read it for the first time.
    async fn load(&self, trigger: LoadTrigger) -> wire::Result<wire::ReloadReport> {
        let daemon = self.configured().await?;
        let (report, others) = tokio::join!(daemon.load(trigger), daemon.predecessor.reload());
        let mut report = report.map_err(|problem| {
            wire::Error::new(Kind::Validation, problem.to_string())
                .hint("the last good configuration stays active")
        })?;
        let others = others.into_iter();
        let others: Vec<_> = others
            .filter(|problem| !report.problems.contains(problem))
            .collect();
        report.problems.extend(others);
        Ok(convert::reload_report(report, self.0.project().as_deref()))
    }

    fn daemon(&self) -> wire::Result<&Arc<Daemon>> {
        if self.0.uses_reserved_descriptor() {
            Err(status::descriptors_exhausted())
        } else {
            self.daemon_unchecked()
        }
    }

    /// The daemon, even for a client that was accepted with a reserved descriptor.
    fn daemon_unchecked(&self) -> wire::Result<&Arc<Daemon>> {
        self.0.open().ok_or_else(|| {
            let message = "`hello` comes first on every connection";
            wire::Error::new(Kind::Internal, message)
        })
    }
}

impl wire::Mux for RequestHandler {
    async fn hello(self, _: Context, hello: wire::Hello) -> wire::Result<wire::Welcome> {
        let client = &hello.client.name;
        let version = &hello.client.version;
        if self.0.is_probe(&hello) {
            trace!("hello of the watchdog probe");
        } else {
            debug!(client, version, "hello");
        }
        if !self.0.accept_hello(hello) {
            return Err(wire::Error::new(Kind::Unavailable, "this muxd is ending")
                .hint("connect again: the next muxd is starting"));
        }
        Ok(convert::welcome())
    }

    async fn retire(self, _: Context, reason: String) -> wire::Result<()> {
        let daemon = self.daemon_unchecked()?;
        info!(reason, "shutdown requested");
        daemon.predecessor.stop(false).await;
        daemon.shutdown.request();
        Ok(())
    }

    async fn status(self, _: Context) -> wire::Result<wire::Status> {
        let daemon = self.daemon_unchecked()?;
        // Bounded, because `status` must always answer soon.
        drop(timeout(CONFIG_WAIT_TIMEOUT, self.configured()).await);
        Ok(status::daemon_status(daemon, &self.0).await)
    }

    async fn start_run(
        self,
        _: Context,
        request: wire::RunRequest,
    ) -> wire::Result<wire::RunStarted> {
        runs::start(self.configured().await?, &self.0, request).await
    }

    async fn events(
        self,
        _: Context,
        request: wire::EventsRequest,
    ) -> wire::Result<wire::EventPage> {
        runs::events(self.daemon()?, &self.0, request).await
    }

    async fn cancel_run(self, _: Context, run: String) -> wire::Result<()> {
        runs::cancel(self.daemon()?, &self.0.access(), &run).await
    }

    async fn check(
        self,
        _: Context,
        request: wire::CheckRequest,
    ) -> wire::Result<wire::Diagnostics> {
        runs::check(&self.configured().await?.runs, &self.0, request).await
    }

    async fn call(self, _: Context, request: wire::CallRequest) -> wire::Result<wire::CallAnswer> {
        // The configuration determines which tools the agent may call.
        let daemon = self.configured().await?;
        let result = tool_call::make(daemon, &self.0, request).await?;
        Ok(wire::CallAnswer {
            result,
            last_notice: self.0.mailbox().last_notice(),
        })
    }

    async fn tools(self, _: Context, request: wire::ToolsRequest) -> wire::Result<wire::ToolList> {
        let upstreams = self.configured().await?.gateway.upstreams();
        catalog::tools(upstreams, &self.0.viewer(), request).await
    }

    async fn types(self, _: Context, request: wire::TypesRequest) -> wire::Result<String> {
        let upstreams = self.configured().await?.gateway.upstreams();
        catalog::types(upstreams, &self.0.viewer(), request).await
    }

    async fn servers(self, _: Context) -> wire::Result<Vec<wire::ServerInfo>> {
        Ok(status::servers(self.configured().await?, &self.0).await)
    }

    async fn restart_server(self, _: Context, name: String) -> wire::Result<wire::ServerInfo> {
        let daemon = self.configured().await?;
        let server = self.0.find_server(&name)?;
        let identity = self.0.identity();
        server.restart(&identity).await?;
        self.0.audit(AdminEvent::ServerRestarted, server.name());
        let upstreams = daemon.gateway.upstreams();
        Ok(convert::server_info(upstreams, &server, &self.0.access()).await)
    }

    async fn reload(self, _: Context) -> wire::Result<wire::ReloadReport> {
        self.load(LoadTrigger::Asked).await
    }

    async fn stop(self, _: Context, request: wire::StopRequest) -> wire::Result<()> {
        let daemon = self.daemon_unchecked()?;
        debug!(now = request.now, "stop requested");
        daemon.predecessor.stop(request.now).await;
        if request.now {
            daemon.shutdown.request_now();
        } else {
            daemon.shutdown.request();
        }
        Ok(())
    }

    async fn runs(self, _: Context, request: wire::RunsRequest) -> wire::Result<wire::RunList> {
        Ok(runs::list(self.daemon()?, &self.0.access(), &request).await)
    }

    async fn run_info(self, _: Context, run: String) -> wire::Result<wire::RunInfo> {
        runs::info(self.daemon()?, &self.0.access(), &run).await
    }

    async fn run_journal(
        self,
        _: Context,
        request: wire::RunJournalRequest,
    ) -> wire::Result<wire::RunJournal> {
        runs::journal(self.daemon()?, self.0.access(), request).await
    }

    async fn read(self, _: Context, request: wire::ReadRequest) -> wire::Result<wire::ReadPage> {
        let handles = &self.daemon()?.handles;
        let page = handles.read_page(&request.handle, request.offset, request.length);
        Ok(page.await?)
    }

    async fn watch_types(
        self,
        _: Context,
        request: wire::WatchTypesRequest,
    ) -> wire::Result<wire::TypesPage> {
        let upstreams = self.configured().await?.gateway.upstreams();
        let wait = Duration::from_millis(request.wait_ms).min(MAX_LONG_POLL);
        catalog::watch_types(upstreams, &self.0, request.known.as_deref(), wait).await
    }

    async fn forget_types(
        self,
        _: Context,
        request: wire::ForgetTypesRequest,
    ) -> wire::Result<wire::Forgotten> {
        let upstreams = self.configured().await?.gateway.upstreams();
        catalog::forget_types(upstreams, &request.paths)
    }

    async fn search(
        self,
        _: Context,
        request: wire::SearchRequest,
    ) -> wire::Result<wire::SearchPage> {
        discovery::search(self.configured().await?, &self.0, request).await
    }

    async fn describe(
        self,
        _: Context,
        request: wire::DescribeRequest,
    ) -> wire::Result<wire::Descriptions> {
        discovery::describe(self.configured().await?, &self.0, request).await
    }

    async fn inventory(
        self,
        _: Context,
        request: wire::InventoryRequest,
    ) -> wire::Result<wire::Inventory> {
        discovery::inventory(self.configured().await?, &self.0, request).await
    }

    async fn offers(
        self,
        _: Context,
        request: wire::OffersRequest,
    ) -> wire::Result<wire::OfferList> {
        resources_and_prompts::list(self.configured().await?, &self.0, request).await
    }

    async fn read_resource(
        self,
        _: Context,
        request: wire::ResourceRequest,
    ) -> wire::Result<wire::Held> {
        let daemon = self.configured().await?;
        resources_and_prompts::read_resource(daemon, &self.0, request).await
    }

    async fn get_prompt(
        self,
        _: Context,
        request: wire::PromptRequest,
    ) -> wire::Result<wire::Held> {
        let daemon = self.configured().await?;
        resources_and_prompts::get_prompt(daemon, &self.0, request).await
    }

    async fn complete(self, _: Context, request: wire::CompleteRequest) -> wire::Result<Value> {
        let daemon = self.configured().await?;
        resources_and_prompts::complete(daemon, &self.0, request).await
    }

    async fn subscribe(self, _: Context, request: wire::SubscribeRequest) -> wire::Result<()> {
        resources_and_prompts::subscribe(self.configured().await?, &self.0, request).await
    }

    async fn notices(
        self,
        _: Context,
        request: wire::NoticesRequest,
    ) -> wire::Result<wire::NoticePage> {
        // Otherwise the first load of the configuration would be reported as a change.
        self.configured().await?;
        Ok(notices::read(&self.0, request).await)
    }

    async fn answer(self, _: Context, request: wire::AnswerRequest) -> wire::Result<()> {
        self.daemon()?;
        notices::answer(&self.0, request)
    }

    async fn pins(self, _: Context, request: wire::PinsRequest) -> wire::Result<wire::PinList> {
        let upstreams = self.configured().await?.gateway.upstreams();
        pins::list(upstreams, &self.0, request).await
    }

    async fn accept_pins(
        self,
        _: Context,
        request: wire::AcceptPinsRequest,
    ) -> wire::Result<wire::AcceptedPins> {
        let gateway = &self.configured().await?.gateway;
        pins::accept(gateway, &self.0, request).await
    }

    async fn refresh(self, _: Context) -> wire::Result<wire::ReloadReport> {
        self.load(LoadTrigger::Watched).await
    }

    async fn projects(
        self,
        _: Context,
        request: wire::ProjectsRequest,
    ) -> wire::Result<wire::ProjectList> {
        projects::list(self.configured().await?, request).await
    }

    async fn approve_project(
        self,
        _: Context,
        request: wire::ApproveProjectRequest,
    ) -> wire::Result<wire::ProjectInfo> {
        projects::approve(self.configured().await?, &self.0, request).await
    }

    async fn revoke_project(self, _: Context, root: PathBuf) -> wire::Result<wire::ProjectRevoked> {
        projects::revoke(self.configured().await?, &self.0, &root).await
    }

    async fn login(
        self,
        _: Context,
        request: wire::LoginRequest,
    ) -> wire::Result<wire::LoginStarted> {
        login::begin_login(self.configured().await?, &self.0, &request.server).await
    }

    async fn login_wait(
        self,
        _: Context,
        request: wire::LoginWaitRequest,
    ) -> wire::Result<wire::LoginState> {
        let wait = Duration::from_millis(request.wait_ms).min(MAX_LONG_POLL);
        login::wait_for_login(self.daemon()?, &request.login, wait).await
    }

    async fn login_finish(
        self,
        _: Context,
        request: wire::LoginFinishRequest,
    ) -> wire::Result<wire::LoginState> {
        login::finish_login(self.daemon()?, request).await
    }

    async fn approvals(
        self,
        _: Context,
        request: wire::ApprovalsRequest,
    ) -> wire::Result<wire::ApprovalList> {
        approvals::list(self.daemon()?, &self.0, request).await
    }

    async fn decide(self, _: Context, request: wire::DecideRequest) -> wire::Result<wire::Decided> {
        approvals::decide(self.daemon()?, &self.0, request).await
    }

    async fn revoke_approval(self, _: Context, grant: String) -> wire::Result<wire::GrantInfo> {
        approvals::revoke(self.daemon()?, &self.0, grant).await
    }

    async fn resume_run(
        self,
        _: Context,
        request: wire::ResumeRequest,
    ) -> wire::Result<wire::Resumed> {
        approvals::resume(self.configured().await?, &self.0, request).await
    }

    async fn logout(self, _: Context, server: String) -> wire::Result<wire::LoggedOut> {
        login::logout(self.configured().await?, &self.0, &server).await
    }

    async fn refresh_source(
        self,
        _: Context,
        source: String,
    ) -> wire::Result<wire::RefreshedSource> {
        sources::refresh(self.configured().await?, &self.0, &source).await
    }

    async fn explain_program(
        self,
        _: Context,
        request: wire::ExplainRequest,
    ) -> wire::Result<wire::Explained> {
        program_steps::explain(self.configured().await?, &self.0, &request)
    }

    async fn set_secret(
        self,
        _: Context,
        request: wire::SetSecretRequest,
    ) -> wire::Result<wire::SecretInfo> {
        secrets::set(self.configured().await?, &self.0, request).await
    }

    async fn list_secrets(self, _: Context) -> wire::Result<wire::SecretList> {
        Ok(secrets::list(self.configured().await?))
    }

    async fn remove_secret(self, _: Context, name: String) -> wire::Result<wire::SecretRemoved> {
        secrets::remove(self.configured().await?, &self.0, name).await
    }

    async fn policy(
        self,
        _: Context,
        request: wire::PolicyRequest,
    ) -> wire::Result<wire::PolicyList> {
        policy::list(self.configured().await?, &self.0, &request)
    }

    async fn explain_policy(
        self,
        _: Context,
        request: wire::ExplainPolicyRequest,
    ) -> wire::Result<wire::PolicyExplanation> {
        policy::explain(self.configured().await?, &self.0, request).await
    }

    async fn settings(
        self,
        _: Context,
        request: wire::SettingsRequest,
    ) -> wire::Result<wire::SettingsReport> {
        Ok(settings::report(
            self.configured().await?,
            &self.0,
            &request,
        ))
    }

    async fn check_config(
        self,
        _: Context,
        request: wire::CheckConfigRequest,
    ) -> wire::Result<wire::ConfigReport> {
        settings::check(self.daemon()?, &request).await
    }

    async fn upgrade(
        self,
        _: Context,
        request: wire::UpgradeRequest,
    ) -> wire::Result<wire::Upgraded> {
        upgrade::upgrade(self.daemon()?, request).await
    }

    async fn metrics(self, _: Context) -> wire::Result<wire::Metrics> {
        Ok(metrics::read(self.daemon()?).await)
    }

    async fn sandbox(self, _: Context, server: String) -> wire::Result<wire::SandboxProfile> {
        sandboxes::profile(self.configured().await?, &self.0, &server).await
    }

    async fn suggest_sandbox(
        self,
        _: Context,
        request: wire::SuggestSandboxRequest,
    ) -> wire::Result<wire::SandboxSuggestion> {
        sandboxes::suggest(self.configured().await?, &self.0, request).await
    }

    async fn end_observation(self, _: Context, server: String) -> wire::Result<()> {
        sandboxes::end_observation(self.configured().await?, &self.0, &server)
    }

    async fn keep(self, _: Context, request: wire::KeepRequest) -> wire::Result<wire::Handle> {
        long_value::keep(self.configured().await?, &self.0, request).await
    }
}
