//! What one agent sees of the tools, in the directory in which it works.
//!
//! Invariant: a tool that is hidden from an agent cannot be told from one that does not exist. Whoever works for an
//! agent looks at a server's tools through [`SelectionScope::offered`] where they are shown, through [`SelectionScope::snapshot`] where one is
//! called, and at nothing beside these.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use mux_typegen::names::{spell, tool_paths, tool_spellings};

use super::{KnownServer, Tool, ToolSet, search::ToolSearch};
use mux_policy::Policy;
use mux_settings::{
    AgentView, AgentViews,
    projects::{ProjectDenials, ProjectView, WorkspaceContext},
};
use mux_text::glob::{glob, may_match_below};

/// Nothing has this name: whatever hides it hides everything of its server.
const IMPOSSIBLE_NAME: &str = "\u{f8f0}\u{f8f7}\u{f8f1}\u{f8f6}\u{f8f2}\u{f8f5}\u{f8f3}\u{f8f4}\u{f8f0}\u{f8f1}\u{f8f5}\u{f8f2}";

/// Everybody's scopes, made anew with each configuration.
#[derive(Debug, Default)]
pub struct Scopes {
    everybody: Arc<Scope>,
    agents: HashMap<String, Arc<Scope>>,
    projects: BTreeMap<Arc<Path>, Arc<ProjectView>>,
    denials: ProjectDenials,
    /// The same in one directory, made when somebody comes there.
    within: Mutex<WorkplaceScopes>,
    /// Of all that were made in this process.
    number: u64,
}

/// By place, and by agent.
type WorkplaceScopes = HashMap<(WorkspaceContext, Option<String>), Arc<Scope>>;

/// Directories whose scopes are kept; they are quickly made.
const MAX_WORKPLACE_SCOPES: usize = 1000;

/// What one agent sees.
#[derive(Debug, Default)]
pub struct Scope {
    sight: Arc<VisibleTools>,
    /// Globs of the paths that are offered as ordinary tools.
    direct: Vec<String>,
    /// Of those who work in one.
    project: Option<Arc<ProjectView>>,
    /// What projects deny there, the nearest first.
    denied: Vec<Arc<Policy>>,
    /// From where the agent looks.
    place: WorkspaceContext,
    /// By which configuration it was made.
    number: u64,
}

/// Shared by all agents who see the same tools.
#[derive(Debug, Default)]
struct VisibleTools {
    exclude: Vec<String>,
    /// The last of each server: what can be called.
    views: Mutex<HashMap<Arc<str>, FilteredToolSet>>,
    /// The last of each server: what models are shown of it.
    offered: Mutex<HashMap<Arc<str>, FilteredToolSet>>,
    finder: ToolSearch,
}

/// What is left of a server's tools, beside what it was made from.
#[derive(Debug)]
struct FilteredToolSet {
    of: Arc<ToolSet>,
    view: Arc<ToolSet>,
}

impl Scopes {
    pub fn new(
        agents: &AgentViews,
        projects: BTreeMap<Arc<Path>, Arc<ProjectView>>,
        denials: ProjectDenials,
    ) -> Self {
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut sights: Vec<Arc<VisibleTools>> = Vec::new();
        let mut scope = |view: &AgentView| {
            let known = sights.iter().find(|sight| sight.exclude == view.exclude);
            let sight = known.cloned().unwrap_or_else(|| {
                let sight = Arc::new(VisibleTools {
                    exclude: view.exclude.clone(),
                    ..VisibleTools::default()
                });
                sights.push(Arc::clone(&sight));
                sight
            });
            Arc::new(Scope {
                sight,
                direct: view.direct.clone(),
                number,
                ..Scope::default()
            })
        };
        Self {
            everybody: scope(agents.everybody()),
            agents: agents
                .configured_agents()
                .map(|(name, view)| (name.to_owned(), scope(view)))
                .collect(),
            projects,
            denials,
            within: Mutex::default(),
            number,
        }
    }

    /// What somebody sees now who had this scope. `agent` as he was asked for it.
    pub fn refresh_scope(&self, scope: &Arc<Scope>, agent: Option<&str>) -> Arc<Scope> {
        match scope.number == self.number {
            true => Arc::clone(scope),
            false => self.scope_within(&scope.place, agent),
        }
    }

