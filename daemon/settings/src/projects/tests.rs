//! Which clients see which project, and the content that an approval covers.

use std::fs;

use super::*;

struct ProjectFixture {
    dir: tempfile::TempDir,
    projects: Projects,
}

impl ProjectFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let approvals = ProjectApprovals::open(dir.path().join("projects.json"));
        let projects = Projects::new(approvals);
        Self { dir, projects }
    }

    fn project(&self, name: &str, text: &str) -> PathBuf {
        let root = self.dir.path().join(name);
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join(".mcp.json"), text).unwrap();
        fs::canonicalize(root).unwrap()
    }

    /// Adds a client. Returns whether there was a change that was not applied.
    fn arrive(&mut self, workspace: &Path) -> bool {
        let looked = scan_workspace(workspace, self.dir.path());
        self.projects.client_arrived(workspace);
        self.projects.update_workspace(workspace, looked);
        let stale = self.projects.is_stale();
        let (_, number) = self.projects.snapshot();
        self.projects.set_in_force(number);
        stale
    }

    fn state(&self, root: &Path) -> ProjectState {
        self.projects.project(root).unwrap().state
    }
}

const ONE: &str = r#"{"mcpServers": {"db": {"command": "one"}}}"#;
const TWO: &str = r#"{"mcpServers": {"db": {"command": "two"}, "my-web": {"command": "w"}}}"#;

#[test]
fn approval_covers_one_content_in_one_directory() {
    let mut ground = ProjectFixture::new();
    let one = ground.project("one", ONE);
    let two = ground.project("two", ONE);
    assert!(ground.arrive(&one) && ground.arrive(&two));
    assert!(!ground.arrive(&one), "nothing new");
    let seen = ground
        .projects
        .project(&one)
        .unwrap()
        .files
        .digest()
        .unwrap();
    ground.projects.approve(&one, &seen).unwrap();
    assert_eq!(ground.state(&one), ProjectState::Approved);
    assert_eq!(
        ground.state(&two),
        ProjectState::New,
        "the same text elsewhere"
    );
    ground.project("one", TWO);
    ground
        .projects
        .update_project(&one, ProjectFiles::read(&one));
    assert!(ground.projects.is_stale());
    assert_eq!(ground.state(&one), ProjectState::Changed);
    let refused = ground.projects.approve(&one, &seen).unwrap_err();
    assert!(refused.contains("have changed since"), "{refused}");
    ground.project("one", ONE);
    ground
        .projects
        .update_project(&one, ProjectFiles::read(&one));
    assert_eq!(
        ground.state(&one),
        ProjectState::Approved,
        "it is what was seen"
    );
    assert!(ground.projects.revoke(&one).unwrap());
    assert!(!ground.projects.revoke(&one).unwrap());
    assert_eq!(ground.state(&one), ProjectState::New);
}

#[test]
fn project_covers_only_its_own_directories() {
    let mut ground = ProjectFixture::new();
    let one = ground.project("one", ONE);
    let sub = one.join("a/b");
    let beside = ground.dir.path().join("beside");
    fs::create_dir_all(&sub).unwrap();
    fs::create_dir_all(&beside).unwrap();
    ground.arrive(&sub);
    ground.arrive(&beside);
    assert_eq!(ground.projects.of(&sub).as_deref(), Some(one.as_path()));
    assert_eq!(ground.projects.of(&beside), None);
    let watched = ground.projects.watched_files();
    assert!(watched.contains(&one.join("a/.mcp.json")), "one may come");
    ground.projects.client_left(&sub);
    assert_eq!(ground.projects.of(&sub), None);
    assert!(
        ground
            .projects
            .watched_files()
            .contains(&one.join(".mcp.json"))
    );
}

#[test]
fn names_of_user_servers_have_precedence() {
    let mut ground = ProjectFixture::new();
    let one = ground.project("one", TWO);
    ground.arrive(&one);
    let project = ground.projects.project(&one).unwrap();
    let (servers, notes) = project.servers(&["my_web".into(), "other".into()]);
    assert_eq!(servers.keys().collect::<Vec<_>>(), [&"db"]);
    assert!(notes[0].contains("[servers.my_web]"), "{notes:?}");
    let notice = project.approval_notice();
    assert!(notice.contains("`db`, `my-web`") && notice.contains("mux project approve"));
}
