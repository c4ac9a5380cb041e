//! Reads a whole description as functions.
//!
//! The text is parsed into JSON values, not into types: schemas must stay JSON Schema, and real descriptions contain
//! errors. A broken operation is skipped and named. All others become functions.
//!
//! Invariant: total and deterministic. Any JSON is a description or an error, within limits of time and memory, and the
//! same text gives the same functions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::{
    function_names::{OperationNameParts, names},
    left_out::{self, SkippedOperation},
    openapi_document::{HTTP_VERBS, OpenApiDocument, items, members, text},
    operation::{FoundOperation, OpenApiOperation, OperationContext, UnusableOperation},
    schema_closure::SchemaClosures,
    schema_dialect::SchemaDialect,
    security_requirements::SecurityRequirements,
    server_address::{self, ServerAddress, ServerOverrides},
};
use crate::{
    first_seen_origins::DescribedOrigins as Origins,
    http::SecurityScheme,
    tool_pages::{ToolPages, ToolPagesWriter},
};
use mux_settings::ExcludedTools;

/// The number of operations, offered or not. Microsoft Graph has 11,422.
const MAX_DESCRIBED_OPERATIONS: usize = 200_000;
/// The total size of all functions as JSON, per function in `max_functions`. Microsoft Graph's functions take 45 MiB,
/// Kubernetes' 8.
const MAX_AVERAGE_FUNCTION_BYTES: usize = 4 << 10;
/// The `max_functions` for which there is room even if the entry has a smaller number.
const MIN_FUNCTIONS_WITH_ROOM: usize = 20_000;
/// A description that is too large for one budget gets the next smaller budget.
const ARGUMENT_BUDGETS: [ArgumentBudget; 4] = [
    ArgumentBudget {
        bytes: 256 << 10,
        most_operations: 2_500,
    },
    ArgumentBudget {
        bytes: 24 << 10,
        most_operations: 10_000,
    },
    ArgumentBudget {
        bytes: 3 << 10,
        most_operations: 50_000,
    },
    ArgumentBudget {
        bytes: 0,
        most_operations: usize::MAX,
    },
];

/// Room for the schemas to which an operation's arguments refer.
struct ArgumentBudget {
    bytes: usize,
    /// Descriptions with more operations do not get this budget.
    most_operations: usize,
}

/// The selection of operations that become functions.
#[derive(Clone, Debug)]
pub struct FunctionSelection {
    /// Excluded operations are not read, and do not count toward limits.
    pub exclude: ExcludedTools,
    pub max_functions: usize,
    /// The size of all functions, in bytes of JSON.
    pub(super) max_bytes: usize,
}

impl FunctionSelection {
    pub fn new(exclude: &[String], max_functions: usize) -> Self {
        Self {
            exclude: ExcludedTools::new(exclude),
            max_functions,
            max_bytes: max_functions.max(MIN_FUNCTIONS_WITH_ROOM) * MAX_AVERAGE_FUNCTION_BYTES,
        }
    }
}

/// A description that was read, ready to be listed and called.
#[derive(Debug)]
pub struct OpenApiDescription {
    title: String,
    version: String,
    address: ServerAddress,
    /// The origins of its functions and tokens, as written in the description.
    pub(super) origins: Origins,
    tools: ToolPages,
    pub(super) operations: HashMap<String, OpenApiOperation>,
    pub(super) schemes: BTreeMap<String, SecurityScheme>,
    notes: Vec<String>,
    left_out: Vec<SkippedOperation>,
}

impl OpenApiDescription {
    /// Reads the text of a description. An error tells the user what to do.
    pub fn read(
        text: &str,
        entry: &ServerOverrides,
        selection: &FunctionSelection,
    ) -> Result<Self, String> {
        let mut description = Self::of(&OpenApiDocument::read(text)?, entry, selection)?;
        left_out::find_lines(&mut description.left_out, text);
        Ok(description)
    }

