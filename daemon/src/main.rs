//! The `muxd` program: everything that must happen before the first thread starts, and then [`mux_daemon::serve_first`].

mod client_start;
#[cfg(feature = "otel")]
mod otel;
#[cfg(target_os = "linux")]
mod successor_command;

use std::{
    env, io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use mux_config::environment::{Environment, HOME_VARIABLE};
use mux_daemon::{
    DaemonStart,
    lifecycle::{
        self, DaemonSetup, InstanceLock, ServiceManager, Shutdown, StartupLock, StartupReporter,
    },
    serve_first,
};
use mux_process::{descriptor_limits, malloc_trim, runtime};
use mux_proto::{
    SANDBOX_SUPPORT,
    endpoint::{Dirs, EndpointError},
    startup::Report,
    transport, variables,
    version::{self, ProgramVersion},
};
use mux_telemetry::{logging, trace};
use serde::Serialize;

/// How long to wait for the instance lock of a daemon that is ending: its drain and the end of servers that react to
/// nothing but SIGKILL take 24 s. A client waits for 40 s.
const INSTANCE_LOCK_TIMEOUT: Duration = Duration::from_secs(30);

const HELP: &str = "\
muxd owns the sessions to your MCP servers and runs programs on them. The first `mux` command that
needs muxd starts it, so you need not start it yourself.

Usage: muxd [--version [--json] | --help]

Without arguments, muxd serves in the foreground until SIGTERM, SIGINT, `mux stop`, or until it has
been idle for three hours. Environment: MUX_HOME, MUX_LOG, MUX_WORKER. Under systemd, muxd listens on
the passed socket and reports its status; `mux service install` sets this up.";

/// How long blocking tasks, such as writes to the disk, may take after the daemon has ended.
const RUNTIME_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    mux_process::core_dumps::forbid_core_dumps();
    let mut args = env::args_os().skip(1);
    let first = args.next();
    match first.as_ref().and_then(|arg| arg.to_str()) {
        #[cfg(unix)]
        Some("keeper") => match args.next() {
            Some(lock) => mux_keeper::run_keeper(Path::new(&lock)),
            None => exit_with_error("muxd keeper is started by muxd"),
        },
        // Started by the keeper, to become a server in a sandbox.
        #[cfg(target_os = "linux")]
        Some("confine") => mux_confine::run_confined(args),
        // Started by the keeper, as the parent of an observed server.
        #[cfg(target_os = "linux")]
        Some("observe") => mux_confine::run_observed(args),
        // Started by `mux doctor`.
        Some(SANDBOX_SUPPORT) => print_json(&mux_confine::sandbox_support()),
        #[cfg(target_os = "linux")]
        Some("successor") => successor_command::run(),
        // Started by a client: standard input is the startup lock's file, standard output the channel for the report.
        Some("child") => start_for_client(),
        Some("--version" | "-V") => print_version(args.next().is_some_and(|form| form == "--json")),
        Some("--help" | "-h") => print_and_exit(HELP),
        Some(other) => exit_with_error(&format!(
            "muxd: unknown argument {other:?}; see muxd --help"
        )),
        None => start_in_foreground(),
    }
}

/// Prints the version, as text or as JSON, which clients read.
fn print_version(is_json: bool) -> ExitCode {
    let has_otel = span_exporter().is_some();
    let build = version::BUILD;
    let contract = version::CONTRACT;
    if !is_json {
        let otel = if has_otel { ", otel" } else { "" };
        return print_and_exit(&format!("muxd {build} (contract {contract}{otel})"));
    }
    print_json(&ProgramVersion {
        build: build.to_owned(),
        contract: Some(contract),
        otel: Some(has_otel),
        engine: None,
    })
}

fn print_json(report: &impl Serialize) -> ExitCode {
    match serde_json::to_string(report) {
        Ok(report) => print_and_exit(&report),
        Err(error) => exit_with_error(&format!("muxd: cannot report: {error}")),
    }
}

