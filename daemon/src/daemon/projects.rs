//! Projects of the directories in which clients work: looked up, approved and revoked.
//!
//! Invariant: the disk is read on blocking threads, and never while the projects are locked.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::task::spawn_blocking;

use super::{Daemon, LoadTrigger};
use mux_settings::projects::{
    Project, ProjectFiles, ProjectLocation, WorkspaceContext, WorkspaceScan, scan_workspace,
};

/// How long to wait before directories are watched: most clients disconnect before a watch is worth it.
const CLIENT_SETTLE_DELAY: Duration = Duration::from_millis(500);

impl Daemon {
    /// Reads the approvals that the predecessor wrote until now.
    pub(crate) async fn read_approvals_again(self: &Arc<Self>) {
        self.look_at_approvals().await;
        // Problems are reported by `status`.
        drop(self.load(LoadTrigger::Projects).await);
    }

    /// Reads the file of approvals, which the two daemons of an upgrade share.
    async fn look_at_approvals(self: &Arc<Self>) {
        let daemon = Arc::clone(self);
        let read = spawn_blocking(move || daemon.projects.lock().read_approvals_again());
        // If this fails, the file is read again after the next change.
        drop(read.await);
    }

    /// Counts a client that works in this directory, until it has [`left`](Self::left). Cancel-safe.
    pub async fn arrived(&self, workspace: &Path) {
        let looked = self.look(workspace).await;
        let mut projects = self.projects.lock();
        projects.client_arrived(workspace);
        if let Some(looked) = looked {
            projects.update_workspace(workspace, looked);
        }
        drop(projects);
        self.moved.notify_one();
    }

    /// Resolves when the projects, as last read, are applied.
    pub async fn projects_in_force(self: &Arc<Self>) {
        if self.projects.lock().is_stale() {
            // Problems are reported by `status`.
            drop(self.load(LoadTrigger::Projects).await);
        }
    }

    pub fn left(&self, workspace: &Path) {
        self.projects.lock().client_left(workspace);
    }

    /// The root of the project to which a client's directory belongs.
    pub fn project_of(&self, workspace: &Path) -> Option<Arc<Path>> {
        self.projects.lock().of(workspace)
    }

    /// The project and directory of a client that has [`arrived`](Self::arrived).
    pub fn workplace(&self, workspace: &Path) -> WorkspaceContext {
        self.projects.lock().workplace(workspace)
    }

    /// Remarks about project files that are ignored.
    pub(crate) fn ignored_project_files(&self, workspace: &Path) -> Vec<String> {
        self.projects.lock().ignored_file_notes(workspace)
    }

    /// Reads the project of any directory, and returns it as a context.
    pub async fn workplace_at(self: &Arc<Self>, dir: &Path) -> WorkspaceContext {
        let place = self.found(dir).await;
        self.projects.lock().workplace_at(dir, &place)
    }

    /// Reads the project to which a directory belongs. If its files are gone, returns an approved project above it.
    pub async fn project(self: &Arc<Self>, dir: &Path) -> Option<Project> {
        let place = self.found(dir).await;
        let root = {
            let projects = self.projects.lock();
            let workplace = projects.workplace_at(dir, &place);
            if let Some(root) = &workplace.project {
                return projects.project(root);
            }
            projects.approved_above(&workplace)?
        };
        let files = self.files(root.clone()).await.flatten();
        let projects = self.projects.lock();
        Some(projects.describe_project(root.into(), files.unwrap_or_default()))
    }

    /// Finds the project of a directory, and updates it.
    async fn found(self: &Arc<Self>, dir: &Path) -> ProjectLocation {
        let Some((place, files)) = self.look(dir).await else {
            return ProjectLocation::default();
        };
        if let Some(root) = &place.root {
            self.read_again(root, files).await;
        }
        place
    }

    /// All projects in which a client works or worked, and all approved ones.
    pub async fn all_projects(&self) -> Vec<Project> {
        let others: Vec<PathBuf> = {
            let projects = self.projects.lock();
            let read = projects.roots();
            let approved = projects.approvals().roots();
            let others = approved.filter(|root| !read.iter().any(|known| **known == **root));
            others.map(Path::to_owned).collect()
        };
        let read = spawn_blocking(move || {
            let read = |root: PathBuf| (ProjectFiles::read(&root).unwrap_or_default(), root);
            others.into_iter().map(read).collect::<Vec<_>>()
        });
        let others = read.await.unwrap_or_default();
        let projects = self.projects.lock();
        let mut all = projects.all();
        let others = others.into_iter();
        all.extend(others.map(|(files, root)| projects.describe_project(root.into(), files)));
        all.sort_by(|a, b| a.root.cmp(&b.root));
        all
    }

    /// Approves the files that the user has `seen`, by their digest.
    pub async fn approve(self: &Arc<Self>, root: &Path, seen: String) -> Result<(), String> {
        let files = self.files(root.to_owned()).await;
        let files = files.ok_or("its disk does not respond")?;
        self.read_again(root, files).await;
        let daemon = Arc::clone(self);
        let place = root.to_owned();
        // Approving writes to the disk.
        let approved = spawn_blocking(move || daemon.projects.lock().approve(&place, &seen));
        approved.await.map_err(|error| error.to_string())??;
        let loaded = self.load(LoadTrigger::Projects).await;
        loaded.map(drop).map_err(|error| error.to_string())
    }

    /// Revokes an approval. Returns false if there was none.
    pub async fn revoke(self: &Arc<Self>, root: &Path) -> Result<bool, String> {
        let daemon = Arc::clone(self);
        let place = root.to_owned();
        let revoked = spawn_blocking(move || daemon.projects.lock().revoke(&place));
        let revoked = revoked.await.map_err(|error| error.to_string())??;
        let loaded = self.load(LoadTrigger::Projects).await;
        loaded.map(|_| revoked).map_err(|error| error.to_string())
    }

    /// Reads every known project and every client's directory again. Returns true if any changed.
    pub(super) async fn look_at_projects(self: &Arc<Self>) -> bool {
        self.look_at_approvals().await;
        let (workspaces, roots) = {
            let projects = self.projects.lock();
            (projects.workspaces(), projects.roots())
        };
        for workspace in workspaces {
            if let Some(looked) = self.look(&workspace).await {
                self.projects.lock().update_workspace(&workspace, looked);
            }
        }
        for root in roots {
            if let Some(files) = self.files(root.to_path_buf()).await {
                self.projects.lock().update_project(&root, files);
            }
        }
        self.projects.lock().is_stale()
    }

    /// Resolves when the set of watched directories has to change, after a short delay for clients that come and go.
    pub(super) async fn settled(&self) {
        self.moved.notified().await;
        tokio::time::sleep(CLIENT_SETTLE_DELAY).await;
    }

    async fn read_again(self: &Arc<Self>, root: &Path, files: Option<ProjectFiles>) {
        self.projects.lock().update_project(root, files);
        self.moved.notify_one();
        self.projects_in_force().await;
    }

    async fn look(&self, workspace: &Path) -> Option<WorkspaceScan> {
        if !workspace.is_absolute() {
            return None;
        }
        let dir = workspace.to_owned();
        let home = self.paths.home.clone();
        let scan = move || scan_workspace(&dir, &home);
        self.project_scans.read(workspace, scan).await
    }

    /// The project's files now; `None` if the disk does not respond, and then the known files stay.
    async fn files(&self, root: PathBuf) -> Option<Option<ProjectFiles>> {
        let dir = root.clone();
        let read = move || ProjectFiles::read(&dir);
        self.project_reads.read(&root, read).await
    }
}
