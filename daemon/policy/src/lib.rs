//! The policy engine: ordered rules that allow, ask for or deny calls. The first rule that applies decides. Pure. The
//! gateway is its only caller, for every call on every path.
//!
//! This crate depends on `mux-config` (rules as written), `mux-text` (globs) and `mux-typegen` (tool names in
//! programs), and does not know servers, sessions or callers.
//!
//! - `rule` is one rule, compiled once and indexed by server. `policy_question` contains the question and the answer.
//!   `policy_sets` contains the default rules and the agents' rules, with counts. `policy_explanation` lists each rule
//!   up to the deciding one, by the same code as the decision.
//! - `argument_condition` is a condition on the arguments of a call: an `argument_path` into them and an
//!   `argument_test` (with `regex_test`) of the value there. `argument_readings` lists the ways in which a server may
//!   read a value, and `absolute_path` reads a Unix or Windows path.
//!
//! Denials of projects come first, then the agent's own list or, without one, the default list. A rule with an error
//! denies. A path into the arguments can find a value, find no member, or meet a value of another shape, such as a
//! string where it expects a list. Because a value has several readings, a test is met, not met, or in doubt. An allow
//! rule must be met for certain. Every other rule also applies in doubt.
//!
//! If no rule applies, a destructive tool needs approval only if the client said at the start that it can ask its user
//! immediately, and in resumed runs. An MCP tool without annotations counts as not destructive.
//!
//! Invariant: a question has one answer, however it is asked: the answer depends on the call, the caller's names and
//! the rules, and on nothing else.

mod absolute_path;
mod argument_condition;
mod argument_path;
mod argument_readings;
mod argument_test;
mod policy_explanation;
mod policy_question;
mod policy_sets;
mod regex_test;
mod rule;

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
    sync::Arc,
};

use mux_typegen::names::spell;

pub use mux_messages::{PolicyAction as RuleAction, PolicyOutcome as RuleOutcome, ProjectText};

pub use self::{
    policy_explanation::{ExplanationStep, VerdictExplanation},
    policy_question::{
        GivenArguments, PolicyDecision, PolicyQuestion, PolicyVerdict, SERVER_REQUESTS, ToolHints,
        spellings,
    },
    policy_sets::{DECISION_TIMEOUT, EffectivePolicy, PolicySet},
    rule::{Rule, RuleList},
};
use mux_config::{ConfigProblem, PolicyEntry};

/// One list of rules.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Arc<Rule>>,
    /// Indices of the rules that apply to one server only, by the server's name in programs.
    of_server: HashMap<Box<str>, Vec<usize>>,
    /// Indices of the rules that may apply to any server.
    of_any: Vec<usize>,
}

impl Policy {
    /// `home` replaces `~`. An invalid rule denies the calls that it matches, and is reported in `problems`.
    pub fn new(
        entries: &[PolicyEntry],
        list: RuleList,
        home: &Path,
        problems: &mut Vec<ConfigProblem>,
    ) -> Self {
        let list = Arc::new(list);
        let mut policy = Self::default();
        for (place, entry) in entries.iter().enumerate() {
            let rule = Rule::compile(entry.clone(), place + 1, &list, home);
            if let Some(mistake) = rule.mistake() {
                let number = rule.number;
                let matched = rule.text();
                let message = format!(
                    "{} rule {number} (match {matched:?}): {mistake}; denied",
                    list.section()
                );
                let number = number.to_string();
                let keys = match &*list {
                    RuleList::Everybody => vec!["policy", &number],
                    RuleList::Agent(name) => vec!["agents", name, "policy", &number],
                    RuleList::Project(..) => Vec::new(),
                };
                problems.push(ConfigProblem::at(&keys, message));
            }
            match rule.only_servers() {
                Some(servers) => {
                    let servers: BTreeSet<_> = servers.into_iter().map(spell).collect();
                    for server in servers {
                        let of_server = policy.of_server.entry((*server).into()).or_default();
                        of_server.push(place);
                    }
                }
                None => policy.of_any.push(place),
            }
            policy.rules.push(Arc::new(rule));
        }
        policy
    }

    /// The first rule that may deny or ask for a call by this caller whose path starts with one of `heads`, regardless
    /// of its arguments and hints.
    fn strict_rule_in_list(
        &self,
        question: &PolicyQuestion<'_>,
        heads: &[String],
    ) -> Option<&Arc<Rule>> {
        let mut about = self.rules_for_server(question.server());
        about.find(|rule| rule.may_stop_below(question, heads))
    }

    fn says_same(&self, other: &Self) -> bool {
        let written = |policy: &Self| {
            let rules = policy.rules.iter();
            rules.map(|rule| rule.written.clone()).collect::<Vec<_>>()
        };
        written(self) == written(other)
    }

    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// The project directory, if these rules come from its approved version and that is not the current version.
    pub fn approved_before(&self) -> Option<&Path> {
        match &*self.rules.first()?.list {
            RuleList::Project(root, ProjectText::Approved) => Some(root),
            _ => None,
        }
    }

    /// The rules that may apply to a server, in their order.
    fn rules_for_server(&self, server: &str) -> impl Iterator<Item = &Arc<Rule>> {
        let own = self.of_server.get(&*spell(server));
        let own = own.map_or(&[][..], Vec::as_slice);
        let mut own = own.iter().peekable();
        let mut any = self.of_any.iter().peekable();
        let next = move || {
            let earlier = match (own.peek(), any.peek()) {
                (Some(own), Some(any)) => own < any,
                (own, _) => own.is_some(),
            };
            let place = if earlier { own.next() } else { any.next() };
            place.map(|place| &self.rules[*place])
        };
        std::iter::from_fn(next)
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<Rule>, &Arc<Rule>)| a.is(b);
        self.rules.len() == other.rules.len() && self.rules.iter().zip(&other.rules).all(same)
    }
}

/// The verdict if no rule applies: allowed, except that tools marked destructive need approval where a user can answer.
/// A tool without annotations is allowed, although MCP's default makes it destructive: otherwise nearly every tool
/// would need approval. Sampling (a server using its client's model) needs a rule that allows it.
fn default_verdict(question: &PolicyQuestion<'_>) -> PolicyVerdict {
    PolicyVerdict {
        action: match question.hints.is_destructive() {
            _ if question.is_sampling() => RuleAction::Deny,
            Some(true) => RuleAction::Ask,
            _ => RuleAction::Allow,
        },
        rule: None,
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
