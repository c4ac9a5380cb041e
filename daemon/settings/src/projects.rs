//! Servers that a project's files define, for those who work in it.
//!
//! Invariant: a file that the user has not approved, as it is now and where it is now, starts nothing, runs
//! nothing, and gives nobody a server. To deny needs no approval, and is never undone by a change of the file: what the
//! approved text denies holds until the user revokes the approval.

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

use mux_typegen::names::spell;

use mux_config::PolicyEntry;
use mux_policy::{Policy, ProjectText, RuleList};

pub use self::{
    project_approvals::{ProjectApproval, ProjectApprovals},
    project_content::{DefinedServer, ProjectContent},
    project_files::{ProjectFiles, ProjectLocation, find},
};

/// What is known of the projects in which somebody works or worked.
#[derive(Debug)]
pub struct Projects {
    approvals: ProjectApprovals,
    /// By canonical path, as they were last read.
    read: BTreeMap<Arc<Path>, ProjectFiles>,
    /// The directories in which clients work, as they named them.
    visits: HashMap<PathBuf, WorkspaceVisit>,
    /// Counts what changed, files and approvals.
    changes: u64,
    /// How much of that is in force.
    in_force: u64,
}

/// One directory in which clients work.
#[derive(Debug)]
struct WorkspaceVisit {
    clients: usize,
    place: ProjectLocation,
    /// The directory as it was named, and every one to which that has led.
    dirs: Vec<PathBuf>,
}

/// Where a client works.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct WorkspaceContext {
    /// The project to which the directory belongs.
    pub project: Option<Arc<Path>>,
    /// The directory by its name and without links. What was approved in it, or above it, denies.
    pub dirs: Vec<PathBuf>,
}

/// What approved texts deny, by the directory of their project.
pub type ProjectDenials = BTreeMap<Arc<Path>, Arc<Policy>>;

/// A project as the user sees it.
#[derive(Clone, Debug)]
pub struct Project {
    pub root: Arc<Path>,
    pub files: ProjectFiles,
    pub content: ProjectContent,
    pub standing: ApprovalStatus,
    /// What was approved, if anything was.
    pub approved: Option<ProjectApproval>,
    /// What the approved text denies, where the files say something else now.
    pub still_denied: Vec<PolicyEntry>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ApprovalStatus {
    /// Nobody has approved anything there.
    New,
    /// Something else was approved.
    Changed,
    Approved,
}

/// What those who work in a project see of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectView {
    pub root: Arc<Path>,
    /// The servers of files that are not approved, each with its file.
    pub withheld: BTreeMap<String, &'static str>,
    /// What its files deny as they are now, where they are not approved.
    pub denied: Arc<Policy>,
    /// Globs of paths that are offered as ordinary tools.
    pub direct: Vec<String>,
    /// What they should know.
    pub notes: Vec<String>,
}

/// What was found of a directory and its project.
pub type WorkspaceScan = (ProjectLocation, Option<ProjectFiles>);

