//! `[servers.NAME]`: how a server is reached and how its sessions are managed.
//!
//! Invariant: an entry that requests something impossible is an error that names the key. Such an entry never means
//! something else.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mux_secrets::{KnownSecrets, Secret, arguments, is_secret, may_be_generated};

use super::{
    AskLimits, ResultSettings, RootsSetting, SandboxSetting, ServerDefaults, ToolOverrides,
    entry_fingerprint::EntryFingerprint, remote::NetworkSettings, source::SourceDefinition,
    split_command::corrected_keys, workspace::resolve_path,
};
use mux_config::{
    ClientAuthentication, DEFAULT_START_TIMEOUT_SECS, EntryError, OauthClient, OnChange, OrNever,
    ProtocolEra, RemoteTransport, ResultCheck, RetryPolicy, SandboxMode, ServerEntry, ShareMode,
    StartMode, SwitchOrTable,
    environment::{Environment, WORKSPACE_PLACEHOLDER},
};

/// Everything that determines a server's sessions. Equal definitions share sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerDefinition {
    pub endpoint: ServerEndpoint,
    /// Globs of tool names that are not offered.
    pub exclude: Vec<String>,
    pub overrides: ToolOverrides,
    /// The callers that share a session. `None` infers them from the server's behavior.
    pub share: Option<ShareMode>,
    pub roots: RootsSetting,
    pub start: StartMode,
    /// How long a session may be unused before it is closed. `None` depends on its session key.
    pub idle_close: Option<Duration>,
    pub retry: RetryPolicy,
    pub start_timeout: Duration,
    /// The timeout of one call. Progress notifications reset it.
    pub call_timeout: Duration,
    /// The timeout of one call, regardless of progress.
    pub total_timeout: Duration,
    /// The maximum number of calls in flight. Further calls are queued.
    pub calls_at_once: usize,
    /// How long a client may take to answer the server's questions.
    pub ask: AskLimits,
    /// The reaction to a tool definition that has changed since it was first trusted.
    pub pins: OnChange,
    pub check_results: ResultCheck,
    pub results: ResultSettings,
    /// The only era in which sessions are opened. With `None`, the era is negotiated, and changed if tools need the
    /// other era.
    pub era: Option<ProtocolEra>,
    /// False if the history does not keep arguments and results of this server.
    pub has_history: bool,
    /// The fingerprint of the entry as written.
    pub written: EntryFingerprint,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEndpoint {
    Process(ProcessServer),
    Remote(RemoteServer),
    /// An API that the daemon itself calls, without a server.
    Source(SourceDefinition),
}

/// A server that runs as a process and communicates over stdio.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessServer {
    pub command: String,
    pub args: Vec<Secret>,
    /// Command and arguments as written, for display: an expanded variable may be a secret.
    pub written: Vec<String>,
    pub env: BTreeMap<String, Secret>,
    pub cwd: PathBuf,
    pub sandbox: SandboxSetting,
    /// The secrets of the entry, which are masked in errors.
    pub hidden: KnownSecrets,
}

impl ProcessServer {
    /// How `command` and `args` should be written, if `command` seems to be a whole command line.
    pub fn corrected_command(&self) -> Option<String> {
        let (command, args) = self.written.split_first()?;
        corrected_keys(command, args)
    }
}

/// A server behind a URL.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteServer {
    pub url: Secret,
    /// The URL as written, for display: an expanded variable may be a secret.
    pub written: String,
    pub headers: BTreeMap<String, Secret>,
    /// `None`: detected.
    pub transport: Option<RemoteTransport>,
    /// A Unix socket to which requests are sent instead of the URL's host.
    pub socket: Option<PathBuf>,
    pub network: Arc<NetworkSettings>,
    /// `None`: never. A 401 response is then an ordinary error.
    pub oauth: Option<OauthSettings>,
    /// The name of the login, which tells it apart from others at this URL.
    pub account: Option<String>,
}

/// How the daemon authenticates with OAuth if the server requires it. Empty values are discovered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OauthSettings {
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    /// How the client's secret is sent. `None` chooses from the metadata.
    pub auth: Option<ClientAuthentication>,
    /// The only authorization server at which this client is registered.
    pub issuer: Option<String>,
    pub scopes: Vec<String>,
    /// The port of the callback on the loopback interface. `None` uses any free port.
    pub port: Option<u16>,
    /// Allows the server to use another server's sign-in, if it was granted for this server.
    pub share: bool,
}

impl OauthSettings {
    /// The first key in which two settings describe different clients.
    pub(super) fn disagreement(&self, other: &Self) -> Option<&'static str> {
        let issuers = self.issuer.as_ref().zip(other.issuer.as_ref());
        let methods = self.auth.zip(other.auth);
        if issuers.is_some_and(|(own, other)| own != other) {
            Some("oauth.issuer")
        } else if self.client_id != other.client_id {
            Some("oauth.client_id")
        } else if self.client_secret != other.client_secret {
            Some("oauth.client_secret")
        } else if methods.is_some_and(|(own, other)| own != other) {
            Some("oauth.auth")
        } else {
            None
        }
    }
}

