//! The configuration as a JSON Schema: for editors, for the reference page, and for the names of known keys.
//!
//! Invariant: a key is declared only in the type that is read. Its documentation, the names suggested for a misspelled
//! key, and the schema all come from there. Policy rules are the exception, because reading one never fails.

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::SchemaSettings,
    json_schema,
    transform::{RecursiveTransform, Transform as _},
};

use super::{
    AgentEntry, AnnotationsEntry, ApprovalsEntry, AuditEntry, CheckEntry, DaemonEntry,
    HistoryEntry, LimitsEntry, MetricsEntry, PinsEntry, ResultsEntry, SandboxDefaultsEntry,
    ServerEntry, SourceEntry, TelemetryEntry,
};

pub(super) type Keys = LazyLock<Vec<String>>;

pub(super) static TOP_LEVEL_KEYS: Keys = LazyLock::new(keys_of::<ConfigFile>);
pub(super) static LIMITS_KEYS: Keys = LazyLock::new(keys_of::<LimitsEntry>);
pub(super) static AGENT_KEYS: Keys = LazyLock::new(keys_of::<AgentEntry>);
pub(super) static RULE_KEYS: Keys = LazyLock::new(keys_of::<RuleTable>);
pub(super) static ANNOTATION_KEYS: Keys = LazyLock::new(keys_of::<AnnotationsEntry>);

/// The configuration of muxd.
#[derive(JsonSchema)]
#[schemars(title = "config.toml of muxd", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct ConfigFile {
    /// MCP servers by name.
    servers: Option<BTreeMap<String, ServerEntry>>,
    /// OpenAPI and GraphQL APIs by name. Operations are tools.
    sources: Option<BTreeMap<String, SourceEntry>>,
    /// Rules on who may call which tool. The first matching rule decides.
    policy: Option<Vec<RuleTable>>,
    /// Limits of runs, calls and stored values.
    limits: Option<LimitsEntry>,
    /// The life of the daemon.
    daemon: Option<DaemonEntry>,
    /// How programs are type-checked.
    check: Option<CheckEntry>,
    /// Settings for clients that connect under a name.
    agents: Option<BTreeMap<String, AgentEntry>>,
    /// The reaction to a changed tool definition.
    pins: Option<PinsEntry>,
    /// How server results are treated.
    results: Option<ResultsEntry>,
    /// Servers whose entry does not mention a sandbox.
    sandbox: Option<SandboxDefaultsEntry>,
    /// How calls wait for an approval.
    approvals: Option<ApprovalsEntry>,
    /// The runs that are kept.
    history: Option<HistoryEntry>,
    /// The audit log.
    audit: Option<AuditEntry>,
    /// The port for Prometheus.
    metrics: Option<MetricsEntry>,
    /// Spans over OTLP.
    telemetry: Option<TelemetryEntry>,
}

/// `[[policy]]`
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct RuleTable {
    /// The effect on a call that the rule matches.
    #[schemars(schema_with = "text", extend("enum" = ["allow", "ask", "deny"]))]
    action: String,
    /// `server.tool`, or `server.` and an MCP method.
    #[schemars(default, schema_with = "glob_or_globs", extend("x-default" = "every path"))]
    r#match: Option<String>,
    /// Name of the server or source.
    #[schemars(default, schema_with = "glob_or_globs", extend("x-default" = "any"))]
    server: Option<String>,
    /// Name given with `--agent`.
    #[schemars(default, schema_with = "glob_or_globs", extend("x-default" = "any"))]
    agent: Option<String>,
    /// Name that the client reports.
    #[schemars(default, schema_with = "glob_or_globs", extend("x-default" = "any"))]
    client: Option<String>,
    /// The client's working directory, or a directory above it: an absolute path, or a path below `~`.
    #[schemars(default, schema_with = "glob_or_globs", extend("x-default" = "any"))]
    workspace: Option<String>,
    /// The tool's annotations.
    annotations: Option<AnnotationsEntry>,
    /// HTTP method of an operation of a source, in any case.
    #[schemars(default, schema_with = "text_or_texts", extend("x-default" = "any"))]
    verb: Option<String>,
    /// Argument paths, each with the value it must have.
    #[schemars(default, schema_with = "any_table", extend("x-default" = "any"))]
    arguments: Option<BTreeMap<String, String>>,
    /// Shown in the error.
    reason: Option<String>,
}

/// The schema of `config.toml`. Beside the standard keywords, `x-type` names a type of the reference page, `x-range`
/// its bounds, and `x-default` describes a default that is not a constant.
pub fn json_schema() -> Schema {
    let mut schema = generator().into_root_schema_for::<ConfigFile>();
    without_null().transform(&mut schema);
    schema
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// A key of TOML is absent, and never null.
fn without_null() -> impl schemars::transform::Transform {
    RecursiveTransform(|schema: &mut Schema| {
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        if let Some(serde_json::Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".into(), only);
            }
        }
        if let Some(serde_json::Value::Array(any)) = object.get_mut("anyOf") {
            any.retain(|of| of["type"] != "null");
            if let [only] = any.as_slice()
                && let Some(only) = only.as_object().cloned()
            {
                object.remove("anyOf");
                object.extend(only);
            }
        }
        if let Some(serde_json::Value::Array(words)) = object.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
        if object
            .get("default")
            .is_some_and(serde_json::Value::is_null)
        {
            object.remove("default");
        }
        // The formats are sizes of Rust's integers.
        object.remove("format");
    })
}

fn keys_of<T: JsonSchema>() -> Vec<String> {
    let schema = generator().into_root_schema_for::<T>();
    let properties = schema.get("properties").and_then(|keys| keys.as_object());
    properties
        .into_iter()
        .flat_map(|keys| keys.keys().cloned())
        .collect()
}

pub(super) fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

pub(super) fn globs(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string" }, "x-type": "list of globs" })
}

fn glob_or_globs(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }],
        "x-type": "glob or list of globs"
    })
}

fn text_or_texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }],
        "x-type": "string or list of strings"
    })
}

fn any_table(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-type": "table" })
}

pub(super) fn roots(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            { "enum": ["workspace", "none"] },
            { "type": "array", "items": { "type": "string" } }
        ],
        "x-type": "`\"workspace\"`, `\"none\"`, list of directories"
    })
}
