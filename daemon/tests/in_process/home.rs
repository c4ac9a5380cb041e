//! One home with a daemon inside this process, whose servers are fixture servers inside this process.

use std::{
    any::Any,
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use futures::{FutureExt, future::BoxFuture};
use mux_config::environment::Environment;
use mux_daemon::{EmbeddedDaemon, lifecycle::DaemonSetup};
use mux_proto::{MuxClient, endpoint::Dirs, transport};
use mux_settings::ProcessServer;
use mux_telemetry::logging;
use mux_upstream::{LaunchedServer, OpenError, ServerIdentity, ServerLauncher};
use serde_json::Value;
use tokio::{
    io::{copy_bidirectional, duplex},
    task::AbortHandle,
};

/// The command of the entries that [`Home::fixture`] writes.
const FIXTURE: &str = "mux-fixture-server";
/// The capacity of a client's stream in each direction.
const STREAM_BYTES: usize = 64 << 10;

/// The log of the daemons of this process: its directory, and the guard that flushes it at the end.
static LOG: Mutex<Option<(PathBuf, Box<dyn Any + Send>)>> = Mutex::new(None);

/// A home, whose daemon is started by its first client.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    pub(crate) dirs: Dirs,
    servers: Arc<FixtureLauncher>,
    daemon: tokio::sync::Mutex<Option<EmbeddedDaemon>>,
}

/// Starts fixture servers by the flags in their entries.
#[derive(Debug, Default)]
struct FixtureLauncher {
    /// The tasks that move the messages of each started server.
    started: Mutex<HashMap<String, Vec<AbortHandle>>>,
}

