//! Why a call would be allowed, asked for or denied: each rule up to the one that decides, with the condition that
//! was not met.
//!
//! Invariant: an explanation comes from the same code as the decision, and decides nothing itself.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Action, Given, Question, Rule, Ruling, Verdict, default_verdict,
    rule::{Holds, Unmet, hints, listed},
};

/// What would become of a call.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub verdict: Verdict,
    /// Whether a rule before the one that decides applies with some arguments; none were told.
    pub depends: bool,
    /// The rules that were looked at, in their order.
    pub steps: Vec<Step>,
}

/// One rule that was looked at.
#[derive(Clone, Debug)]
pub struct Step {
    pub rule: Arc<Rule>,
    pub outcome: Outcome,
    /// In words.
    pub because: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It applies, and no other is asked.
    Decides,
    /// It is about other paths or servers.
    Elsewhere,
    /// A condition is not met.
    Unmet,
    /// It applies with some arguments.
    Depends,
}

impl Ruling<'_> {
    pub fn explain(&self, question: &Question<'_>) -> Explanation {
        let mut steps: Vec<Step> = Vec::new();
        let mut doubtful = None;
        let mut verdict = default_verdict(question);
        for rule in self.rules() {
            let (outcome, because) = match rule.holds(question) {
                Holds::Yes => (Outcome::Decides, rule.applies(question.given)),
                Holds::InDoubt => {
                    doubtful = doubtful.or(Some(steps.len()));
                    (Outcome::Unmet, rule.applies(question.given))
                }
                Holds::Depends => (Outcome::Depends, "it depends on the arguments".into()),
                Holds::No(unmet @ (Unmet::Match | Unmet::Server)) => {
                    (Outcome::Elsewhere, rule.why(unmet, question))
                }
                Holds::No(unmet) => (Outcome::Unmet, rule.why(unmet, question)),
            };
            steps.push(Step {
                rule: Arc::clone(rule),
                outcome,
                because,
            });
            if outcome == Outcome::Decides {
                verdict = Verdict::of(rule);
                break;
            }
        }
        if let Some(at) = doubtful.filter(|_| verdict.action != Action::Deny) {
            let asks = steps[at].rule.number;
            for step in &mut steps {
                if step.outcome == Outcome::Decides {
                    step.outcome = Outcome::Unmet;
                    step.because = format!("rule {asks} before it asks");
                }
            }
            steps[at].outcome = Outcome::Decides;
            verdict = Verdict::of(&steps[at].rule);
        }
        Explanation {
            verdict,
            depends: steps.iter().any(|step| step.outcome == Outcome::Depends),
            steps,
        }
    }
}

impl Rule {
    fn applies(&self, given: Given<'_>) -> String {
        if let Some(mistake) = self.mistake() {
            return format!("it cannot be understood, so that it denies: {mistake}");
        }
        let values = match given {
            Given::Values(values) => Some(values),
            Given::Unread | Given::Unreadable => None,
        };
        let in_doubt = values.and_then(|values| {
            let mut all = self.arguments.iter();
            let condition = all.find(|condition| condition.is_in_doubt(values))?;
            let found = condition.found(values);
            let found: Vec<String> = found.iter().take(3).map(shown).collect();
            Some((condition.place(), found.join(", ")))
        });
        match in_doubt {
            Some((place, found)) => {
                format!("arguments.{place}: {found} may mean what it is about to the server")
            }
            None => "everything that it asks for is met".into(),
        }
    }

    fn why(&self, unmet: Unmet, question: &Question<'_>) -> String {
        let written = &self.written;
        let wanted = |texts: &Option<Vec<String>>| texts.as_deref().map(listed).unwrap_or_default();
        let or = |value: Option<String>, nothing: &str| value.unwrap_or_else(|| nothing.into());
        match unmet {
            Unmet::Match if question.from_server => format!(
                "match: {} does not name what a server asks, as `{}` does",
                listed(&self.matches()),
                question.path
            ),
            Unmet::Match => format!("match: it is about {}", listed(&written.paths)),
            Unmet::Server => format!(
                "server: `{}` is not {}",
                question.server(),
                wanted(&written.servers)
            ),
            Unmet::Agent => {
                let agent = question.agent.map(|agent| format!("`{agent}`"));
                let agent = or(agent, "a caller without --agent");
                format!("agent: {agent} is not {}", wanted(&written.agents))
            }
            Unmet::Client => format!(
                "client: `{}` is not {}",
                question.client,
                wanted(&written.clients)
            ),
            Unmet::Workspace => {
                let place = question.workspace.map(|dir| dir.display().to_string());
                let place = or(place, "a caller without a workspace");
                format!(
                    "workspace: {place} is not in {}",
                    wanted(&written.workspaces)
                )
            }
            Unmet::Annotations => self.why_annotations(question),
            Unmet::Verb => {
                let verb = question.verb.map(str::to_owned);
                let verb = or(verb, "what is no operation of an API");
                format!("verb: {verb} is not {}", wanted(&written.verbs))
            }
            Unmet::Argument(at) => self.why_argument(at, question.given),
        }
    }

    fn why_annotations(&self, question: &Question<'_>) -> String {
        let said = question.hints;
        let found = [
            Some(said.is_read_only()),
            said.is_destructive(),
            Some(said.is_idempotent()),
            said.open_world,
        ];
        let differs = hints(&self.written.annotations)
            .into_iter()
            .zip(found)
            .find(|((_, wanted), found)| wanted.is_some() && wanted != found);
        match differs {
            Some(((name, _), Some(found))) => format!("annotations.{name}: it is {found}"),
            Some(((name, _), None)) => {
                format!("annotations.{name}: the tool says nothing of it")
            }
            None => "annotations: they are others".into(),
        }
    }

    fn why_argument(&self, at: usize, given: Given<'_>) -> String {
        let (Some(condition), Given::Values(values)) = (self.arguments.get(at), given) else {
            return "arguments: they are no object".into();
        };
        let found = condition.found(values);
        let found: Vec<String> = found.iter().take(3).map(shown).collect();
        let place = condition.place();
        // Its place among those that were written is another one if some were not understood.
        let written = self.written.arguments.iter().find(|(it, _)| it == place);
        let wanted = written
            .map(|(_, test)| test.to_string())
            .unwrap_or_default();
        let every = match self.action {
            Action::Allow if found.len() > 1 => ", each of them",
            _ => "",
        };
        format!(
            "arguments.{place}: {} is not {wanted}{every}",
            found.join(", ")
        )
    }
}

/// Enough of a value to know it again.
fn shown(value: &Option<Value>) -> String {
    const LONGEST: usize = 80;
    let Some(value) = value else {
        return "nothing".into();
    };
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
