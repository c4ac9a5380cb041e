//! Whether a call may be made: the one place in which policy is asked.
//!
//! Invariant: what is decided on arguments is decided on those that are sent. Their text never changes, and however
//! often it is read it is read the same way; where the tool has become another one meanwhile, all is decided again.

use std::sync::Arc;

use mux_typegen::names::spell;
use mux_wire::{Fault, Kind};
use serde_json::Value;

use super::{
    Arguments, Asking, Gateway,
    arguments::Readers,
    graphql_policy::{Judged, made},
};
use mux_audit::Entry;
use mux_caller::Origin;
use mux_catalog::{Scope, Tool};
use mux_policy::{
    Action, Decision, Given, Hints, List, Policies, Question, Ruling, Verdict, spellings,
};
use mux_settings::Link;
use mux_upstream::Server;

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
    /// What the server asks of the caller, with its params.
    Request(&'a Value),
}

/// Why somebody is asked.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) rule: String,
    pub(super) reason: Option<String>,
    /// Names that, where two rules read alike.
    pub(super) identity: String,
}

impl Ask {
    /// Whoever has written a rule can be told of what it stops. Nobody has written the default: it asks only where
    /// the client that makes the call can ask its user at once, or could when its run began.
    fn of(judged: &Judged, asking: &Asking) -> Option<Self> {
        let (verdict, identity) = (&judged.verdict, judged.identity.clone());
        match &verdict.rule {
            Some(rule) => Some(Self {
                rule: format!("\"{}\"", rule.text()),
                reason: verdict.reason().map(str::to_owned),
                identity,
            }),
            None => (asking.asks || asking.caller.can_approve()).then(|| Self {
                rule: DEFAULT.into(),
                reason: None,
                identity,
            }),
        }
    }
}

/// Of what nobody is asked for: clients read lists, and complete what is typed, of their own accord and all the time.
pub(super) fn nobody_asked(path: &str, ask: Option<Ask>) -> Result<(), Fault> {
    let Some(Ask { rule, .. }) = ask else {
        return Ok(());
    };
    let message = format!(
        "{path} must be approved by the policy {rule}, and nobody is asked for lists and completions"
    );
    Err(Fault::new(Kind::Denied, message)
        .hint("let the rule allow or deny it; a call, a resource that is read and a prompt can be asked for")
        .path(path))
}

/// A question that does not depend on whoever asks it any more.
pub(super) struct Asked {
    policies: Arc<Policies>,
    pub(super) scope: Arc<Scope>,
    origin: Arc<Origin>,
    pub(super) path: String,
    from_server: bool,
    pub(super) spellings: Vec<String>,
    pub(super) hints: Hints,
    pub(super) verb: Option<String>,
}

impl Gateway {
    /// Nothing, or why somebody is to be asked, or why it may not be. Before this nothing is told of the arguments,
    /// and after it they are checked.
    pub(super) async fn permit(
        &self,
        wanted: &Permission<'_>,
        entry: &mut Entry,
    ) -> Result<Option<Ask>, Fault> {
        let judged = self.judged(wanted).await?;
        let (verdict, rule) = (&judged.verdict, judged.verdict.rule.as_ref());
        self.policies().count_verdict(verdict);
        entry.reaches(&judged.reaches);
        entry.decided(
            verdict.action.word(),
            &rule.map_or_else(|| "default".into(), |rule| rule.text()),
        );
        match verdict.action {
            Action::Allow => Ok(None),
            Action::Deny => Err(denied(wanted.path, &judged)),
            Action::Ask => {
                let ask = Ask::of(&judged, wanted.asking);
                if ask.is_none() {
                    entry.decided(Action::Allow.word(), "default");
                }
                Ok(ask)
            }
        }
    }

    async fn judged(&self, wanted: &Permission<'_>) -> Result<Judged, Fault> {
        let asked = self.asked(wanted);
        let (tool, arguments) = match &wanted.what {
            What::Offer(given) => return asked.judge_value(given).await,
            What::Request(params) => return asked.judge_value(params).await,
            What::Tool(tool, arguments) => (tool, arguments),
        };
        let function = self.graphql_function(wanted.server, tool);
        if let Decision::Made(verdict) = asked.decide(Given::Unread)
            && (function.is_none() || verdict.action == Action::Deny)
        {
            return Ok(Judged::of(verdict));
        }
        if arguments.check_nesting().await.is_err() {
            return asked.judge(Given::Unreadable);
        }
        let Some(function) = function else {
            let judge = move |read: Result<_, Fault>| match read {
                Ok(values) => asked.judge(Given::Values(&Value::Object(values))),
                Err(_) => asked.judge(Given::Unreadable),
            };
            return self.readers.judged(tool, arguments, judge).await?;
        };
        let read = move |read: Result<_, Fault>| -> Result<_, Fault> {
            let (own, values) = match read {
                Ok(values) => {
                    let values = Value::Object(values);
                    (made(asked.decide(Given::Values(&values)))?, values)
                }
                Err(_) => (made(asked.decide(Given::Unreadable))?, Value::Null),
            };
            Ok((asked, own, values))
        };
        let (asked, own, values) = self.readers.judged(tool, arguments, read).await??;
        match values {
            Value::Object(values)
                if own.action != Action::Deny && function.does_as_told(&values) =>
            {
                self.documents.judge(asked, function, own, values).await
            }
            _ => Ok(Judged::of(own)),
        }
    }

