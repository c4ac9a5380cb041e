//! The introspection query, and its result as a schema.
//!
//! Invariant: each server generation gets a query that it understands, newest first. A name in the result is used only
//! if it is a valid GraphQL name.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::{
    schema_model::{
        EnumValue, GraphqlSchema, SchemaArgument, SchemaField, SchemaType, TypeRef, TypeShape,
        is_built_in,
    },
    value_literal,
};

/// The capabilities of each server generation, newest first.
const SERVER_GENERATIONS: &[ServerGeneration] = &[
    ServerGeneration {
        one_of: true,
        old_arguments: true,
    },
    ServerGeneration {
        one_of: false,
        old_arguments: true,
    },
    ServerGeneration {
        one_of: false,
        old_arguments: false,
    },
];

/// The depth of lists and non-null wrappers that is queried, as in other tools.
const MAX_TYPE_WRAPPERS: usize = 9;

struct ServerGeneration {
    one_of: bool,
    /// Set if arguments and input fields may be deprecated.
    old_arguments: bool,
}

/// The introspection queries, in the order in which they are tried.
pub(super) fn introspection_queries() -> impl Iterator<Item = String> {
    SERVER_GENERATIONS.iter().map(|age| {
        let one_of = if age.one_of { " isOneOf" } else { "" };
        let (all, why) = if age.old_arguments { ("(includeDeprecated: true)", " isDeprecated deprecationReason") } else { ("", "") };
        let mut ty = "kind name".to_owned();
        for _ in 0..MAX_TYPE_WRAPPERS {
            ty = format!("kind name ofType {{ {ty} }}");
        }
        format!(
            "query IntrospectionQuery {{ __schema {{ queryType {{ name }} mutationType {{ name }} \
             subscriptionType {{ name }} types {{ kind name description{one_of} \
             fields(includeDeprecated: true) {{ name description args{all} {{ ...Argument }} type {{ ...Type }} \
             isDeprecated deprecationReason }} inputFields{all} {{ ...Argument }} \
             enumValues(includeDeprecated: true) {{ name description isDeprecated deprecationReason }} \
             possibleTypes {{ name }} }} }} }} \
             fragment Argument on __InputValue {{ name description type {{ ...Type }} defaultValue{why} }} \
             fragment Type on __Type {{ {ty} }}"
        )
    })
}

