//! What policy says of a call that stands for others: a query of somebody's own does what the functions of its source do,
//! and is judged with them.
//!
//! Invariant: whatever a rule says of a function holds for every way to what it does. Of several verdicts the strictest
//! counts; that nobody has a rule for one of them says nothing against a rule for the call itself.

use std::collections::BTreeSet;

use mux_sandbox::{Fault, Kind};
use serde_json::Value;

use super::permission::Asked;
use crate::{
    policy::{Action, Decision, Given, Hints, Verdict, glob, spellings},
    settings::{Link, SourceKind},
    sources::{Reached, graphql_reached, takes_any_graphql},
    upstream::Server,
};

/// Whether what this tool of the server does stands in its arguments.
pub(super) fn takes_any(server: &Server, tool: &str) -> bool {
    let definition = server.definition().as_ref().ok();
    definition.is_some_and(|definition| match &definition.link {
        Link::Source(source) => source.kind == SourceKind::Graphql && takes_any_graphql(tool),
        Link::Process(_) | Link::Remote(_) => false,
    })
}

/// A verdict, and what it is about.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// The path that it is about, where that is not the one of the call.
    pub(super) through: Option<String>,
    /// All that the call reaches, by their paths.
    pub(super) reaches: Vec<String>,
    /// Names the rules because of which somebody is asked, and what the call reaches: for what an answer is good.
    pub(super) identity: String,
}

impl Judged {
    pub(super) fn of(verdict: Verdict) -> Self {
        Self {
            identity: match verdict.action {
                Action::Ask => identity(&verdict),
                Action::Allow | Action::Deny => String::new(),
            },
            verdict,
            through: None,
            reaches: Vec::new(),
        }
    }
}

impl Asked {
    /// Of a call that takes any query.
    pub(super) fn judge_any(&self, values: &Value) -> Result<Judged, Fault> {
        let own = made(self.decide(Given::Values(values)))?;
        let reached = match graphql_reached(values) {
            Ok(reached) => reached,
            // Whoever is denied hears nothing of his arguments.
            Err(_) if own.action == Action::Deny => return Ok(Judged::of(own)),
            Err(why) => return Err(Fault::new(Kind::Validation, why).path(&self.path)),
        };
        let mut judged = Judged::of(own);
        let mut asking = BTreeSet::new();
        for one in &reached {
            let path = format!("{}.{}", self.server(), one.function);
            let verdict = self.of_reached(&path, one)?;
            if !judged.reaches.contains(&path) {
                judged.reaches.push(path.clone());
            }
            if verdict.is_default() {
                continue;
            }
            if verdict.action == Action::Ask {
                asking.insert(identity(&verdict));
            }
            if strictness(verdict.action) > strictness(judged.verdict.action) {
                (judged.verdict, judged.through) = (verdict, Some(path));
            }
        }
        if judged.verdict.action == Action::Ask {
            asking.insert(identity(&judged.verdict));
            asking.extend(judged.reaches.iter().map(|path| format!("reaches {path}")));
            judged.identity = asking.into_iter().collect::<Vec<_>>().join("\n");
        }
        Ok(judged)
    }

    fn of_reached(&self, path: &str, one: &Reached) -> Result<Verdict, Fault> {
        let (server, function) = (self.server(), one.function.as_str());
        let is_left_out = self.exclude.iter().any(|left_out| glob(left_out, function));
        if is_left_out || self.scope.hides_path(server, function) {
            let message = format!("the query reaches `{path}`, which there is not");
            return Err(Fault::new(Kind::NotFound, message).path(&self.path));
        }
        let spellings = spellings(server, function, function);
        let hints = Hints::of_annotations(&one.annotations);
        made(self.decide_of(path, &spellings, hints, None, Given::Values(&one.arguments)))
    }

    fn server(&self) -> &str {
        self.path.split_once('.').map_or("", |(server, _)| server)
    }
}

/// A decision that was made with everything there is.
pub(super) fn made(decision: Decision) -> Result<Verdict, Fault> {
    match decision {
        Decision::Made(verdict) => Ok(verdict),
        Decision::NeedsArguments => Err(Fault::new(
            Kind::Internal,
            "policy wants arguments that it has",
        )),
    }
}

fn identity(verdict: &Verdict) -> String {
    let rule = verdict.rule.as_ref();
    rule.map_or_else(|| "the default".into(), |rule| rule.identity())
}

pub(super) fn strictness(action: Action) -> u8 {
    match action {
        Action::Allow => 0,
        Action::Ask => 1,
        Action::Deny => 2,
    }
}
