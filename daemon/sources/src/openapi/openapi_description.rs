//! A whole description as functions.
//!
//! The text is read as JSON values and not into types of its own: schemas must stay the JSON Schema that they are, and
//! real descriptions are wrong in a place or two. One operation that is broken is left out and named, and all others
//! are functions.
//!
//! Invariant: total and deterministic. Any JSON is a description or an error, in a time and in memory that have limits,
//! and the same text gives the same functions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::{
    function_names::{OperationNameParts, names},
    openapi_document::{OpenApiDocument, items, members, text},
    operation::{FoundOperation, OpenApiOperation, OperationContext, UnusableOperation},
    schema_closure::SchemaClosures,
    schema_dialect::SchemaDialect,
    security_requirements::SecurityRequirements,
    server_address::{self, ServerAddress, ServerOverrides},
};
use crate::{first_seen_origins::DescribedOrigins as Origins, http::SecurityScheme};
use mux_text::json_length;

/// As many as a server may list tools.
const MAX_DESCRIBED_OPERATIONS: usize = 10_000;
/// Of all functions together, as JSON text. Those of Kubernetes take 8 MiB.
const MAX_FUNCTION_LIST_BYTES: usize = 24 << 20;
/// For what arguments of an operation refer to, in bytes. A description that is too large for the first gets the next.
const ARGUMENT_BUDGETS_BYTES: [usize; 4] = [256 << 10, 24 << 10, 3 << 10, 0];
const HTTP_VERBS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// What a description says, ready to be listed and called.
#[derive(Debug)]
pub struct OpenApiDescription {
    title: String,
    version: String,
    address: ServerAddress,
    /// Where it is called and where its tokens come from, in its own words.
    pub(super) origins: Origins,
    tools: Vec<Value>,
    pub(super) operations: HashMap<String, OpenApiOperation>,
    pub(super) schemes: BTreeMap<String, SecurityScheme>,
    notes: Vec<String>,
    left_out: Vec<SkippedOperation>,
}

/// An operation that is no function.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SkippedOperation {
    /// `GET /pets`
    pub operation: String,
    pub why: String,
}

impl OpenApiDescription {
    /// An error tells a person what to do.
    pub fn read(text: &str, entry: &ServerOverrides) -> Result<Self, String> {
        Self::of(
            &OpenApiDocument::read(text)?,
            entry,
            MAX_FUNCTION_LIST_BYTES,
        )
    }

    /// With a list of at most so many bytes.
    pub(super) fn of(
        document: &OpenApiDocument,
        entry: &ServerOverrides,
        longest: usize,
    ) -> Result<Self, String> {
        let root = document.root();
        let address = server_address::address(root, entry)?;
        let security = SecurityRequirements::read(document);
        let (mut found, mut left_out) = found(document);
        let too_many = found.drain(found.len().min(MAX_DESCRIBED_OPERATIONS)..);
        left_out.extend(
            too_many
                .map(|it| left_out_of(&it, &UnusableOperation::TooMany(MAX_DESCRIBED_OPERATIONS))),
        );
        let named: Vec<OperationNameParts<'_>> = found.iter().map(named).collect();
        let (names, mut notes) = names(&named);
        notes.extend(security.notes.iter().cloned());
        notes.extend(unknown_variables(root, entry));
        let mut context = OperationContext {
            closures: SchemaClosures::new(SchemaDialect::new(document)),
            security: &security,
            address: &address,
            entry,
            room: 0,
        };
        let mut functions = DescribedFunctions::default();
        for room in ARGUMENT_BUDGETS_BYTES {
            context.room = room;
            functions = DescribedFunctions::default();
            if functions.read(&context, &found, &names, longest) {
                break;
            }
        }
        let DescribedFunctions {
            tools,
            operations,
            left_out: unusable,
        } = functions;
        left_out.extend(unusable);
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
                functions: address.told.is_some().then(|| {
                    let own = operations.values().filter_map(|it| it.origin.clone());
                    own.collect()
                }),
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

    /// Writes what is kept anew, for whoever has another place for it than that in which the text was read.
    pub(super) fn settle(&mut self) {
        let operations = self.operations.clone();
        self.operations = operations;
    }

    /// What a person should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub fn left_out(&self) -> &[SkippedOperation] {
        &self.left_out
    }
}

/// What operations became.
#[derive(Default)]
struct DescribedFunctions {
    tools: Vec<Value>,
    operations: HashMap<String, OpenApiOperation>,
    left_out: Vec<SkippedOperation>,
}

impl DescribedFunctions {
    /// Whether there was room for all of them. Those for which there is none in the least room are left out.
    fn read(
        &mut self,
        context: &OperationContext<'_>,
        found: &[FoundOperation<'_>],
        names: &[String],
        longest: usize,
    ) -> bool {
        let mut left = longest;
        for (it, name) in found.iter().zip(names) {
            let has_steps = context.closures.dialect.document.has_steps();
            let read = has_steps.map_err(UnusableOperation::from);
            let read = read.and_then(|()| context.read_operation(it, name));
            let read = read.and_then(|(tool, operation)| {
                let length = json_length::of(&tool, left);
                left -= length.ok_or(UnusableOperation::NoRoom(longest))?;
                Ok((tool, operation))
            });
            match read {
                Ok((tool, operation)) => {
                    self.tools.push(tool);
                    self.operations.insert(name.clone(), operation);
                }
                Err(UnusableOperation::NoRoom(_)) if context.room > 0 => return false,
                Err(why) => self.left_out.push(left_out_of(it, &why)),
            }
        }
        true
    }
}

fn found(document: &OpenApiDocument) -> (Vec<FoundOperation<'_>>, Vec<SkippedOperation>) {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for (path, item) in members(document.root(), "paths") {
        let item = match document.resolve(item) {
            Ok(item) => item,
            Err(why) => {
                left_out.push(SkippedOperation {
                    operation: path.clone(),
                    why: why.to_string(),
                });
                continue;
            }
        };
        for verb in HTTP_VERBS {
            if let Some(operation) = item.get(verb) {
                found.push(FoundOperation {
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

fn named<'a>(found: &FoundOperation<'a>) -> OperationNameParts<'a> {
    OperationNameParts {
        verb: found.verb,
        path: found.path,
        tag: items(found.operation, "tags").find_map(Value::as_str),
        id: text(found.operation, "operationId"),
    }
}

fn left_out_of(found: &FoundOperation<'_>, why: &UnusableOperation) -> SkippedOperation {
    SkippedOperation {
        operation: format!("{} {}", found.verb.to_ascii_uppercase(), found.path),
        why: why.to_string(),
    }
}

fn unknown_variables(root: &Value, entry: &ServerOverrides) -> Option<String> {
    let known: Vec<&str> = server_address::variables(root).collect();
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
