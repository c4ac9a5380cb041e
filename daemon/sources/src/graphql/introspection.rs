//! The schema of an endpoint that is asked for it, and the answer.
//!
//! Invariant: servers of every age are asked what they know, newest first, and a name in an answer is believed only
//! if it is one.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::{
    literal,
    model::{Argument, EnumValue, Field, Schema, Shape, Type, TypeRef, is_built_in},
};

/// What servers learned to tell, one after the other; each is left out where one is too old for it.
const AGES: &[Age] = &[
    Age {
        one_of: true,
        old_arguments: true,
    },
    Age {
        one_of: false,
        old_arguments: true,
    },
    Age {
        one_of: false,
        old_arguments: false,
    },
];

/// Lists and marks around one type, as many as the tools of others ask for.
const WRAPPINGS: usize = 9;

struct Age {
    one_of: bool,
    /// Arguments and fields of inputs may be deprecated.
    old_arguments: bool,
}

/// The questions, in the order in which they are tried.
pub(super) fn queries() -> impl Iterator<Item = String> {
    AGES.iter().map(|age| {
        let one_of = if age.one_of { " isOneOf" } else { "" };
        let (all, why) = match age.old_arguments {
            true => ("(includeDeprecated: true)", " isDeprecated deprecationReason"),
            false => ("", ""),
        };
        let mut ty = "kind name".to_owned();
        for _ in 0..WRAPPINGS {
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

/// An answer, or what stands under its `data`.
pub(super) fn read(answer: &Value) -> Result<Schema, String> {
    let data = answer.get("data").unwrap_or(answer);
    let schema = data.get("__schema").filter(|schema| !schema.is_null());
    let schema =
        schema.ok_or("it is no answer to an introspection: there is no `__schema` in it")?;
    let told = Told::deserialize(schema)
        .map_err(|error| format!("the answer to the introspection cannot be read: {error}"))?;
    Ok(told.into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    query_type: Option<Named>,
    mutation_type: Option<Named>,
    subscription_type: Option<Named>,
    types: Vec<ToldType>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToldType {
    kind: String,
    name: String,
    description: Option<String>,
    fields: Option<Vec<ToldField>>,
    input_fields: Option<Vec<ToldArgument>>,
    enum_values: Option<Vec<ToldValue>>,
    possible_types: Option<Vec<Named>>,
    is_one_of: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToldField {
    name: String,
    description: Option<String>,
    #[serde(default)]
    args: Vec<ToldArgument>,
    #[serde(rename = "type")]
    ty: ToldRef,
    #[serde(default)]
    is_deprecated: bool,
    deprecation_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToldArgument {
    name: String,
    description: Option<String>,
    #[serde(rename = "type")]
    ty: ToldRef,
    default_value: Option<String>,
    #[serde(default)]
    is_deprecated: bool,
    deprecation_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToldValue {
    name: String,
    description: Option<String>,
    #[serde(default)]
    is_deprecated: bool,
    deprecation_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToldRef {
    kind: String,
    name: Option<String>,
    of_type: Option<Box<ToldRef>>,
}

impl From<Told> for Schema {
    fn from(told: Told) -> Self {
        let root = |named: Option<Named>| named.map(|named| named.name);
        let types = told.types.into_iter();
        let types = types.filter(|ty| !ty.name.starts_with("__") && !is_built_in(&ty.name));
        let (mut possible, mut known) = (HashMap::new(), BTreeMap::new());
        for mut ty in types {
            if ty.kind == "INTERFACE"
                && let Some(types) = ty.possible_types.take()
            {
                let names = types.into_iter().map(|named| named.name);
                possible.insert(ty.name.clone(), names.collect::<HashSet<_>>());
            }
            known.insert(ty.name.clone(), Type::from(ty));
        }
        let mut schema = Self {
            query: root(told.query_type),
            mutation: root(told.mutation_type),
            subscription: root(told.subscription_type),
            types: known,
            ..Self::default()
        };
        schema.roots = schema.find_roots(|root, interface| match possible.get(interface) {
            Some(types) => types.contains(root),
            // The answer does not say.
            None => schema.has_fields_of(root, interface),
        });
        schema
    }
}

impl From<ToldType> for Type {
    fn from(told: ToldType) -> Self {
        let fields = |fields: Option<Vec<ToldField>>| {
            let fields = fields.unwrap_or_default().into_iter();
            fields.map(Field::from).collect()
        };
        let shape = match told.kind.as_str() {
            "OBJECT" => Shape::Object(fields(told.fields)),
            "INTERFACE" => Shape::Interface(fields(told.fields)),
            "UNION" => {
                let members = told.possible_types.unwrap_or_default().into_iter();
                Shape::Union(members.map(|member| member.name).collect())
            }
            "ENUM" => {
                let values = told.enum_values.unwrap_or_default().into_iter();
                Shape::Enum(values.map(EnumValue::from).collect())
            }
            "INPUT_OBJECT" => {
                let fields = told.input_fields.unwrap_or_default().into_iter();
                Shape::Input {
                    fields: fields.map(Argument::from).collect(),
                    one_of: told.is_one_of == Some(true),
                }
            }
            // Of what GraphQL does not have yet nothing is known.
            _ => Shape::Scalar,
        };
        Self {
            description: words(told.description),
            shape,
        }
    }
}

impl From<ToldField> for Field {
    fn from(told: ToldField) -> Self {
        Self {
            name: told.name,
            description: words(told.description),
            arguments: told.args.into_iter().map(Argument::from).collect(),
            ty: told.ty.into(),
            deprecated: deprecated(told.is_deprecated, told.deprecation_reason),
        }
    }
}

impl From<ToldArgument> for Argument {
    fn from(told: ToldArgument) -> Self {
        Self {
            name: told.name,
            description: words(told.description),
            ty: told.ty.into(),
            default: told.default_value.as_deref().and_then(literal::of_text),
            deprecated: deprecated(told.is_deprecated, told.deprecation_reason),
        }
    }
}

impl From<ToldValue> for EnumValue {
    fn from(told: ToldValue) -> Self {
        Self {
            name: told.name,
            description: words(told.description),
            deprecated: deprecated(told.is_deprecated, told.deprecation_reason),
        }
    }
}

impl From<ToldRef> for TypeRef {
    fn from(told: ToldRef) -> Self {
        match (told.kind.as_str(), told.of_type) {
            ("NON_NULL", Some(inner)) => match TypeRef::from(*inner) {
                already @ TypeRef::Required(_) => already,
                inner => TypeRef::Required(Box::new(inner)),
            },
            ("LIST", Some(inner)) => TypeRef::List(Box::new(Self::from(*inner))),
            // What is wrapped deeper than was asked for has no name, and no type that is known.
            _ => TypeRef::Named(told.name.unwrap_or_default()),
        }
    }
}

fn deprecated(is: bool, reason: Option<String>) -> Option<String> {
    is.then(|| reason.unwrap_or_else(|| "No longer supported".to_owned()))
}

fn words(text: Option<String>) -> Option<String> {
    let text = text?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
