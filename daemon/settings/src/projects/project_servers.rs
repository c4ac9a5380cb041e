//! Resolves the servers that a project defines.
//!
//! Invariant: references in the files of an unapproved project are not expanded.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use super::{Project, ProjectView};
use crate::{SandboxMode, ServerDefaults, ServerDefinition, ServerSettings};
use mux_config::{EntryError, ServerEntry, SwitchOrTable, environment::Environment};
use mux_policy::{Policy, ProjectText, RuleList};

/// The maximum size of unapproved files whose denials apply.
const MAX_UNAPPROVED_BYTES: usize = 16 << 10;

impl Project {
    fn bytes(&self) -> usize {
        let texts = self.files.files.iter();
        texts
            .map(|(_, text)| text.as_ref().map_or(0, String::len))
            .sum()
    }

    /// Returns true if any value of an enabled server refers to a variable.
    pub fn needs_environment(&self) -> bool {
        self.entries().any(ServerEntry::needs_environment)
    }

    /// The `${cmd:…}` commands that its servers need, once it is approved.
    pub fn commands(&self) -> impl Iterator<Item = String> {
        self.entries().flat_map(ServerEntry::commands)
    }

    /// The named secrets that its servers need, once it is approved, each with the entries that name it.
    pub fn secrets(&self) -> impl Iterator<Item = (String, String)> {
        let all = self.content.servers.iter();
        all.flat_map(|(server, defined)| {
            let entry = defined.entry.as_ref();
            let names = entry.map_or_else(|_| BTreeSet::new(), ServerEntry::secrets);
            let user = format!("servers.{server} of {}", self.root.display());
            names.into_iter().map(move |name| (name, user.clone()))
        })
    }

    fn entries(&self) -> impl Iterator<Item = &ServerEntry> {
        let all = self.content.servers.values();
        all.filter_map(|defined| defined.entry.as_ref().ok())
            .filter(|entry| entry.enabled != Some(false))
    }

    /// Resolves the view of the project's clients and its servers. `taken` are the names of the user's own servers,
    /// `home` replaces `~` in rules, `defaults` apply to every server.
    pub fn resolve(
        &self,
        taken: &[String],
        environment: &Environment,
        home: &Path,
        defaults: ServerDefaults,
    ) -> (ProjectView, Vec<ServerSettings>) {
        let (given, clashes) = self.servers(taken);
        let mut notes = Vec::new();
        let mut view = ProjectView {
            root: Arc::clone(&self.root),
            withheld: BTreeMap::new(),
            denied: Arc::default(),
            direct: Vec::new(),
            notes: Vec::new(),
        };
        let text = if self.is_approved() {
            ProjectText::Current
        } else {
            ProjectText::Unapproved
        };
        let list = RuleList::Project(Arc::clone(&self.root), text);
        let too_long = text == ProjectText::Unapproved && self.bytes() > MAX_UNAPPROVED_BYTES;
        let denied = if too_long && !self.content.denied.is_empty() {
            notes.push(format!(
                "the denials of .mux.toml in {} apply only once you have approved it: the files have over {MAX_UNAPPROVED_BYTES} bytes",
                self.root.display()
            ));
            Policy::default()
        } else {
            let mut problems = Vec::new();
            let policy = Policy::new(&self.content.denied, list, home, &mut problems);
            notes.extend(problems.into_iter().map(|problem| problem.message));
            policy
        };
        if !self.is_approved() {
            view.denied = Arc::new(denied);
            view.notes = notes;
            let given = given.iter();
            view.withheld = given
                .map(|(name, defined)| ((*name).to_owned(), defined.file))
                .collect();
            view.notes.push(self.approval_notice());
            return (view, Vec::new());
        }
        notes.extend(clashes);
        notes.extend(self.content.problems.iter().cloned());
        let environment = environment.with("workspace", &self.root.to_string_lossy());
        let names: Vec<String> = given.keys().map(|name| (*name).to_owned()).collect();
        let mut servers = Vec::new();
        for (name, defined) in given {
            let entry = defined.entry.clone();
            if matches!(&entry, Ok(entry) if entry.enabled == Some(false)) {
                continue;
            }
            if let Ok(entry) = &entry {
                let direct = entry.tools.direct.iter();
                let direct = direct.map(|glob| format!("{name}.{glob}"));
                view.direct.extend(direct);
            }
            let root = Some(Arc::clone(&self.root));
            let server = ServerSettings::new(name.to_owned(), root, &names, entry, |entry| {
                let is_enforced = defaults.sandbox_mode == SandboxMode::Enforce;
                if is_enforced && entry.sandbox == Some(SwitchOrTable::Switch(false)) {
                    return Err(EntryError::from(
                        "a project cannot switch off the sandbox that [sandbox] mode = \"enforce\" demands; remove `sandbox = false`",
                    ));
                }
                ServerDefinition::resolve(&entry, &environment, &self.root, defaults)
            });
            if let Err(problem) = &server.definition {
                let root = self.root.display();
                notes.push(format!(
                    "[servers.{name}] of {} in {root}: {problem}",
                    defined.file
                ));
            }
            servers.push(server);
        }
        view.notes = notes;
        (view, servers)
    }
}
