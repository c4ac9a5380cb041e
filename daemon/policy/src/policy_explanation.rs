//! Explains why a call would be allowed, asked for or denied: each rule up to the deciding one, with the condition that
//! was not met.
//!
//! Invariant: an explanation comes from the same code as the decision, and makes no decision itself.

use std::sync::Arc;

use serde_json::Value;

use super::{
    EffectivePolicy, GivenArguments, PolicyQuestion, PolicyVerdict, Rule, RuleAction, RuleOutcome,
    default_verdict,
    rule::{RuleMatch, UnmetCondition, differing_hint, quoted_list},
};

/// The verdict on a hypothetical call, with every rule that was evaluated.
#[derive(Clone, Debug)]
pub struct VerdictExplanation {
    pub verdict: PolicyVerdict,
    /// True if an earlier rule applies with some arguments, and no arguments were given.
    pub depends: bool,
    /// The evaluated rules, in their order.
    pub steps: Vec<ExplanationStep>,
}

/// One evaluated rule.
#[derive(Clone, Debug)]
pub struct ExplanationStep {
    pub rule: Arc<Rule>,
    pub outcome: RuleOutcome,
    /// The reason, in words.
    pub because: String,
}

impl EffectivePolicy<'_> {
    pub fn explain(&self, question: &PolicyQuestion<'_>) -> VerdictExplanation {
        let mut steps: Vec<ExplanationStep> = Vec::new();
        let mut doubtful = None;
        let mut verdict = default_verdict(question);
        for rule in self.rules() {
            let (outcome, because) = match rule.match_rule(question) {
                RuleMatch::Yes => (RuleOutcome::Decides, rule.applies(question)),
                RuleMatch::InDoubt => {
                    doubtful = doubtful.or(Some(steps.len()));
                    (RuleOutcome::Unmet, rule.applies(question))
                }
                RuleMatch::Depends => (RuleOutcome::Depends, "it depends on the arguments".into()),
                RuleMatch::No(unmet @ (UnmetCondition::Match | UnmetCondition::Server)) => {
                    (RuleOutcome::Elsewhere, rule.why(unmet, question))
                }
                RuleMatch::No(unmet) => (RuleOutcome::Unmet, rule.why(unmet, question)),
            };
            steps.push(ExplanationStep {
                rule: Arc::clone(rule),
                outcome,
                because,
            });
            if outcome == RuleOutcome::Decides {
                verdict = PolicyVerdict::of(rule);
                break;
            }
        }
        if let Some(at) = doubtful.filter(|_| verdict.action != RuleAction::Deny) {
            let asks = steps[at].rule.number;
            for step in &mut steps {
                if step.outcome == RuleOutcome::Decides {
                    step.outcome = RuleOutcome::Unmet;
                    step.because = format!("the earlier rule {asks} asks");
                }
            }
            steps[at].outcome = RuleOutcome::Decides;
            verdict = PolicyVerdict::of(&steps[at].rule);
        }
        VerdictExplanation {
            verdict,
            depends: steps
                .iter()
                .any(|step| step.outcome == RuleOutcome::Depends),
            steps,
        }
    }
}

impl Rule {
    fn applies(&self, question: &PolicyQuestion<'_>) -> String {
        if let Some(mistake) = self.mistake() {
            return format!("it cannot be understood and therefore denies: {mistake}");
        }
        let values = match question.given {
            GivenArguments::Values(values) => Some(values),
            GivenArguments::Unread | GivenArguments::Unreadable => None,
        };
        let mut all = self.arguments.iter();
        let of_member = all.find(|condition| {
            let is_given = values.is_some_and(|values| condition.holds(values, false));
            !is_given && condition.is_met_by_any(question.also_given)
        });
        if let Some(condition) = of_member {
            let place = condition.path();
            return format!("arguments.{place}: a member of another argument is sent as this one");
        }
        let in_doubt = values.and_then(|values| {
            let mut all = self.arguments.iter();
            let condition = all.find(|condition| condition.is_in_doubt(values))?;
            Some((condition.path(), shown_values(&condition.found(values))))
        });
        match in_doubt {
            Some((place, found)) => {
                format!("arguments.{place}: the server may read {found} as a value that matches")
            }
            None => "all conditions are met".into(),
        }
    }

    fn why(&self, unmet: UnmetCondition, question: &PolicyQuestion<'_>) -> String {
        let written = &self.written;
        let wanted =
            |texts: &Option<Vec<String>>| texts.as_deref().map(quoted_list).unwrap_or_default();
        let or = |value: Option<String>, nothing: &str| value.unwrap_or_else(|| nothing.into());
        match unmet {
            UnmetCondition::Match if question.from_server => format!(
                "match: {} does not name a server's request, as `{}` does",
                quoted_list(&self.matches()),
                question.path
            ),
            UnmetCondition::Match => format!("match: it is about {}", quoted_list(&written.paths)),
            UnmetCondition::Server => format!(
                "server: `{}` is not {}",
                question.server(),
                wanted(&written.servers)
            ),
            UnmetCondition::Agent => {
                let agent = question.agent.map(|agent| format!("`{agent}`"));
                let agent = or(agent, "a caller without --agent");
                format!("agent: {agent} is not {}", wanted(&written.agents))
            }
            UnmetCondition::Client => format!(
                "client: `{}` is not {}",
                question.client,
                wanted(&written.clients)
            ),
            UnmetCondition::Workspace => {
                let place = question.workspace.map(|dir| dir.display().to_string());
                let place = or(place, "a caller without a workspace");
                format!(
                    "workspace: {place} is not in {}",
                    wanted(&written.workspaces)
                )
            }
            UnmetCondition::Annotations => self.why_annotations(question),
            UnmetCondition::Verb => {
                let verb = question.verb.map(str::to_owned);
                let verb = or(verb, "a tool without an HTTP method");
                format!("verb: {verb} is not {}", wanted(&written.verbs))
            }
            UnmetCondition::Argument(at) => self.why_argument(at, question.given),
        }
    }

    fn why_annotations(&self, question: &PolicyQuestion<'_>) -> String {
        match differing_hint(&self.written.annotations, question.hints) {
            Some((name, Some(found))) => format!("annotations.{name}: it is {found}"),
            Some((name, None)) => format!("annotations.{name}: the tool does not declare it"),
            None => "annotations: they differ".into(),
        }
    }

    fn why_argument(&self, at: usize, given: GivenArguments<'_>) -> String {
        let (Some(condition), GivenArguments::Values(values)) = (self.arguments.get(at), given)
        else {
            return "arguments: they are not an object".into();
        };
        let found = condition.found(values);
        let place = condition.path();
        // The index among the written conditions differs if some of them were invalid.
        let written = self.written.arguments.iter().find(|(it, _)| it == place);
        let wanted = written
            .map(|(_, test)| test.to_string())
            .unwrap_or_default();
        let every = match self.action {
            RuleAction::Allow if found.len() > 1 => ", each of them",
            _ => "",
        };
        format!(
            "arguments.{place}: {} is not {wanted}{every}",
            shown_values(&found)
        )
    }
}

/// The first values, for display.
fn shown_values(values: &[Option<Value>]) -> String {
    let shown = values.iter().take(3).map(|value| shown(value.as_ref()));
    shown.collect::<Vec<_>>().join(", ")
}

/// A value shortened for display.
fn shown(value: Option<&Value>) -> String {
    const MAX_SHOWN_VALUE_BYTES: usize = 80;
    let Some(value) = value else {
        return "nothing".into();
    };
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_VALUE_BYTES) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
