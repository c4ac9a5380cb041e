//! One file per command: each talks to the daemon and passes the result to `render`.

mod approvals;
mod audit;
mod browser;
mod call;
mod call_result;
mod config;
mod config_edit;
mod confirm;
mod daemon_control;
mod doctor;
mod help;
mod hidden_input;
mod import;
mod init;
mod input;
mod install;
mod login;
mod logs;
mod man;
mod mcp;
mod metrics;
mod offers;
mod part_files;
mod pins;
mod policy;
mod program;
mod program_source;
mod project;
mod recording_files;
mod repeated_edit;
mod replay;
mod run;
mod runs;
mod secrets;
mod server_problem;
mod server_sandbox;
mod servers;
mod service;
mod setup;
mod sources;
mod status_and_lists;
mod stored_value;
mod terminal_questions;
mod tool_override;
mod top;
mod trace_context;
mod types;
mod ui;
mod unlisted_server;
mod upgrade;
mod version_report;

use std::{io, process::ExitCode};

use mux_client::{ClientIdentity, ConnectError, Session};
use mux_proto::{Error, Kind, MuxClient, endpoint::Dirs, variables, version};
use tarpc::client::RpcError;

pub(crate) use self::{doctor::update_advice, version_report::version_report};
use crate::{
    agents::{AgentFileError, ConfigFileError},
    args::{MuxCli, MuxCommand, RunsArgs, RunsListArgs, ShortcutCommand},
    completion, exit,
    process_environment::{OWN_HOME, client_identity, current_dir, env_path, resolve_dirs},
    render::{self, ProgramListing},
    request_timeouts::{
        CALL_TIMEOUT, LOGIN_TIMEOUT_SECS, SERVER_START_TIMEOUT, within_server_start,
    },
};

/// Why a command failed, with the source that the failure points into.
pub(crate) struct CommandFailure {
    error: Error,
    source: Option<ProgramListing>,
    is_usage: bool,
    /// A file was changed by another program after it was read. No change was written.
    is_edit_conflict: bool,
}

impl CommandFailure {
    /// Prints the error. Returns the exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if self.is_usage {
            render::usage(&self.error, json)
        } else {
            render::failure(&self.error, json, self.source.as_ref())
        }
    }
}

impl From<CommandFailure> for Error {
    fn from(failure: CommandFailure) -> Self {
        failure.error
    }
}

impl From<Error> for CommandFailure {
    fn from(error: Error) -> Self {
        Self {
            error,
            source: None,
            is_usage: false,
            is_edit_conflict: false,
        }
    }
}

impl From<AgentFileError> for CommandFailure {
    fn from(error: AgentFileError) -> Self {
        let mut shown = exit::unavailable_error(error.to_string());
        if let AgentFileError::Write(path, source) = &error
            && source.kind() == io::ErrorKind::PermissionDenied
        {
            let path = path.display();
            shown = shown.hint(format!(
                "check the owner, the mode and the attributes of {path} and its directory: `ls -ld`, `lsattr`"
            ));
        }
        Self {
            is_edit_conflict: matches!(error, AgentFileError::Changed(_)),
            ..shown.into()
        }
    }
}

impl From<ConfigFileError> for CommandFailure {
    fn from(error: ConfigFileError) -> Self {
        let message = format!("{} was left alone: {error}", error.file.display());
        let failure = error.locate(Error::new(Kind::Validation, message));
        failure.hint("fix it and try again").into()
    }
}

/// Wrong usage that clap cannot detect. The exit code is clap's.
#[derive(Debug, Eq, PartialEq)]
struct UsageMistake {
    message: String,
    hint: String,
}

impl UsageMistake {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl From<UsageMistake> for CommandFailure {
    fn from(mistake: UsageMistake) -> Self {
        Self {
            error: Error::new(Kind::Validation, mistake.message).hint(mistake.hint),
            source: None,
            is_usage: true,
            is_edit_conflict: false,
        }
    }
}

impl From<ConnectError> for CommandFailure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused(error) => error.into(),
            ConnectError::NotRunning => exit::unavailable_error(error.to_string())
                .hint("it starts with the first command that needs it, such as `mux servers`")
                .into(),
            error => exit::unavailable_error(error.to_string()).into(),
        }
    }
}

impl From<RpcError> for CommandFailure {
    fn from(error: RpcError) -> Self {
        match error {
            // The daemon did not execute the request.
            RpcError::Server(_) => mux_client::rpc_error(error).into(),
            error => exit::unavailable_error(format!("the connection to muxd was lost: {error}"))
                .hint("see `mux logs`")
                .into(),
        }
    }
}

type CommandResult = Result<ExitCode, CommandFailure>;

/// How often a request is repeated because the daemon that got it was shutting down.
const MAX_SHUTDOWN_RETRIES: usize = 4;

