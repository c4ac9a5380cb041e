//! `[sources.NAME]`: an API with a description, and how its functions are called.
//!
//! Invariant: the displayed form of a source contains no credential.

mod source_values;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mux_secrets::Secret;

use self::source_values::{is_http, origins, secret_headers};
use super::{
    RootsSetting, ServerDefaults, ServerDefinition, ServerEndpoint, ToolOverrides,
    entry_fingerprint::EntryFingerprint, remote::NetworkSettings,
};
use mux_config::{
    CredentialEntry, EntryError, RequestRate, ResultCheck, ShareMode, SourceEntry, StartMode,
    environment::Environment,
};

/// The time to read a description.
const SOURCE_START_TIMEOUT: Duration = Duration::from_mins(2);

/// The resolved entry of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceDefinition {
    pub kind: SourceKind,
    /// `None`: the schema is queried from the GraphQL endpoint.
    pub description: Option<DescriptionLocation>,
    /// The address of the description or the endpoint as written, for display: an expanded variable may be a secret.
    pub written: String,
    /// The base URL of calls. For a GraphQL source, its endpoint.
    pub base_url: Option<String>,
    /// Server variables of the base URL, by their names in the description.
    pub variables: BTreeMap<String, String>,
    /// Further origins that credentials may be sent to, each as `https://host`, with its port if it is not the default.
    pub origins: Vec<String>,
    pub headers: BTreeMap<String, Secret>,
    /// Header values that are secrets, regardless of the header's name.
    pub secret_headers: Vec<Secret>,
    /// Credentials by the name of their security scheme.
    pub credentials: BTreeMap<String, SourceCredential>,
    /// The label for the account of the credentials.
    pub account: Option<String>,
    /// The scopes that tokens are requested for. `None` requests all scopes that operations name.
    pub scopes: Option<Vec<String>>,
    pub rate: Option<RequestRate>,
    /// The maximum age of a remote description before it is fetched again.
    pub refresh: Duration,
    /// The depth of a default GraphQL selection.
    pub depth: u32,
    /// The number of operations that become functions.
    pub max_functions: usize,
    /// Globs of functions that are not offered, and not read from an OpenAPI description.
    pub exclude: Vec<String>,
    pub network: Arc<NetworkSettings>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SourceKind {
    OpenApi,
    Graphql,
}

/// The location of a description.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DescriptionLocation {
    File(PathBuf),
    Url(String),
}

/// A credential for an API.
#[derive(Clone, PartialEq)]
pub enum SourceCredential {
    /// A key or a token.
    Text(Secret),
    Basic {
        username: String,
        password: Secret,
    },
}

impl SourceDefinition {
    /// The address for display, with secrets masked.
    pub fn shown(&self) -> String {
        shown(&self.written)
    }
}

/// The address of a description for display, with secrets masked.
pub(super) fn shown(written: &str) -> String {
    if written.contains("://") {
        mux_secrets::url::shown(written)
    } else {
        written.to_owned()
    }
}

impl fmt::Debug for SourceCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}

