//! Decides which callers share a session of a server, and why.
//!
//! Each server is started in its own fixed directory, so its behavior can depend on a caller's workspace only in three
//! ways: its entry names the workspace, it asks for roots, or it keeps one project in memory. The first two are
//! detected. For the third there is a short list of known servers.
//!
//! Invariant: the user's configuration is never overruled.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mux_secrets::Secret;

use super::session_key::{CallerIdentity, SessionKey};
use crate::listing::ServerCatalogEntry;
use mux_settings::{ServerDefinition, ServerEndpoint, ShareMode};

/// Servers that keep one project in memory, by the name of their program or package.
const SINGLE_PROJECT_SERVERS: &[(&str, &str)] = &[
    ("serena", "it works on one project at a time"),
    ("serena-agent", "it works on one project at a time"),
    ("serena-mcp-server", "it works on one project at a time"),
    ("@playwright/mcp", SINGLE_BROWSER_REASON),
    ("playwright-mcp", SINGLE_BROWSER_REASON),
    ("mcp-server-playwright", SINGLE_BROWSER_REASON),
    ("mcp/playwright", SINGLE_BROWSER_REASON),
    ("mcr.microsoft.com/playwright/mcp", SINGLE_BROWSER_REASON),
    ("chrome-devtools-mcp", SINGLE_BROWSER_REASON),
];
const SINGLE_BROWSER_REASON: &str = "it drives one browser, for which workspaces would compete";
const WORKSPACE_ENTRY_REASON: &str = "its entry uses ${workspace}";
const ROOTS_REASON: &str = "it asks for roots";
const NO_DEPENDENCY_REASON: &str = "nothing shows that it depends on a workspace";

/// Programs that run a package named among their arguments.
const PACKAGE_RUNNERS: &[&str] = &[
    "npx", "bunx", "bun", "pnpx", "uvx", "pipx", "pnpm", "yarn", "npm", "uv", "docker", "podman",
];

#[derive(Debug)]
pub(crate) struct SessionSharing {
    configured: Option<ShareMode>,
    /// The reason that follows from its entry.
    entry_reason: Option<&'static str>,
    needs_workspace: bool,
    /// Set if the server has asked for roots, now or in an earlier session.
    roots: AtomicBool,
    catalog_entry: ServerCatalogEntry,
}

/// The callers that share a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct SharingDecision {
    pub(crate) share: ShareMode,
    /// The reason, if `share` is not configured.
    pub(crate) reason: Option<&'static str>,
}

/// The entry uses `${workspace}`, and the caller has no workspace.
#[derive(Debug, PartialEq)]
pub(crate) struct NoWorkspace;

impl SessionSharing {
    pub(crate) fn new(
        definition: &ServerDefinition,
        catalog_entry: ServerCatalogEntry,
    ) -> Arc<Self> {
        let needs_workspace = definition.uses_workspace();
        Arc::new(Self {
            configured: definition.share,
            entry_reason: needs_workspace
                .then_some(WORKSPACE_ENTRY_REASON)
                .or_else(|| known_single_project_reason(definition)),
            needs_workspace,
            roots: AtomicBool::new(catalog_entry.asks_for_roots()),
            catalog_entry,
        })
    }

    pub(crate) fn current_sharing(&self) -> SharingDecision {
        if let Some(share) = self.configured {
            return SharingDecision {
                share,
                reason: None,
            };
        }
        let why = self
            .entry_reason
            .or_else(|| self.asks_for_roots().then_some(ROOTS_REASON));
        SharingDecision {
            share: why.map_or(ShareMode::User, |_| ShareMode::Workspace),
            reason: Some(why.unwrap_or(NO_DEPENDENCY_REASON)),
        }
    }

    /// True if sharing is detected from the server's behavior, because it is not configured.
    pub(crate) fn is_detected(&self) -> bool {
        self.configured.is_none()
    }

    pub(crate) fn asks_for_roots(&self) -> bool {
        self.roots.load(Ordering::Relaxed)
    }

    pub(crate) fn record_asks_for_roots(&self) {
        if !self.roots.swap(true, Ordering::Relaxed) {
            self.catalog_entry.remember_roots();
        }
    }