    /// The same for one who works in a directory.
    pub fn scope_within(&self, place: &WorkspaceContext, agent: Option<&str>) -> Arc<Scope> {
        let outside = self.of(agent);
        if *place == WorkspaceContext::default() {
            return outside;
        }
        // Agents without a word of their own are everybody.
        let own = agent.filter(|agent| self.agents.contains_key(*agent));
        let key = (place.clone(), own.map(str::to_owned));
        let mut within = self.within.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scope) = within.get(&key) {
            return Arc::clone(scope);
        }
        let root = place.project.as_ref();
        let outlook = root.and_then(|root| self.projects.get(root)).cloned();
        // Two servers of one name are never in one index.
        let same = within.values().find(|scope| {
            let (one, other) = (&scope.project, &outlook);
            one.as_ref().map(|it| &it.root) == other.as_ref().map(|it| &it.root)
                && scope.sight.exclude == outside.sight.exclude
        });
        let sight = match (same, &outlook) {
            (Some(scope), _) => Arc::clone(&scope.sight),
            (None, None) => Arc::clone(&outside.sight),
            (None, Some(_)) => Arc::new(VisibleTools {
                exclude: outside.sight.exclude.clone(),
                ..VisibleTools::default()
            }),
        };
        let own_direct = outlook.iter().flat_map(|outlook| &outlook.direct);
        let scope = Arc::new(Scope {
            sight,
            direct: outside.direct.iter().chain(own_direct).cloned().collect(),
            denied: self.denied(place, outlook.as_deref()),
            project: outlook,
            place: place.clone(),
            number: self.number,
        });
        if within.len() >= MAX_WORKPLACE_SCOPES {
            within.clear();
        }
        within.insert(key, Arc::clone(&scope));
        scope
    }

    /// Every approved text above the place counts, and the one that is there. Neither a nearer file nor a repository
    /// in between takes anything away.
    fn denied(&self, place: &WorkspaceContext, outlook: Option<&ProjectView>) -> Vec<Arc<Policy>> {
        let above = place.dirs.iter().flat_map(|dir| dir.ancestors());
        let root = outlook.map(|outlook| &*outlook.root);
        let mut denied: Vec<Arc<Policy>> = Vec::new();
        for policy in above.chain(root).filter_map(|dir| self.denials.get(dir)) {
            if !denied.iter().any(|known| Arc::ptr_eq(known, policy)) {
                denied.push(Arc::clone(policy));
            }
        }
        let now = outlook.map(|outlook| &outlook.denied);
        denied.extend(now.filter(|now| !now.rules().is_empty()).cloned());
        denied
    }

    /// Where a client works that was there before: the project that its directory lies in, among those that are known.
    pub fn workplace_of(&self, workspace: &Path) -> WorkspaceContext {
        let mut above = workspace.ancestors();
        let project = above.find_map(|dir| self.projects.get_key_value(dir));
        WorkspaceContext {
            project: project.map(|(root, _)| Arc::clone(root)),
            dirs: vec![workspace.to_owned()],
        }
    }

    /// An agent that nobody configured sees what everybody does.
    pub fn of(&self, agent: Option<&str>) -> Arc<Scope> {
        let own = agent.and_then(|agent| self.agents.get(agent));
        Arc::clone(own.unwrap_or(&self.everybody))
    }
}

impl Scope {
    /// The tools of a server without the hidden ones.
    pub fn view(&self, tools: &Arc<ToolSet>) -> Arc<ToolSet> {
        let Some(first) = tools.iter().next() else {
            return Arc::clone(tools);
        };
        if self.sight.exclude.is_empty() {
            return Arc::clone(tools);
        }
        cached_view(&self.sight.views, &first.server, tools, |tool| {
            self.hides(tool)
        })
    }

    /// What models are shown of a server's tools: those that it has for its own pages are left out, though whoever
    /// knows their names can call them.
    pub fn offered(&self, tools: &Arc<ToolSet>) -> Arc<ToolSet> {
        let view = self.view(tools);
        let for_apps = |tool: &Tool| tool.is_for_apps;
        let Some(one) = view.iter().find(|tool| for_apps(tool)) else {
            return view;
        };
        cached_view(&self.sight.offered, &one.server, &view, for_apps)
    }

