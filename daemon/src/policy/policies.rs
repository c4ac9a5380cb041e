//! Everybody's rules, those of the agents that have their own, and how often each has decided.
//!
//! Invariant: an agent's own list stands in place of everybody's and is never merged with it. What a project denies
//! comes before both.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{Action, Decision, List, Policy, Question, Rule, Verdict, default_verdict};
use crate::config::{AgentEntry, PolicyEntry};

#[derive(Clone, Debug, Default)]
pub struct Policies {
    everybody: Policy,
    agents: BTreeMap<String, Policy>,
    defaults: Arc<Defaults>,
}

/// How often nobody had a rule.
#[derive(Debug, Default)]
struct Defaults {
    allowed: AtomicU64,
    asked: AtomicU64,
}

/// The lists that are in force for somebody.
#[derive(Clone, Copy, Debug)]
pub struct Ruling<'a> {
    /// What the project in which he works denies.
    pub project: Option<&'a Policy>,
    pub own: &'a Policy,
}

/// They say the same, however often they have decided.
impl PartialEq for Policies {
    fn eq(&self, other: &Self) -> bool {
        self.everybody.says_as(&other.everybody)
            && self.agents.len() == other.agents.len()
            && self.agents.iter().all(|(name, own)| {
                let others = other.agents.get(name);
                others.is_some_and(|others| own.says_as(others))
            })
    }
}

impl Policies {
    pub fn resolve(
        policy: &[PolicyEntry],
        agents: &BTreeMap<String, AgentEntry>,
        home: &Path,
        problems: &mut Vec<String>,
    ) -> Self {
        let everybody = Policy::new(policy, List::Everybody, home, problems);
        let own = agents.iter().filter_map(|(name, agent)| {
            let list = List::Agent(name.clone());
            let rules = agent.policy.as_deref()?;
            Some((name.clone(), Policy::new(rules, list, home, problems)))
        });
        Self {
            agents: own.collect(),
            everybody,
            defaults: Arc::default(),
        }
    }

    /// How many rules there are, in all lists.
    pub fn count(&self) -> usize {
        let lists = std::iter::once(&self.everybody).chain(self.agents.values());
        lists.map(|list| list.rules().len()).sum()
    }

    pub fn of<'a>(&'a self, agent: Option<&str>, project: Option<&'a Policy>) -> Ruling<'a> {
        let own = agent.and_then(|agent| self.agents.get(agent));
        Ruling {
            project,
            own: own.unwrap_or(&self.everybody),
        }
    }

    /// Whether the agent has a list in place of everybody's.
    pub fn has_own(&self, agent: Option<&str>) -> bool {
        agent.is_some_and(|agent| self.agents.contains_key(agent))
    }

    /// Decides one call.
    pub fn decide(&self, question: &Question<'_>, project: Option<&Policy>) -> Decision {
        self.of(question.agent, project).decide(question)
    }

    /// Counts what was decided on a call.
    pub fn count_verdict(&self, verdict: &Verdict) {
        let counter = match (&verdict.rule, verdict.action) {
            (Some(rule), _) => &rule.decided,
            (None, Action::Ask) => &self.defaults.asked,
            (None, _) => &self.defaults.allowed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls that nobody had a rule for: those that were allowed, and those of tools that call themselves destructive.
    pub fn by_default(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.defaults.allowed), count(&self.defaults.asked))
    }

    /// Rules that were in force before go on counting.
    pub fn follow(&self, before: &Self) {
        let pass = |from: &AtomicU64, to: &AtomicU64| {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        pass(&before.defaults.allowed, &self.defaults.allowed);
        pass(&before.defaults.asked, &self.defaults.asked);
        let mut known: HashMap<String, Vec<&Rule>> = HashMap::new();
        // Of two that read the same the first is taken first.
        for rule in before.all().rev() {
            known.entry(rule.identity()).or_default().push(rule);
        }
        for rule in self.all() {
            if let Some(was) = known.get_mut(&rule.identity()).and_then(Vec::pop) {
                pass(&was.decided, &rule.decided);
            }
        }
    }

    fn all(&self) -> impl DoubleEndedIterator<Item = &Arc<Rule>> {
        let lists = std::iter::once(&self.everybody).chain(self.agents.values());
        lists.flat_map(|policy| &policy.rules)
    }
}

impl Ruling<'_> {
    pub fn decide(&self, question: &Question<'_>) -> Decision {
        let project = self.project.and_then(|project| project.first(question));
        project
            .or_else(|| self.own.first(question))
            .unwrap_or_else(|| Decision::Made(default_verdict(question)))
    }

    /// All rules, in the order in which they are asked.
    pub fn rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        let project = self.project.into_iter().flat_map(Policy::rules);
        project.chain(self.own.rules())
    }
}

impl Rule {
    /// Names the rule by the list it stands in and all that it says: another text is another rule, at another place
    /// it is the same.
    pub fn identity(&self) -> String {
        format!("{:?} {:?}", self.list, self.written)
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.list == other.list && self.written == other.written
    }
}

impl List {
    /// As the user finds it.
    pub fn section(&self) -> String {
        match self {
            Self::Everybody => "[[policy]]".into(),
            Self::Agent(name) => format!("[agents.{name}] policy"),
            Self::Project(_) => ".mux.toml [[policy]]".into(),
        }
    }
}

impl Verdict {
    /// Which rule it was, as an error has it.
    pub fn whence(&self) -> Option<String> {
        let rule = self.rule.as_ref()?;
        let number = rule.number;
        Some(match &*rule.list {
            List::Everybody => format!("rule {number} of [[policy]] in config.toml"),
            List::Agent(name) => format!("rule {number} of [agents.{name}] policy in config.toml"),
            List::Project(root) => {
                format!(
                    "rule {number} of [[policy]] in {}/.mux.toml",
                    root.display()
                )
            }
        })
    }
}
