//! The methods of the daemon. `hello` comes first on every connection.

use serde_json::Value;

use crate::{AcceptPinsRequest, AcceptedPins, PinList, PinsRequest};
use crate::{
    AnswerRequest, CallAnswer, CallRequest, CheckRequest, CompleteRequest, DescribeRequest,
    Descriptions, Diagnostics, Error, EventPage, EventsRequest, ForgetTypesRequest, Forgotten,
    Held, Hello, Inventory, InventoryRequest, LoggedOut, LoginFinishRequest, LoginRequest,
    LoginStarted, LoginState, LoginWaitRequest, NoticePage, NoticesRequest, OfferList,
    OffersRequest, PromptRequest, ReadPage, ReadRequest, ReloadReport, ResourceRequest, RunInfo,
    RunList, RunRequest, RunStarted, RunsRequest, SearchPage, SearchRequest, ServerInfo, Status,
    StopRequest, SubscribeRequest, ToolList, ToolsRequest, TypesPage, TypesRequest,
    WatchTypesRequest, Welcome,
};
use crate::{
    CheckConfigRequest, ConfigReport, ExplainPolicyRequest, PolicyExplanation, PolicyList,
    PolicyRequest, SettingsReport, SettingsRequest,
};

/// The service of the daemon. `hello` and `retire` never change, and new methods come last.
#[cfg_attr(not(test), tarpc::service)]
#[cfg_attr(test, tarpc::service(derive = [serde::Deserialize, serde::Serialize, schemars::JsonSchema]))]
pub trait Mux {
    /// Introduces both sides. Any other request before it is refused.
    async fn hello(hello: Hello) -> Result<Welcome, Error>;

    /// A client of another contract asks the daemon to drain and make room for its own.
    async fn retire(reason: String) -> Result<(), Error>;

    /// Everything that `mux status` shows.
    async fn status() -> Result<Status, Error>;

    /// Starts a program and answers immediately. The run belongs to this client and agent. Read its events with
    /// `events`. The run ends with this connection, unless it is detached.
    async fn start_run(request: RunRequest) -> Result<RunStarted, Error>;

    /// Waits until there are events after `after`, or until `wait_ms` have passed, 30 s at most. Returns about 1 MiB of
    /// events. Request the rest with the number of the last event.
    async fn events(request: EventsRequest) -> Result<EventPage, Error>;

    /// Cancels a run and its calls in flight. Answers before the run has ended. Cancelling a run that has ended is not
    /// an error.
    async fn cancel_run(run: String) -> Result<(), Error>;

    /// Checks a program without running it.
    async fn check(request: CheckRequest) -> Result<Diagnostics, Error>;

    /// Calls one tool, and says which notices come before its answer. The call is cancelled if this connection ends.
    async fn call(request: CallRequest) -> Result<CallAnswer, Error>;

    /// The tools of all servers, or the matching tools.
    async fn tools(request: ToolsRequest) -> Result<ToolList, Error>;

    /// The `.d.ts` that a program is written against.
    async fn types(request: TypesRequest) -> Result<String, Error>;

    /// The configured servers and the state of their sessions.
    async fn servers() -> Result<Vec<ServerInfo>, Error>;

    /// Closes a server's session and opens a new one.
    async fn restart_server(server: String) -> Result<ServerInfo, Error>;

    /// Reads the configuration again.
    async fn reload() -> Result<ReloadReport, Error>;

    /// Drains and ends the daemon. Answers before it does.
    async fn stop(request: StopRequest) -> Result<(), Error>;

    /// The runs that have not ended, and the ended runs that are kept. As with every method that names a run or an
    /// approval, the user's own clients (`mux`, `mux ui`, `vscode`) find all runs, also by their numbers. Every other
    /// client, and every client that names an agent, finds only runs of the same client and agent, by their whole ids,
    /// and gets `not_found` for all others.
    async fn runs(request: RunsRequest) -> Result<RunList, Error>;

    /// One run, by its id. The user's own clients can also use the number at the end of the id.
    async fn run_info(run: String) -> Result<RunInfo, Error>;

    /// A page of a stored value. Fails with `validation` if the handle is malformed, and with `not_found` if no value
    /// is stored under it.
    async fn read(request: ReadRequest) -> Result<ReadPage, Error>;

    /// Waits until the declarations of all tools differ from the client's, or until `wait_ms` have passed, 30 s at
    /// most. Starts no server.
    async fn watch_types(request: WatchTypesRequest) -> Result<TypesPage, Error>;

    /// Deletes the learned result types of tools. The next calls learn them again.
    async fn forget_types(request: ForgetTypesRequest) -> Result<Forgotten, Error>;

    /// Tools ranked by how well they fit a few words.
    async fn search(request: SearchRequest) -> Result<SearchPage, Error>;

    /// The complete descriptions of a few tools.
    async fn describe(request: DescribeRequest) -> Result<Descriptions, Error>;

    /// An overview of all tools, within a budget of tokens.
    async fn inventory(request: InventoryRequest) -> Result<Inventory, Error>;

    /// The resources, resource templates or prompts of servers.
    async fn offers(request: OffersRequest) -> Result<OfferList, Error>;

    /// MCP's `ReadResourceResult`.
    async fn read_resource(request: ResourceRequest) -> Result<Held, Error>;

    /// MCP's `GetPromptResult`.
    async fn get_prompt(request: PromptRequest) -> Result<Held, Error>;

    /// MCP's `CompleteResult`.
    async fn complete(request: CompleteRequest) -> Result<Value, Error>;

    /// Subscribes this connection to a resource, or ends the subscription.
    async fn subscribe(request: SubscribeRequest) -> Result<(), Error>;