pub(crate) async fn execute(args: MuxCli) -> CommandResult {
    let json = args.output.json;
    let Some(command) = args.command else {
        return Ok(help::overview());
    };
    match command {
        MuxCommand::Run(args) => run::run(args, json).await,
        MuxCommand::Program(args) => program::program(args, json).await,
        MuxCommand::Replay(args) => replay::replay(args, json).await,
        MuxCommand::Runs(args) => runs::runs(args, json).await,
        MuxCommand::Approvals(args) => approvals::approvals(args, json).await,
        MuxCommand::Approve(args) => approvals::approve(args, json).await,
        MuxCommand::Deny(args) => approvals::deny(args, json).await,
        MuxCommand::Resume(args) => approvals::resume(args, json).await,
        MuxCommand::Check(args) => run::check_source(args, json).await,
        MuxCommand::Call(args) => unlisted_server::call(args, json).await,
        MuxCommand::Tools(args) => status_and_lists::tools(args, json).await,
        MuxCommand::Resources(args) => offers::resources(args, json).await,
        MuxCommand::Prompts(args) => offers::prompts(args, json).await,
        MuxCommand::Types(args) => types::types(args, json).await,
        MuxCommand::Mcp(args) => mcp::mcp(args).await,
        MuxCommand::Servers(args) => status_and_lists::servers(args, json).await,
        MuxCommand::Sources(args) => sources::sources(args, json).await,
        MuxCommand::Project(args) => project::project(args, json).await,
        MuxCommand::Policy(args) => policy::policy(args, json).await,
        MuxCommand::Config(args) => config::config(args, json).await,
        MuxCommand::Secrets(args) => secrets::secrets(args, json).await,
        MuxCommand::Audit(args) => audit::audit(&args, json).await,
        MuxCommand::Status(args) => status_and_lists::status(&args, json).await,
        MuxCommand::Ui(args) => Box::pin(ui::ui(&args, json)).await,
        MuxCommand::Doctor => doctor::doctor(json).await,
        MuxCommand::Setup(args) => setup::setup(args, json).await,
        MuxCommand::Init(args) => init::init(&args, json).await,
        MuxCommand::Install(args) => install::install(&args, json),
        MuxCommand::Import(args) => import::import(&args, json).await,
        MuxCommand::Logs(args) => logs::print_logs(&args, json).await,
        MuxCommand::Reload => daemon_control::reload(json).await,
        MuxCommand::Top(args) => top::top(&args, json).await,
        MuxCommand::Metrics(args) => metrics::metrics(&args, json).await,
        MuxCommand::Stop(args) => daemon_control::stop(&args, json).await,
        MuxCommand::Restart(args) => daemon_control::restart(&args, json).await,
        MuxCommand::Service(args) => service::service(args, json).await,
        MuxCommand::Man { dir } => man::man(&dir, json),
        MuxCommand::Completions { shell } => {
            let script = completion::registration_script(shell);
            Ok(render::completion_script(shell, &script, json))
        }
        MuxCommand::Help(args) => Ok(help::help(&args)),
        MuxCommand::Shortcut(ShortcutCommand::Ps(list)) => {
            let list = RunsListArgs {
                running: true,
                ..list
            };
            let command = None;
            runs::runs(RunsArgs { command, list }, json).await
        }
        MuxCommand::Shortcut(ShortcutCommand::Add(args)) => servers::add_server(&args, json).await,
        MuxCommand::Shortcut(ShortcutCommand::Login(args)) => login::login(args, json).await,
        MuxCommand::Shortcut(ShortcutCommand::Version) => {
            Ok(render::show(&version_report(), json, render::version))
        }
    }
}

/// Connects to the daemon, and starts one if none runs.
async fn connect_or_start() -> Result<Session, CommandFailure> {
    connect_or_start_as(&client_identity()).await
}

/// Connects to the daemon as `me`, and starts one if none runs.
async fn connect_or_start_as(me: &ClientIdentity) -> Result<Session, CommandFailure> {
    let program = env_path(variables::DAEMON);
    let dirs = resolve_dirs()?;
    let session = mux_client::connect_or_spawn(&dirs, program, me).await?;
    tell_connection(&session, &dirs);
    if session.welcome.build != version::BUILD {
        render::note(&format!(
            "muxd is build {} and mux is {}; `mux restart` starts the matching build",
            session.welcome.build,
            version::BUILD
        ));
    }
    Ok(session)
}

/// Sends a request. A daemon that is shutting down may refuse it without any effect. The request then goes to
/// the next daemon.
async fn request_with_retry<T>(
    mut question: impl AsyncFnMut(&Session) -> Result<T, Error>,
) -> Result<Result<T, Error>, CommandFailure> {
    for _ in 0..MAX_SHUTDOWN_RETRIES {
        match question(&connect_or_start().await?).await {
            Err(error) if error.is_ending() => {}
            answer => return Ok(answer),
        }
    }
    Ok(question(&connect_or_start().await?).await)
}

/// Like `request_with_retry`, for a request that needs only the client, with the daemon's refusal as the failure.
async fn ask<T>(
    mut question: impl AsyncFnMut(&MuxClient) -> Result<Result<T, Error>, RpcError>,
) -> Result<T, CommandFailure> {
    let answer = request_with_retry(async |session| {
        question(&session.client)
            .await
            .map_err(mux_client::rpc_error)?
    });
    Ok(answer.await??)
}

/// Connects to the running daemon. `None` if none runs.
async fn connect_if_running() -> Result<Option<Session>, CommandFailure> {
    let dirs = resolve_dirs()?;
    match mux_client::connect(&dirs, &client_identity()).await {
        Ok(session) => {
            tell_connection(&session, &dirs);
            Ok(Some(session))
        }
        Err(ConnectError::NotRunning) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn tell_connection(session: &Session, dirs: &Dirs) {
    let pid = session.welcome.pid;
    let build = &session.welcome.build;
    let socket = dirs.socket();
    let config = dirs.config_file();
    render::detail(&format!(
        "muxd {pid} is build {build}, listens on {} and reads {}",
        socket.display(),
        config.display()
    ));
}

/// Resolves when the user presses Ctrl-C.
async fn wait_for_ctrl_c() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