    /// Whether a server of this project, or of none, is one that is seen here.
    pub fn sees_project(&self, project: Option<&Path>) -> bool {
        project.is_none_or(|root| self.project().is_some_and(|own| &*own.root == root))
    }

    /// The project in which the agent works.
    pub fn project(&self) -> Option<&ProjectView> {
        self.project.as_deref()
    }

    /// What projects deny there, the nearest first.
    pub fn denied(&self) -> &[Arc<Policy>] {
        &self.denied
    }

    /// What those who work there should know.
    pub fn notes(&self) -> Vec<String> {
        let project = self.project();
        let mut notes = project.map_or_else(Vec::new, |project| project.notes.clone());
        // Of the project itself it is told there.
        let own = project.map(|project| &*project.root);
        let others = self
            .denied
            .iter()
            .filter_map(|denied| denied.approved_before());
        notes.extend(others.filter(|root| own != Some(root)).map(|root| {
            let root = root.display();
            format!(
                "what .mux.toml in {root} denied when you approved it is denied here; `mux project revoke {root}` ends that"
            )
        }));
        notes
    }

    /// Whether nothing of this server can be seen, whatever its tools are.
    pub fn hides_server(&self, server: &str) -> bool {
        self.hides_path(server, IMPOSSIBLE_NAME)
    }

    /// The same for what is no tool, such as `resources/read` of a server.
    pub fn hides_path(&self, server: &str, method: &str) -> bool {
        let hides = |server: &str| {
            let path = format!("{server}.{method}");
            let mut exclude = self.sight.exclude.iter();
            exclude.any(|pattern| glob(pattern, &path))
        };
        !self.sight.exclude.is_empty() && (hides(server) || hides(&spell(server)))
    }

    /// Whether a tool of this name would be hidden, or is one of those that the server's entry leaves out.
    pub fn hides_tool(&self, server: &str, name: &str, left_out: &[String]) -> bool {
        let spellings = || tool_spellings(name);
        let mut left_out = left_out.iter();
        left_out.any(|pattern| spellings().iter().any(|name| glob(pattern, name)))
            || is_path_hidden(&self.sight.exclude, server, name)
    }

    /// Whether any tool is hidden whose name begins so.
    pub fn may_hide_below(&self, server: &str, head: &str) -> bool {
        let heads = tool_paths(server, head);
        let mut exclude = self.sight.exclude.iter();
        exclude.any(|pattern| heads.iter().any(|head| may_match_below(pattern, head)))
    }

    /// What models are shown of these servers.
    pub fn visible_servers(&self, mut servers: Vec<KnownServer>) -> Vec<KnownServer> {
        servers.retain(|server| !self.hides_server(&server.name));
        for server in &mut servers {
            server.tools = server.tools.as_ref().map(|tools| self.offered(tools));
        }
        servers
    }

    /// Whether the tool is offered as an ordinary one beside programs.
    pub fn offers_directly(&self, tool: &Tool) -> bool {
        matches(&self.direct, tool)
    }

    pub fn finder(&self) -> &ToolSearch {
        &self.sight.finder
    }

    fn hides(&self, tool: &Tool) -> bool {
        matches(&self.sight.exclude, tool)
    }
}

/// The tools without the hidden ones, made anew when they are others.
fn cached_view(
    views: &Mutex<HashMap<Arc<str>, FilteredToolSet>>,
    server: &Arc<str>,
    tools: &Arc<ToolSet>,
    hidden: impl Fn(&Tool) -> bool,
) -> Arc<ToolSet> {
    let mut views = views.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(FilteredToolSet { of, view }) = views.get(server)
        && Arc::ptr_eq(of, tools)
    {
        return Arc::clone(view);
    }
    let view = Arc::new(tools.without(hidden));
    let seen = FilteredToolSet {
        of: Arc::clone(tools),
        view: Arc::clone(&view),
    };
    views.insert(Arc::clone(server), seen);
    view
}