fn start_in_foreground() -> ExitCode {
    let service =
        ServiceManager::of_this_process(env_variable).context("cannot start as a service");
    match service.and_then(|service| start_daemon(None, StartupReporter::nobody(), service)) {
        Ok(DaemonOutcome::Served) => ExitCode::SUCCESS,
        Ok(DaemonOutcome::NotNeeded) => {
            print_and_exit("muxd is already running; `mux status` shows it")
        }
        Ok(DaemonOutcome::Kept) => print_and_exit(
            "a service manager listens for muxd, and starts it; `mux service status` shows it",
        ),
        Err(error) => exit_with_error(&format!("muxd: {error:#}")),
    }
}

fn start_for_client() -> ExitCode {
    let inherit = || -> io::Result<_> {
        let (lock, channel) = client_start::take_files()?;
        Ok((StartupLock::inherited(lock)?, channel))
    };
    let (lock, channel) = match inherit() {
        Ok(inherited) => inherited,
        Err(error) => return exit_with_error(&format!("muxd child is started by mux: {error}")),
    };
    let failure = channel.try_clone();
    match start_daemon(
        Some(lock),
        StartupReporter::to(channel),
        ServiceManager::none(),
    ) {
        Ok(DaemonOutcome::Served | DaemonOutcome::NotNeeded | DaemonOutcome::Kept) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            let report = Report::Failed {
                message: format!("{error:#}"),
            };
            if let Ok(channel) = failure {
                // The parent may have exited.
                drop(StartupReporter::to(channel).report(&report));
            }
            ExitCode::FAILURE
        }
    }
}

/// The outcome of a daemon's life.
enum DaemonOutcome {
    Served,
    /// Another daemon serves already.
    NotNeeded,
    /// A service manager listens on the socket of this daemon, and starts the daemon itself.
    Kept,
}

fn start_daemon(
    startup: Option<StartupLock>,
    reporter: StartupReporter,
    service: ServiceManager,
) -> anyhow::Result<DaemonOutcome> {
    let dirs = dirs()?;
    dirs.prepare()?;
    let startup = match startup {
        Some(lock) => lock,
        None => StartupLock::take(&dirs.startup_lock())?,
    };
    // No other process is starting a daemon now: a held lock belongs to a daemon that is serving or ending.
    let passed = service.passed();
    let lock = InstanceLock::try_take(&dirs.instance_lock())?;
    let elsewhere = match &lock {
        Some(_) if passed.is_none() && lifecycle::is_kept(&dirs.socket()) => {
            Some(DaemonOutcome::Kept)
        }
        None if passed.is_none()
            && dirs
                .sockets()
                .iter()
                .any(|socket| client_start::is_accepting(socket)) =>
        {
            Some(DaemonOutcome::NotNeeded)
        }
        _ => None,
    };
    if let Some(end) = elsewhere {
        let report = reporter.report(&Report::AlreadyRunning {});
        report.context("cannot report")?;
        return Ok(end);
    }
    let lock = if let Some(lock) = lock {
        lock
    } else {
        service.says("waiting for the running muxd to end");
        if let Some(passed) = passed {
            retire_other_daemon(&dirs, passed.path())?;
        }
        InstanceLock::wait(&dirs.instance_lock(), INSTANCE_LOCK_TIMEOUT)?
    };
    let socket = passed.map_or_else(|| dirs.socket(), |passed| passed.path().to_owned());
    let filter = env_variable(variables::LOG);
    let _log = logging::start_logging(&dirs.logs(), filter.as_deref());
    if let Err(error) = lock.write_owner(std::process::id(), &socket) {
        // Not fatal: clients also look at the default socket path.
        tracing::warn!(%error, "cannot write the pid into the instance lock");
    }
    let setup = build_setup(&dirs, socket.clone(), service.clone())?;
    descriptor_limits::raise();
    malloc_trim::give_back_long_texts();
    let runtime = build_runtime()?;
    let served = runtime.block_on(async move {
        let listener = match service.passed() {
            Some(passed) => passed.listener(),
            None => transport::listen(&socket),
        };
        let listener =
            listener.with_context(|| format!("cannot listen on {}", socket.display()))?;
        let shutdown = Shutdown::default();
        shutdown.listen_for_signals();
        let ready = move || {
            // Report before the lock is released: a client that gets the lock may connect immediately.
            drop(reporter.report(&Report::Ready {
                pid: std::process::id(),
            }));
            drop(startup);
        };
        let start = DaemonStart {
            lock,
            listener,
            setup,
            shutdown,
        };
        serve_first(start, ready).await?;
        Ok(DaemonOutcome::Served)
    });
    // Without a limit, a thread that waits for an unresponsive disk would keep the process alive.
    runtime.shutdown_timeout(RUNTIME_SHUTDOWN_TIMEOUT);
    served
}

