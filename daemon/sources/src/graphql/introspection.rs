//! The introspection query, and its result as a schema.
//!
//! Invariant: each server generation gets a query that it understands, newest first. A name in the result is used only
//! if it is a valid GraphQL name.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Deserializer};
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
    #[serde(default, deserialize_with = "description")]
    description: Option<String>,
    fields: Option<Vec<SchemaField>>,
    input_fields: Option<Vec<SchemaArgument>>,
    enum_values: Option<Vec<EnumValue>>,
    possible_types: Option<Vec<IntrospectedName>>,
    is_one_of: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IntrospectedTypeRef {
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
        let shape = match introspected.kind.as_str() {
            "OBJECT" => TypeShape::Object(introspected.fields.unwrap_or_default()),
            "INTERFACE" => TypeShape::Interface(introspected.fields.unwrap_or_default()),
            "UNION" => {
                let members = introspected.possible_types.unwrap_or_default().into_iter();
                TypeShape::Union(members.map(|member| member.name).collect())
            }
            "ENUM" => TypeShape::Enum(introspected.enum_values.unwrap_or_default()),
            "INPUT_OBJECT" => TypeShape::Input {
                fields: introspected.input_fields.unwrap_or_default(),
                one_of: introspected.is_one_of == Some(true),
            },
            // A kind that GraphQL does not yet have is an unknown scalar.
            _ => TypeShape::Scalar,
        };
        Self {
            description: introspected.description,
            shape,
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

/// A description that is not empty.
pub(super) fn description<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// The reason for deprecation, if the item is deprecated.
pub(super) fn deprecation<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Deprecation {
        #[serde(default)]
        is_deprecated: bool,
        deprecation_reason: Option<String>,
    }
    let found = Deprecation::deserialize(deserializer)?;
    let reason = found.deprecation_reason;
    let reason = reason.unwrap_or_else(|| "No longer supported".to_owned());
    Ok(found.is_deprecated.then_some(reason))
}

/// A default value, which is a GraphQL literal in a string.
pub(super) fn default_value<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.as_deref().and_then(value_literal::of_text))
}
