//! The shapes of the messages that servers send: the type of each member, and the default of a missing member.
//!
//! A shape is data that only `repair_value` applies. Members that no shape names are kept unchanged.
//!
//! Invariant: a shape is never stricter than both official SDKs.

use serde_json::{Map, Value, json};

pub(super) enum Shape {
    /// Any value but null.
    Any,
    String,
    /// A string that is not empty.
    Name,
    Boolean,
    Number,
    /// An integer that is not negative.
    Unsigned,
    /// One of these strings, in any letter case.
    OneOf(&'static [&'static str]),
    /// An object with these members, and others.
    Object(&'static [Member]),
    /// An object whose members all have one shape.
    Map(&'static Shape),
    List(&'static Shape),
    /// Content blocks: a string is a text block, and a single block is a list of one.
    Content,
    /// A JSON Schema.
    Schema,
}

pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) presence: Presence,
}

pub(super) enum Presence {
    Optional,
    /// The surrounding value cannot be used without this member.
    Required,
    /// A missing or unusable value is replaced.
    Default(fn() -> Value),
}

const fn optional(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        shape,
        presence: Presence::Optional,
    }
}

const fn required(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        shape,
        presence: Presence::Required,
    }
}

const fn default(name: &'static str, shape: Shape, value: fn() -> Value) -> Member {
    Member {
        name,
        shape,
        presence: Presence::Default(value),
    }
}

fn empty_string() -> Value {
    json!("")
}

fn empty_object() -> Value {
    Value::Object(Map::new())
}

fn empty_list() -> Value {
    json!([])
}

fn any_object_schema() -> Value {
    json!({ "type": "object" })
}

const OBJECT: Shape = Shape::Object(&[]);
const META: Member = optional("_meta", OBJECT);
const TITLE: Member = optional("title", Shape::String);
const DESCRIPTION: Member = optional("description", Shape::String);
const MIME_TYPE: Member = optional("mimeType", Shape::String);
const NEXT_CURSOR: Member = optional("nextCursor", Shape::String);

const ICON: Shape = Shape::Object(&[
    required("src", Shape::Name),
    MIME_TYPE,
    optional("sizes", Shape::List(&Shape::String)),
    optional("theme", Shape::OneOf(&["light", "dark"])),
]);
const ICONS: Member = optional("icons", Shape::List(&ICON));

const ANNOTATIONS: Member = optional(
    "annotations",
    Shape::Object(&[
        optional(
            "audience",
            Shape::List(&Shape::OneOf(&["user", "assistant"])),
        ),
        optional("priority", Shape::Number),
        optional("lastModified", Shape::String),
    ]),
);

const SERVER_INFO: Shape = Shape::Object(&[
    default("name", Shape::String, empty_string),
    default("version", Shape::String, empty_string),
    TITLE,
    DESCRIPTION,
    optional("websiteUrl", Shape::String),
    ICONS,
]);

const LIST_CAPABILITY: Shape = Shape::Object(&[
    optional("listChanged", Shape::Boolean),
    optional("subscribe", Shape::Boolean),
]);

const CAPABILITIES: Member = default(
    "capabilities",
    Shape::Object(&[
        optional("experimental", Shape::Map(&OBJECT)),
        optional("extensions", Shape::Map(&OBJECT)),
        optional("logging", OBJECT),
        optional("completions", OBJECT),
        optional("prompts", LIST_CAPABILITY),
        optional("resources", LIST_CAPABILITY),
        optional("tools", LIST_CAPABILITY),
    ]),
    empty_object,
);

const INITIALIZE: Shape = Shape::Object(&[
    // The default is the offered version, which the reader inserts.
    optional("protocolVersion", Shape::String),
    CAPABILITIES,
    default(
        "serverInfo",
        SERVER_INFO,
        || json!({ "name": "", "version": "" }),
    ),
    optional("instructions", Shape::String),
    META,
]);

const DISCOVER: Shape = Shape::Object(&[
    default("resultType", Shape::String, || json!("complete")),
    required("supportedVersions", Shape::List(&Shape::String)),
    CAPABILITIES,
    optional("instructions", Shape::String),
    default("ttlMs", Shape::Unsigned, || json!(0)),
    default("cacheScope", Shape::OneOf(&["public", "private"]), || {
        json!("private")
    }),
    optional(
        "_meta",
        Shape::Object(&[optional("io.modelcontextprotocol/serverInfo", SERVER_INFO)]),
    ),
]);

const TOOL: Shape = Shape::Object(&[
    required("name", Shape::Name),
    TITLE,
    DESCRIPTION,
    default("inputSchema", Shape::Schema, any_object_schema),
    optional("outputSchema", Shape::Schema),
    optional(
        "annotations",
        Shape::Object(&[
            TITLE,
            optional("readOnlyHint", Shape::Boolean),
            optional("destructiveHint", Shape::Boolean),
            optional("idempotentHint", Shape::Boolean),
            optional("openWorldHint", Shape::Boolean),
        ]),
    ),
    optional(
        "execution",
        Shape::Object(&[optional(
            "taskSupport",
            Shape::OneOf(&["forbidden", "optional", "required"]),
        )]),
    ),
    ICONS,
    META,
]);

