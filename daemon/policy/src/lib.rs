//! Who may call what: rules in order, the first that applies decides. Pure. Asked in one place, [the gateway],
//! for every call on every path.
//!
//! Invariant: a question has one answer, whoever asks it on whatever way: it depends on the call, the caller's names
//! and the rules, and on nothing else.

mod arguments;
mod explain;
mod place;
mod policies;
mod question;
mod reading;
mod rule;
mod test;

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
    sync::Arc,
};

use mux_typegen::names::spell;

pub use self::{
    explain::{Explanation, Outcome, Step},
    policies::{DECISION_TIMEOUT, Policies, Ruling},
    question::{Action, Decision, Given, Hints, Question, SERVER_REQUESTS, Verdict, spellings},
    rule::{List, ProjectText, Rule},
};
use mux_config::PolicyEntry;

/// One list of rules.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Arc<Rule>>,
    /// Places in the list, of the rules that are about one server only, by its name as programs spell it.
    of_server: HashMap<Box<str>, Vec<usize>>,
    /// Of those that may be about any.
    of_any: Vec<usize>,
}

impl Policy {
    /// `home` stands for `~`. A rule that cannot be understood denies what it matches, and is told of.
    pub fn new(
        entries: &[PolicyEntry],
        list: List,
        home: &Path,
        problems: &mut Vec<String>,
    ) -> Self {
        let list = Arc::new(list);
        let mut policy = Self::default();
        for (place, entry) in entries.iter().enumerate() {
            let rule = Rule::compile(entry.clone(), place + 1, &list, home);
            if let Some(mistake) = rule.mistake() {
                let (number, matched) = (rule.number, rule.text());
                problems.push(format!(
                    "{} rule {number} (match {matched:?}): {mistake}; denied",
                    list.section()
                ));
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

    /// The first rule that may deny or ask for a call by this caller whose path begins in one of these ways, with some
    /// arguments and hints.
    fn strict_below(&self, question: &Question<'_>, heads: &[String]) -> Option<&Arc<Rule>> {
        let mut about = self.about(question.server());
        about.find(|rule| rule.may_stop_below(question, heads))
    }

    fn says_as(&self, other: &Self) -> bool {
        let written = |policy: &Self| {
            let rules = policy.rules.iter();
            rules.map(|rule| rule.written.clone()).collect::<Vec<_>>()
        };
        written(self) == written(other)
    }

    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// The directory of the project whose approved text it is, if that is not the one that is there.
    pub fn approved_before(&self) -> Option<&Path> {
        match &*self.rules.first()?.list {
            List::Project(root, ProjectText::Approved) => Some(root),
            _ => None,
        }
    }

    /// The rules that may be about a server, in their order.
    fn about(&self, server: &str) -> impl Iterator<Item = &Arc<Rule>> {
        let own = self.of_server.get(&*spell(server));
        let own = own.map_or(&[][..], Vec::as_slice);
        let (mut own, mut any) = (own.iter().peekable(), self.of_any.iter().peekable());
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

/// What nobody has a rule for: allowed, and to be asked where a tool calls itself destructive and somebody can answer.
/// A tool that says nothing of itself is allowed, although MCP would have it destructive then: nearly every tool
/// would be asked for. A server uses its client's model only where a rule says so.
fn default_verdict(question: &Question<'_>) -> Verdict {
    Verdict {
        action: match question.hints.is_destructive() {
            _ if question.is_sampling() => Action::Deny,
            Some(true) => Action::Ask,
            _ => Action::Allow,
        },
        rule: None,
    }
}

#[cfg(test)]
mod tests;