    fn asked(&self, wanted: &Permission<'_>) -> Asked {
        let tool = match &wanted.what {
            What::Tool(tool, _) => Some(&***tool),
            What::Offer(_) | What::Request(_) => None,
        };
        Asked {
            from_server: matches!(wanted.what, What::Request(_)),
            policies: self.policies(),
            scope: self.scope_now(wanted.asking),
            origin: Arc::clone(&wanted.asking.caller.origin),
            path: wanted.path.to_owned(),
            spellings: other_spellings(wanted.path, tool),
            hints: tool.map(Tool::hints).unwrap_or_default(),
            verb: tool
                .and_then(|tool| own_verb(wanted.server, tool))
                .map(str::to_owned),
        }
    }
}

impl Asked {
    async fn judge_value(self, value: &Value) -> Result<Judged, Fault> {
        match self.decide(Given::Unread) {
            Decision::Made(verdict) => Ok(Judged::of(verdict)),
            Decision::NeedsArguments | Decision::TimedOut => {
                let judge = move |value: &Value| self.judge(Given::Values(value));
                Readers::judged_value(value, judge).await
            }
        }
    }

    fn judge(&self, given: Given<'_>) -> Result<Judged, Fault> {
        made(self.decide(given)).map(Judged::of)
    }

    pub(super) fn decide(&self, given: Given<'_>) -> Decision {
        self.decide_of(
            &self.path,
            &self.spellings,
            self.hints,
            self.verb.as_deref(),
            given,
        )
    }

    /// The same caller, about another path.
    pub(super) fn decide_of(
        &self,
        path: &str,
        spellings: &[String],
        hints: Hints,
        verb: Option<&str>,
        given: Given<'_>,
    ) -> Decision {
        let question = self.question(path, spellings, hints, verb, given);
        self.ruling().decide(&question)
    }

    pub(super) fn question<'a>(
        &'a self,
        path: &'a str,
        spellings: &'a [String],
        hints: Hints,
        verb: Option<&'a str>,
        given: Given<'a>,
    ) -> Question<'a> {
        Question {
            path,
            from_server: self.from_server,
            spellings,
            hints,
            verb,
            agent: self.origin.agent.as_deref(),
            client: &self.origin.client,
            workspace: self.origin.workspace.as_deref(),
            given,
        }
    }

    /// The rules that are in force for whoever asks.
    pub(super) fn ruling(&self) -> Ruling<'_> {
        self.policies
            .of(self.origin.agent.as_deref(), self.scope.denied())
    }
}

#[cfg(test)]
impl Asked {
    /// By `mux`, of a tool that says this of itself.
    pub(super) fn by_mux(policies: Policies, path: &str, hints: Hints) -> Self {
        Self {
            policies: Arc::new(policies),
            scope: Arc::default(),
            origin: Arc::new(Origin::new("mux", None, None)),
            path: path.to_owned(),
            from_server: false,
            spellings: Vec::new(),
            hints,
            verb: None,
        }
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
        Link::Source(_) => tool.verb.as_deref(),
        Link::Process(_) | Link::Remote(_) => None,
    }
}

fn denied(called: &str, judged: &Judged) -> Fault {
    let verdict = &judged.verdict;
    if let Some(why) = &judged.undecided {
        let server = called.split('.').next().unwrap_or(called);
        let message = format!("{called} is denied: it is not known what the call does: {why}");
        return Fault::new(Kind::Denied, message).path(called).hint(format!(
            "`mux sources refresh {server}`, if its schema has changed; or select what the schema has, or call functions"
        ));
    }
    let path = judged.through.as_deref().unwrap_or(called);
    denied_by(path, verdict).path(called)
}

fn denied_by(path: &str, verdict: &Verdict) -> Fault {
    let Some(rule) = &verdict.rule else {
        // By default only sampling is.
        let hint = format!("`[[policy]]` with match = \"{path}\" and action = \"allow\" allows it");
        return Fault::new(
            Kind::Denied,
            format!("{path} is denied unless a rule allows it"),
        )
        .hint(hint)
        .path(path);
    };
    let (text, because) = (rule.text(), because(verdict));
    let message = match &*rule.list {
        List::Project(root, _) => format!(
            "{path} is denied by the policy \"{text}\" of the project in {}{because}",
            root.display()
        ),
        _ => format!("{path} is denied by the policy \"{text}\"{because}"),
    };
    let whence = verdict.whence().unwrap_or_default();
    let fault = Fault::new(Kind::Denied, message).path(path);
    match rule.mistake() {
        Some(mistake) => fault.hint(format!(
            "{whence} cannot be understood, so that it denies: {mistake}"
        )),
        None => fault.hints(
            format!("it is {whence}; see `mux policy explain {path}`"),
            format!("it is {whence}, the user's decision: do not look for a way around it"),
        ),
    }
}

fn because(verdict: &Verdict) -> String {
    let reason = verdict.reason();
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}