impl ServerDefinition {
    /// Resolves the entry of a source. Keys that sources do not have keep their defaults. The other parameters are
    /// those of [`Self::resolve`].
    pub fn of_source(
        entry: SourceEntry,
        environment: &Environment,
        home: &Path,
        defaults: ServerDefaults,
    ) -> Result<Self, EntryError> {
        Ok(Self {
            written: EntryFingerprint::of_source(&entry),
            has_history: entry.history.unwrap_or(true),
            exclude: entry.tools.exclude.clone(),
            overrides: ToolOverrides::resolve(&entry.r#override),
            share: Some(ShareMode::User),
            start: StartMode::Lazy,
            idle_close: Some(Duration::MAX),
            retry: entry.retry,
            start_timeout: SOURCE_START_TIMEOUT,
            call_timeout: entry.call_timeout.0,
            total_timeout: entry.total_timeout.0,
            calls_at_once: defaults.calls_at_once(entry.calls_at_once),
            ask: defaults.ask,
            pins: entry.pins.unwrap_or(defaults.on_change),
            // Descriptions often do not match what the API returns.
            check_results: entry.check_results.unwrap_or(ResultCheck::Warn),
            results: defaults.results.of_entry(entry.fence, entry.secrets),
            era: None,
            roots: RootsSetting::Off,
            endpoint: ServerEndpoint::Source(resolve_source(entry, environment, home)?),
        })
    }
}

fn resolve_source(
    entry: SourceEntry,
    environment: &Environment,
    home: &Path,
) -> Result<SourceDefinition, EntryError> {
    let expand = |text: &String| environment.expand_without_workspace(text);
    let (kind, written) = match (&entry.openapi, &entry.graphql) {
        (Some(_), Some(_)) => {
            return Err("an entry has `openapi` or `graphql`, and not both".into());
        }
        (None, None) => return Err("`openapi` or `graphql` is missing".into()),
        (Some(openapi), None) => (SourceKind::OpenApi, openapi.clone()),
        (None, Some(graphql)) => (SourceKind::Graphql, graphql.clone()),
    };
    let misplaced = match kind {
        SourceKind::OpenApi => vec![
            ("schema", entry.schema.is_some()),
            ("depth", entry.depth.is_some()),
        ],
        SourceKind::Graphql => vec![
            ("base_url", entry.base_url.is_some()),
            ("variables", !entry.variables.is_empty()),
            ("origins", !entry.origins.is_empty()),
            ("scopes", entry.scopes.is_some()),
            ("max_functions", entry.max_functions.is_some()),
        ],
    };
    if let Some((key, _)) = misplaced.iter().find(|(_, set)| *set) {
        let with = match kind {
            SourceKind::OpenApi => "graphql",
            SourceKind::Graphql => "openapi",
        };
        return Err(format!("`{key}` requires `{with}`").into());
    }
    let base = match kind {
        SourceKind::OpenApi => entry.base_url.as_ref(),
        SourceKind::Graphql => entry.graphql.as_ref(),
    };
    let base_url = base.map(expand).transpose()?;
    if let Some(base) = &base_url
        && !is_http(base)
    {
        // The error does not repeat the string, which may contain a secret.
        let key = match kind {
            SourceKind::OpenApi => "base_url",
            SourceKind::Graphql => "graphql",
        };
        return Err(format!("`{key}` must be http:// or https:// and a host").into());
    }
    let (described_key, described) = match kind {
        SourceKind::OpenApi => ("openapi", entry.openapi.as_ref()),
        SourceKind::Graphql => ("schema", entry.schema.as_ref()),
    };
    let location = |text: String| match text.contains("://") {
        true if is_http(&text) => Ok(DescriptionLocation::Url(text)),
        true => Err("a description must be a file, or http:// or https:// and a host".to_owned()),
        false => Ok(DescriptionLocation::File(home.join(text))),
    };
    let table = |pairs: &BTreeMap<String, String>| {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| Ok((name.clone(), expand(value)?)))
            .collect::<Result<BTreeMap<_, _>, EntryError>>()
    };
    let credential = |entry: &CredentialEntry| match entry {
        CredentialEntry::Text(text) => {
            Ok::<_, EntryError>(SourceCredential::Text(expand(text)?.into()))
        }
        CredentialEntry::Basic(basic) => Ok(SourceCredential::Basic {
            username: expand(&basic.username)?,
            password: expand(&basic.password)?.into(),
        }),
    };
    let credentials = entry.auth.iter();
    Ok(SourceDefinition {
        kind,
        description: match described {
            Some(written) => {
                let expanded = environment.expand_path_without_workspace(written);
                let expanded = expanded.map_err(|error| error.in_key(described_key))?;
                Some(location(expanded)?)
            }
            None => None,
        },
        written,
        base_url,
        variables: table(&entry.variables)?,
        origins: origins(&entry.origins, environment)?,
        headers: table(&entry.headers)?
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect(),
        secret_headers: secret_headers(&entry.headers, environment)?,
        credentials: credentials
            .map(|(scheme, entry)| Ok((scheme.clone(), credential(entry)?)))
            .collect::<Result<_, EntryError>>()?,
        account: entry.account,
        scopes: entry.scopes,
        rate: entry.rate,
        refresh: entry.refresh.0,
        depth: entry.depth.unwrap_or_default().as_u32(),
        max_functions: entry.max_functions.unwrap_or_default().as_usize(),
        exclude: entry.tools.exclude,
        network: Arc::new(NetworkSettings::of(environment)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use mux_config::Config;

    fn resolve(text: &str) -> Result<ServerDefinition, String> {
        let config = Config::parse(text, "c").unwrap();
        let environment = Environment::of([("TOKEN".into(), "hidden".into())]);
        let settings = Settings::resolve(config, &environment, Path::new("/home/me"));
        let definition = settings.servers["a"].definition.clone();
        definition.map_err(|error| error.to_string())
    }

    #[test]
    fn resolved_source_shows_no_credential() {
        let definition = resolve(
            "[sources.a]\nopenapi = \"api.json\"\nbase_url = \"https://h/v1\"\nrate = \"10/s\"\n\
             auth = { key = \"${TOKEN}\", login = { username = \"u\", password = \"${TOKEN}\" } }\n",
        )
        .unwrap();
        let ServerEndpoint::Source(source) = &definition.endpoint else {
            panic!("{definition:?}");
        };
        assert_eq!(
            source.description,
            Some(DescriptionLocation::File("/home/me/api.json".into()))
        );
        assert_eq!(source.rate.unwrap().count.get(), 10);
        assert_eq!(
            source.credentials["key"],
            SourceCredential::Text("hidden".into())
        );
        assert!(!format!("{definition:?}").contains("hidden"));
        let definition = resolve(
            "[sources.a]\nopenapi = \"x\"\norigins = [\"HTTPS://Up.Example:443/\", \"http://h:8080\"]\n",
        );
        let ServerEndpoint::Source(source) = definition.unwrap().endpoint else {
            panic!("no source");
        };
        assert_eq!(source.origins, ["https://up.example", "http://h:8080"]);
    }

    #[test]
    fn errors_name_the_fix() {
        for (entry, part) in [
            ("", "`openapi` or `graphql`"),
            ("openapi = \"x\"\ngraphql = \"https://h\"", "not both"),
            ("openapi = \"x\"\nschema = \"y\"", "`graphql`"),
            ("graphql = \"https://h\"\nbase_url = \"y\"", "`openapi`"),
            ("graphql = \"h\"", "http://"),
            ("openapi = \"ftp://x\"", "http://"),
            ("openapi = \"x\"\nrate = \"fast\"", "10/s"),
            ("openapi = \"x\"\ndepth = 3", "graphql"),
            ("graphql = \"https://h\"\ndepth = 9", "between 1 and 6"),
            ("openapi = \"x\"\nmax_functions = 0", "between 1 and 50000"),
            (
                "openapi = \"x\"\nmax_functions = 50001",
                "between 1 and 50000",
            ),
            (
                "graphql = \"https://h\"\nmax_functions = 5",
                "`max_functions` requires `openapi`",
            ),
            ("openapi = \"x\"\nmax_function = 5", "`max_functions`"),
            (
                "graphql = \"https://h\"\norigins = [\"https://x\"]",
                "`openapi`",
            ),
            ("graphql = \"https://h\"\nscopes = [\"x\"]", "`openapi`"),
            (
                "openapi = \"x\"\norigins = [\"uploads.h\"]",
                "https://uploads",
            ),
            ("openapi = \"x\"\norigins = [\"https://h/v1\"]", "all of h"),
            (
                "openapi = \"x\"\norigins = [\"https://u:hidden@h\"]",
                "all of h",
            ),
            ("openapi = \"x\"\nscopes = [\"a b\"]", "one word"),
            ("openap = \"x\"", "did you mean `openapi`"),
            ("openapi = \"${NOPE}\"", "NOPE"),
        ] {
            let problem = resolve(&format!("[sources.a]\n{entry}")).unwrap_err();
            assert!(problem.contains(part), "{entry}: {problem}");
        }
    }

    #[test]
    fn servers_and_sources_share_one_namespace() {
        let config = Config::parse(
            "[servers.a]\ncommand = \"x\"\n[sources.a]\nopenapi = \"y\"\n[sources.b-c]\nopenapi = \"y\"\n\
             [servers.b_c]\ncommand = \"x\"\n",
            "c",
        )
        .unwrap();
        let settings = Settings::resolve(config, &Environment::default(), Path::new("/"));
        let command = settings.servers["a"].definition.as_ref().unwrap();
        assert!(matches!(command.endpoint, ServerEndpoint::Process(_)));
        assert!(
            settings.problems[0].message.contains("[sources.a]"),
            "{:?}",
            settings.problems
        );
        let spelled = settings.servers["b-c"].definition.as_ref();
        let spelled = spelled.unwrap_err().to_string();
        assert!(spelled.contains("mux.b_c"), "{spelled}");
    }
}