/// Asks a daemon that serves at another socket to drain, in favor of the daemon that the service manager starts. A
/// daemon that served at this daemon's own path has lost its socket, and shuts down by itself.
fn retire_other_daemon(dirs: &Dirs, ours: &Path) -> anyhow::Result<()> {
    let mut sockets = dirs.sockets();
    sockets.retain(|socket| socket != ours);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start tokio")?;
    runtime.block_on(lifecycle::ask_to_go(&sockets));
    Ok(())
}

fn build_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    runtime::build_runtime(env_variable(variables::WATCH_POLLS).is_some())
        .map_err(
            |error| match mux_sandbox::resource_remedies::remedy(&error) {
                Some(remedy) => anyhow::anyhow!("{error}; {remedy}"),
                None => error.into(),
            },
        )
        .context("cannot start its threads")
}

fn build_setup(
    dirs: &Dirs,
    socket: PathBuf,
    service: ServiceManager,
) -> anyhow::Result<DaemonSetup> {
    let program = env::current_exe().context("cannot find my own program")?;
    let worker = match env_variable(variables::WORKER) {
        Some(path) => PathBuf::from(path),
        None => program.with_file_name(format!("mux-worker{}", env::consts::EXE_SUFFIX)),
    };
    let environment =
        Environment::of(env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }));
    let home = env_variable(HOME_VARIABLE).map_or_else(|| PathBuf::from("/"), PathBuf::from);
    // This path is the running build, even after an upgrade has replaced the file.
    let this_build = cfg!(target_os = "linux").then(|| PathBuf::from("/proc/self/exe"));
    let programs = (this_build.unwrap_or(program), worker);
    let mut setup = DaemonSetup::in_dirs(dirs, programs, home, environment);
    setup.paths.socket = socket;
    // A daemon with a `MUX_HOME` shows no desktop notifications.
    setup.approvals.desktop =
        dirs.home().is_none() && env_variable("DBUS_SESSION_BUS_ADDRESS").is_some();
    setup.checker.search_path = env_variable("PATH").map(Into::into);
    setup.service = service;
    setup.telemetry = span_exporter();
    Ok(setup)
}

/// The exporter of spans, if it is built in.
fn span_exporter() -> Option<trace::CollectorFactory> {
    #[cfg(feature = "otel")]
    let exporter = Some(otel::START);
    #[cfg(not(feature = "otel"))]
    let exporter = None;
    exporter
}

fn dirs() -> Result<Dirs, EndpointError> {
    Dirs::resolve(env_variable(variables::HOME).as_deref().map(Path::new))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the daemon reads its environment"
)]
fn env_variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

#[expect(clippy::print_stdout, reason = "requested on the command line")]
fn print_and_exit(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

#[expect(
    clippy::print_stderr,
    reason = "there is no log before the daemon serves"
)]
fn exit_with_error(text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::FAILURE
}
