//! One operation: its tool, and the data that a call needs.
//!
//! Invariant: an error in an operation affects only that operation.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::{
    openapi_document::{UnresolvedReference, is_true, text},
    operation_body::{self, OperationBody},
    operation_responses::{self, SuccessResponses},
    paging_detection,
    parameters::{self, OperationParameter},
    schema_closure::SchemaClosures,
    schema_keywords::cut,
    security_requirements::SecurityRequirements,
    server_address::{self, ServerAddress, ServerOverrides},
};
use crate::http::{MAX_PAGES, PaginationPlan};

/// The length of a description, in characters.
const MAX_TOOL_DESCRIPTION_CHARS: usize = 2_000;

/// The parts of an operation that are kept for its calls.
#[derive(Clone, Debug)]
pub(super) struct OpenApiOperation {
    pub(super) method: Method,
    /// The path in the description, with parameters in braces.
    pub(super) path: String,
    /// The URL at which the operation is called, if it has its own.
    pub(super) base: Option<String>,
    /// The origin of `base`, as written in the description.
    pub(super) origin: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) parameters: Vec<OperationParameter>,
    pub(super) body: Option<OperationBody>,
    pub(super) security: Vec<Vec<String>>,
    /// The names in queries and cookies under which credentials of the description are sent.
    pub(super) credential_names: Arc<[String]>,
    pub(super) safe: bool,
    pub(super) paged: Option<PaginationPlan>,
}

/// An operation at its position in the description.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundOperation<'a> {
    pub(super) verb: &'a str,
    pub(super) path: &'a str,
    pub(super) item: &'a Value,
    pub(super) operation: &'a Value,
}

/// The reason an operation is not a function.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableOperation {
    #[error(transparent)]
    Unresolved(#[from] UnresolvedReference),
    #[error("{0}")]
    NoAddress(String),
    #[error("it is not an object")]
    NoObject,
    #[error("its path does not begin with `/`")]
    NoPath,
    #[error("the description has more than {0} operations")]
    TooManyDescribed(usize),
    #[error(
        "there are more than {0} functions (`max_functions` of the entry): raise it, or leave others out with \
         `tools.exclude`"
    )]
    TooMany(usize),
    #[error(
        "all functions together take more than {} MiB, so there is no room for this one: leave others out with \
         `tools.exclude`", .0 >> 20
    )]
    NoRoom(usize),
}

/// The data that all operations of a description share.
pub(super) struct OperationContext<'a> {
    pub(super) closures: SchemaClosures<'a>,
    pub(super) security: &'a SecurityRequirements,
    /// The address of operations without their own address.
    pub(super) address: &'a ServerAddress,
    pub(super) entry: &'a ServerOverrides,
    /// Bytes for the schemas to which an operation's arguments refer.
    pub(super) room: usize,
}