impl ServerEndpoint {
    /// The command line or URL for display, with variables unexpanded and secrets masked.
    pub fn shown(&self) -> String {
        match self {
            Self::Process(process) => command_line(&arguments::masked(&process.written)),
            Self::Remote(remote) => remote.redacted_url(),
            Self::Source(source) => source.shown(),
        }
    }

    /// The `account` of the entry.
    pub fn account(&self) -> Option<&str> {
        match self {
            Self::Process(_) => None,
            Self::Remote(remote) => remote.account.as_deref(),
            Self::Source(source) => source.account.as_deref(),
        }
    }

    /// Returns true if an argument contains a literal secret, which is visible in the file and in process lists.
    pub fn has_secret_arguments(&self) -> bool {
        match self {
            Self::Process(process) => !arguments::secrets(&process.written).is_empty(),
            Self::Remote(_) | Self::Source(_) => false,
        }
    }
}

/// Joins words to a command line, quoted where needed.
pub(super) fn command_line<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    let quoted = |word: &String| {
        if word.is_empty() || word.contains([' ', '"', '\'']) {
            format!("{word:?}")
        } else {
            word.clone()
        }
    };
    let words = words.into_iter().map(quoted);
    words.collect::<Vec<_>>().join(" ")
}

impl ServerDefinition {
    /// Returns true if the entry allows a longer start than other entries.
    pub fn has_long_start(&self) -> bool {
        self.start_timeout > Duration::from_secs(DEFAULT_START_TIMEOUT_SECS)
    }

    /// Resolves an entry. `home` is the default working directory.
    pub fn resolve(
        entry: &ServerEntry,
        environment: &Environment,
        home: &Path,
        defaults: ServerDefaults,
    ) -> Result<Self, EntryError> {
        let endpoint = resolve_endpoint(entry.clone(), environment, home, defaults.sandbox_mode)?;
        let this = Self {
            written: EntryFingerprint::of_server(entry),
            roots: RootsSetting::resolve(entry.roots.as_ref(), &endpoint, environment, home)?,
            exclude: entry.tools.exclude.clone(),
            overrides: ToolOverrides::resolve(&entry.r#override),
            share: entry.share,
            start: entry.start,
            idle_close: entry
                .idle_close
                .map(|OrNever(time)| time.map_or(Duration::MAX, |time| time.0)),
            retry: entry.retry,
            start_timeout: entry.start_timeout.0,
            call_timeout: entry.call_timeout.0,
            total_timeout: entry.total_timeout.0,
            calls_at_once: defaults.calls_at_once(entry.calls_at_once),
            ask: defaults.ask,
            pins: entry.pins.unwrap_or(defaults.on_change),
            check_results: entry.check_results,
            results: defaults.results.of_entry(entry.fence, entry.secrets),
            era: entry.era,
            has_history: entry.history.unwrap_or(true),
            endpoint,
        };
        if let (Some(ProtocolEra::Modern), ServerEndpoint::Remote(remote)) =
            (this.era, &this.endpoint)
            && remote.transport == Some(RemoteTransport::Sse)
        {
            return Err("transport = \"sse\" does not support era = \"2026-07-28\"".into());
        }
        match this.share {
            Some(ShareMode::User) if this.uses_workspace() => {
                Err("share = \"user\" cannot be combined with `${workspace}`".into())
            }
            _ => Ok(this),
        }
    }
}

fn resolve_endpoint(
    entry: ServerEntry,
    environment: &Environment,
    home: &Path,
    sandbox_mode: SandboxMode,
) -> Result<ServerEndpoint, EntryError> {
    let remote = [
        ("headers", !entry.headers.is_empty()),
        ("transport", entry.transport.is_some()),
        ("socket", entry.socket.is_some()),
        ("oauth", entry.oauth.is_some()),
        ("account", entry.account.is_some()),
    ];
    let local = [
        ("args", !entry.args.is_empty()),
        ("env", !entry.env.is_empty()),
        ("cwd", entry.cwd.is_some()),
        ("sandbox", entry.sandbox.is_some()),
    ];
    let misplaced = |keys: &[(&str, bool)], with: &str| match keys.iter().find(|(_, set)| *set) {
        Some((key, _)) => Err(EntryError::Invalid(format!("`{key}` requires `{with}`"))),
        None => Ok(()),
    };
    match (&entry.command, &entry.url) {
        (Some(_), Some(_)) => Err("an entry has `command` or `url`, and not both".into()),
        (None, None) => {
            Err("`command` is missing, or `url` for a server that runs elsewhere".into())
        }
        (Some(_), None) => {
            misplaced(&remote, "url")?;
            resolve_process(entry, environment, home, sandbox_mode).map(ServerEndpoint::Process)
        }
        (None, Some(_)) => {
            misplaced(&local, "command")?;
            self::resolve_remote(entry, environment, home).map(ServerEndpoint::Remote)
        }
    }
}

/// The secrets of a process that are masked in errors: values that its variables and arguments refer to, and literal
/// values that are secrets by their names or their shape.
fn secrets_of_process(
    args: &[String],
    variables: &BTreeMap<String, String>,
    environment: &Environment,
) -> KnownSecrets {
    let mut known = KnownSecrets::new();
    known.add_all(arguments::secrets(args));
    for written in args.iter().chain(variables.values()) {
        known.add_all(environment.secrets_of_text(written));
    }
    for (name, written) in variables {
        let value = environment.expand(written).unwrap_or_default();
        if is_secret(name, &value) || may_be_generated(&value) {
            known.add(&value);
        }
    }
    known
}

fn resolve_process(
    entry: ServerEntry,
    environment: &Environment,
    home: &Path,
    sandbox_mode: SandboxMode,
) -> Result<ProcessServer, EntryError> {
    let command = entry.command.unwrap_or_default();
    let written = std::iter::once(&command)
        .chain(&entry.args)
        .cloned()
        .collect();
    let command = expand_path(environment, "command", &command)?;
    if command.trim().is_empty() {
        return Err("`command` is empty".into());
    }
    Ok(ProcessServer {
        sandbox: SandboxSetting::resolve(entry.sandbox, sandbox_mode, environment, home)?,
        hidden: secrets_of_process(&entry.args, &entry.env, environment),
        command,
        written,
        args: entry
            .args
            .iter()
            .map(|arg| environment.expand_word(arg).map(Secret::from))
            .collect::<Result<_, _>>()?,
        env: entry
            .env
            .iter()
            .map(|(name, value)| {
                let value = environment.expand_variable(name, value)?;
                Ok((name.clone(), value.into()))
            })
            .collect::<Result<_, EntryError>>()?,
        cwd: match &entry.cwd {
            Some(cwd) => resolve_path(home, &expand_path(environment, "cwd", cwd)?),
            None => home.to_owned(),
        },
    })
}

fn resolve_remote(
    entry: ServerEntry,
    environment: &Environment,
    home: &Path,
) -> Result<RemoteServer, EntryError> {
    let written = entry.url.unwrap_or_default();
    let url = environment.expand(&written)?;
    // The workspace is a path, which is valid in any URL.
    match url::Url::parse(&url.replace(WORKSPACE_PLACEHOLDER, "/workspace")) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") && parsed.has_host() => {}
        // The error does not repeat the string, which may contain a secret.
        _ => return Err("`url` must be http:// or https:// and a host".into()),
    }
    let remote = RemoteServer {
        url: url.into(),
        written,
        headers: expand_headers(&entry.headers, environment)?,
        transport: entry.transport,
        socket: match &entry.socket {
            Some(socket) => {
                let socket = expand_path(environment, "socket", socket)?;
                Some(resolve_path(home, &socket))
            }
            None => None,
        },
        network: Arc::new(NetworkSettings::of(environment)),
        oauth: resolve_oauth(entry.oauth, environment)?,
        account: entry.account,
    };
    match &remote.account {
        Some(account) if !remote.has_login() => Err(format!(
            "account = {account:?} has no login: remove it, or `oauth = false`, `socket` and the Authorization header"
        )
        .into()),
        _ => Ok(remote),
    }
}

