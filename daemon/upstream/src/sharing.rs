//! Who shares a session of a server, and why.
//!
//! Each server is started in its own fixed directory, so what it does can depend on the workspace of a
//! caller in three ways only: its entry names the workspace, it asks for roots, or it holds on to one
//! project in its memory. The first two show; for the third there is a short list.
//! Invariant: what the user has said is never overruled.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mux_secrets::Secret;

use super::{
    key::{Key, Whose},
    offer::Offer,
};
use mux_settings::{Link, ServerDefinition, Share};

/// Servers that hold on to one project, by the name of their program or package.
const ONE_PROJECT: &[(&str, &str)] = &[
    ("serena", "it works on one project at a time"),
    ("serena-agent", "it works on one project at a time"),
    ("serena-mcp-server", "it works on one project at a time"),
    ("@playwright/mcp", ONE_BROWSER),
    ("playwright-mcp", ONE_BROWSER),
    ("mcp-server-playwright", ONE_BROWSER),
    ("mcp/playwright", ONE_BROWSER),
    ("mcr.microsoft.com/playwright/mcp", ONE_BROWSER),
    ("chrome-devtools-mcp", ONE_BROWSER),
];
const ONE_BROWSER: &str = "it drives one browser, which workspaces would take from each other";
const ENTRY: &str = "its entry uses ${workspace}";
const ROOTS: &str = "it asks for roots";
const NOTHING: &str = "nothing shows that it depends on a workspace";

/// What starts a package by a name among its arguments.
const RUNNERS: &[&str] = &[
    "npx", "bunx", "bun", "pnpx", "uvx", "pipx", "pnpm", "yarn", "npm", "uv", "docker", "podman",
];

#[derive(Debug)]
pub(super) struct Sharing {
    said: Option<Share>,
    /// As its entry shows.
    shown: Option<&'static str>,
    needs_workspace: bool,
    /// It has asked for roots, now or in another life.
    roots: AtomicBool,
    offer: Offer,
}

/// Who shares.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Shared {
    pub(super) share: Share,
    /// Where the user has not said so.
    pub(super) reason: Option<&'static str>,
}

/// The entry names the workspace, and the caller has none.
#[derive(Debug, PartialEq)]
pub(super) struct NoWorkspace;

impl Sharing {
    pub(super) fn new(definition: &ServerDefinition, offer: Offer) -> Arc<Self> {
        let needs_workspace = definition.uses_workspace();
        Arc::new(Self {
            said: definition.share,
            shown: needs_workspace
                .then_some(ENTRY)
                .or_else(|| known(definition)),
            needs_workspace,
            roots: AtomicBool::new(offer.asks_for_roots()),
            offer,
        })
    }

    pub(super) fn now(&self) -> Shared {
        if let Some(share) = self.said {
            return Shared {
                share,
                reason: None,
            };
        }
        let why = self
            .shown
            .or_else(|| self.asks_for_roots().then_some(ROOTS));
        Shared {
            share: why.map_or(Share::User, |_| Share::Workspace),
            reason: Some(why.unwrap_or(NOTHING)),
        }
    }

    /// Whether its behaviour decides.
    pub(super) fn is_found_out(&self) -> bool {
        self.said.is_none()
    }

    pub(super) fn asks_for_roots(&self) -> bool {
        self.roots.load(Ordering::Relaxed)
    }

    pub(super) fn asked_for_roots(&self) {
        if !self.roots.swap(true, Ordering::Relaxed) {
            self.offer.remember_roots();
        }
    }

    /// Where one would look for the reason why the workspaces see each other.
    pub(super) fn warning(&self) -> Option<String> {
        let shared = self.said == Some(Share::User) && self.asks_for_roots();
        shared.then(|| {
            "it asks for roots, and one session serves all workspaces (share = \"user\"): it gets those of the \
             one client that is calling, or none"
                .into()
        })
    }

    /// The session of this caller. Whoever lacks what the key is made of shares with the others who do, or
    /// has the next smaller one: a call outside of a run is its client's, a detached run is its own.
    pub(super) fn key(&self, whose: &Whose) -> Result<Key, NoWorkspace> {
        if self.needs_workspace && whose.workspace.is_none() {
            return Err(NoWorkspace);
        }
        let client = || whose.connection.map(Key::Client);
        let run = || whose.run.clone().map(Key::Run);
        let key = match self.now().share {
            Share::User => None,
            Share::Workspace => whose.workspace.clone().map(Key::Workspace),
            Share::Client => client().or_else(run),
            Share::Run => run().or_else(client),
        };
        Ok(key.unwrap_or(Key::User))
    }
}

