//! The default rules, the rules of agents that have their own, and how often each has decided.
//!
//! Invariant: an agent's own list replaces the default list and is never merged with it. Denials of projects come
//! before both. A rule that asks because the reading of the arguments is in doubt does not keep a later rule from
//! denying.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    Policy, PolicyDecision, PolicyQuestion, PolicyVerdict, ProjectText, Rule, RuleAction, RuleList,
    default_verdict, rule::RuleMatch,
};
use mux_config::{AgentEntry, ConfigProblem, PolicyEntry};

/// The budget `policy_time`: how long rules may evaluate the arguments of one call. The time depends on the size of the
/// arguments, the number of rules, and their regular expressions.
pub const DECISION_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    everybody: Policy,
    agents: BTreeMap<String, Policy>,
    defaults: Arc<DefaultCounters>,
}

/// How often no rule applied.
#[derive(Debug, Default)]
struct DefaultCounters {
    allowed: AtomicU64,
    asked: AtomicU64,
}

/// The rule lists that apply to one caller.
#[derive(Clone, Copy, Debug)]
pub struct EffectivePolicy<'a> {
    /// The denials of the projects that the caller works in, the nearest first.
    pub projects: &'a [Arc<Policy>],
    pub own: &'a Policy,
}

/// Equal if the rules read the same. Counts are ignored.
impl PartialEq for PolicySet {
    fn eq(&self, other: &Self) -> bool {
        self.everybody.says_same(&other.everybody)
            && self.agents.len() == other.agents.len()
            && self.agents.iter().all(|(name, own)| {
                let others = other.agents.get(name);
                others.is_some_and(|others| own.says_same(others))
            })
    }
}

impl PolicySet {
    pub fn resolve(
        policy: &[PolicyEntry],
        agents: &BTreeMap<String, AgentEntry>,
        home: &Path,
        problems: &mut Vec<ConfigProblem>,
    ) -> Self {
        let everybody = Policy::new(policy, RuleList::Everybody, home, problems);
        let own = agents.iter().filter_map(|(name, agent)| {
            let list = RuleList::Agent(name.clone());
            let rules = agent.policy.as_deref()?;
            Some((name.clone(), Policy::new(rules, list, home, problems)))
        });
        Self {
            agents: own.collect(),
            everybody,
            defaults: Arc::default(),
        }
    }

    /// The number of rules in all lists.
    pub fn count(&self) -> usize {
        let lists = std::iter::once(&self.everybody).chain(self.agents.values());
        lists.map(|list| list.rules().len()).sum()
    }

    pub fn of<'a>(
        &'a self,
        agent: Option<&str>,
        projects: &'a [Arc<Policy>],
    ) -> EffectivePolicy<'a> {
        let own = agent.and_then(|agent| self.agents.get(agent));
        EffectivePolicy {
            projects,
            own: own.unwrap_or(&self.everybody),
        }
    }

    /// Returns true if the agent has its own list instead of the default one.
    pub fn has_own(&self, agent: Option<&str>) -> bool {
        agent.is_some_and(|agent| self.agents.contains_key(agent))
    }

    /// Decides one call.
    pub fn decide(
        &self,
        question: &PolicyQuestion<'_>,
        projects: &[Arc<Policy>],
    ) -> PolicyDecision {
        self.of(question.agent, projects).decide(question)
    }

    /// Counts a verdict.
    pub fn count_verdict(&self, verdict: &PolicyVerdict) {
        let counter = match (&verdict.rule, verdict.action) {
            (Some(rule), _) => &rule.decided,
            (None, RuleAction::Ask) => &self.defaults.asked,
            (None, RuleAction::Allow) => &self.defaults.allowed,
            // Only server requests are denied by default, and they are not calls.
            (None, RuleAction::Deny) => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The numbers of calls without a rule: allowed calls, and calls of destructive tools.
    pub fn by_default(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.defaults.allowed), count(&self.defaults.asked))
    }

    /// Carries over the counts of rules that are also in `before`.
    pub fn follow(&self, before: &Self) {
        let pass = |from: &AtomicU64, to: &AtomicU64| {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        pass(&before.defaults.allowed, &self.defaults.allowed);
        pass(&before.defaults.asked, &self.defaults.asked);
        let mut known: HashMap<String, Vec<&Rule>> = HashMap::new();
        // Of two identical rules, the first is matched first.
        for rule in before.all().rev() {
            known.entry(rule.identity()).or_default().push(rule);
        }
        for rule in self.all() {
            if let Some(was) = known.get_mut(&rule.identity()).and_then(Vec::pop) {
                pass(&was.decided, &rule.decided);
            }
        }
    }

    /// The rules of all lists.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Arc<Rule>> {
        let lists = std::iter::once(&self.everybody).chain(self.agents.values());
        lists.flat_map(|policy| &policy.rules)
    }
}