    /// A warning if workspaces share a server that asks for roots.
    pub(crate) fn sharing_warning(&self) -> Option<String> {
        let shared = self.configured == Some(ShareMode::User) && self.asks_for_roots();
        shared.then(|| {
            "it asks for roots, and one session serves all workspaces (share = \"user\"): it gets those of the \
             one client that is calling, or none"
                .into()
        })
    }

    /// The key of this caller's session. A caller without the configured property uses the next more specific property,
    /// or shares with the other callers that lack it: a call outside a run belongs to its client, a detached run to
    /// itself.
    pub(crate) fn key(&self, caller: &CallerIdentity) -> Result<SessionKey, NoWorkspace> {
        if self.needs_workspace && caller.workspace.is_none() {
            return Err(NoWorkspace);
        }
        let client = || caller.connection.map(SessionKey::Client);
        let run = || caller.run.clone().map(SessionKey::Run);
        let key = match self.current_sharing().share {
            ShareMode::User => None,
            ShareMode::Workspace => caller.workspace.clone().map(SessionKey::Workspace),
            ShareMode::Client => client().or_else(run),
            ShareMode::Run => run().or_else(client),
        };
        Ok(key.unwrap_or(SessionKey::User))
    }
}

fn known_single_project_reason(definition: &ServerDefinition) -> Option<&'static str> {
    let ServerEndpoint::Process(process) = &definition.endpoint else {
        return None;
    };
    let program = process.command.rsplit(['/', '\\']).next()?;
    if !PACKAGE_RUNNERS.contains(&program) {
        return single_project_reason(program);
    }
    // The arguments before the package name, and its position, differ between runners and versions.
    process.args.iter().map(Secret::expose).find_map(|arg| {
        let word = match arg.split_once('=') {
            Some((option, value)) if option.starts_with('-') => value,
            _ => arg,
        };
        let last = |word| str::rsplit(word, '/').next().unwrap_or(word);
        let names = [
            unversioned(word),
            unversioned(last(word)),
            last(unversioned(word)),
        ];
        names.into_iter().find_map(single_project_reason)
    })
}

fn single_project_reason(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".git").unwrap_or(name);
    let found = SINGLE_PROJECT_SERVERS
        .iter()
        .find(|(known, _)| *known == name);
    found.map(|(_, reason)| *reason)
}

