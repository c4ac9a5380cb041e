//! Descriptions of the tests with changed values and damaged text, and requests built from hostile arguments.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use mux_chance::{
    broken,
    damage::{damage_of, damaged},
    holds,
    json::{self, Change, change, changed},
};
use mux_settings::{DescriptionLocation, SourceDefinition, SourceKind};
use proptest::{collection::vec, prelude::*, sample::select};
use reqwest::Url;
use serde_json::{Map, Value};

use super::super::{
    FunctionSelection, OpenApiDescription, ServerOverrides, on_reader_thread,
    operation::OpenApiOperation,
    operation_request::{self, ArgumentError},
};
use crate::{
    first_seen_origins::FirstSeenOrigins,
    http::{AllowedOrigins, ApiClient, ApiRequest, RequestBody, has_steps},
    source_config::SourceConfig,
};

const DESCRIPTIONS: &[&str] = &[
    include_str!("../../../../../tests/data/openapi/every-way.yaml"),
    include_str!("../../../../../tests/data/openapi/bodies.yaml"),
    include_str!("../../../../../tests/data/openapi/petstore.yaml"),
    include_str!("../../../../../tests/data/openapi/paging.yaml"),
    include_str!("../../../../../tests/data/openapi/left-out.yaml"),
    include_str!("../../../../../tests/data/openapi/names.yaml"),
];
/// Names and strings with a meaning in OpenAPI, and hostile strings.
const WORDS: &[&str] = &[
    "$ref",
    "type",
    "properties",
    "items",
    "required",
    "enum",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
    "nullable",
    "readOnly",
    "discriminator",
    "mapping",
    "additionalProperties",
    "parameters",
    "requestBody",
    "content",
    "schema",
    "schemas",
    "responses",
    "200",
    "default",
    "2XX",
    "servers",
    "url",
    "variables",
    "security",
    "components",
    "operationId",
    "name",
    "in",
    "path",
    "query",
    "header",
    "cookie",
    "style",
    "explode",
    "allowReserved",
    "deepObject",
    "matrix",
    "label",
    "simple",
    "pipeDelimited",
    "application/json",
    "multipart/form-data",
    "application/x-www-form-urlencoded",
    "application/octet-stream",
    "*/*",
    "encoding",
    "contentType",
    "format",
    "binary",
    "byte",
    "pattern",
    "(",
    "(a+)+$",
    "#/components/schemas/Pet",
    "#/paths/~1simple",
    "#",
    "#/",
    "other.yaml#/a",
    "https://h/{v}",
    "/../..",
    "//evil.example",
    "/a/{id}",
    "/a/{id}/{id}",
    "/{",
    "/a?b=c",
    "/a#b",
    "/a b",
    "\\",
    "x-path-style",
    "get",
    "post",
    "trace",
    "object",
    "array",
    "string",
    "integer",
    "\r\nx: y",
    "Content-Type",
    "Host",
    "Cookie",
    "",
    ".",
    "..",
];
const TOKENS: &[&str] = &[
    "\n",
    "  ",
    "- ",
    ": ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "&a ",
    "*a",
    "<<: *a\n",
    "!!binary ",
    "? ",
    "#",
    "\t",
    "\u{feff}",
    "---\n",
    "...\n",
    "~",
    "0x1f",
    ".inf",
    "1e999",
    "<html>",
    "swagger: '2.0'\n",
    "\u{2028}",
];
/// Argument values that would lead elsewhere.
const HOSTILE: &[&str] = &[
    "..",
    ".",
    "../x",
    "a/../../b",
    "%2e%2e",
    "%2E%2e/",
    "..%2fx",
    "..%252fx",
    "a/b",
    "/",
    "//evil.example",
    "\\..\\x",
    "..;",
    "?x=1",
    "#x",
    "&x=1",
    "a=b",
    "@evil.example",
    ":80",
    "\r\nx: y",
    "\n",
    "\t",
    "\0",
    " ",
    "",
    "%",
    "%zz",
    "é",
    "\u{202e}",
    "a,b",
    "a|b",
    "a;b",
    "\u{ff0e}\u{ff0e}/",
    "https://evil.example/",
    ".\t.",
    "%09",
];
/// The base URL of functions: a host with a path prefix.
const BASE: &str = "https://api.example:8443/v1/base";

