//! One agent's view of the tools, in its workspace.
//!
//! Invariant: a tool that is hidden from an agent cannot be distinguished from a nonexistent tool. Code that works for
//! an agent uses [`Scope::offered`] to show a server's tools and [`Scope::view`] to call one, and nothing else.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;

use mux_typegen::names::{spell, tool_paths, tool_spellings};

use super::{KnownServer, Tool, ToolSet};
use mux_policy::Policy;
use mux_settings::{
    AgentView, AgentViews,
    projects::{ProjectDenials, ProjectView, WorkspaceContext},
};
use mux_text::glob::{glob, may_match_below};

/// No tool has this name: a pattern that hides it hides everything of its server.
const IMPOSSIBLE_NAME: &str = "\u{f8f0}\u{f8f7}\u{f8f1}\u{f8f6}\u{f8f2}\u{f8f5}\u{f8f3}\u{f8f4}\u{f8f0}\u{f8f1}\u{f8f5}\u{f8f2}";

/// The scopes of all agents, rebuilt with each configuration.
#[derive(Debug, Default)]
pub struct Scopes {
    everybody: Arc<Scope>,
    agents: HashMap<String, Arc<Scope>>,
    projects: BTreeMap<Arc<Path>, Arc<ProjectView>>,
    denials: ProjectDenials,
    /// Scopes within workspaces, built on first use.
    within: Mutex<WorkplaceScopes>,
    /// Counts the instances in this process.
    number: u64,
}

/// Scopes by workspace and agent.
type WorkplaceScopes = HashMap<(WorkspaceContext, Option<String>), Arc<Scope>>;

/// The maximum number of cached workspace scopes, which are cheap to build.
const MAX_WORKPLACE_SCOPES: usize = 1000;

/// One agent's view of the tools.
#[derive(Debug, Default)]
pub struct Scope {
    sight: Arc<VisibleTools>,
    /// Globs of the tools that are offered as ordinary tools.
    direct: Vec<String>,
    /// The project that the agent works in.
    project: Option<Arc<ProjectView>>,
    /// The denials of projects that apply here, the nearest first.
    denied: Vec<Arc<Policy>>,
    /// The agent's workspace.
    workspace: WorkspaceContext,
    /// The number of the [`Scopes`] that built it.
    number: u64,
}

/// Shared by all agents that see the same tools.
#[derive(Debug, Default)]
struct VisibleTools {
    exclude: Vec<String>,
    /// The latest callable tools of each server.
    views: Mutex<HashMap<Arc<str>, FilteredToolSet>>,
    /// The latest tools of each server that are shown to models.
    offered: Mutex<HashMap<Arc<str>, FilteredToolSet>>,
}

