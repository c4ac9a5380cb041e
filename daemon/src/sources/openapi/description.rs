//! A whole description as functions.
//!
//! The text is read as JSON values and not into types of its own: schemas must stay the JSON Schema that they are, and
//! real descriptions are wrong in a place or two. One operation that is broken is left out and named, and all others
//! are functions.
//!
//! Invariant: total and deterministic. Any JSON is a description or an error, and the same text gives the same
//! functions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::{
    closure::Closures,
    dialect::Dialect,
    document::{Document, items, members, text},
    names::{Named, names},
    operation::{Context, Found, Operation, Unusable},
    security::Security,
    servers::{self, Address, Entry},
};
use crate::sources::{addresses::Named as Origins, http::Scheme};

/// As many as a server may list tools.
const MOST_OPERATIONS: usize = 10_000;
const VERBS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// What a description says, ready to be listed and called.
#[derive(Debug)]
pub struct Description {
    title: String,
    version: String,
    address: Address,
    /// Where it is called and where its tokens come from, in its own words.
    pub(super) origins: Origins,
    tools: Vec<Value>,
    pub(super) operations: HashMap<String, Operation>,
    pub(super) schemes: BTreeMap<String, Scheme>,
    notes: Vec<String>,
    left_out: Vec<LeftOut>,
}

/// An operation that is no function.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeftOut {
    /// `GET /pets`
    pub operation: String,
    pub why: String,
}

impl Description {
    /// An error tells a person what to do.
    pub fn read(text: &str, entry: &Entry) -> Result<Self, String> {
        let document = Document::read(text)?;
        let root = document.root();
        let address = servers::address(root, entry)?;
        let security = Security::read(&document);
        let (mut found, mut left_out) = found(&document);
        let too_many = found.drain(found.len().min(MOST_OPERATIONS)..);
        left_out.extend(too_many.map(|it| left(&it, &Unusable::TooMany(MOST_OPERATIONS))));
        let named: Vec<Named<'_>> = found.iter().map(named).collect();
        let (names, mut notes) = names(&named);
        notes.extend(security.notes.iter().cloned());
        notes.extend(unknown_variables(root, entry));
        let context = Context {
            closures: Closures::new(Dialect::new(&document)),
            security: &security,
            address: &address,
            entry,
        };
        let mut tools = Vec::new();
        let mut operations = HashMap::new();
        for (it, name) in found.iter().zip(names) {
            match context.read(it, &name) {
                Ok((tool, operation)) => {
                    tools.push(tool);
                    operations.insert(name, operation);
                }
                Err(why) => left_out.push(left(it, &why)),
            }
        }
        let info = root.get("info").unwrap_or(&Value::Null);
        let said = |member: &str| match info.get(member) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        Ok(Self {
            title: said("title"),
            version: said("version"),
            origins: Origins {
                calls: address.origin().map(str::to_owned),
                tokens: security.token_origins(),
            },
            address,
            tools,
            operations,
            schemes: security.schemes,
            notes,
            left_out,
        })
    }

    /// What it calls itself, with its version.
    pub fn identity(&self) -> (&str, &str) {
        (&self.title, &self.version)
    }

    /// Where it is called.
    pub fn base(&self) -> &str {
        &self.address.url
    }

    /// All to which something is sent because it says so.
    pub(super) fn told_origins(&self) -> BTreeSet<String> {
        let named = self.origins.calls.iter().chain(&self.origins.tokens);
        let own = self.operations.values().filter_map(|it| it.origin.as_ref());
        named.chain(own).cloned().collect()
    }

    /// MCP's `Tool`s, in the order of the description.
    pub fn tools(&self) -> &[Value] {
        &self.tools
    }

    pub(super) fn take_tools(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.tools)
    }

    /// What a person should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }
}

fn found(document: &Document) -> (Vec<Found<'_>>, Vec<LeftOut>) {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for (path, item) in members(document.root(), "paths") {
        let item = match document.resolve(item) {
            Ok(item) => item,
            Err(why) => {
                left_out.push(LeftOut {
                    operation: path.clone(),
                    why: why.to_string(),
                });
                continue;
            }
        };
        for verb in VERBS {
            if let Some(operation) = item.get(verb) {
                found.push(Found {
                    verb,
                    path,
                    item,
                    operation,
                });
            }
        }
    }
    (found, left_out)
}

fn named<'a>(found: &Found<'a>) -> Named<'a> {
    Named {
        verb: found.verb,
        path: found.path,
        tag: items(found.operation, "tags").find_map(Value::as_str),
        id: text(found.operation, "operationId"),
    }
}

fn left(found: &Found<'_>, why: &Unusable) -> LeftOut {
    LeftOut {
        operation: format!("{} {}", found.verb.to_ascii_uppercase(), found.path),
        why: why.to_string(),
    }
}

fn unknown_variables(root: &Value, entry: &Entry) -> Option<String> {
    let known: Vec<&str> = servers::variables(root).collect();
    let mut unknown = entry
        .variables
        .keys()
        .filter(|name| !known.contains(&name.as_str()));
    let name = unknown.next()?;
    Some(format!(
        "`variables.{name}` is for nothing: {}",
        match known.is_empty() {
            true => "the address of the API has no variables".to_owned(),
            false => format!("the variables are {}", known.join(", ")),
        }
    ))
}
