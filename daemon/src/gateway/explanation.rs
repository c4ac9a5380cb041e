//! What would become of a call, and why, without making it.
//!
//! Invariant: no server is started for it, and nothing is counted.

use std::sync::Arc;

use mux_sandbox::{Fault, Kind};
use serde_json::Value;

use super::{
    Arguments, Gateway,
    permission::{other_spellings, own_verb},
    reaching::{strictness, takes_any},
};
use crate::{
    catalog::{Scope, Tool},
    notices::Origin,
    policy::{Explanation, Given, Hints, Question, Ruling, spellings},
    sources::graphql_reached,
};

/// What a server can be asked beside its tools, by the names of MCP.
const METHODS: &[&str] = &[
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// A call that somebody thinks of.
pub struct Supposed<'a> {
    pub path: &'a str,
    pub arguments: Option<Arguments>,
    pub origin: &'a Origin,
    /// What the agent sees, and what there is.
    pub scope: &'a Scope,
    pub sight: &'a Scope,
}

/// What policy says of it.
#[derive(Debug)]
pub struct Told {
    /// Canonical, if the tool is known.
    pub path: String,
    pub tool: Option<Arc<Tool>>,
    pub verb: Option<String>,
    pub hints: Hints,
    pub explanation: Explanation,
    /// What somebody should know who reads it.
    pub notes: Vec<String>,
}

impl Gateway {
    pub fn explain(&self, supposed: Supposed<'_>) -> Result<Told, Fault> {
        let written = supposed.path.trim();
        let written = written.strip_prefix("mux.").unwrap_or(written);
        let Some((name, method)) = written.split_once('.') else {
            let message = format!("{written:?} is not the path of a tool");
            return Err(Fault::new(Kind::Validation, message).hint("a path is `server.tool`"));
        };
        let mut notes = Vec::new();
        let server = self.upstreams.find_seen(name, supposed.sight).ok();
        let known = server.as_ref().and_then(|server| server.tools());
        let tool = known.as_ref().and_then(|tools| tools.find(method)).cloned();
        let server_name = server.as_ref().map_or(name, |server| server.name());
        let path = tool
            .as_ref()
            .map_or_else(|| format!("{server_name}.{method}"), |tool| tool.path());
        match (&server, &known, &tool) {
            (None, ..) => notes.push(format!("there is no server `{name}`")),
            (_, _, Some(_)) => {}
            _ if METHODS.contains(&method) => {}
            (_, None, _) => notes.push(format!(
                "the tools of `{server_name}` are not known yet: `mux tools --server {server_name}` asks it"
            )),
            _ => notes.push(format!("`{server_name}` has no tool `{method}`")),
        }
        let hidden = match (&known, &tool) {
            (Some(known), Some(tool)) => supposed.scope.view(known).find(&tool.name).is_none(),
            _ => supposed.scope.hides_path(server_name, method),
        };
        if hidden {
            notes.push("this agent does not see it (exclude): a call ends as not_found".into());
        }
        let hints = tool.as_deref().map(Hints::of).unwrap_or_default();
        let both = server.as_ref().zip(tool.as_deref());
        let verb = both.and_then(|(server, tool)| own_verb(server, tool));
        let values = supposed
            .arguments
            .map(|arguments| values(tool.as_deref(), &arguments, &mut notes));
        let given = match &values {
            None => Given::Unread,
            Some(None) => Given::Unreadable,
            Some(Some(values)) => Given::Values(values),
        };
        let others = other_spellings(&path, tool.as_deref());
        let question = Question {
            path: &path,
            spellings: &others,
            hints,
            verb,
            agent: supposed.origin.agent.as_deref(),
            client: &supposed.origin.client,
            workspace: supposed.origin.workspace.as_deref(),
            given,
        };
        let project = supposed.sight.project().map(|project| &project.denied);
        let policies = self.policies();
        let ruling = policies.of(question.agent, project);
        let mut explanation = ruling.explain(&question);
        if both.is_some_and(|(server, tool)| takes_any(server, &tool.name)) {
            let stricter = reached(&question, ruling, &explanation, &mut notes);
            explanation = stricter.unwrap_or(explanation);
        }
        let verb = verb.map(str::to_owned);
        Ok(Told {
            path,
            tool,
            verb,
            hints,
            explanation,
            notes,
        })
    }
}

/// Of a query of somebody's own: what decides, if it is something that the query reaches.
fn reached(
    question: &Question<'_>,
    ruling: Ruling<'_>,
    own: &Explanation,
    notes: &mut Vec<String>,
) -> Option<Explanation> {
    let found = match question.given {
        Given::Values(values) => graphql_reached(values),
        Given::Unread => {
            let told = "what its query reaches is decided on, too: give `query=…`";
            notes.push(told.into());
            return None;
        }
        Given::Unreadable => return None,
    };
    let found = found
        .inspect_err(|why| notes.push(format!("the call would fail then: {why}")))
        .ok()?;
    let mut strictest = (strictness(own.verdict.action), None);
    for one in found {
        let path = format!("{}.{}", question.server(), one.function);
        let other = spellings(question.server(), &one.function, &one.function);
        let explanation = ruling.explain(&Question {
            path: &path,
            spellings: &other,
            hints: Hints::of_annotations(&one.annotations),
            verb: None,
            given: Given::Values(&one.arguments),
            ..*question
        });
        let verdict = &explanation.verdict;
        let strict = strictness(verdict.action);
        if !verdict.is_default() && strict > strictest.0 {
            strictest = (strict, Some((path, explanation)));
        }
    }
    let (path, explanation) = strictest.1?;
    notes.push(format!("its query reaches `{path}`, and that decides"));
    Some(explanation)
}

/// The values as a call of the tool would have them; as what they look like, if nobody knows it.
fn values(tool: Option<&Tool>, arguments: &Arguments, notes: &mut Vec<String>) -> Option<Value> {
    let read = arguments.check_nesting().and_then(|()| match tool {
        Some(tool) => arguments.as_values(tool),
        None => arguments.as_they_look(),
    });
    match read {
        Ok(values) => {
            let checked = tool.map(|tool| tool.check_arguments(values.clone()));
            if let Some(Err(fault)) = checked {
                notes.push(format!("the call would fail then: {}", fault.message));
            }
            Some(Value::Object(values))
        }
        Err(fault) => {
            notes.push(format!("the call would fail then: {}", fault.message));
            None
        }
    }
}