fn known(definition: &ServerDefinition) -> Option<&'static str> {
    let Link::Process(process) = &definition.link else {
        return None;
    };
    let program = process.command.rsplit(['/', '\\']).next()?;
    if !RUNNERS.contains(&program) {
        return reason(program);
    }
    // What stands before the package, and where its name stands, differs between them and from year to year.
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
        names.into_iter().find_map(reason)
    })
}

fn reason(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".git").unwrap_or(name);
    let found = ONE_PROJECT.iter().find(|(known, _)| *known == name);
    found.map(|(_, reason)| *reason)
}

/// `name@1.2`, where the name may begin with an `@` of its own, `name==1.2` and `name:1.2`.
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

    fn sharing(entry: &str) -> Arc<Sharing> {
        let definition = definition(entry);
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::open(folder.path().join("pins")).unwrap();
        let offer = Offer::new(("s", "s"), &definition, Catalog::new(), pins);
        Sharing::new(&definition, offer)
    }

    #[tokio::test]
    async fn who_shares_is_what_the_user_says_and_else_what_the_server_shows() {
        for (entry, share, reason) in [
            ("command = \"x\"", Share::User, Some(NOTHING)),
            (
                "command = \"x\"\nargs = [\"${workspace}/a\"]",
                Share::Workspace,
                Some(ENTRY),
            ),
            (
                "url = \"https://x/?in=${workspace}\"",
                Share::Workspace,
                Some(ENTRY),
            ),
            ("command = \"x\"\nshare = \"run\"", Share::Run, None),
            (
                "command = \"/opt/bin/playwright-mcp\"",
                Share::Workspace,
                Some(ONE_BROWSER),
            ),
            (
                "command = \"npx\"\nargs = [\"-y\", \"@playwright/mcp@0.1\"]",
                Share::Workspace,
                Some(ONE_BROWSER),
            ),
            (
                "command = \"uvx\"\nargs = [\"serena-agent==1.2\"]",
                Share::Workspace,
                Some(ONE_PROJECT[1].1),
            ),
            (
                "command = \"uvx\"\nargs = [\"--from\", \"git+https://github.com/oraios/serena.git@main\", \"x\"]",
                Share::Workspace,
                Some(ONE_PROJECT[0].1),
            ),
            (
                "command = \"docker\"\nargs = [\"run\", \"-i\", \"--rm\", \"mcp/playwright:latest\"]",
                Share::Workspace,
                Some(ONE_BROWSER),
            ),
            (
                "command = \"npx\"\nargs = [\"--package=@playwright/mcp@1\", \"x\"]",
                Share::Workspace,
                Some(ONE_BROWSER),
            ),
            (
                "command = \"npx\"\nargs = [\"playwright-mcp\"]\nshare = \"user\"",
                Share::User,
                None,
            ),
            (
                "command = \"npx\"\nargs = [\"@playwright/mcp-other\"]",
                Share::User,
                Some(NOTHING),
            ),
        ] {
            assert_eq!(sharing(entry).now(), Shared { share, reason }, "{entry}");
        }
        let found_out = sharing("command = \"x\"");
        found_out.asked_for_roots();
        let roots = Shared {
            share: Share::Workspace,
            reason: Some(ROOTS),
        };
        assert_eq!((found_out.now(), found_out.warning()), (roots, None));
        let said = sharing("command = \"x\"\nshare = \"user\"");
        said.asked_for_roots();
        assert_eq!(said.now().share, Share::User);
        assert!(said.warning().is_some());
    }

    #[tokio::test]
    async fn a_caller_without_what_the_key_is_made_of_has_the_next_one() {
        let (here, run) = (Some("/w".into()), Some("r-1".to_owned()));
        let somebody = Whose {
            workspace: here,
            connection: Some(7),
            run,
        };
        let detached = Whose {
            connection: None,
            ..somebody.clone()
        };
        let outside = Whose {
            run: None,
            workspace: None,
            ..somebody.clone()
        };
        let (client, in_run) = (Key::Client(7), Key::Run("r-1".into()));
        let workspace = Key::Workspace("/w".into());
        for (share, keys) in [
            ("user", [Key::User, Key::User, Key::User, Key::User]),
            (
                "workspace",
                [workspace.clone(), workspace, Key::User, Key::User],
            ),
            (
                "client",
                [client.clone(), in_run.clone(), client.clone(), Key::User],
            ),
            ("run", [in_run.clone(), in_run, client, Key::User]),
        ] {
            let sharing = sharing(&format!("command = \"x\"\nshare = \"{share}\""));
            let callers = [&somebody, &detached, &outside, &Whose::default()];
            let found = callers.map(|whose| sharing.key(whose).unwrap());
            assert_eq!(found, keys, "{share}");
        }
        let bound = sharing("command = \"x\"\ncwd = \"${workspace}\"");
        assert_eq!(bound.key(&outside), Err(NoWorkspace));
        assert!(bound.key(&detached).is_ok());
    }
}
