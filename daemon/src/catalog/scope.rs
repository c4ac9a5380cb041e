//! What one agent sees of the tools, in the directory in which it works.
//!
//! Invariant: a tool that is hidden from an agent cannot be told from one that does not exist. Whoever works for an
//! agent looks at a server's tools through [`Scope::view`] and at nothing beside it.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use mux_sandbox::typegen::names::spell;

use super::{Known, Tool, ToolSet, names::paths, search::Finder};
use crate::{
    policy::glob,
    projects::Outlook,
    settings::{Agents, View},
};

/// Nothing has this name: whatever hides it hides everything of its server.
const NO_NAME: &str = "\u{f8f0}\u{f8f7}\u{f8f1}\u{f8f6}\u{f8f2}\u{f8f5}\u{f8f3}\u{f8f4}\u{f8f0}\u{f8f1}\u{f8f5}\u{f8f2}";

/// Everybody's scopes, made anew with each configuration.
#[derive(Debug, Default)]
pub struct Scopes {
    everybody: Arc<Scope>,
    agents: HashMap<String, Arc<Scope>>,
    projects: BTreeMap<Arc<Path>, Arc<Outlook>>,
    /// The same within projects, made when somebody comes there.
    within: Mutex<Within>,
}

/// By project, and by agent.
type Within = HashMap<(Arc<Path>, Option<String>), Arc<Scope>>;

/// What one agent sees.
#[derive(Debug, Default)]
pub struct Scope {
    sight: Arc<Sight>,
    /// Globs of the paths that are offered as ordinary tools.
    direct: Vec<String>,
    /// Of those who work in one.
    project: Option<Arc<Outlook>>,
}

/// Shared by all agents who see the same tools.
#[derive(Debug, Default)]
struct Sight {
    exclude: Vec<String>,
    /// The last of each server.
    views: Mutex<HashMap<Arc<str>, Seen>>,
    finder: Finder,
}

/// What is left of a server's tools, beside what it was made from.
#[derive(Debug)]
struct Seen {
    of: Arc<ToolSet>,
    view: Arc<ToolSet>,
}

impl Scopes {
    pub fn new(agents: &Agents, projects: BTreeMap<Arc<Path>, Arc<Outlook>>) -> Self {
        let mut sights: Vec<Arc<Sight>> = Vec::new();
        let mut scope = |view: &View| {
            let known = sights.iter().find(|sight| sight.exclude == view.exclude);
            let sight = known.cloned().unwrap_or_else(|| {
                let sight = Arc::new(Sight {
                    exclude: view.exclude.clone(),
                    ..Sight::default()
                });
                sights.push(Arc::clone(&sight));
                sight
            });
            Arc::new(Scope {
                sight,
                direct: view.direct.clone(),
                project: None,
            })
        };
        Self {
            everybody: scope(agents.everybody()),
            agents: agents
                .own()
                .map(|(name, view)| (name.to_owned(), scope(view)))
                .collect(),
            projects,
            within: Mutex::default(),
        }
    }

