//! Servers that a project's files define, for clients that work in the project.
//!
//! Invariant: a project's files start nothing, run nothing and define no server unless the user has approved their
//! current content at their current path. Denials need no approval, and changing the file does not undo them: the
//! approved version's denials stay until the user revokes the approval.

mod mcp_json;
mod project_approvals;
mod project_content;
mod project_files;
mod project_servers;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use mux_messages::ProjectState;
use mux_typegen::names::spell;

use mux_config::PolicyEntry;
use mux_policy::{Policy, ProjectText, RuleList};

pub use self::{
    project_approvals::{ProjectApproval, ProjectApprovals},
    project_content::{DefinedServer, ProjectContent},
    project_files::{ProjectFiles, ProjectLocation, find},
};

/// The projects in which clients work or have worked.
#[derive(Debug)]
pub struct Projects {
    approvals: ProjectApprovals,
    /// The files of each project as last read, by canonical path.
    read: BTreeMap<Arc<Path>, ProjectFiles>,
    /// The directories in which clients work, by the path that the client passed.
    visits: HashMap<PathBuf, WorkspaceVisit>,
    /// Counts changes of files and approvals.
    changes: u64,
    /// The value of `changes` that was applied last.
    in_force: u64,
}

/// One directory in which clients work.
#[derive(Debug)]
struct WorkspaceVisit {
    clients: usize,
    location: ProjectLocation,
    /// The directory as the client named it, and the canonical paths that it has resolved to.
    dirs: Vec<PathBuf>,
}

/// The project and directories of a client.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct WorkspaceContext {
    /// The project to which the directory belongs.
    pub project: Option<Arc<Path>>,
    /// The directory as named and without symbolic links. Denials approved in it or above it apply.
    pub dirs: Vec<PathBuf>,
}

/// The denials of approved files, by the directory of their project.
pub type ProjectDenials = BTreeMap<Arc<Path>, Arc<Policy>>;

/// A project as the user sees it.
#[derive(Clone, Debug)]
pub struct Project {
    pub root: Arc<Path>,
    pub files: ProjectFiles,
    pub content: ProjectContent,
    /// Never [`ProjectState::Gone`]: the files may all be absent.
    pub state: ProjectState,
    /// The approved content, if any.
    pub approved: Option<ProjectApproval>,
    /// The denials of the approved content, if the files have changed since.
    pub still_denied: Vec<PolicyEntry>,
}

/// The part of a project that is visible to the clients that work in it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectView {
    pub root: Arc<Path>,
    /// The servers of files that are not approved, each with its file.
    pub withheld: BTreeMap<String, &'static str>,
    /// The denials of the current files, if they are not approved.
    pub denied: Arc<Policy>,
    /// Globs of paths that are offered as ordinary tools.
    pub direct: Vec<String>,
    /// Notices for the clients.
    pub notes: Vec<String>,
}

/// The location of a directory's project, and its files.
pub type WorkspaceScan = (ProjectLocation, Option<ProjectFiles>);

/// Finds and reads the project of a directory.
pub fn scan_workspace(workspace: &Path, home: &Path) -> WorkspaceScan {
    let location = find(workspace, home);
    let files = location.root.as_deref().and_then(ProjectFiles::read);
    (location, files)
}

impl Projects {
    pub fn new(approvals: ProjectApprovals) -> Self {
        Self {
            approvals,
            read: BTreeMap::new(),
            visits: HashMap::new(),
            changes: 0,
            in_force: 0,
        }
    }

    /// Returns true if there are changes that are not applied yet.
    pub fn is_stale(&self) -> bool {
        self.changes != self.in_force
    }

    /// All projects, and the change number for [`Self::set_in_force`].
    pub fn snapshot(&self) -> (Vec<Project>, u64) {
        (self.all(), self.changes)
    }

    pub fn set_in_force(&mut self, number: u64) {
        self.in_force = number;
    }

    /// Counts a client that works in a directory.
    pub fn client_arrived(&mut self, workspace: &Path) {
        let visit = self
            .visits
            .entry(workspace.to_owned())
            .or_insert_with(|| WorkspaceVisit {
                clients: 0,
                location: ProjectLocation::default(),
                dirs: vec![lexical_path(workspace)],
            });
        visit.clients += 1;
    }

    /// Forgets a client, and the directory after its last one.
    pub fn client_left(&mut self, workspace: &Path) {
        if let Some(visit) = self.visits.get_mut(workspace) {
            visit.clients -= 1;
            if visit.clients == 0 {
                self.visits.remove(workspace);
            }
        }
    }