    pub(super) fn of(
        document: &OpenApiDocument,
        entry: &ServerOverrides,
        selection: &FunctionSelection,
    ) -> Result<Self, String> {
        let root = document.root();
        let address = server_address::address(root, entry)?;
        let security = SecurityRequirements::read(document);
        let (mut found, mut left_out) = found(document);
        let too_many = found.drain(found.len().min(MAX_DESCRIBED_OPERATIONS)..);
        left_out.extend(too_many.map(|it| {
            left_out_of(
                &it,
                &UnusableOperation::TooManyDescribed(MAX_DESCRIBED_OPERATIONS),
            )
        }));
        // Names are assigned over all operations, because they must not depend on the selection.
        let named: Vec<OperationNameParts<'_>> = found.iter().map(named).collect();
        let (names, mut notes) = names(&named);
        notes.extend(document.notes.iter().cloned());
        // Excluded operations count here, because schemas must not depend on the exclusions.
        let count = found.len();
        let budgets = ARGUMENT_BUDGETS
            .iter()
            .filter(|budget| count <= budget.most_operations);
        let mut offered: Vec<(FoundOperation<'_>, String)> = found
            .into_iter()
            .zip(names)
            .filter(|(_, name)| !selection.exclude.contains(name))
            .collect();
        let max_functions = selection.max_functions;
        let too_many = offered.drain(offered.len().min(max_functions)..);
        left_out.extend(
            too_many.map(|(it, _)| left_out_of(&it, &UnusableOperation::TooMany(max_functions))),
        );
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
        for budget in budgets {
            context.room = budget.bytes;
            functions = DescribedFunctions::default();
            if functions.read(&context, &offered, selection.max_bytes) {
                break;
            }
        }
        let DescribedFunctions {
            tools,
            operations,
            left_out: unusable,
        } = functions;
        let tools = tools.finish();
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
                functions: address.template.is_some().then(|| {
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

    /// The title and the version in `info`.
    pub fn identity(&self) -> (&str, &str) {
        (&self.title, &self.version)
    }

    /// The URL at which functions without their own address are called.
    pub fn base(&self) -> &str {
        &self.address.url
    }

    /// All origins of functions and tokens that the description names.
    pub(super) fn told_origins(&self) -> BTreeSet<String> {
        let named = self.origins.calls.iter().chain(&self.origins.tokens);
        let own = self.operations.values().filter_map(|it| it.origin.as_ref());
        named.chain(own).cloned().collect()
    }

    pub fn function_count(&self) -> usize {
        self.operations.len()
    }

    /// MCP tools, in the order of the description.
    pub fn tools(&self) -> Vec<Value> {
        self.tools.iter().collect()
    }

    pub(super) fn tool_pages(&self) -> &ToolPages {
        &self.tools
    }

    /// Reallocates the data to keep, in the calling thread's memory.
    pub(super) fn settle(&mut self) {
        self.tools.settle();
        let operations = self.operations.clone();
        self.operations = operations;
    }

    /// Notes for the user.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub fn left_out(&self) -> &[SkippedOperation] {
        &self.left_out
    }
}

/// The functions that operations became.
#[derive(Default)]
struct DescribedFunctions {
    tools: ToolPagesWriter,
    operations: HashMap<String, OpenApiOperation>,
    left_out: Vec<SkippedOperation>,
}

impl DescribedFunctions {
    /// Reads all operations. Returns `false` if they do not fit. With the smallest budget, operations that do not fit
    /// are skipped.
    fn read(
        &mut self,
        context: &OperationContext<'_>,
        offered: &[(FoundOperation<'_>, String)],
        max_bytes: usize,
    ) -> bool {
        let mut left = max_bytes;
        for (it, name) in offered {
            let has_steps = context.closures.dialect.document.has_steps();
            let read = has_steps.map_err(UnusableOperation::from);
            let read = read.and_then(|()| context.read_operation(it, name));
            let read = read.and_then(|(tool, operation)| {
                let length = self.tools.add(&tool, left);
                left -= length.ok_or(UnusableOperation::NoRoom(max_bytes))?;
                Ok(operation)
            });
            match read {
                Ok(operation) => drop(self.operations.insert(name.clone(), operation)),
                Err(UnusableOperation::NoRoom(_)) if context.room > 0 => return false,
                Err(why) => self.left_out.push(left_out_of(it, &why)),
            }
        }
        true
    }
}

fn found(document: &OpenApiDocument) -> (Vec<FoundOperation<'_>>, Vec<SkippedOperation>) {
    let mut found = Vec::new();
    let mut left_out = Vec::new();
    for (path, item) in members(document.root(), "paths") {
        let item = match document.resolve(item) {
            Ok(item) => item,
            Err(why) => {
                left_out.push(SkippedOperation {
                    operation: path.clone(),
                    why: why.to_string(),
                    line: None,
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
        line: None,
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
        "`variables.{name}` is not used: {}",
        if known.is_empty() {
            "the address of the API has no variables".to_owned()
        } else {
            format!("the variables are {}", known.join(", "))
        }
    ))
}
