//! Whether a call may be made: the one place in which policy is asked.
//!
//! Invariant: what is decided on arguments is decided on those that are sent. Their text never changes, and however
//! often it is read it is read the same way; where the tool has become another one meanwhile, all is decided again.

use std::sync::Arc;

use mux_sandbox::{Fault, Kind, typegen::names::spell};
use serde_json::Value;

use super::{Arguments, Asking, Gateway};
use crate::{
    audit::Entry,
    catalog::{Scope, Tool},
    notices::Origin,
    policy::{Action, Decision, Given, Hints, List, Policies, Question, Verdict, spellings, verb},
    settings::Link,
    upstream::Server,
};

/// Why somebody is asked where no rule says so.
const DEFAULT: &str = "the default, since it calls itself destructive";

/// What somebody is about to do.
pub(super) struct Permission<'a> {
    /// Canonical.
    pub(super) path: &'a str,
    pub(super) server: &'a Server,
    pub(super) what: What<'a>,
    pub(super) asking: &'a Asking,
}

pub(super) enum What<'a> {
    Tool(&'a Arc<Tool>, &'a Arguments),
    /// What is no tool, and takes this.
    Offer(Value),
}

/// Why somebody is asked.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) rule: String,
    pub(super) reason: Option<String>,
}

impl Ask {
    /// Whoever has written a rule can be told of what it stops. Nobody has written the default: it asks only where
    /// the client that makes the call can ask its user at once, or could when its run began.
    fn of(verdict: &Verdict, asking: &Asking) -> Option<Self> {
        match &verdict.rule {
            Some(rule) => Some(Self {
                rule: format!("\"{}\"", rule.text()),
                reason: verdict.reason().map(str::to_owned),
            }),
            None => (asking.asks || asking.caller.can_approve()).then(|| Self {
                rule: DEFAULT.into(),
                reason: None,
            }),
        }
    }
}

/// Of what nobody is asked for: clients read lists of their own accord, and all the time.
pub(super) fn nobody_asked(path: &str, ask: Option<Ask>) -> Result<(), Fault> {
    let Some(Ask { rule, .. }) = ask else {
        return Ok(());
    };
    let message =
        format!("{path} must be approved by the policy {rule}, and nobody is asked for lists");
    Err(Fault::new(Kind::Denied, message)
        .hint("let the rule allow or deny it; a call, a resource that is read and a prompt can be asked for")
        .path(path))
}

/// A question that does not depend on whoever asks it any more.
struct Asked {
    policies: Arc<Policies>,
    scope: Arc<Scope>,
    origin: Arc<Origin>,
    path: String,
    spellings: Vec<String>,
    hints: Hints,
    verb: Option<String>,
}

impl Gateway {
    /// Nothing, or why somebody is to be asked, or why it may not be. Before this nothing is told of the arguments,
    /// and after it they are checked.
    pub(super) async fn permit(
        &self,
        wanted: &Permission<'_>,
        entry: &mut Entry,
    ) -> Result<Option<Ask>, Fault> {
        let verdict = self.verdict(wanted).await?;
        let rule = verdict.rule.as_ref();
        entry.decided(
            verdict.action.word(),
            &rule.map_or_else(|| "default".into(), |rule| rule.text()),
        );
        match verdict.action {
            Action::Allow => Ok(None),
            Action::Deny => Err(denied(wanted.path, &verdict)),
            Action::Ask => {
                let ask = Ask::of(&verdict, wanted.asking);
                if ask.is_none() {
                    entry.decided(Action::Allow.word(), "default");
                }
                Ok(ask)
            }
        }
    }

    async fn verdict(&self, wanted: &Permission<'_>) -> Result<Verdict, Fault> {
        let asked = self.asked(wanted);
        let decision = match &wanted.what {
            What::Offer(arguments) => asked.decide(Given::Values(arguments)),
            What::Tool(tool, arguments) => match asked.decide(Given::Unread) {
                Decision::NeedsArguments if arguments.check_nesting().is_err() => {
                    asked.decide(Given::Unreadable)
                }
                Decision::NeedsArguments => {
                    let judge = move |read: Result<_, Fault>| match read {
                        Ok(values) => asked.decide(Given::Values(&Value::Object(values))),
                        Err(_) => asked.decide(Given::Unreadable),
                    };
                    self.readers.judged(tool, arguments, judge).await?
                }
                made => made,
            },
        };
        match decision {
            Decision::Made(verdict) => Ok(verdict),
            Decision::NeedsArguments => Err(Fault::new(
                Kind::Internal,
                "policy wants arguments that it has",
            )),
        }
    }

    fn asked(&self, wanted: &Permission<'_>) -> Asked {
        let tool = match &wanted.what {
            What::Tool(tool, _) => Some(&***tool),
            What::Offer(_) => None,
        };
        Asked {
            policies: self.policies(),
            scope: Arc::clone(&wanted.asking.scope),
            origin: Arc::clone(&wanted.asking.caller.origin),
            path: wanted.path.to_owned(),
            spellings: other_spellings(wanted.path, tool),
            hints: tool.map(Hints::of).unwrap_or_default(),
            verb: tool
                .and_then(|tool| own_verb(wanted.server, tool))
                .map(str::to_owned),
        }
    }
}

impl Asked {
    fn decide(&self, given: Given<'_>) -> Decision {
        let question = Question {
            path: &self.path,
            spellings: &self.spellings,
            hints: self.hints,
            verb: self.verb.as_deref(),
            agent: self.origin.agent.as_deref(),
            client: &self.origin.client,
            workspace: self.origin.workspace.as_deref(),
            given,
        };
        let project = self.scope.project().map(|project| &project.denied);
        self.policies.decide(&question, project)
    }
}

/// Of a tool, or of what is none.
pub(super) fn other_spellings(path: &str, tool: Option<&Tool>) -> Vec<String> {
    let (server, method) = path.split_once('.').unwrap_or((path, ""));
    match tool {
        Some(tool) => spellings(&tool.server, &tool.name, &tool.shown_name()),
        None => match spell(server) {
            spelled if spelled != server => vec![format!("{spelled}.{method}")],
            _ => Vec::new(),
        },
    }
}

/// The HTTP method of a tool that a source made.
pub(super) fn own_verb<'a>(server: &Server, tool: &'a Tool) -> Option<&'a str> {
    let definition = server.definition().as_ref().ok()?;
    match definition.link {
        Link::Source(_) => verb(tool),
        Link::Process(_) | Link::Remote(_) => None,
    }
}

fn denied(path: &str, verdict: &Verdict) -> Fault {
    let Some(rule) = &verdict.rule else {
        return Fault::new(Kind::Denied, format!("{path} is denied")).path(path);
    };
    let (text, because) = (rule.text(), because(verdict));
    let message = match &*rule.list {
        List::Project(root) => format!(
            "{path} is denied by the policy \"{text}\" of the project in {}{because}",
            root.display()
        ),
        _ => format!("{path} is denied by the policy \"{text}\"{because}"),
    };
    let whence = verdict.whence().unwrap_or_default();
    let hint = match rule.mistake() {
        Some(mistake) => format!("{whence} cannot be understood, so that it denies: {mistake}"),
        None => format!("it is {whence}; see `mux policy explain {path}`"),
    };
    Fault::new(Kind::Denied, message).hint(hint).path(path)
}

fn because(verdict: &Verdict) -> String {
    let reason = verdict.reason();
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}