/// A filtered tool set with the set that it was made from.
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

    /// The current scope for the holder of an older one. `agent` is the requested name.
    pub fn refresh_scope(&self, scope: &Arc<Scope>, agent: Option<&str>) -> Arc<Scope> {
        if scope.number == self.number {
            Arc::clone(scope)
        } else {
            self.scope_within(&scope.workspace, agent)
        }
    }

    /// The scope of an agent within a workspace.
    pub fn scope_within(&self, workspace: &WorkspaceContext, agent: Option<&str>) -> Arc<Scope> {
        let outside = self.of(agent);
        if *workspace == WorkspaceContext::default() {
            return outside;
        }
        // Agents without their own configuration share the default scope.
        let own = agent.filter(|agent| self.agents.contains_key(*agent));
        let key = (workspace.clone(), own.map(str::to_owned));
        let mut within = self.within.lock();
        if let Some(scope) = within.get(&key) {
            return Arc::clone(scope);
        }
        let root = workspace.project.as_ref();
        let project_view = root.and_then(|root| self.projects.get(root)).cloned();
        // Different projects need separate indexes, because their servers may share a name.
        let same = within.values().find(|scope| {
            let one = &scope.project;
            let other = &project_view;
            one.as_ref().map(|it| &it.root) == other.as_ref().map(|it| &it.root)
                && scope.sight.exclude == outside.sight.exclude
        });
        let sight = match (same, &project_view) {
            (Some(scope), _) => Arc::clone(&scope.sight),
            (None, None) => Arc::clone(&outside.sight),
            (None, Some(_)) => Arc::new(VisibleTools {
                exclude: outside.sight.exclude.clone(),
                ..VisibleTools::default()
            }),
        };
        let own_direct = project_view.iter().flat_map(|view| &view.direct);
        let scope = Arc::new(Scope {
            sight,
            direct: outside.direct.iter().chain(own_direct).cloned().collect(),
            denied: self.denied(workspace, project_view.as_deref()),
            project: project_view,
            workspace: workspace.clone(),
            number: self.number,
        });
        if within.len() >= MAX_WORKPLACE_SCOPES {
            within.clear();
        }
        within.insert(key, Arc::clone(&scope));
        scope
    }

    /// Applies every approved text above the workspace, and the current one. Neither a nearer file nor a repository in
    /// between removes any denial.
    fn denied(
        &self,
        workspace: &WorkspaceContext,
        project_view: Option<&ProjectView>,
    ) -> Vec<Arc<Policy>> {
        let above = workspace.dirs.iter().flat_map(|dir| dir.ancestors());
        let root = project_view.map(|view| &*view.root);
        let mut denied: Vec<Arc<Policy>> = Vec::new();
        for policy in above.chain(root).filter_map(|dir| self.denials.get(dir)) {
            if !denied.iter().any(|known| Arc::ptr_eq(known, policy)) {
                denied.push(Arc::clone(policy));
            }
        }
        let now = project_view.map(|view| &view.denied);
        denied.extend(now.filter(|now| !now.rules().is_empty()).cloned());
        denied
    }

    /// The workspace context of a known directory: the project that contains it, among the known ones.
    pub fn workplace_of(&self, workspace: &Path) -> WorkspaceContext {
        let mut above = workspace.ancestors();
        let project = above.find_map(|dir| self.projects.get_key_value(dir));
        WorkspaceContext {
            project: project.map(|(root, _)| Arc::clone(root)),
            dirs: vec![workspace.to_owned()],
        }
    }

    /// The scope of an agent outside workspaces. Agents without configuration get the default scope.
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

    /// The tools of a server that are shown to models: without the tools for its own pages, which can still be called
    /// by name.
    pub fn offered(&self, tools: &Arc<ToolSet>) -> Arc<ToolSet> {
        let view = self.view(tools);
        let for_apps = |tool: &Tool| tool.is_for_apps;
        let Some(one) = view.iter().find(|tool| for_apps(tool)) else {
            return view;
        };
        cached_view(&self.sight.offered, &one.server, &view, for_apps)
    }

    /// True if servers of this project are visible here. Servers of no project always are.
    pub fn sees_project(&self, project: Option<&Path>) -> bool {
        project.is_none_or(|root| self.project().is_some_and(|own| &*own.root == root))
    }

    /// The project in which the agent works.
    pub fn project(&self) -> Option<&ProjectView> {
        self.project.as_deref()
    }

    /// The denials of projects that apply here, the nearest first.
    pub fn denied(&self) -> &[Arc<Policy>] {
        &self.denied
    }

    /// Notes for users of this workspace.
    pub fn notes(&self) -> Vec<String> {
        let project = self.project();
        let mut notes = project.map_or_else(Vec::new, |project| project.notes.clone());
        // The project's own notes cover its denials.
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

    /// True if everything of this server is hidden, regardless of its tools.
    pub fn hides_server(&self, server: &str) -> bool {
        self.hides_path(server, IMPOSSIBLE_NAME)
    }

    /// True if a method other than a tool call is hidden, such as `resources/read` of a server.
    pub fn hides_path(&self, server: &str, method: &str) -> bool {
        let hides = |server: &str| {
            let path = format!("{server}.{method}");
            let mut exclude = self.sight.exclude.iter();
            exclude.any(|pattern| glob(pattern, &path))
        };
        !self.sight.exclude.is_empty() && (hides(server) || hides(&spell(server)))
    }

    /// True if a tool of this name would be hidden, or excluded by the server's entry.
    pub fn hides_tool(&self, server: &str, name: &str, left_out: &[String]) -> bool {
        let spellings = || tool_spellings(name);
        let mut left_out = left_out.iter();
        left_out.any(|pattern| spellings().iter().any(|name| glob(pattern, name)))
            || is_path_hidden(&self.sight.exclude, server, name)
    }

    /// True if any tool whose name starts with `head` may be hidden.
    pub fn may_hide_below(&self, server: &str, head: &str) -> bool {
        let heads = tool_paths(server, head);
        let mut exclude = self.sight.exclude.iter();
        exclude.any(|pattern| heads.iter().any(|head| may_match_below(pattern, head)))
    }

    /// The servers that are shown to models, with their shown tools.
    pub fn visible_servers(&self, mut servers: Vec<KnownServer>) -> Vec<KnownServer> {
        servers.retain(|server| !self.hides_server(&server.name));
        for server in &mut servers {
            server.tools = server.tools.as_ref().map(|tools| self.offered(tools));
        }
        servers
    }

    /// True if the tool is offered as an ordinary tool, in addition to programs.
    pub fn offers_directly(&self, tool: &Tool) -> bool {
        matches(&self.direct, tool)
    }

    fn hides(&self, tool: &Tool) -> bool {
        matches(&self.sight.exclude, tool)
    }
}

