//! Clients come to a directory, and its project is looked at; the user approves it, or takes that back.
//!
//! Invariant: the disk is read beside the connections' own work, and never while the projects are locked.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{task::spawn_blocking, time::timeout};

use super::{Daemon, LoadTrigger};
use mux_settings::projects::{
    Project, ProjectFiles, ProjectLocation, WorkspaceContext, WorkspaceScan, scan_workspace,
};

/// A directory on a disk that does not answer has no project.
const PROJECT_READ_TIMEOUT: Duration = Duration::from_secs(2);
/// Most clients are gone before it is worth a watch.
const CLIENT_SETTLE_DELAY: Duration = Duration::from_millis(500);

impl Daemon {
    /// The daemon before us has approved and revoked projects until now.
    pub(crate) async fn read_approvals_again(self: &Arc<Self>) {
        self.look_at_approvals().await;
        // What is wrong stands in `status`.
        drop(self.load(LoadTrigger::Projects).await);
    }

    /// Two daemons of an upgrade share the file.
    async fn look_at_approvals(self: &Arc<Self>) {
        let daemon = Arc::clone(self);
        let read = spawn_blocking(move || daemon.projects().read_approvals_again());
        // It is read again with the next change.
        drop(read.await);
    }

    /// A client works there from now on, until it has [`count_closed`](Self::count_closed). Cancel-safe.
    pub async fn arrived(&self, workspace: &Path) {
        let looked = self.look(workspace).await;
        let mut projects = self.projects();
        projects.client_arrived(workspace);
        if let Some(looked) = looked {
            projects.update_workspace(workspace, looked);
        }
        drop(projects);
        self.moved.notify_one();
    }

    /// Resolves when what was last seen of the projects is in force.
    pub async fn projects_in_force(self: &Arc<Self>) {
        if self.projects().is_stale() {
            // What is wrong stands in `status`.
            drop(self.load(LoadTrigger::Projects).await);
        }
    }

    pub fn left(&self, workspace: &Path) {
        self.projects().client_left(workspace);
    }

    /// The project of a directory in which a client works.
    pub fn project_of(&self, workspace: &Path) -> Option<Arc<Path>> {
        self.projects().of(workspace)
    }

    /// Where a client works that has [`arrived`](Self::arrived).
    pub fn workplace(&self, workspace: &Path) -> WorkspaceContext {
        self.projects().workplace(workspace)
    }

    /// The same of any directory, as it is now.
    pub async fn workplace_at(self: &Arc<Self>, dir: &Path) -> WorkspaceContext {
        let place = self.found(dir).await;
        self.projects().workplace_at(dir, &place)
    }

    /// The project to which a directory belongs, as it is now; or one that was approved, and whose files are gone.
    pub async fn project(self: &Arc<Self>, dir: &Path) -> Option<Project> {
        let place = self.found(dir).await;
        let root = {
            let projects = self.projects();
            let workplace = projects.workplace_at(dir, &place);
            if let Some(root) = &workplace.project {
                return projects.project(root);
            }
            projects.approved_above(&workplace)?
        };
        let files = self.files(root.clone()).await.flatten();
        let projects = self.projects();
        Some(projects.describe_project(root.into(), files.unwrap_or_default()))
    }

    /// Where a directory belongs, after its project was read.
    async fn found(self: &Arc<Self>, dir: &Path) -> ProjectLocation {
        let Some((place, files)) = self.look(dir).await else {
            return ProjectLocation::default();
        };
        if let Some(root) = &place.root {
            self.read_again(root, files).await;
        }
        place
    }

    /// Those in which somebody works or worked, and those that are approved.
    pub async fn all_projects(&self) -> Vec<Project> {
        let others: Vec<PathBuf> = {
            let projects = self.projects();
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
        let projects = self.projects();
        let mut all = projects.all();
        let others = others.into_iter();
        all.extend(others.map(|(files, root)| projects.describe_project(root.into(), files)));
        all.sort_by(|a, b| a.root.cmp(&b.root));
        all
    }

    /// The user approves what he has `seen`, by its digest.
    pub async fn approve(self: &Arc<Self>, root: &Path, seen: String) -> Result<(), String> {
        let files = self.files(root.to_owned()).await;
        let files = files.ok_or("the disk on which it lies does not answer")?;
        self.read_again(root, files).await;
        let (daemon, place) = (Arc::clone(self), root.to_owned());
        // It waits for the disk.
        let approved = spawn_blocking(move || daemon.projects().approve(&place, &seen));
        approved.await.map_err(|error| error.to_string())??;
        self.load(LoadTrigger::Projects).await.map(drop)
    }

    /// Whether anything was approved there.
    pub async fn revoke(self: &Arc<Self>, root: &Path) -> Result<bool, String> {
        let (daemon, place) = (Arc::clone(self), root.to_owned());
        let revoked = spawn_blocking(move || daemon.projects().revoke(&place));
        let revoked = revoked.await.map_err(|error| error.to_string())??;
        self.load(LoadTrigger::Projects).await.map(|_| revoked)
    }

    /// Looks at every project that is known, and wherever somebody works. Whether any is otherwise.
    pub(super) async fn look_at_projects(self: &Arc<Self>) -> bool {
        self.look_at_approvals().await;
        let (workspaces, roots) = {
            let projects = self.projects();
            (projects.workspaces(), projects.roots())
        };
        for workspace in workspaces {
            if let Some(looked) = self.look(&workspace).await {
                self.projects().update_workspace(&workspace, looked);
            }
        }
        for root in roots {
            if let Some(files) = self.files(root.to_path_buf()).await {
                self.projects().update_project(&root, files);
            }
        }
        self.projects().is_stale()
    }

    /// Resolves when other directories are to be watched, and nobody comes or goes for a moment.
    pub(super) async fn settled(&self) {
        self.moved.notified().await;
        tokio::time::sleep(CLIENT_SETTLE_DELAY).await;
    }

    async fn read_again(self: &Arc<Self>, root: &Path, files: Option<ProjectFiles>) {
        self.projects().update_project(root, files);
        self.moved.notify_one();
        self.projects_in_force().await;
    }

    async fn look(&self, workspace: &Path) -> Option<WorkspaceScan> {
        if !workspace.is_absolute() {
            return None;
        }
        let (workspace, home) = (workspace.to_owned(), self.places.home.clone());
        let looking = spawn_blocking(move || scan_workspace(&workspace, &home));
        timeout(PROJECT_READ_TIMEOUT, looking).await.ok()?.ok()
    }

    /// What there is now; `None` if the disk does not answer, and what is known stays so.
    async fn files(&self, root: PathBuf) -> Option<Option<ProjectFiles>> {
        let reading = spawn_blocking(move || ProjectFiles::read(&root));
        timeout(PROJECT_READ_TIMEOUT, reading).await.ok()?.ok()
    }
}