/// The text of a description with changed values or damage.
#[derive(Clone, Debug)]
struct Description(String);

fn description() -> impl Strategy<Value = Description> {
    let values: Vec<Value> = DESCRIPTIONS
        .iter()
        .map(|text| serde_saphyr::from_str(text).unwrap())
        .collect();
    let of_values = (select(values), vec(change(WORDS), 0..5))
        .prop_map(|(value, changes): (Value, Vec<Change>)| changed(value, &changes).to_string());
    let of_text = (select(DESCRIPTIONS), vec(damage_of(TOKENS), 1..4))
        .prop_map(|(text, damages)| String::from_utf8_lossy(&damaged(text, &damages)).into_owned());
    let noise = prop_oneof![
        any::<String>(),
        json::value().prop_map(|value| value.to_string()),
        vec(select(TOKENS), 0..30).prop_map(|tokens| tokens.concat()),
    ];
    prop_oneof![6 => of_values, 3 => of_text, 1 => noise].prop_map(Description)
}

fn entry() -> ServerOverrides {
    ServerOverrides {
        base_url: Some(BASE.into()),
        ..ServerOverrides::default()
    }
}

fn read(text: &str) -> Result<OpenApiDescription, String> {
    on_reader_thread(|| {
        OpenApiDescription::read(text, &entry(), &FunctionSelection::new(&[], 20_000))
    })
}

fn api() -> ApiClient {
    let settings = SourceDefinition {
        kind: SourceKind::OpenApi,
        description: Some(DescriptionLocation::File("api.json".into())),
        written: "api.json".into(),
        base_url: Some(BASE.into()),
        variables: BTreeMap::new(),
        headers: BTreeMap::new(),
        credentials: BTreeMap::new(),
        origins: Vec::new(),
        secret_headers: Vec::new(),
        account: None,
        scopes: None,
        rate: None,
        refresh: Duration::from_mins(1),
        depth: 2,
        max_functions: 20_000,
        exclude: Vec::new(),
        network: Arc::default(),
    };
    let nowhere = Arc::new(FirstSeenOrigins::new("/nowhere/sources.json".into()));
    let config = SourceConfig::new("api", &settings, nowhere);
    let origins = AllowedOrigins::listed("api", &settings).with_calls(BASE);
    config.api(BASE, origins, BTreeMap::new()).unwrap()
}

/// Every `$ref` of a schema.
fn references<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("$ref", Value::String(reference)) => found.push(reference),
                    // Values, not schemas.
                    ("const" | "enum" | "default" | "example" | "examples", _) => {}
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn fuzz_any_description_gives_usable_functions_or_an_error() {
    holds("openapi", 80, description(), |Description(text)| {
        let description = match read(&text) {
            Ok(description) => description,
            Err(why) => {
                prop_assert!(!why.trim().is_empty());
                return Ok(());
            }
        };
        let tools = description.tools();
        prop_assert_eq!(&tools, &read(&text).unwrap().tools(), "another reading");
        let mut names = HashSet::new();
        for tool in &tools {
            let name = tool["name"].as_str().unwrap_or_default();
            prop_assert!(!name.is_empty() && names.insert(name), "{name:?}");
            prop_assert!(description.operations.contains_key(name), "{name}");
            prop_assert_eq!(&tool["inputSchema"]["type"], "object", "{}", name);
            for side in ["inputSchema", "outputSchema"] {
                let Some(schema) = tool.get(side) else {
                    continue;
                };
                prop_assert!(
                    mux_schema::can_be_checked(schema),
                    "{name} {side}: {schema}"
                );
                let mut found = Vec::new();
                references(schema, &mut found);
                for reference in found {
                    let pointer = reference.strip_prefix('#');
                    let leads = pointer.is_some_and(|pointer| schema.pointer(pointer).is_some());
                    prop_assert!(
                        leads,
                        "{name} {side}: {reference} leads nowhere in {schema}"
                    );
                }
            }
        }
        prop_assert_eq!(tools.len(), description.operations.len());
        Ok(())
    });
}