/// Reads what there is, from the disk.
pub fn scan_workspace(workspace: &Path, home: &Path) -> WorkspaceScan {
    let place = find(workspace, home);
    let files = place.root.as_deref().and_then(ProjectFiles::read);
    (place, files)
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

    /// Whether what is known is not in force yet.
    pub fn is_stale(&self) -> bool {
        self.changes != self.in_force
    }

    /// Everything that is known, and its number for [`Self::set_in_force`].
    pub fn snapshot(&self) -> (Vec<Project>, u64) {
        (self.all(), self.changes)
    }

    pub fn set_in_force(&mut self, number: u64) {
        self.in_force = number;
    }

    /// A client has come; what is known of the directory stays so.
    pub fn client_arrived(&mut self, workspace: &Path) {
        let visit = self
            .visits
            .entry(workspace.to_owned())
            .or_insert_with(|| WorkspaceVisit {
                clients: 0,
                place: ProjectLocation::default(),
                dirs: vec![lexical_path(workspace)],
            });
        visit.clients += 1;
    }

    /// A client has gone.
    pub fn client_left(&mut self, workspace: &Path) {
        if let Some(visit) = self.visits.get_mut(workspace) {
            visit.clients -= 1;
            if visit.clients == 0 {
                self.visits.remove(workspace);
            }
        }
    }

    /// What was found there now.
    pub fn update_workspace(&mut self, workspace: &Path, (place, files): WorkspaceScan) {
        if let Some(root) = &place.root {
            self.update_project(root, files);
        }
        // There was a file in one of these, perhaps, and there is none now.
        for dir in &place.looked_in {
            if place.root.as_ref() != Some(dir) {
                self.update_project(dir, None);
            }
        }
        if let Some(visit) = self.visits.get_mut(workspace) {
            add_directory(&mut visit.dirs, &place);
            visit.place = place;
        }
    }

    /// What the files of a project say now; `None` if they are gone.
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

    /// The project of those who work there.
    pub fn of(&self, workspace: &Path) -> Option<Arc<Path>> {
        let root = self.visits.get(workspace)?.place.root.as_deref()?;
        self.read
            .get_key_value(root)
            .map(|(root, _)| Arc::clone(root))
    }

    /// Where somebody works whose client has come.
    pub fn workplace(&self, workspace: &Path) -> WorkspaceContext {
        let dirs = self.visits.get(workspace).map(|visit| visit.dirs.clone());
        WorkspaceContext {
            project: self.of(workspace),
            dirs: dirs.unwrap_or_else(|| vec![lexical_path(workspace)]),
        }
    }

    /// The same of a directory that was just looked at, and in which nobody needs to work.
    pub fn workplace_at(&self, workspace: &Path, place: &ProjectLocation) -> WorkspaceContext {
        let root = place.root.as_deref();
        let known = root.and_then(|root| self.read.get_key_value(root));
        let mut dirs = vec![lexical_path(workspace)];
        add_directory(&mut dirs, place);
        WorkspaceContext {
            project: known.map(|(root, _)| Arc::clone(root)),
            dirs,
        }
    }

    /// The nearest directory that was approved, whether there are files in it or not.
    pub fn approved_above(&self, workplace: &WorkspaceContext) -> Option<PathBuf> {
        let mut above = workplace.dirs.iter().flat_map(|dir| dir.ancestors());
        above
            .find(|dir| self.approvals.of(dir).is_some())
            .map(Path::to_owned)
    }

    pub fn workspaces(&self) -> Vec<PathBuf> {
        self.visits.keys().cloned().collect()
    }

    pub fn roots(&self) -> Vec<Arc<Path>> {
        self.read.keys().cloned().collect()
    }

    /// The files whose change, or appearance, may change something.
    pub fn watched_files(&self) -> BTreeSet<PathBuf> {
        let roots = self.read.keys().map(|root| root.to_path_buf());
        let visits = self.visits.values();
        let dirs = roots.chain(visits.flat_map(|visit| visit.place.looked_in.iter().cloned()));
        dirs.flat_map(|dir| project_files::PROJECT_FILE_NAMES.map(|name| dir.join(name)))
            .collect()
    }

    /// Everything that is known of a project.
    pub fn project(&self, root: &Path) -> Option<Project> {
        let (root, files) = self.read.get_key_value(root)?;
        Some(self.describe_project(Arc::clone(root), files.clone()))
    }

    /// The same of one that was just read, and in which nobody works.
    pub fn describe_project(&self, root: Arc<Path>, files: ProjectFiles) -> Project {
        let approved = self.approvals.of(&root);
        let standing = match approved {
            None => ApprovalStatus::New,
            Some(approval) if files.digest().as_ref() == Some(&approval.digest) => {
                ApprovalStatus::Approved
            }
            Some(_) => ApprovalStatus::Changed,
        };
        Project {
            still_denied: match (standing, approved) {
                (ApprovalStatus::Changed, Some(approval)) => approval.denied(),
                _ => Vec::new(),
            },
            approved: approved.cloned(),
            content: ProjectContent::of(&files),
            root,
            files,
            standing,
        }
    }

    pub fn all(&self) -> Vec<Project> {
        let roots = self.read.keys();
        roots.filter_map(|root| self.project(root)).collect()
    }

    pub fn approvals(&self) -> &ProjectApprovals {
        &self.approvals
    }

    /// Another daemon may have approved and revoked since this one read the file.
    pub fn read_approvals_again(&mut self) {
        if self.approvals.read_again() {
            self.changes += 1;
        }
    }

    /// What approved texts deny, whether their files are still there or not. `home` stands for `~` in rules.
    pub fn denials(&self, home: &Path) -> ProjectDenials {
        let all = self.approvals.all().map(|(root, approval)| {
            let root: Arc<Path> = root.into();
            let files = self.read.get(&root);
            let is_current =
                files.and_then(ProjectFiles::digest).as_ref() == Some(&approval.digest);
            let text = match is_current {
                true => ProjectText::Current,
                false => ProjectText::Approved,
            };
            let list = RuleList::Project(Arc::clone(&root), text);
            // Mistakes are told where the text is approved, and in `mux project show`.
            let denied = Policy::new(&approval.denied(), list, home, &mut Vec::new());
            (root, Arc::new(denied))
        });
        all.filter(|(_, denied)| !denied.rules().is_empty())
            .collect()
    }

    /// The user has seen this content and approves it. Refused if it is another one by now.
    pub fn approve(&mut self, root: &Path, seen: &str) -> Result<(), String> {
        let files = self.read.get(root);
        let texts = files.and_then(ProjectFiles::texts);
        let texts = texts.ok_or("there is no file in it that can be read")?;
        if files.and_then(ProjectFiles::digest).as_deref() != Some(seen) {
            return Err("its files are others by now than those that you saw".into());
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

    /// Whether there was anything to take back.
    pub fn revoke(&mut self, root: &Path) -> Result<bool, String> {
        if self.approvals.of(root).is_none() {
            return Ok(false);
        }
        self.changes += 1;
        self.approvals.set(root, None).map(|()| true)
    }
}

impl ProjectView {
    /// How to have a server that the project would give.
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
        self.standing == ApprovalStatus::Approved
    }

    /// The servers that it gives, if the user's own are these: a name that they have is theirs. And what
    /// is to be said of the others.
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
                    "`{name}` of {} in {} is not used: [servers.{own}] of config.toml has the name",
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

    /// What those who work there are told while it is not approved.
    pub fn approval_notice(&self) -> String {
        let files: Vec<&str> = self.files.files.iter().map(|(name, _)| *name).collect();
        let names: Vec<String> = self
            .content
            .servers
            .keys()
            .map(|name| format!("`{name}`"))
            .collect();
        let defines = match names.as_slice() {
            [] => "defines no server".into(),
            names => format!("defines {}", names.join(", ")),
        };
        let standing = match self.standing {
            ApprovalStatus::Changed => "has changed since you approved it",
            _ => "is not approved",
        };
        let denials = match (self.still_denied.is_empty(), self.content.denied.is_empty()) {
            (true, true) => "",
            (true, false) => " (what it denies is denied already)",
            (false, _) => {
                " (what it denied when you approved it stays denied until `mux project revoke`)"
            }
        };
        format!(
            "{} in {} {defines}, and {standing}{denials}; see `mux project show`, then `mux project approve`",
            files.join(" and "),
            self.root.display()
        )
    }
}

/// Directories that one name has led to.
const MAX_VISIT_DIRECTORIES: usize = 8;

fn add_directory(dirs: &mut Vec<PathBuf>, place: &ProjectLocation) {
    if let Some(dir) = &place.workspace
        && !dirs.contains(dir)
        && dirs.len() < MAX_VISIT_DIRECTORIES
    {
        dirs.push(dir.clone());
    }
}

/// A path without `.` and `..`, whatever there is on the disk.
fn lexical_path(path: &Path) -> PathBuf {
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