/// Parses a response, or the value of its `data`.
pub(super) fn read(answer: &Value) -> Result<GraphqlSchema, String> {
    let data = answer.get("data").unwrap_or(answer);
    let schema = data.get("__schema").filter(|schema| !schema.is_null());
    let schema = schema.ok_or("it is not an introspection result: it has no `__schema`")?;
    let introspected = IntrospectedSchema::deserialize(schema).map_err(
        |_| "its `__schema` lacks members that GraphQL prescribes, or has them in another form",
    )?;
    Ok(introspected.into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectedSchema {
    query_type: Option<IntrospectedName>,
    mutation_type: Option<IntrospectedName>,
    subscription_type: Option<IntrospectedName>,
    types: Vec<IntrospectedType>,
}

#[derive(Deserialize)]
struct IntrospectedName {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectedType {
    kind: String,
    name: String,
    description: Option<String>,
    fields: Option<Vec<IntrospectedField>>,
    input_fields: Option<Vec<IntrospectedArgument>>,
    enum_values: Option<Vec<IntrospectedEnumValue>>,
    possible_types: Option<Vec<IntrospectedName>>,
    is_one_of: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectedField {
    name: String,
    description: Option<String>,
    #[serde(default)]
    args: Vec<IntrospectedArgument>,
    #[serde(rename = "type")]
    ty: IntrospectedTypeRef,
    #[serde(default)]
    is_deprecated: bool,
    deprecation_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectedArgument {
    name: String,
    description: Option<String>,
    #[serde(rename = "type")]
    ty: IntrospectedTypeRef,
    default_value: Option<String>,
    #[serde(default)]
    is_deprecated: bool,
    deprecation_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectedEnumValue {
    name: String,
    description: Option<String>,
    #[serde(default)]
    is_deprecated: bool,
    deprecation_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectedTypeRef {
    kind: String,
    name: Option<String>,
    of_type: Option<Box<IntrospectedTypeRef>>,
}

impl From<IntrospectedSchema> for GraphqlSchema {
    fn from(introspected: IntrospectedSchema) -> Self {
        let root = |named: Option<IntrospectedName>| named.map(|named| named.name);
        let types = introspected.types.into_iter();
        let types = types.filter(|ty| !ty.name.starts_with("__") && !is_built_in(&ty.name));
        let mut possible = HashMap::new();
        let mut known = BTreeMap::new();
        for mut ty in types {
            if ty.kind == "INTERFACE"
                && let Some(types) = ty.possible_types.take()
            {
                let names = types.into_iter().map(|named| named.name);
                possible.insert(ty.name.clone(), names.collect::<HashSet<_>>());
            }
            known.insert(ty.name.clone(), SchemaType::from(ty));
        }
        let mut schema = Self {
            query: root(introspected.query_type),
            mutation: root(introspected.mutation_type),
            subscription: root(introspected.subscription_type),
            types: known,
            ..Self::default()
        };
        schema.roots = schema.find_roots(|root, interface| match possible.get(interface) {
            Some(types) => types.contains(root),
            // The result does not tell, so the fields decide.
            None => schema.has_fields_of(root, interface),
        });
        schema
    }
}

impl From<IntrospectedType> for SchemaType {
    fn from(introspected: IntrospectedType) -> Self {
        let fields = |fields: Option<Vec<IntrospectedField>>| {
            let fields = fields.unwrap_or_default().into_iter();
            fields.map(SchemaField::from).collect()
        };
        let shape = match introspected.kind.as_str() {
            "OBJECT" => TypeShape::Object(fields(introspected.fields)),
            "INTERFACE" => TypeShape::Interface(fields(introspected.fields)),
            "UNION" => {
                let members = introspected.possible_types.unwrap_or_default().into_iter();
                TypeShape::Union(members.map(|member| member.name).collect())
            }
            "ENUM" => {
                let values = introspected.enum_values.unwrap_or_default().into_iter();
                TypeShape::Enum(values.map(EnumValue::from).collect())
            }
            "INPUT_OBJECT" => {
                let fields = introspected.input_fields.unwrap_or_default().into_iter();
                TypeShape::Input {
                    fields: fields.map(SchemaArgument::from).collect(),
                    one_of: introspected.is_one_of == Some(true),
                }
            }
            // A kind that GraphQL does not yet have is an unknown scalar.
            _ => TypeShape::Scalar,
        };
        Self {
            description: non_empty_description(introspected.description),
            shape,
        }
    }
}

impl From<IntrospectedField> for SchemaField {
    fn from(introspected: IntrospectedField) -> Self {
        Self {
            name: introspected.name,
            description: non_empty_description(introspected.description),
            arguments: introspected
                .args
                .into_iter()
                .map(SchemaArgument::from)
                .collect(),
            ty: introspected.ty.into(),
            deprecated: deprecation_reason_of(
                introspected.is_deprecated,
                introspected.deprecation_reason,
            ),
        }
    }
}

impl From<IntrospectedArgument> for SchemaArgument {
    fn from(introspected: IntrospectedArgument) -> Self {
        Self {
            name: introspected.name,
            description: non_empty_description(introspected.description),
            ty: introspected.ty.into(),
            default: introspected
                .default_value
                .as_deref()
                .and_then(value_literal::of_text),
            deprecated: deprecation_reason_of(
                introspected.is_deprecated,
                introspected.deprecation_reason,
            ),
        }
    }
}

impl From<IntrospectedEnumValue> for EnumValue {
    fn from(introspected: IntrospectedEnumValue) -> Self {
        Self {
            name: introspected.name,
            description: non_empty_description(introspected.description),
            deprecated: deprecation_reason_of(
                introspected.is_deprecated,
                introspected.deprecation_reason,
            ),
        }
    }
}

impl From<IntrospectedTypeRef> for TypeRef {
    fn from(introspected: IntrospectedTypeRef) -> Self {
        match (introspected.kind.as_str(), introspected.of_type) {
            ("NON_NULL", Some(inner)) => match TypeRef::from(*inner) {
                already @ TypeRef::Required(_) => already,
                inner => TypeRef::Required(Box::new(inner)),
            },
            ("LIST", Some(inner)) => TypeRef::List(Box::new(Self::from(*inner))),
            // A type that is wrapped more deeply than the query asks for has no name and is unknown.
            _ => TypeRef::Named(introspected.name.unwrap_or_default()),
        }
    }
}

fn deprecation_reason_of(is: bool, reason: Option<String>) -> Option<String> {
    is.then(|| reason.unwrap_or_else(|| "No longer supported".to_owned()))
}

fn non_empty_description(text: Option<String>) -> Option<String> {
    let text = text?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