/// Values for the arguments of any operation, taken in turn.
fn argument() -> impl Strategy<Value = Value> {
    let hostile = || {
        prop_oneof![
            3 => select(HOSTILE).prop_map(str::to_owned),
            1 => vec(select(HOSTILE), 1..4).prop_map(|pieces| pieces.concat()),
            1 => any::<String>(),
        ]
    };
    prop_oneof![
        4 => hostile().prop_map(Value::from),
        1 => vec(hostile(), 0..3).prop_map(Value::from),
        1 => vec((hostile(), hostile()), 0..3).prop_map(|members| {
            Value::Object(members.into_iter().map(|(name, value)| (name, value.into())).collect())
        }),
        1 => json::value(),
    ]
}

fn arguments(schema: &Value, values: &[Value]) -> Map<String, Value> {
    let names = schema["properties"].as_object().into_iter().flatten();
    let values = values.iter().cycle();
    names
        .zip(values)
        .map(|((name, _), value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns true if a header can hold the text.
fn is_header_value(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

/// Checks that a request leads only to its function.
fn stays(
    api: &ApiClient,
    operation: &OpenApiOperation,
    request: &ApiRequest,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(&request.method, &operation.method);
    for (name, value) in &request.headers {
        prop_assert!(is_header_value(value), "{name}: {value:?}");
    }
    let most = operation.headers.len() + operation.parameters.len();
    prop_assert!(request.headers.len() <= most, "{:?}", request.headers);
    for (name, value) in &request.cookies {
        let is_one = |text: &str| is_header_value(text) && !text.contains([';', ' ']);
        prop_assert!(is_one(name) && is_one(value), "{name}={value:?}");
    }
    let mut pairs: Vec<_> = request.query.iter().collect();
    if let Some(RequestBody::Form(form)) = &request.body {
        pairs.extend(form);
    }
    // The path itself may have a query.
    if !operation.path.contains('?') {
        for (name, value) in pairs {
            let is_one = |text: &str| !text.contains(['&', '#', ' ', '+']) && is_header_value(text);
            prop_assert!(
                is_one(name) && is_one(value) && !name.contains('='),
                "{name}={value}"
            );
        }
    }
    let base = Url::parse(BASE).unwrap();
    let Ok(url) = api.url(request) else {
        return Ok(());
    };
    prop_assert_eq!(url.origin(), base.origin());
    prop_assert_eq!(
        (url.username(), url.password(), url.fragment()),
        ("", None, None)
    );
    let template = operation.path.split(['?', '#']).next().unwrap_or_default();
    let literal = template.split('{').next().unwrap_or_default();
    let prefix = Url::parse(&format!("{BASE}{literal}")).unwrap();
    prop_assert!(
        url.path().starts_with(prefix.path()),
        "{} is not below {}",
        url.path(),
        prefix.path()
    );
    prop_assert!(!has_steps(url.path()), "{}", url.path());
    Ok(())
}

#[test]
fn fuzz_requests_stay_at_their_host_and_path_whatever_the_arguments_are() {
    let api = api();
    let values = (description(), vec(argument(), 1..5));
    holds(
        "openapi_requests",
        200,
        values,
        |(Description(text), values)| {
            let Ok(description) = read(&text) else {
                return Ok(());
            };
            for tool in description.tools() {
                let name = tool["name"].as_str().unwrap_or_default();
                let operation = description
                    .operations
                    .get(name)
                    .ok_or_else(|| broken(format!("{name} is no function")))?;
                let given = arguments(&tool["inputSchema"], &values);
                match operation_request::request(operation, given.clone()) {
                    Ok(request) => stays(&api, operation, &request).map_err(|why| {
                        broken(format!(
                            "{} {} with {given:?}: {why}",
                            operation.method, operation.path
                        ))
                    })?,
                    Err(error @ ArgumentError::Empty(_)) => {
                        prop_assert!(operation.path.contains('{'), "{error}");
                    }
                    Err(error) => prop_assert!(!error.to_string().is_empty()),
                }
            }
            Ok(())
        },
    );
}