fn resolve_oauth(
    entry: Option<SwitchOrTable<OauthClient>>,
    environment: &Environment,
) -> Result<Option<OauthSettings>, EntryError> {
    let own = match entry {
        Some(SwitchOrTable::Switch(false)) => return Ok(None),
        None | Some(SwitchOrTable::Switch(true)) => OauthClient::default(),
        Some(SwitchOrTable::Table(own)) => own,
    };
    let expand = |text: Option<String>| {
        text.map(|text| environment.expand_without_workspace(&text))
            .transpose()
    };
    if let (Some(method), None) = (own.auth, &own.client_secret) {
        let method: &str = method.into();
        return Err(format!(
            "oauth.auth = {method:?} says how oauth.client_secret is sent, and there is none: add it, or remove `auth`"
        )
        .into());
    }
    Ok(Some(OauthSettings {
        client_id: expand(own.client_id)?,
        client_secret: expand(own.client_secret)?.map(Secret::new),
        auth: own.auth,
        issuer: expand(own.issuer)?.map(parse_issuer).transpose()?,
        scopes: own.scopes,
        port: own.port,
        share: own.share,
    }))
}

/// Checks an issuer (RFC 8414): a URL without a query or a fragment.
fn parse_issuer(text: String) -> Result<String, String> {
    let is_one = |url: url::Url| {
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        is_web && url.query().is_none() && url.fragment().is_none()
    };
    if url::Url::parse(&text).is_ok_and(is_one) {
        Ok(text)
    } else {
        Err(format!(
            "oauth.issuer = {text:?} is not an issuer: it must be https:// and a host, without a query"
        ))
    }
}

fn expand_path(environment: &Environment, key: &str, text: &str) -> Result<String, EntryError> {
    let expanded = environment.expand_path(text);
    expanded.map_err(|error| error.in_key(key))
}

fn expand_headers(
    pairs: &BTreeMap<String, String>,
    environment: &Environment,
) -> Result<BTreeMap<String, Secret>, EntryError> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| Ok((name.clone(), environment.expand(value)?.into())))
        .collect()
}
