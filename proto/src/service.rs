//! The methods of the daemon. `hello` comes first on every connection.

use serde_json::Value;

use crate::{AcceptPinsRequest, AcceptedPins, PinList, PinsRequest};
use crate::{
    AnswerRequest, CallRequest, CheckRequest, CompleteRequest, DescribeRequest, Descriptions,
    Diagnostics, Error, EventPage, EventsRequest, ForgetTypesRequest, Forgotten, Held, Hello,
    Inventory, InventoryRequest, LoggedOut, LoginFinishRequest, LoginRequest, LoginStarted,
    LoginState, LoginWaitRequest, NoticePage, NoticesRequest, OfferList, OffersRequest,
    PromptRequest, ReadPage, ReadRequest, ReloadReport, ResourceRequest, RunInfo, RunList,
    RunRequest, RunStarted, RunsRequest, SearchPage, SearchRequest, ServerInfo, Status,
    StopRequest, SubscribeRequest, ToolList, ToolsRequest, TypesPage, TypesRequest,
    WatchTypesRequest, Welcome,
};
use crate::{
    CheckConfigRequest, ConfigReport, ExplainPolicyRequest, PolicyExplanation, PolicyList,
    PolicyRequest, SettingsReport, SettingsRequest,
};

/// Frozen for ever: `hello`, `retire`. New methods come last.
#[tarpc::service]
pub trait Mux {
    /// Who is there, on both sides. Anything else before it is refused.
    async fn hello(hello: Hello) -> Result<Welcome, Error>;

    /// A client of another contract asks the daemon to drain and make room for its own.
    async fn retire(reason: String) -> Result<(), Error>;

    /// Everything that `mux status` shows.
    async fn status() -> Result<Status, Error>;

    /// Starts a program and answers at once; its run belongs to this client and agent; what happens is read with `events`. The run ends with
    /// this connection, unless it is detached.
    async fn start_run(request: RunRequest) -> Result<RunStarted, Error>;

    /// Waits until there are events after `after`, or until `wait_ms` have passed, 30 s at most. Gives
    /// about 1 MiB of them; the rest is asked for with the number of the last.
    async fn events(request: EventsRequest) -> Result<EventPage, Error>;

    /// Stops a run and the calls that it has on their way. Answers before it has
    /// ended. Stopping one that has ended is no error.
    async fn cancel_run(run: String) -> Result<(), Error>;

    /// What is wrong with a program, without running it.
    async fn check(request: CheckRequest) -> Result<Diagnostics, Error>;

    /// Calls one tool. The call is cancelled if this connection ends.
    async fn call(request: CallRequest) -> Result<Held, Error>;

    /// The tools of all servers, or those that match.
    async fn tools(request: ToolsRequest) -> Result<ToolList, Error>;

    /// The `.d.ts` that a program is written against.
    async fn types(request: TypesRequest) -> Result<String, Error>;

    /// The configured servers and the state of their sessions.
    async fn servers() -> Result<Vec<ServerInfo>, Error>;

    /// Closes a server's session and starts it anew.
    async fn restart_server(server: String) -> Result<ServerInfo, Error>;

    /// Reads the configuration again.
    async fn reload() -> Result<ReloadReport, Error>;

    /// Drains and ends the daemon. Answers before it does.
    async fn stop(request: StopRequest) -> Result<(), Error>;

    /// The runs that have not ended, and those that are kept. As with every method that names a run or an approval, the user's
    /// own clients (`mux`, `mux ui`, `vscode`) find all of them, by their numbers, too; every other client, and whoever names
    /// an agent, finds those of the same client and agent, by their whole ids, and `not_found` for all others.
    async fn runs(request: RunsRequest) -> Result<RunList, Error>;

    /// One run, by its id; for the user's own clients also by the number at the end of it.
    async fn run_info(run: String) -> Result<RunInfo, Error>;

    /// A part of a value that was too long for a message. `validation` if the handle is none,
    /// `not_found` if nothing is kept under it.
    async fn read(request: ReadRequest) -> Result<ReadPage, Error>;

    /// Waits until the declarations of everything are others than those that the client has, or until
    /// `wait_ms` have passed, 30 s at most. No server is started for it.
    async fn watch_types(request: WatchTypesRequest) -> Result<TypesPage, Error>;

    /// Forgets what was learned of tools' results. It is learned again with the next calls.
    async fn forget_types(request: ForgetTypesRequest) -> Result<Forgotten, Error>;

    /// Tools ranked by how well they fit a few words.
    async fn search(request: SearchRequest) -> Result<SearchPage, Error>;

    /// Everything about a few tools.
    async fn describe(request: DescribeRequest) -> Result<Descriptions, Error>;

    /// What there is, in as many words as a budget allows.
    async fn inventory(request: InventoryRequest) -> Result<Inventory, Error>;

    /// What servers offer beside tools.
    async fn offers(request: OffersRequest) -> Result<OfferList, Error>;