    /// Waits until there are notices after `after`, or until `wait_ms` have passed, 30 s at most.
    async fn notices(request: NoticesRequest) -> Result<NoticePage, Error>;

    /// Answers the notice [`ask`](crate::NoticeKind::Ask). Does nothing if the question is no longer open.
    async fn answer(request: AnswerRequest) -> Result<(), Error>;

    /// The tools of one server, each with its pin.
    async fn pins(request: PinsRequest) -> Result<PinList, Error>;

    /// Pins the current definitions of tools. Fails with `validation` if one of them is not the definition that was
    /// seen.
    async fn accept_pins(request: AcceptPinsRequest) -> Result<AcceptedPins, Error>;

    /// Loads the configuration files as they are now. Unlike `reload`, it does not run the commands in them again.
    async fn refresh() -> Result<ReloadReport, Error>;

    /// Projects whose files define servers, approved or not.
    async fn projects(request: crate::ProjectsRequest) -> Result<crate::ProjectList, Error>;

    /// Approves a project's files as the user has seen them. Fails with `validation` if they have changed since.
    async fn approve_project(
        request: crate::ApproveProjectRequest,
    ) -> Result<crate::ProjectInfo, Error>;

    /// Revokes a project's approval. The project's servers end.
    async fn revoke_project(root: std::path::PathBuf) -> Result<crate::ProjectRevoked, Error>;

    /// Starts a login to a server. A login that is in progress there is cancelled. The new login is also cancelled if
    /// this connection ends before the user has decided.
    async fn login(request: LoginRequest) -> Result<LoginStarted, Error>;

    /// Waits for the outcome of a login, or until `wait_ms` have passed.
    async fn login_wait(request: LoginWaitRequest) -> Result<LoginState, Error>;

    /// Completes a login by hand, with the URL to which the browser was redirected.
    async fn login_finish(request: LoginFinishRequest) -> Result<LoginState, Error>;

    /// Revokes and deletes the tokens for a server.
    async fn logout(server: String) -> Result<LoggedOut, Error>;

    /// Reloads a source's description. If the new description cannot be fetched or parsed, the current one is kept.
    async fn refresh_source(source: String) -> Result<crate::RefreshedSource, Error>;

    /// The TypeScript that is equivalent to a step program. Starts nothing.
    async fn explain_program(request: crate::ExplainRequest) -> Result<crate::Explained, Error>;

    /// Stores a named secret and applies it wherever it is named. Fails with `validation` if the name or value is
    /// invalid.
    async fn set_secret(request: crate::SetSecretRequest) -> Result<crate::SecretInfo, Error>;

    /// The names of the secrets that are set or that the configuration names.
    async fn list_secrets() -> Result<crate::SecretList, Error>;

    /// Deletes a named secret. The entries that name it cannot be used any more.
    async fn remove_secret(name: String) -> Result<crate::SecretRemoved, Error>;

    /// Calls that wait for approval, or, for the user's own clients, the calls that are always allowed.
    async fn approvals(request: crate::ApprovalsRequest) -> Result<crate::ApprovalList, Error>;

    /// Answers an approval. The first answer counts. Later answers fail with `validation`.
    async fn decide(request: crate::DecideRequest) -> Result<crate::Decided, Error>;

    /// Revokes a grant that always allows a tool's calls. For the user's own clients.
    async fn revoke_approval(grant: String) -> Result<crate::GrantInfo, Error>;

    /// Resumes a run that ended as `pending`. Calls that had ended are not sent again.
    async fn resume_run(request: crate::ResumeRequest) -> Result<crate::Resumed, Error>;

    /// The rules that apply to an agent in this client's directory.
    async fn policy(request: PolicyRequest) -> Result<PolicyList, Error>;

    /// Which rule would decide a call, and why. The call is not sent, and no server is started.
    async fn explain_policy(request: ExplainPolicyRequest) -> Result<PolicyExplanation, Error>;

    /// The settings that apply to an agent, each with its origin.
    async fn settings(request: SettingsRequest) -> Result<SettingsReport, Error>;

    /// The problems of a configuration. The configuration is not applied, and none of its commands is run.
    async fn check_config(request: CheckConfigRequest) -> Result<ConfigReport, Error>;

    /// Hands over to another program, without a gap. Answers when the new program serves. This daemon exits with its
    /// last run.
    async fn upgrade(request: crate::UpgradeRequest) -> Result<crate::Upgraded, Error>;

    /// The daemon's metrics: counters since its start, and its current state.
    async fn metrics() -> Result<crate::Metrics, Error>;

    /// Everything that is known about a server's sandbox.
    async fn sandbox(server: String) -> Result<crate::SandboxProfile, Error>;

    /// Restarts a server without its sandbox, observes its sessions for a while, and answers with a sandbox in which
    /// they would have worked. The observation also ends with this connection.
    async fn suggest_sandbox(
        request: crate::SuggestSandboxRequest,
    ) -> Result<crate::SandboxSuggestion, Error>;

    /// Ends the observation of a server, whose `suggest_sandbox` then answers. Without an observation, this does
    /// nothing.
    async fn end_observation(server: String) -> Result<(), Error>;

    /// Stores a value that others can read by its handle. For clients whose reader accepts less than a message.
    async fn keep(request: crate::KeepRequest) -> Result<crate::Handle, Error>;

    /// The program of a run, and its calls with arguments and results. Fails with `not_found` if the history does not
    /// have the run.
    async fn run_journal(request: crate::RunJournalRequest) -> Result<crate::RunJournal, Error>;
}
