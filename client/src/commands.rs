//! One file per command: each talks to the daemon and passes the result to `render`.

mod about;
mod approvals;
mod approver;
mod audit;
mod browser;
mod call;
mod config;
mod control;
mod doctor;
mod edit;
mod import;
mod install;
mod login;
mod logs;
mod man;
mod mcp;
mod metrics;
mod moment;
mod parts;
mod pins;
mod policy;
mod program;
mod project;
mod recording;
mod replay;
mod run;
mod runs;
mod secrets;
mod servers;
mod service;
mod setup;
mod show;
mod source;
mod sources;
mod stored;
mod top;
mod trace;
mod types;
mod ui;
mod upgrade;

use std::{env, path::PathBuf, process::ExitCode};

use clap::CommandFactory;
use mux_client::{ConnectError, Identity, Session};
use mux_proto::{Error, Kind, endpoint::Dirs, variables, version};
use tarpc::client::RpcError;

pub(crate) use self::about::about;
use crate::{
    args::{Args, Command},
    exit,
    render::{self, Listing},
};

/// Why a command failed, with the source that the failure points into.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) source: Option<Listing>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            error,
            source: None,
        }
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused(error) => error.into(),
            ConnectError::NotRunning => exit::machinery(error.to_string())
                .hint("it starts with the first command that needs it, such as `mux servers`")
                .into(),
            error => exit::machinery(error.to_string()).into(),
        }
    }
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        match error {
            // The daemon did not execute the request.
            RpcError::Server(_) => mux_client::lost(error).into(),
            error => exit::machinery(format!("the connection to muxd was lost: {error}"))
                .hint("see `mux logs`")
                .into(),
        }
    }
}

type Outcome = Result<ExitCode, Failure>;

/// How often a request is repeated because the daemon that got it was shutting down.
const REFUSALS: usize = 4;

pub(crate) async fn execute(args: Args) -> Outcome {
    let json = args.json;
    match args.command {
        Command::Run(args) => run::run(args, json).await,
        Command::Program(args) => program::program(args, json).await,
        Command::Replay(args) => replay::replay(args, json).await,
        Command::Runs(args) => runs::runs(args, json).await,
        Command::Approvals(args) => approvals::approvals(args, json).await,
        Command::Approve(args) => approvals::approve(args, json).await,
        Command::Deny(args) => approvals::deny(args, json).await,
        Command::Resume(args) => approvals::resume(args, json).await,
        Command::Check(args) => run::check(args, json).await,
        Command::Call(args) => call::call(args, json).await,
        Command::Tools(args) => show::tools(args, json).await,
        Command::Types(args) => types::types(args, json).await,
        Command::Mcp(args) => mcp::mcp(args).await,
        Command::Servers(args) => show::servers(args, json).await,
        Command::Sources(args) => sources::sources(args, json).await,
        Command::Project(args) => project::project(args, json).await,
        Command::Policy(args) => policy::policy(args, json).await,
        Command::Config(args) => config::config(args, json).await,
        Command::Secrets(args) => secrets::secrets(args, json).await,
        Command::Audit(args) => audit::audit(&args, json).await,
        Command::Status(args) => show::status(&args, json).await,
        Command::Ui(args) => ui::ui(&args, json).await,
        Command::Doctor => doctor::doctor(json).await,
        Command::Setup(args) => setup::setup(args, json).await,
        Command::Install(args) => install::install(&args, json),
        Command::Import(args) => import::import(&args, json).await,
        Command::Logs(args) => logs::all(&args, json).await,
        Command::Reload => control::reload(json).await,
        Command::Top(args) => top::top(&args, json).await,
        Command::Metrics(args) => metrics::metrics(&args, json).await,
        Command::Stop(args) => control::stop(&args, json).await,
        Command::Restart(args) => control::restart(&args, json).await,
        Command::Service(args) => service::service(args, json).await,
        Command::Man { dir } => man::man(&dir, json),
        Command::Completions { shell } => {
            render::completions(shell, &mut Args::command(), json);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The daemon's directories, resolved from this process's environment.
fn dirs() -> Result<Dirs, Failure> {
    let home = variable(variables::HOME);
    Dirs::resolve(home.as_deref()).map_err(|e| ConnectError::from(e).into())
}

/// Connects to the daemon, and starts one if none runs.
async fn session() -> Result<Session, Failure> {
    session_of(&me()).await
}

/// Connects to the daemon as `me`, and starts one if none runs.
async fn session_of(me: &Identity) -> Result<Session, Failure> {
    let program = variable(variables::DAEMON);
    let session = mux_client::connect_or_spawn(&dirs()?, program, me).await?;
    if session.welcome.build != version::BUILD {
        render::note(&format!(
            "muxd is build {} and mux is {}; `mux restart` changes over",
            session.welcome.build,
            version::BUILD
        ));
    }
    Ok(session)
}

/// Sends a request. A daemon that is shutting down may refuse it without any effect; the next one is asked then.
async fn ask<T>(
    mut question: impl AsyncFnMut(&Session) -> Result<T, Error>,
) -> Result<Result<T, Error>, Failure> {
    for _ in 0..REFUSALS {
        match question(&session().await?).await {
            Err(error) if error.is_ending() => {}
            answer => return Ok(answer),
        }
    }
    Ok(question(&session().await?).await)
}

/// Connects to the running daemon; `None` if none runs.
async fn running() -> Result<Option<Session>, Failure> {
    match mux_client::connect(&dirs()?, &me()).await {
        Ok(session) => Ok(Some(session)),
        Err(ConnectError::NotRunning) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Resolves when the user presses Ctrl-C.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn me() -> Identity {
    #[expect(
        clippy::disallowed_methods,
        reason = "the workspace is where the user stands"
    )]
    let workspace = env::current_dir().ok();
    Identity {
        workspace,
        ..Identity::new("mux", version::BUILD)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the command reads its environment"
)]
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Reports wrong usage that clap cannot detect, with clap's exit code.
fn usage(message: impl Into<String>, hint: impl Into<String>, json: bool) -> Outcome {
    let error = Error::new(Kind::Validation, message).hint(hint);
    Ok(render::usage(&error, json))
}