    /// Records a new scan of a directory.
    pub fn update_workspace(&mut self, workspace: &Path, (location, files): WorkspaceScan) {
        if let Some(root) = &location.root {
            self.update_project(root, files);
        }
        // One of these directories may have had a file that no longer exists.
        for dir in &location.looked_in {
            if location.root.as_ref() != Some(dir) {
                self.update_project(dir, None);
            }
        }
        if let Some(visit) = self.visits.get_mut(workspace) {
            add_directory(&mut visit.dirs, &location);
            visit.location = location;
        }
    }

    /// Records the current files of a project, or `None` if they no longer exist.
    pub fn update_project(&mut self, root: &Path, files: Option<ProjectFiles>) {
        if self.read.get(root) == files.as_ref() {
            return;
        }
        self.changes += 1;
        drop(match files {
            Some(files) => self.read.insert(root.into(), files),
            None => self.read.remove(root),
        });
    }

    /// The project of clients that work in `workspace`.
    pub fn of(&self, workspace: &Path) -> Option<Arc<Path>> {
        let root = self.visits.get(workspace)?.location.root.as_deref()?;
        self.read
            .get_key_value(root)
            .map(|(root, _)| Arc::clone(root))
    }

    /// The context of a client that works in `workspace`.
    pub fn workplace(&self, workspace: &Path) -> WorkspaceContext {
        let dirs = self.visits.get(workspace).map(|visit| visit.dirs.clone());
        WorkspaceContext {
            project: self.of(workspace),
            dirs: dirs.unwrap_or_else(|| vec![lexical_path(workspace)]),
        }
    }

    /// The context of a directory that was just scanned. No client needs to work there.
    pub fn workplace_at(&self, workspace: &Path, location: &ProjectLocation) -> WorkspaceContext {
        let root = location.root.as_deref();
        let known = root.and_then(|root| self.read.get_key_value(root));
        let mut dirs = vec![lexical_path(workspace)];
        add_directory(&mut dirs, location);
        WorkspaceContext {
            project: known.map(|(root, _)| Arc::clone(root)),
            dirs,
        }
    }

    /// The nearest approved directory in or above the client's, whether or not it still has files.
    pub fn approved_above(&self, workplace: &WorkspaceContext) -> Option<PathBuf> {
        let mut above = workplace.dirs.iter().flat_map(|dir| dir.ancestors());
        above
            .find(|dir| self.approvals.of(dir).is_some())
            .map(Path::to_owned)
    }

    /// Remarks about project files in or above a client's directory that are ignored because a stranger could have
    /// written them.
    pub fn ignored_file_notes(&self, workspace: &Path) -> Vec<String> {
        let visit = self.visits.get(workspace);
        let ignored = visit.into_iter().flat_map(|visit| &visit.location.ignored);
        ignored
            .map(|(path, reason)| format!("{} is ignored: {reason}", path.display()))
            .collect()
    }

    pub fn workspaces(&self) -> Vec<PathBuf> {
        self.visits.keys().cloned().collect()
    }

    pub fn roots(&self) -> Vec<Arc<Path>> {
        self.read.keys().cloned().collect()
    }

    /// The files to watch: files whose change or creation may change a project.
    pub fn watched_files(&self) -> BTreeSet<PathBuf> {
        let roots = self.read.keys().map(|root| root.to_path_buf());
        let visits = self.visits.values();
        let dirs = roots.chain(visits.flat_map(|visit| visit.location.looked_in.iter().cloned()));
        dirs.flat_map(|dir| project_files::PROJECT_FILE_NAMES.map(|name| dir.join(name)))
            .collect()
    }

    /// A known project by its directory.
    pub fn project(&self, root: &Path) -> Option<Project> {
        let (root, files) = self.read.get_key_value(root)?;
        Some(self.describe_project(Arc::clone(root), files.clone()))
    }

    /// Describes a project from files that were just read. No client needs to work there.
    pub fn describe_project(&self, root: Arc<Path>, files: ProjectFiles) -> Project {
        let approved = self.approvals.of(&root);
        let state = match approved {
            None => ProjectState::New,
            Some(approval) if files.digest().as_ref() == Some(&approval.digest) => {
                ProjectState::Approved
            }
            Some(_) => ProjectState::Changed,
        };
        Project {
            still_denied: match (state, approved) {
                (ProjectState::Changed, Some(approval)) => approval.denied(),
                _ => Vec::new(),
            },
            approved: approved.cloned(),
            content: ProjectContent::of(&files),
            root,
            files,
            state,
        }
    }

    pub fn all(&self) -> Vec<Project> {
        let roots = self.read.keys();
        roots.filter_map(|root| self.project(root)).collect()
    }

    pub fn approvals(&self) -> &ProjectApprovals {
        &self.approvals
    }

    /// Reads the approvals again: another daemon may have changed them.
    pub fn read_approvals_again(&mut self) {
        if self.approvals.read_again() {
            self.changes += 1;
        }
    }