/// `name@1.2`, where the name itself may begin with an `@`, `name==1.2` and `name:1.2`.
fn unversioned(word: &str) -> &str {
    let end = word
        .char_indices()
        .skip(1)
        .find(|(_, c)| "@=:".contains(*c));
    end.map_or(word, |(end, _)| &word[..end])
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use super::*;
    use mux_catalog::{Catalog, pins::Pins};
    use mux_config::{Config, environment::Environment};
    use mux_settings::Settings;

    fn definition(entry: &str) -> ServerDefinition {
        let text = format!("[servers.s]\n{entry}\n");
        let config = Config::parse(&text, "config.toml").unwrap();
        let here = Path::new("/home/me");
        let settings = Settings::resolve(config, &Environment::default(), here);
        let servers: BTreeMap<_, _> = settings.servers;
        servers["s"].definition.clone().unwrap()
    }

    fn sharing(entry: &str) -> Arc<SessionSharing> {
        let definition = definition(entry);
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::open(folder.path().join("pins")).unwrap();
        let catalog_entry = ServerCatalogEntry::new(("s", "s"), &definition, Catalog::new(), pins);
        SessionSharing::new(&definition, catalog_entry)
    }

    #[tokio::test]
    async fn sharing_is_configured_or_detected() {
        for (entry, share, reason) in [
            (
                "command = \"x\"",
                ShareMode::User,
                Some(NO_DEPENDENCY_REASON),
            ),
            (
                "command = \"x\"\nargs = [\"${workspace}/a\"]",
                ShareMode::Workspace,
                Some(WORKSPACE_ENTRY_REASON),
            ),
            (
                "url = \"https://x/?in=${workspace}\"",
                ShareMode::Workspace,
                Some(WORKSPACE_ENTRY_REASON),
            ),
            ("command = \"x\"\nshare = \"run\"", ShareMode::Run, None),
            (
                "command = \"/opt/bin/playwright-mcp\"",
                ShareMode::Workspace,
                Some(SINGLE_BROWSER_REASON),
            ),
            (
                "command = \"npx\"\nargs = [\"-y\", \"@playwright/mcp@0.1\"]",
                ShareMode::Workspace,
                Some(SINGLE_BROWSER_REASON),
            ),
            (
                "command = \"uvx\"\nargs = [\"serena-agent==1.2\"]",
                ShareMode::Workspace,
                Some(SINGLE_PROJECT_SERVERS[1].1),
            ),
            (
                "command = \"uvx\"\nargs = [\"--from\", \"git+https://github.com/oraios/serena.git@main\", \"x\"]",
                ShareMode::Workspace,
                Some(SINGLE_PROJECT_SERVERS[0].1),
            ),
            (
                "command = \"docker\"\nargs = [\"run\", \"-i\", \"--rm\", \"mcp/playwright:latest\"]",
                ShareMode::Workspace,
                Some(SINGLE_BROWSER_REASON),
            ),
            (
                "command = \"npx\"\nargs = [\"--package=@playwright/mcp@1\", \"x\"]",
                ShareMode::Workspace,
                Some(SINGLE_BROWSER_REASON),
            ),
            (
                "command = \"npx\"\nargs = [\"playwright-mcp\"]\nshare = \"user\"",
                ShareMode::User,
                None,
            ),
            (
                "command = \"npx\"\nargs = [\"@playwright/mcp-other\"]",
                ShareMode::User,
                Some(NO_DEPENDENCY_REASON),
            ),
        ] {
            assert_eq!(
                sharing(entry).current_sharing(),
                SharingDecision { share, reason },
                "{entry}"
            );
        }
        let found_out = sharing("command = \"x\"");
        found_out.record_asks_for_roots();
        let roots = SharingDecision {
            share: ShareMode::Workspace,
            reason: Some(ROOTS_REASON),
        };
        assert_eq!(
            (found_out.current_sharing(), found_out.sharing_warning()),
            (roots, None)
        );
        let configured = sharing("command = \"x\"\nshare = \"user\"");
        configured.record_asks_for_roots();
        assert_eq!(configured.current_sharing().share, ShareMode::User);
        assert!(configured.sharing_warning().is_some());
    }

    #[tokio::test]
    async fn caller_without_the_configured_key_gets_the_next_one() {
        let here = Some("/w".into());
        let run = Some("r-1".to_owned());
        let somebody = CallerIdentity {
            is_user: false,
            workspace: here,
            connection: Some(7),
            run,
        };
        let detached = CallerIdentity {
            connection: None,
            ..somebody.clone()
        };
        let outside = CallerIdentity {
            run: None,
            workspace: None,
            ..somebody.clone()
        };
        let client = SessionKey::Client(7);
        let in_run = SessionKey::Run("r-1".into());
        let workspace = SessionKey::Workspace("/w".into());
        for (share, keys) in [
            (
                "user",
                [
                    SessionKey::User,
                    SessionKey::User,
                    SessionKey::User,
                    SessionKey::User,
                ],
            ),
            (
                "workspace",
                [
                    workspace.clone(),
                    workspace,
                    SessionKey::User,
                    SessionKey::User,
                ],
            ),
            (
                "client",
                [
                    client.clone(),
                    in_run.clone(),
                    client.clone(),
                    SessionKey::User,
                ],
            ),
            ("run", [in_run.clone(), in_run, client, SessionKey::User]),
        ] {
            let sharing = sharing(&format!("command = \"x\"\nshare = \"{share}\""));
            let callers = [&somebody, &detached, &outside, &CallerIdentity::default()];
            let found = callers.map(|caller| sharing.key(caller).unwrap());
            assert_eq!(found, keys, "{share}");
        }
        let bound = sharing("command = \"x\"\ncwd = \"${workspace}\"");
        assert_eq!(bound.key(&outside), Err(NoWorkspace));
        assert!(bound.key(&detached).is_ok());
    }
}