const RESOURCE: Shape = Shape::Object(&[
    required("uri", Shape::Name),
    default("name", Shape::String, empty_string),
    TITLE,
    DESCRIPTION,
    MIME_TYPE,
    optional("size", Shape::Number),
    ANNOTATIONS,
    ICONS,
    META,
]);

const RESOURCE_TEMPLATE: Shape = Shape::Object(&[
    required("uriTemplate", Shape::Name),
    default("name", Shape::String, empty_string),
    TITLE,
    DESCRIPTION,
    MIME_TYPE,
    ANNOTATIONS,
    ICONS,
    META,
]);

const PROMPT: Shape = Shape::Object(&[
    required("name", Shape::Name),
    TITLE,
    DESCRIPTION,
    optional(
        "arguments",
        Shape::List(&Shape::Object(&[
            required("name", Shape::Name),
            TITLE,
            DESCRIPTION,
            optional("required", Shape::Boolean),
        ])),
    ),
    ICONS,
    META,
]);

/// A tool's `content` may be missing. Then the result consists of its other members.
const CALL_RESULT: Shape = Shape::Object(&[
    default("content", Shape::Content, empty_list),
    optional("structuredContent", Shape::Any),
    optional("isError", Shape::Boolean),
    META,
]);

const READ_RESULT: Shape = Shape::Object(&[
    default(
        "contents",
        Shape::List(&Shape::Object(&[
            default("uri", Shape::String, empty_string),
            MIME_TYPE,
            optional("text", Shape::String),
            optional("blob", Shape::String),
            META,
        ])),
        empty_list,
    ),
    META,
]);

const PROMPT_RESULT: Shape = Shape::Object(&[
    DESCRIPTION,
    default(
        "messages",
        Shape::List(&Shape::Object(&[
            default("role", Shape::OneOf(&["user", "assistant"]), || {
                json!("user")
            }),
            required("content", Shape::Any),
        ])),
        empty_list,
    ),
    META,
]);

const COMPLETION: Shape = Shape::Object(&[
    default(
        "completion",
        Shape::Object(&[
            default("values", Shape::List(&Shape::String), empty_list),
            optional("total", Shape::Number),
            optional("hasMore", Shape::Boolean),
        ]),
        || json!({ "values": [] }),
    ),
    META,
]);

/// A list with its cursor.
macro_rules! list_result {
    ($name:literal, $item:ident) => {
        Shape::Object(&[
            default($name, Shape::List(&$item), empty_list),
            NEXT_CURSOR,
            META,
        ])
    };
}

const TOOLS: Shape = list_result!("tools", TOOL);
const RESOURCES: Shape = list_result!("resources", RESOURCE);
const RESOURCE_TEMPLATES: Shape = list_result!("resourceTemplates", RESOURCE_TEMPLATE);
const PROMPTS: Shape = list_result!("prompts", PROMPT);

const PROGRESS: Shape = Shape::Object(&[
    required("progressToken", Shape::Any),
    default("progress", Shape::Number, || json!(0)),
    optional("total", Shape::Number),
    optional("message", Shape::String),
    META,
]);

const LOG_MESSAGE: Shape = Shape::Object(&[
    default(
        "level",
        Shape::OneOf(&[
            "debug",
            "info",
            "notice",
            "warning",
            "error",
            "critical",
            "alert",
            "emergency",
        ]),
        || json!("info"),
    ),
    optional("logger", Shape::String),
    default("data", Shape::Any, empty_string),
    META,
]);

const RESOURCE_UPDATED: Shape = Shape::Object(&[required("uri", Shape::Name), META]);

/// The shape of a request's result. `None` if the result is not read here.
pub(super) fn result_shape(method: &str) -> Option<&'static Shape> {
    Some(match method {
        "initialize" => &INITIALIZE,
        "server/discover" => &DISCOVER,
        "tools/list" => &TOOLS,
        "tools/call" => &CALL_RESULT,
        "resources/list" => &RESOURCES,
        "resources/templates/list" => &RESOURCE_TEMPLATES,
        "resources/read" => &READ_RESULT,
        "prompts/list" => &PROMPTS,
        "prompts/get" => &PROMPT_RESULT,
        "completion/complete" => &COMPLETION,
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => &OBJECT,
        _ => return None,
    })
}

/// The shape of the parameters of a notification.
pub(super) fn notification_shape(method: &str) -> Option<&'static Shape> {
    Some(match method {
        "notifications/progress" => &PROGRESS,
        "notifications/message" => &LOG_MESSAGE,
        "notifications/resources/updated" => &RESOURCE_UPDATED,
        _ => return None,
    })
}