    /// MCP's `ReadResourceResult`.
    async fn read_resource(request: ResourceRequest) -> Result<Held, Error>;

    /// MCP's `GetPromptResult`.
    async fn get_prompt(request: PromptRequest) -> Result<Held, Error>;

    /// MCP's `CompleteResult`.
    async fn complete(request: CompleteRequest) -> Result<Value, Error>;

    /// Begins or ends to tell this connection when a resource changes.
    async fn subscribe(request: SubscribeRequest) -> Result<(), Error>;

    /// Waits until there is something to tell after `after`, or until `wait_ms` have passed, 30 s at
    /// most.
    async fn notices(request: NoticesRequest) -> Result<NoticePage, Error>;

    /// Answers an [`crate::NoticeKind::Ask`]. Nothing happens if nobody waits for it any more.
    async fn answer(request: AnswerRequest) -> Result<(), Error>;

    /// The tools of one server beside what was pinned of them.
    async fn pins(request: PinsRequest) -> Result<PinList, Error>;

    /// Pins tools as they are now. `validation` if one of them is not what was seen.
    async fn accept_pins(request: AcceptPinsRequest) -> Result<AcceptedPins, Error>;

    /// Puts in force what the configuration says now. Unlike `reload` it asks no command again.
    async fn refresh() -> Result<ReloadReport, Error>;

    /// Projects whose files define servers, approved or not.
    async fn projects(request: crate::ProjectsRequest) -> Result<crate::ProjectList, Error>;

    /// Approves what the user has seen. `validation` if it is something else by now.
    async fn approve_project(
        request: crate::ApproveProjectRequest,
    ) -> Result<crate::ProjectInfo, Error>;

    /// Takes an approval back; the project's servers end.
    async fn revoke_project(root: std::path::PathBuf) -> Result<crate::ProjectRevoked, Error>;

    /// Begins to sign the user in to a server. One that is under way there is given up.
    async fn login(request: LoginRequest) -> Result<LoginStarted, Error>;

    /// Waits for the outcome, or until `wait_ms` have passed.
    async fn login_wait(request: LoginWaitRequest) -> Result<LoginState, Error>;

    /// Hands in by hand what the browser would have brought.
    async fn login_finish(request: LoginFinishRequest) -> Result<LoginState, Error>;

    /// Has the tokens for a server revoked, and forgets them.
    async fn logout(server: String) -> Result<LoggedOut, Error>;

    /// Looks at a source's description now, and puts it in force. If that cannot be had or read, it stays as it
    /// was.
    async fn refresh_source(source: String) -> Result<crate::RefreshedSource, Error>;

    /// The TypeScript that a program of steps stands for. Nothing is started for it.
    async fn explain_program(request: crate::ExplainRequest) -> Result<crate::Explained, Error>;

    /// Keeps a named secret, and puts it in force where it is named. `validation` if it can be none.
    async fn set_secret(request: crate::SetSecretRequest) -> Result<crate::SecretInfo, Error>;

    /// The names of secrets that were set, and of those that the configuration names.
    async fn list_secrets() -> Result<crate::SecretList, Error>;

    /// Forgets a named secret. The entries that name it cannot be used any more.
    async fn remove_secret(name: String) -> Result<crate::SecretRemoved, Error>;

    /// Calls that wait for somebody, or, for the user's own clients, what is always allowed.
    async fn approvals(request: crate::ApprovalsRequest) -> Result<crate::ApprovalList, Error>;

    /// Answers one of them. The first answer counts; `validation` if there was one before.
    async fn decide(request: crate::DecideRequest) -> Result<crate::Decided, Error>;

    /// Takes back what is always allowed. For the user's own clients.
    async fn revoke_approval(grant: String) -> Result<crate::GrantInfo, Error>;

    /// Goes on with a run that ended as `pending`. Calls that had ended are not sent again.
    async fn resume_run(request: crate::ResumeRequest) -> Result<crate::Resumed, Error>;

    /// The rules that are in force for an agent, where this client works.
    async fn policy(request: PolicyRequest) -> Result<PolicyList, Error>;

    /// Which rule would decide a call, and why. The call is not made, and no server is started.
    async fn explain_policy(request: ExplainPolicyRequest) -> Result<PolicyExplanation, Error>;

    /// The settings that are in force for an agent, each with where it comes from.
    async fn settings(request: SettingsRequest) -> Result<SettingsReport, Error>;

    /// What is wrong with a configuration, which is not put in force. No command of it is run.
    async fn check_config(request: CheckConfigRequest) -> Result<ConfigReport, Error>;

    /// Another program takes over, without a gap. Answers when it serves; this daemon ends with its last run.
    async fn upgrade(request: crate::UpgradeRequest) -> Result<crate::Upgraded, Error>;

    /// What happened since the daemon started, in numbers, and what is so now.
    async fn metrics() -> Result<crate::MetricsText, Error>;
}