impl OperationContext<'_> {
    /// The MCP tool of an operation, and the data that a call needs.
    pub(super) fn read_operation(
        &self,
        found: &FoundOperation<'_>,
        name: &str,
    ) -> Result<(Value, OpenApiOperation), UnusableOperation> {
        let document = self.closures.dialect.document;
        let FoundOperation {
            verb,
            path,
            item,
            operation,
        } = *found;
        if !operation.is_object() {
            return Err(UnusableOperation::NoObject);
        }
        // Such a path would continue the host name.
        if !path.starts_with('/') {
            return Err(UnusableOperation::NoPath);
        }
        let described = parameters::read_parameters(document, item, operation, path)?;
        let taken: Vec<&str> = described
            .iter()
            .map(|it| it.parameter.argument.as_str())
            .collect();
        let body = operation_body::read(document, operation, &taken)?;
        let answers = operation_responses::read(document, verb, operation);
        let paged = paging_detection::read(document, verb, &described, body.as_ref(), &answers);
        let input = self.input_schema(&described, body.as_ref(), paged.is_some())?;
        let method = Method::from_bytes(verb.to_ascii_uppercase().as_bytes());
        let method = method.map_err(|_| UnusableOperation::NoObject)?;
        let read_only = matches!(verb, "get" | "head" | "options" | "trace");
        let safe = read_only || matches!(verb, "put" | "delete");
        let mut tool = Map::new();
        tool.insert("name".into(), name.into());
        tool.extend(
            operation_description(operation).map(|words| ("description".to_owned(), words.into())),
        );
        tool.insert("inputSchema".into(), input);
        tool.extend(
            self.output_schema(&answers)
                .map(|it| ("outputSchema".to_owned(), it)),
        );
        tool.insert(
            "annotations".into(),
            json!({
                "readOnlyHint": read_only,
                "destructiveHint": verb == "delete",
                "idempotentHint": safe,
            }),
        );
        let own = self.own_address(item, operation)?;
        let security = self.security.of(operation);
        let mut call = Map::new();
        call.insert("method".into(), method.as_str().into());
        call.insert("path".into(), path.into());
        // Part of the pin: trusting a function includes trusting the destination of its arguments and credentials.
        let at = own.as_ref().unwrap_or(self.address).template.as_deref();
        call.extend(at.map(|at| ("at".to_owned(), at.into())));
        let credentials = self.security.to_json(&security);
        if !credentials.is_empty() {
            call.insert("credentials".into(), credentials.into());
        }
        tool.insert("_meta".into(), json!({ "mux/http": Value::Object(call) }));
        let operation = OpenApiOperation {
            method,
            path: path.to_owned(),
            origin: own.as_ref().and_then(|it| it.origin().map(str::to_owned)),
            base: own.map(|address| address.url),
            headers: vec![("accept".into(), answers.accept)],
            parameters: described.into_iter().map(|it| it.parameter).collect(),
            body: body.map(|it| it.body),
            security,
            credential_names: Arc::clone(&self.security.sent_names),
            safe,
            paged,
        };
        Ok((Value::Object(tool), operation))
    }

    /// One object schema with parameters and body.
    fn input_schema(
        &self,
        parameters: &[parameters::DescribedParameter],
        body: Option<&operation_body::DescribedBody>,
        pages: bool,
    ) -> Result<Value, UnresolvedReference> {
        let (mut properties, mut required) = parameters::parameters_schema(parameters);
        let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
        let mut open = false;
        if let Some(body) = body {
            properties.extend(body.properties.clone());
            required.extend(body.required.iter().cloned());
            if !body.limits.is_empty() {
                schema.insert("allOf".into(), body.limits.clone().into());
            }
            open = body.open;
        }
        if pages {
            let pages = json!({
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_PAGES,
                "default": 1,
                "description": "How many pages to join, from the one that is asked for.",
            });
            properties.insert("$pages".into(), pages);
        }
        schema.insert("properties".into(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        if !open {
            schema.insert("additionalProperties".into(), false.into());
        }
        self.closures.arguments(&Value::Object(schema), self.room)
    }

    /// The output schema. `None` if it would say nothing, and then it is learned from results.
    fn output_schema(&self, answers: &SuccessResponses) -> Option<Value> {
        let result = self.closures.result(answers.schema.as_ref()?);
        let silent = ["description", "$defs", "title"];
        let says = result
            .as_object()?
            .keys()
            .any(|key| !silent.contains(&key.as_str()));
        says.then_some(result)
    }

    /// The operation's own address, if it has one.
    fn own_address(
        &self,
        item: &Value,
        operation: &Value,
    ) -> Result<Option<ServerAddress>, UnusableOperation> {
        if self.entry.base_url.is_some() {
            return Ok(None);
        }
        let own = [operation, item]
            .into_iter()
            .find(|owner| owner.get("servers").and_then(|it| it.get(0)).is_some());
        own.map(|owner| server_address::address(owner, self.entry))
            .transpose()
            .map_err(UnusableOperation::NoAddress)
    }
}

/// Summary and description, without repetition.
fn operation_description(operation: &Value) -> Option<String> {
    let of = |member| text(operation, member).unwrap_or_default().trim();
    let summary = of("summary");
    let description = of("description");
    let stopped = if summary.ends_with(['.', '!', '?', ':']) {
        summary.to_owned()
    } else {
        format!("{summary}.")
    };
    let said = match (summary.is_empty(), description.is_empty()) {
        (true, _) => description.to_owned(),
        (false, true) => summary.to_owned(),
        _ if description
            .to_lowercase()
            .starts_with(&summary.trim_end_matches('.').to_lowercase()) =>
        {
            description.to_owned()
        }
        _ => format!("{stopped}\n{description}"),
    };
    let mark = if is_true(operation, "deprecated") {
        "Deprecated. "
    } else {
        ""
    };
    let said = format!("{mark}{}", cut(&said, MAX_TOOL_DESCRIPTION_CHARS));
    Some(said.trim().to_owned()).filter(|said| !said.is_empty())
}