/// The tools without hidden ones, cached until the server's tools change.
fn cached_view(
    views: &Mutex<HashMap<Arc<str>, FilteredToolSet>>,
    server: &Arc<str>,
    tools: &Arc<ToolSet>,
    hidden: impl Fn(&Tool) -> bool,
) -> Arc<ToolSet> {
    let mut views = views.lock();
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

/// True if a pattern matches the tool's path.
fn matches(patterns: &[String], tool: &Tool) -> bool {
    is_path_hidden(patterns, &tool.server, &tool.name)
        || tool.name != tool.server_name()
            && is_path_hidden(patterns, &tool.server, tool.server_name())
}

/// True if a pattern matches the path in any of its forms.
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
    use mux_config::{Config, environment::Environment};
    use mux_settings::{Settings, ToolOverrides};

    fn scopes(config: &str) -> Scopes {
        let config = Config::parse(config, "c").unwrap();
        let home = std::path::Path::new("/home/me");
        let agents = Settings::resolve(config, &Environment::default(), home).agents;
        Scopes::new(&agents, BTreeMap::new(), ProjectDenials::new())
    }

    fn set(server: &str, names: &[&str]) -> Arc<ToolSet> {
        let described = names.iter().map(|name| ToolDescription {
            name: (*name).to_owned(),
            input_schema: json!({"type": "object"}).into(),
            ..ToolDescription::default()
        });
        Arc::new(ToolSet::new(
            server,
            described.collect(),
            &[],
            &ToolOverrides::default(),
        ))
    }

    #[test]
    fn excluded_tools_are_hidden_from_their_agent_only() {
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
    fn app_tools_are_callable_but_not_offered_to_models() {
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
        let tools = Arc::new(
            ToolSet::new("pdf", described, &[], &ToolOverrides::default())
                .saying(Some("Read page 1.")),
        );
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
    fn exclude_matches_grouped_tools_in_any_spelling() {
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
    fn project_servers_are_visible_only_in_their_project() {
        let config = Config::parse(
            "[agents.small]\nexclude = [\"web.*\"]\n[agents.also]\nexclude = [\"web.*\"]\n",
            "c",
        )
        .unwrap();
        let home = Path::new("/home/me");
        let agents = Settings::resolve(config, &Environment::default(), home).agents;
        let one: Arc<Path> = Path::new("/1").into();
        let two: Arc<Path> = Path::new("/2").into();
        let project_view = |root: &Arc<Path>| {
            let project_view = ProjectView {
                root: Arc::clone(root),
                withheld: BTreeMap::new(),
                denied: Arc::default(),
                direct: vec!["db.show".into()],
                notes: Vec::new(),
            };
            (Arc::clone(root), Arc::new(project_view))
        };
        let projects = BTreeMap::from([project_view(&one), project_view(&two)]);
        let scopes = Scopes::new(&agents, projects, ProjectDenials::new());
        let workspace = |root: &Arc<Path>| WorkspaceContext {
            project: Some(Arc::clone(root)),
            dirs: vec![root.to_path_buf()],
        };
        let nobody = scopes.scope_within(&WorkspaceContext::default(), None);
        let there = scopes.scope_within(&workspace(&one), Some("stranger"));
        assert!(nobody.sees_project(None) && !nobody.sees_project(Some(&one)));
        assert!(there.sees_project(None) && there.sees_project(Some(&one)));
        assert!(!there.sees_project(Some(&two)));
        assert!(
            Arc::ptr_eq(&there, &scopes.scope_within(&workspace(&one), None)),
            "it is kept"
        );
        let elsewhere = scopes.scope_within(&workspace(&Path::new("/3").into()), None);
        assert!(Arc::ptr_eq(&elsewhere.sight, &scopes.of(None).sight));
        let [small, also] =
            ["small", "also"].map(|agent| scopes.scope_within(&workspace(&one), Some(agent)));
        assert!(small.hides_server("web") && Arc::ptr_eq(&small.sight, &also.sight));
        assert!(!Arc::ptr_eq(
            &there.sight,
            &scopes.scope_within(&workspace(&two), None).sight
        ));
        assert_eq!(there.direct, ["db.show"]);
    }

    #[test]
    fn pattern_for_all_tools_of_a_server_hides_the_server() {
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
    fn exclude_matches_methods_other_than_tool_calls() {
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
