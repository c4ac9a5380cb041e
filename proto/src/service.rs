//! The methods of the daemon. `hello` comes first on every connection.

use serde_json::Value;

use crate::{
    CallRequest, CheckRequest, Diagnostics, Error, EventPage, EventsRequest, Hello, ReloadReport,
    RunRequest, RunStarted, ServerInfo, Status, StopRequest, ToolList, ToolsRequest, TypesRequest,
    Welcome,
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

    /// Starts a program and answers at once; what happens is read with `events`. The run ends with
    /// this connection.
    async fn start_run(request: RunRequest) -> Result<RunStarted, Error>;

    /// Waits until there are events after `after`, or until `wait_ms` have passed.
    async fn events(request: EventsRequest) -> Result<EventPage, Error>;

    /// Stops a run. Stopping one that has ended is no error.
    async fn cancel_run(run: String) -> Result<(), Error>;

    /// What is wrong with a program, without running it.
    async fn check(request: CheckRequest) -> Result<Diagnostics, Error>;

    /// Calls one tool.
    async fn call(request: CallRequest) -> Result<Value, Error>;

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
}