    /// The same for one who works in a project.
    pub fn within(&self, project: Option<&Path>, agent: Option<&str>) -> Arc<Scope> {
        let outside = self.of(agent);
        let Some(outlook) = project.and_then(|root| self.projects.get(root)) else {
            return outside;
        };
        // Agents without a word of their own are everybody.
        let own = agent.filter(|agent| self.agents.contains_key(*agent));
        let key = (Arc::clone(&outlook.root), own.map(str::to_owned));
        let mut within = self.within.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scope) = within.get(&key) {
            return Arc::clone(scope);
        }
        // Two servers of one name are never in one index.
        let same = within.iter().find(|((root, _), scope)| {
            *root == key.0 && scope.sight.exclude == outside.sight.exclude
        });
        let sight = same.map_or_else(
            || {
                Arc::new(Sight {
                    exclude: outside.sight.exclude.clone(),
                    ..Sight::default()
                })
            },
            |(_, scope)| Arc::clone(&scope.sight),
        );
        let direct = outside.direct.iter().chain(&outlook.direct).cloned();
        let scope = Arc::new(Scope {
            sight,
            direct: direct.collect(),
            project: Some(Arc::clone(outlook)),
        });
        within.insert(key, Arc::clone(&scope));
        scope
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
        let mut views = self
            .sight
            .views
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(Seen { of, view }) = views.get(&first.server)
            && Arc::ptr_eq(of, tools)
        {
            return Arc::clone(view);
        }
        let view = Arc::new(tools.without(|tool| self.hides(tool)));
        let seen = Seen {
            of: Arc::clone(tools),
            view: Arc::clone(&view),
        };
        views.insert(Arc::clone(&first.server), seen);
        view
    }

    /// Whether a server of this project, or of none, is one that is seen here.
    pub fn sees_project(&self, project: Option<&Path>) -> bool {
        project.is_none_or(|root| self.project().is_some_and(|own| &*own.root == root))
    }

    /// The project in which the agent works.
    pub fn project(&self) -> Option<&Outlook> {
        self.project.as_deref()
    }

    /// Whether nothing of this server can be seen, whatever its tools are.
    pub fn hides_server(&self, server: &str) -> bool {
        self.hides_path(server, NO_NAME)
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

    /// What is left of these servers.
    pub fn seen(&self, mut servers: Vec<Known>) -> Vec<Known> {
        servers.retain(|server| !self.hides_server(&server.name));
        for server in &mut servers {
            server.tools = server.tools.as_ref().map(|tools| self.view(tools));
        }
        servers
    }

    /// Whether the tool is offered as an ordinary one beside programs.
    pub fn offers_directly(&self, tool: &Tool) -> bool {
        matches(&self.direct, tool)
    }

    pub fn finder(&self) -> &Finder {
        &self.sight.finder
    }

    fn hides(&self, tool: &Tool) -> bool {
        matches(&self.sight.exclude, tool)
    }
}

/// Whether the tool's path is meant, however it is written.
fn matches(patterns: &[String], tool: &Tool) -> bool {
    if patterns.is_empty() {
        return false;
    }
    let paths = paths(&tool.server, &tool.name);
    let mut meant = patterns.iter();
    meant.any(|pattern| paths.iter().any(|path| glob(pattern, path)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{catalog::ToolDescription, config::Config, policy::Policy, settings::Settings};

    fn scopes(config: &str) -> Scopes {
        let config = Config::parse(config, "c").unwrap();
        let home = std::path::Path::new("/home/me");
        let agents = Settings::resolve(config, &Default::default(), home).agents;
        Scopes::new(&agents, BTreeMap::new())
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
            let outlook = Outlook {
                root: Arc::clone(root),
                withheld: BTreeMap::new(),
                denied: Policy::default(),
                direct: vec!["db.show".into()],
                notes: Vec::new(),
            };
            (Arc::clone(root), Arc::new(outlook))
        };
        let scopes = Scopes::new(&agents, BTreeMap::from([outlook(&one), outlook(&two)]));
        let nobody = scopes.within(None, None);
        let there = scopes.within(Some(&one), Some("stranger"));
        assert!(nobody.sees_project(None) && !nobody.sees_project(Some(&one)));
        assert!(there.sees_project(None) && there.sees_project(Some(&one)));
        assert!(!there.sees_project(Some(&two)));
        assert!(
            Arc::ptr_eq(&there, &scopes.within(Some(&one), None)),
            "it is kept"
        );
        let elsewhere = scopes.within(Some(Path::new("/3")), None);
        assert!(Arc::ptr_eq(&elsewhere, &scopes.of(None)));
        let [small, also] = ["small", "also"].map(|agent| scopes.within(Some(&one), Some(agent)));
        assert!(small.hides_server("web") && Arc::ptr_eq(&small.sight, &also.sight));
        assert!(!Arc::ptr_eq(
            &there.sight,
            &scopes.within(Some(&two), None).sight
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