/// Whether the tool's path is meant.
fn matches(patterns: &[String], tool: &Tool) -> bool {
    is_path_hidden(patterns, &tool.server, &tool.name)
}

/// Whether the path is meant, however it is written.
fn is_path_hidden(patterns: &[String], server: &str, name: &str) -> bool {
    if patterns.is_empty() {
        return false;
    }
    let paths = tool_paths(server, name);
    let mut meant = patterns.iter();
    meant.any(|pattern| paths.iter().any(|path| glob(pattern, path)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ToolDescription;
    use mux_config::Config;
    use mux_settings::Settings;

    fn scopes(config: &str) -> Scopes {
        let config = Config::parse(config, "c").unwrap();
        let home = std::path::Path::new("/home/me");
        let agents = Settings::resolve(config, &Default::default(), home).agents;
        Scopes::new(&agents, BTreeMap::new(), ProjectDenials::new())
    }

    fn set(server: &str, names: &[&str]) -> Arc<ToolSet> {
        let described = names.iter().map(|name| ToolDescription {
            name: (*name).to_owned(),
            input_schema: json!({"type": "object"}),
            ..ToolDescription::default()
        });
        Arc::new(ToolSet::new(server, described.collect(), &[]))
    }

    #[test]
    fn an_agent_sees_what_is_not_hidden_from_it() {
        let scopes = scopes(
            "[agents.small]\nexclude = [\"web.*\", \"my_files.get_*\"]\n[agents.also]\nexclude = [\"web.*\", \"my_files.get_*\"]\ndirect = [\"my-files.read\"]\n",
        );
        let files = set("my-files", &["get-thing", "read", "get_it"]);
        let small = scopes.of(Some("small"));
        let view = small.view(&files);
        let names: Vec<&str> = view.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["read"]);
        assert!(view.find("get_thing").is_none() && view.find("get-thing").is_none());
        assert!(view.nearest("get-thing").is_empty());
        assert!(Arc::ptr_eq(&view, &small.view(&files)), "it is kept");
        assert_ne!(view.key, files.key);
        let anew = set("my-files", &["read", "write"]);
        assert_eq!(small.view(&anew).len(), 2);

        assert!(small.hides_server("web") && !small.hides_server("my-files"));
        assert!(small.view(&set("web", &["open"])).is_empty());
        let also = scopes.of(Some("also"));
        assert!(Arc::ptr_eq(&small.sight, &also.sight));
        assert!(also.offers_directly(view.find("read").unwrap()));
        for agent in [None, Some("stranger")] {
            let all = scopes.of(agent);
            assert!(Arc::ptr_eq(&all.view(&files), &files) && !all.hides_server("web"));
        }
    }

    #[test]
    fn tools_for_apps_are_shown_to_no_model_and_can_be_called() {
        let tool = |name: &str, visibility: serde_json::Value| {
            let definition = json!({
                "name": name,
                "inputSchema": {},
                "_meta": { "ui": { "visibility": visibility } },
            });
            ToolDescription::of_definition(&definition).unwrap()
        };
        let described = vec![
            tool("show", json!(["model", "app"])),
            tool("poll", json!(["app"])),
        ];
        let tools = Arc::new(ToolSet::new("pdf", described, &[]).saying(Some("Read page 1.")));
        for config in ["", "[agents.small]\nexclude = [\"web.*\"]\n"] {
            let scope = scopes(config).of(Some("small"));
            let offered = scope.offered(&tools);
            let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names, ["show"]);
            assert!(scope.view(&tools).find("poll").is_some());
            assert_eq!(offered.instructions().map(|it| &**it), Some("Read page 1."));
            assert!(Arc::ptr_eq(&offered, &scope.offered(&tools)), "it is kept");
        }
    }

    #[test]
    fn tools_in_groups_are_hidden_however_their_paths_are_written() {
        let names = ["repos.get-one", "repos.list", "get-repos"];
        for (exclude, left) in [
            ("my-git.repos.get-one", &names[1..]),
            ("my-git.repos.get_one", &names[1..]),
            ("my_git.repos.get-one", &names[1..]),
            ("my_git.repos_get_one", &names[1..]),
            ("*.repos.*", &names[2..]),
            ("my-git.repos_*", &names[2..]),
            ("my_git.repos", &names[..]),
        ] {
            let scopes = scopes(&format!("[agents.small]\nexclude = [{exclude:?}]\n"));
            let view = scopes.of(Some("small")).view(&set("my-git", &names));
            let seen: Vec<&str> = view.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(seen, left, "{exclude}");
        }
    }

    #[test]
    fn who_works_in_a_project_sees_its_servers_and_nobody_else_does() {
        let config = Config::parse(
            "[agents.small]\nexclude = [\"web.*\"]\n[agents.also]\nexclude = [\"web.*\"]\n",
            "c",
        )
        .unwrap();
        let home = Path::new("/home/me");
        let agents = Settings::resolve(config, &Default::default(), home).agents;
        let (one, two): (Arc<Path>, Arc<Path>) = (Path::new("/1").into(), Path::new("/2").into());
        let outlook = |root: &Arc<Path>| {
            let outlook = ProjectView {
                root: Arc::clone(root),
                withheld: BTreeMap::new(),
                denied: Arc::default(),
                direct: vec!["db.show".into()],
                notes: Vec::new(),
            };
            (Arc::clone(root), Arc::new(outlook))
        };
        let projects = BTreeMap::from([outlook(&one), outlook(&two)]);
        let scopes = Scopes::new(&agents, projects, ProjectDenials::new());
        let place = |root: &Arc<Path>| WorkspaceContext {
            project: Some(Arc::clone(root)),
            dirs: vec![root.to_path_buf()],
        };
        let nobody = scopes.scope_within(&WorkspaceContext::default(), None);
        let there = scopes.scope_within(&place(&one), Some("stranger"));
        assert!(nobody.sees_project(None) && !nobody.sees_project(Some(&one)));
        assert!(there.sees_project(None) && there.sees_project(Some(&one)));
        assert!(!there.sees_project(Some(&two)));
        assert!(
            Arc::ptr_eq(&there, &scopes.scope_within(&place(&one), None)),
            "it is kept"
        );
        let elsewhere = scopes.scope_within(&place(&Path::new("/3").into()), None);
        assert!(Arc::ptr_eq(&elsewhere.sight, &scopes.of(None).sight));
        let [small, also] =
            ["small", "also"].map(|agent| scopes.scope_within(&place(&one), Some(agent)));
        assert!(small.hides_server("web") && Arc::ptr_eq(&small.sight, &also.sight));
        assert!(!Arc::ptr_eq(
            &there.sight,
            &scopes.scope_within(&place(&two), None).sight
        ));
        assert_eq!(there.direct, ["db.show"]);
    }

    #[test]
    fn what_hides_everything_of_a_server_hides_the_server() {
        for (exclude, server, hidden) in [
            ("web*", "web", true),
            ("web.*", "web", true),
            ("*", "web", true),
            ("*.*", "web", true),
            ("w?b.*", "web", true),
            ("my_files.*", "my-files", true),
            ("my-files.*", "my-files", true),
            ("web", "web", false),
            ("web.?", "web", false),
            ("web.resources/*", "web", false),
            ("web.*", "webber", false),
            ("web*", "files", false),
        ] {
            let scopes = scopes(&format!("[agents.small]\nexclude = [{exclude:?}]\n"));
            let small = scopes.of(Some("small"));
            assert_eq!(small.hides_server(server), hidden, "{exclude} {server}");
        }
    }

    #[test]
    fn what_is_no_tool_is_hidden_by_its_path() {
        let scopes =
            scopes("[agents.small]\nexclude = [\"my_files.resources/*\", \"*.prompts/get\"]\n");
        let small = scopes.of(Some("small"));
        for (server, method, hidden) in [
            ("my-files", "resources/read", true),
            ("my-files", "resources/templates/list", true),
            ("my-files", "prompts/list", false),
            ("web", "prompts/get", true),
            ("web", "resources/read", false),
        ] {
            assert_eq!(
                small.hides_path(server, method),
                hidden,
                "{server} {method}"
            );
            assert!(!scopes.of(None).hides_path(server, method));
        }
    }
}