    /// The denials of approved files, whether or not the files still exist. `home` replaces `~` in rules.
    pub fn denials(&self, home: &Path) -> ProjectDenials {
        let all = self.approvals.all().map(|(root, approval)| {
            let root: Arc<Path> = root.into();
            let files = self.read.get(&root);
            let is_current =
                files.and_then(ProjectFiles::digest).as_ref() == Some(&approval.digest);
            let text = if is_current {
                ProjectText::Current
            } else {
                ProjectText::Approved
            };
            let list = RuleList::Project(Arc::clone(&root), text);
            // Problems are reported on approval and in `mux project show`.
            let denied = Policy::new(&approval.denied(), list, home, &mut Vec::new());
            (root, Arc::new(denied))
        });
        all.filter(|(_, denied)| !denied.rules().is_empty())
            .collect()
    }

    /// Approves the content with the digest `seen`. Fails if the files have changed since.
    pub fn approve(&mut self, root: &Path, seen: &str) -> Result<(), String> {
        let files = self.read.get(root);
        let texts = files.and_then(ProjectFiles::texts);
        let texts = texts.ok_or("it has no readable project files")?;
        if files.and_then(ProjectFiles::digest).as_deref() != Some(seen) {
            return Err("its files have changed since you saw them".into());
        }
        let texts = texts.into_iter();
        let approval = ProjectApproval {
            digest: seen.to_owned(),
            files: texts
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
        };
        self.changes += 1;
        self.approvals.set(root, Some(approval))
    }

    /// Revokes an approval. Returns whether there was one.
    pub fn revoke(&mut self, root: &Path) -> Result<bool, String> {
        if self.approvals.of(root).is_none() {
            return Ok(false);
        }
        self.changes += 1;
        self.approvals.set(root, None).map(|()| true)
    }
}

impl ProjectView {
    /// The hint for a call of a server that the project defines but that is not approved.
    pub fn withheld_server_hint(&self, name: &str) -> Option<String> {
        let mut withheld = self.withheld.iter();
        let (known, file) = withheld.find(|(known, _)| spell(known) == spell(name))?;
        Some(format!(
            "`{known}` is defined in {file} of this project, which you have not approved: mux project approve"
        ))
    }
}

impl Project {
    pub fn is_approved(&self) -> bool {
        self.state == ProjectState::Approved
    }

    /// The servers that the project adds to the user's own, whose names are `taken`. The second value has a note for
    /// each server whose name the user's configuration already has.
    pub fn servers<'a>(
        &'a self,
        taken: &[String],
    ) -> (BTreeMap<&'a str, &'a DefinedServer>, Vec<String>) {
        let mut notes = Vec::new();
        let mut servers = BTreeMap::new();
        for (name, defined) in &self.content.servers {
            let clash = taken.iter().find(|own| spell(own) == spell(name));
            match clash {
                Some(own) => notes.push(format!(
                    "`{name}` of {} in {} is not used: [servers.{own}] of config.toml has the same name",
                    defined.file,
                    self.root.display()
                )),
                None => {
                    servers.insert(name.as_str(), defined);
                }
            }
        }
        (servers, notes)
    }

    /// The notice for clients that work in a project without approval.
    pub fn approval_notice(&self) -> String {
        let files: Vec<&str> = self.files.files.iter().map(|(name, _)| *name).collect();
        let names: Vec<String> = self
            .content
            .servers
            .keys()
            .map(|name| format!("`{name}`"))
            .collect();
        let servers = match names.as_slice() {
            [] => "no server".into(),
            names => names.join(", "),
        };
        let (define, state) = match (files.len(), self.state) {
            (0 | 1, ProjectState::Changed) => ("defines", "has changed since you approved it"),
            (0 | 1, _) => ("defines", "is not approved"),
            (_, ProjectState::Changed) => ("define", "have changed since you approved them"),
            _ => ("define", "are not approved"),
        };
        let denials = match (self.still_denied.is_empty(), self.content.denied.is_empty()) {
            (true, true) => "",
            (true, false) => " (its denials already apply)",
            (false, _) => " (the denials that you approved stay until `mux project revoke`)",
        };
        format!(
            "{} in {} {define} {servers}, and {state}{denials}; see `mux project show`, then `mux project approve`",
            files.join(" and "),
            self.root.display()
        )
    }
}

/// The maximum number of directories kept for one visit.
const MAX_VISIT_DIRECTORIES: usize = 8;

fn add_directory(dirs: &mut Vec<PathBuf>, location: &ProjectLocation) {
    if let Some(dir) = &location.workspace
        && !dirs.contains(dir)
        && dirs.len() < MAX_VISIT_DIRECTORIES
    {
        dirs.push(dir.clone());
    }
}

/// A path without `.` and `..`, resolved lexically.
pub fn lexical_path(path: &Path) -> PathBuf {
    let mut named = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(named.pop()),
            part => named.push(part),
        }
    }
    named
}

#[cfg(test)]
mod tests;