impl Home {
    /// An empty home without a daemon.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(folder.path()).unwrap();
        dirs.prepare().unwrap();
        LOG.lock().unwrap().get_or_insert_with(|| {
            let logs = dirs.logs();
            let guard = logging::start_logging(&logs, Some("debug"));
            (logs, Box::new(guard))
        });
        Self {
            folder,
            dirs,
            servers: Arc::default(),
            daemon: tokio::sync::Mutex::default(),
        }
    }

    /// A home with one fixture server for each name, and that server's flags.
    pub(crate) fn with_fixtures(servers: &[(&str, &[&str])]) -> Self {
        let home = Self::new();
        let entries = servers.iter();
        let entries = entries.map(|(name, flags)| home.fixture(name, flags));
        home.write_config(&entries.collect::<String>());
        home
    }

    /// A path in the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write_config(&self, config: &str) {
        fs::write(self.dirs.config_file(), config).unwrap();
    }

    /// `[servers.NAME]` for a fixture server, which logs the requests that it gets.
    pub(crate) fn fixture(&self, name: &str, flags: &[&str]) -> String {
        let log = self.log_of(name);
        let mut all = vec!["--call-log", log.to_str().unwrap()];
        all.extend(flags);
        // JSON, whose escapes are also valid in TOML.
        let args = serde_json::json!(all);
        format!("[servers.{name}]\ncommand = {FIXTURE:?}\nargs = {args}\n")
    }

    /// How often a server was started.
    pub(crate) fn starts(&self, name: &str) -> usize {
        let started = self.servers.started.lock().unwrap();
        started.get(name).map_or(0, Vec::len)
    }

    /// Ends the running instances of a server, as a crash would.
    pub(crate) fn kill(&self, name: &str) {
        let started = self.servers.started.lock().unwrap();
        started[name].iter().for_each(AbortHandle::abort);
    }

    /// The daemon's log so far. The last lines may be missing.
    pub(crate) fn log() -> String {
        let log = LOG.lock().unwrap();
        let (logs, _) = log.as_ref().unwrap();
        fs::read_to_string(logs.join("muxd.log")).unwrap_or_default()
    }

    /// Ends the daemon and the logging, and returns all that was logged.
    pub(crate) async fn finished_log(&self) -> String {
        self.stop().await;
        if let Some((_, guard)) = LOG.lock().unwrap().as_mut() {
            *guard = Box::new(());
        }
        Self::log()
    }

    /// The requests that a server was sent, those of the handshake excepted.
    pub(crate) fn requests(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.log_of(name)).unwrap_or_default();
        let lines = text.lines().map(serde_json::from_str);
        lines.map(Result::unwrap).collect()
    }

    /// How often a server was sent a call of this tool.
    pub(crate) fn called(&self, name: &str, tool: &str) -> usize {
        self.logged(name, &format!("\"tool\":\"{tool}\""))
    }

    /// How often a server was sent a request with this method.
    pub(crate) fn asked(&self, name: &str, method: &str) -> usize {
        self.logged(name, &format!("\"method\":\"{method}\""))
    }

    /// The number of requests with this string, without parsing them: tests poll this.
    fn logged(&self, name: &str, text: &str) -> usize {
        let log = fs::read_to_string(self.log_of(name)).unwrap_or_default();
        log.lines().filter(|line| line.contains(text)).count()
    }

    /// Opens a connection to the daemon, which is started if there is none.
    pub(crate) async fn dial(&self) -> MuxClient {
        let mut daemon = self.daemon.lock().await;
        if daemon.is_none() {
            *daemon = Some(self.start_daemon().await);
        }
        let (ours, theirs) = duplex(STREAM_BYTES);
        daemon.as_ref().unwrap().connect(theirs);
        MuxClient::new(tarpc::client::Config::default(), transport::frames(ours)).spawn()
    }

    /// Ends the daemon. The next client starts another.
    pub(crate) async fn stop(&self) {
        if let Some(daemon) = self.daemon.lock().await.take() {
            daemon.close().await;
        }
    }

    /// The entries of the audit log. Ends the daemon, which writes them.
    pub(crate) async fn audit(&self) -> Vec<Value> {
        self.stop().await;
        let files = fs::read_dir(self.dirs.audit()).unwrap();
        let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
        files.sort();
        let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
        let texts: String = texts.collect();
        let lines = texts.lines().map(serde_json::from_str);
        lines.map(Result::unwrap).collect()
    }

    async fn start_daemon(&self) -> EmbeddedDaemon {
        let home = self.folder.path().to_owned();
        let nowhere = (home.join("no-muxd"), home.join("no-mux-worker"));
        let environment = Environment::of([("HOME".into(), home.to_str().unwrap().into())]);
        let setup = DaemonSetup::in_dirs(&self.dirs, nowhere, home, environment);
        let servers: Arc<dyn ServerLauncher> = Arc::<FixtureLauncher>::clone(&self.servers);
        EmbeddedDaemon::start(setup, servers).await.unwrap()
    }

    fn log_of(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.requests"))
    }
}

impl ServerLauncher for FixtureLauncher {
    fn launch<'a>(
        &'a self,
        name: &'a str,
        process: &'a ProcessServer,
        _identity: &'a ServerIdentity,
    ) -> BoxFuture<'a, Result<LaunchedServer, OpenError>> {
        async move {
            if Path::new(&process.command) != Path::new(FIXTURE) {
                return Err(OpenError::NotInPath {
                    program: process.command.clone(),
                    searched: Vec::new(),
                });
            }
            let flags = process.args.iter().map(mux_secrets::Secret::expose);
            let server = mux_fixture::connect(flags);
            let mut server = server.map_err(|error| OpenError::Failed(error.to_string()))?;
            let (ours, mut theirs) = duplex(STREAM_BYTES);
            let moving = tokio::spawn(async move {
                // Either end may have closed.
                drop(copy_bidirectional(&mut theirs, &mut server).await);
            });
            let mut started = self.started.lock().unwrap();
            let handles = started.entry(name.to_owned()).or_default();
            handles.push(moving.abort_handle());
            let (reader, writer) = tokio::io::split(ours);
            Ok(LaunchedServer::Embedded {
                reader: Box::new(reader),
                writer: Box::new(writer),
            })
        }
        .boxed()
    }
}