impl<'a> EffectivePolicy<'a> {
    /// Decides by the first rule that applies, or by the default, or asks for the arguments.
    pub fn decide(&self, question: &PolicyQuestion<'_>) -> PolicyDecision {
        self.decide_within(question, DECISION_TIMEOUT)
    }

    fn decide_within(&self, question: &PolicyQuestion<'_>, timeout: Duration) -> PolicyDecision {
        let lists = self.projects.iter().map(|denied| &**denied);
        let mut rules = lists
            .chain([self.own])
            .flat_map(|list| list.rules_for_server(question.server()));
        let mut doubtful = None;
        let began = Instant::now();
        let first = loop {
            let Some(rule) = rules.next() else {
                break default_verdict(question);
            };
            if rule.reads_arguments() && began.elapsed() >= timeout {
                return PolicyDecision::TimedOut;
            }
            match rule.match_rule(question) {
                RuleMatch::Yes => break PolicyVerdict::of(rule),
                RuleMatch::Depends => return PolicyDecision::NeedsArguments,
                RuleMatch::InDoubt => doubtful = doubtful.or(Some(rule)),
                RuleMatch::No(_) => {}
            }
        };
        PolicyDecision::Made(match doubtful {
            Some(rule) if first.action != RuleAction::Deny => PolicyVerdict::of(rule),
            _ => first,
        })
    }

    /// The first rule that may deny or ask for calls whose paths start with one of `heads`, regardless of what follows.
    pub fn strict_rule_below(
        &self,
        question: &PolicyQuestion<'_>,
        heads: &[String],
    ) -> Option<&'a Arc<Rule>> {
        let mut lists = self
            .projects
            .iter()
            .map(|denied| &**denied)
            .chain([self.own]);
        lists.find_map(|list| list.strict_rule_in_list(question, heads))
    }

    /// All rules, in the order of evaluation.
    pub fn rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        let projects = self.projects.iter().flat_map(|denied| denied.rules());
        projects.chain(self.own.rules())
    }
}

impl Rule {
    /// Identifies the rule by its list and its whole content. An edited rule is a different rule; a moved rule is the
    /// same.
    pub fn identity(&self) -> String {
        format!("{:?} {:?}", self.list, self.written)
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.list == other.list && self.written == other.written
    }
}

impl RuleList {
    /// The name of the list's section in the configuration.
    pub fn section(&self) -> String {
        match self {
            Self::Everybody => "[[policy]]".into(),
            Self::Agent(name) => format!("[agents.{name}] policy"),
            Self::Project(root, text) => {
                let file = root.join(".mux.toml");
                let which = match text {
                    ProjectText::Current => "",
                    ProjectText::Approved => " as you approved it",
                    ProjectText::Unapproved => ", which you have not approved",
                };
                format!("[[policy]] of {}{which}", file.display())
            }
        }
    }
}

impl PolicyVerdict {
    pub(super) fn of(rule: &Arc<Rule>) -> Self {
        Self {
            action: rule.action,
            rule: Some(Arc::clone(rule)),
        }
    }

    /// The deciding rule and its file, for errors.
    pub fn origin(&self) -> Option<String> {
        let rule = self.rule.as_ref()?;
        let number = rule.number;
        Some(match &*rule.list {
            RuleList::Everybody => format!("rule {number} of [[policy]] in config.toml"),
            RuleList::Agent(name) => {
                format!("rule {number} of [agents.{name}] policy in config.toml")
            }
            RuleList::Project(..) => format!("rule {number} of {}", rule.list.section()),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        GivenArguments,
        tests::{call, policies},
    };

    #[test]
    fn time_budget_applies_only_to_rules_on_arguments() {
        let (policies, _) = policies(
            "[[policy]]\nmatch = \"*.other\"\naction = \"deny\"\n\
             [[policy]]\nmatch = \"*\"\naction = \"deny\"\narguments = { a = \"x\" }\n",
        );
        let arguments = json!({ "a": "y" });
        let decide = |path, timeout| {
            let question = PolicyQuestion {
                given: GivenArguments::Values(&arguments),
                ..call(path)
            };
            policies.of(None, &[]).decide_within(&question, timeout)
        };
        let in_time = decide("files.read", DECISION_TIMEOUT);
        assert!(matches!(in_time, PolicyDecision::Made(verdict) if verdict.is_default()));
        assert!(matches!(
            decide("files.read", Duration::ZERO),
            PolicyDecision::TimedOut
        ));
        let without_arguments = decide("files.other", Duration::ZERO);
        assert!(
            matches!(without_arguments, PolicyDecision::Made(verdict) if verdict.action == RuleAction::Deny)
        );
    }
}
