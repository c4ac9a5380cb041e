//! A GraphQL schema, as far as functions need it. The model is the same from SDL and from introspection.
//!
//! Invariant: after [`GraphqlSchema::settle`] every name in the schema is a valid GraphQL name, which can be written
//! into a query, and every type that it mentions is defined or built in.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
};

use serde::Deserialize;
use serde_json::Value;

use super::introspection::{self, IntrospectedTypeRef};

/// The scalars that no schema defines.
const BUILT_IN_SCALARS: &[&str] = &["Int", "Float", "String", "Boolean", "ID"];

/// The number of lists around a type. A type with more is unknown.
const MAX_LIST_DEPTH: usize = 8;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GraphqlSchema {
    /// The names of the root types.
    pub(super) query: Option<String>,
    pub(super) mutation: Option<String>,
    pub(super) subscription: Option<String>,
    pub(super) types: BTreeMap<String, SchemaType>,
    /// The types whose objects may be of a root type, with the operations of that root: the root types themselves,
    /// unions that contain one, and interfaces that one implements.
    pub(super) roots: BTreeMap<String, Vec<OperationKind>>,
}

/// The kind of an operation in a document.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum OperationKind {
    Query,
    Mutation,
    Subscription,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SchemaType {
    pub(super) description: Option<String>,
    pub(super) shape: TypeShape,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TypeShape {
    Scalar,
    Object(Vec<SchemaField>),
    Interface(Vec<SchemaField>),
    /// The names of its members.
    Union(Vec<String>),
    Enum(Vec<EnumValue>),
    Input {
        fields: Vec<SchemaArgument>,
        /// Exactly one of the fields must be given.
        one_of: bool,
    },
}

/// Deserialized from an introspection result.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(super) struct SchemaField {
    pub(super) name: String,
    #[serde(default, deserialize_with = "introspection::description")]
    pub(super) description: Option<String>,
    #[serde(default, rename = "args")]
    pub(super) arguments: Vec<SchemaArgument>,
    #[serde(rename = "type")]
    pub(super) ty: TypeRef,
    /// The reason for deprecation, if it is deprecated.
    #[serde(flatten, deserialize_with = "introspection::deprecation")]
    pub(super) deprecated: Option<String>,
}

/// An argument of a field, or a field of an input object. Deserialized from an introspection result.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(super) struct SchemaArgument {
    pub(super) name: String,
    #[serde(default, deserialize_with = "introspection::description")]
    pub(super) description: Option<String>,
    #[serde(rename = "type")]
    pub(super) ty: TypeRef,
    #[serde(
        default,
        rename = "defaultValue",
        deserialize_with = "introspection::default_value"
    )]
    pub(super) default: Option<Value>,
    #[serde(flatten, deserialize_with = "introspection::deprecation")]
    pub(super) deprecated: Option<String>,
}

/// Deserialized from an introspection result.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(super) struct EnumValue {
    pub(super) name: String,
    #[serde(default, deserialize_with = "introspection::description")]
    pub(super) description: Option<String>,
    #[serde(flatten, deserialize_with = "introspection::deprecation")]
    pub(super) deprecated: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(from = "IntrospectedTypeRef")]
pub(super) enum TypeRef {
    Named(String),
    List(Box<TypeRef>),
    /// A type that is never null.
    Required(Box<TypeRef>),
}

impl OperationKind {
    pub(super) const ALL: [Self; 3] = [Self::Query, Self::Mutation, Self::Subscription];

    /// The keyword in documents, and the prefix in function names.
    pub(super) fn word(self) -> &'static str {
        self.into()
    }
}

impl GraphqlSchema {
    /// The root type of an operation.
    pub(super) fn root(&self, operation: OperationKind) -> Option<&str> {
        let root = match operation {
            OperationKind::Query => &self.query,
            OperationKind::Mutation => &self.mutation,
            OperationKind::Subscription => &self.subscription,
        };
        root.as_deref()
    }

    /// The operations whose root type an object of this type may have.
    pub(super) fn operations_at(&self, ty: &str) -> &[OperationKind] {
        self.roots.get(ty).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_root(&self, ty: &str) -> bool {
        let mut all = OperationKind::ALL.into_iter();
        all.any(|operation| self.root(operation) == Some(ty))
    }

    /// Computes [`GraphqlSchema::roots`]. `implements(root, interface)` tells if a root type implements an interface.
    pub(super) fn find_roots(
        &self,
        implements: impl Fn(&str, &str) -> bool,
    ) -> BTreeMap<String, Vec<OperationKind>> {
        let mut roots: BTreeMap<String, Vec<OperationKind>> = BTreeMap::new();
        for operation in OperationKind::ALL {
            let Some(root) = self.root(operation) else {
                continue;
            };
            let holds = self.types.iter().filter(|(name, ty)| match &ty.shape {
                TypeShape::Union(members) => members.iter().any(|member| member == root),
                TypeShape::Interface(_) => implements(root, name),
                _ => false,
            });
            let names = holds.map(|(name, _)| name.as_str());
            for name in names.chain([root]) {
                roots.entry(name.to_owned()).or_default().push(operation);
            }
        }
        roots
    }

    /// True if a type has every field of an interface.
    pub(super) fn has_fields_of(&self, ty: &str, interface: &str) -> bool {
        let mut fields = self.fields(interface).unwrap_or_default().iter();
        fields.all(|field| self.field(ty, &field.name).is_some())
    }

    pub(super) fn shape(&self, name: &str) -> Option<&TypeShape> {
        self.types.get(name).map(|ty| &ty.shape)
    }

    /// The fields of an object or an interface.
    pub(super) fn fields(&self, name: &str) -> Option<&[SchemaField]> {
        match self.shape(name)? {
            TypeShape::Object(fields) | TypeShape::Interface(fields) => Some(fields),
            _ => None,
        }
    }

    pub(super) fn field(&self, ty: &str, name: &str) -> Option<&SchemaField> {
        self.fields(ty)?.iter().find(|field| field.name == name)
    }

    /// True if a field of this type needs a selection.
    pub(super) fn is_composite(&self, name: &str) -> bool {
        matches!(
            self.shape(name),
            Some(TypeShape::Object(_) | TypeShape::Interface(_) | TypeShape::Union(_))
        )
    }

    /// Removes items that cannot be called: invalid and reserved names, and anything of an undefined type. Returns the
    /// number of removed items.
    pub(super) fn settle(&mut self) -> usize {
        let before = self.types.len();
        self.types.retain(|name, _| is_name(name));
        let mut left_out = before - self.types.len();
        let known: HashSet<String> = self
            .types
            .keys()
            .cloned()
            .chain(BUILT_IN_SCALARS.iter().map(|name| (*name).to_owned()))
            .collect();
        let argument = |argument: &SchemaArgument| {
            is_name(&argument.name) && known.contains(argument.ty.name())
        };
        let mut count = |before: usize, after: usize| left_out += before - after;
        for ty in self.types.values_mut() {
            match &mut ty.shape {
                TypeShape::Scalar => {}
                TypeShape::Object(fields) | TypeShape::Interface(fields) => {
                    let before = fields.len();
                    fields.retain(|field| is_name(&field.name) && known.contains(field.ty.name()));
                    count(before, fields.len());
                    for field in fields {
                        let before = field.arguments.len();
                        field.arguments.retain(argument);
                        count(before, field.arguments.len());
                    }
                }
                TypeShape::Union(members) => {
                    let before = members.len();
                    members.retain(|member| known.contains(member));
                    count(before, members.len());
                }
                TypeShape::Enum(values) => {
                    let before = values.len();
                    values.retain(|value| is_name(&value.name));
                    count(before, values.len());
                }
                TypeShape::Input { fields, .. } => {
                    let before = fields.len();
                    fields.retain(argument);
                    count(before, fields.len());
                }
            }
        }
        for root in [&mut self.query, &mut self.mutation, &mut self.subscription] {
            if root.as_ref().is_some_and(|name| !known.contains(name)) {
                *root = None;
                left_out += 1;
            }
        }
        left_out
    }
}

impl SchemaField {
    /// True if it has required arguments.
    pub(super) fn needs_arguments(&self) -> bool {
        self.arguments.iter().any(SchemaArgument::is_required)
    }
}

impl SchemaArgument {
    pub(super) fn is_required(&self) -> bool {
        matches!(self.ty, TypeRef::Required(_)) && self.default.is_none()
    }
}

impl TypeRef {
    /// True if it has more nested lists than [`MAX_LIST_DEPTH`].
    pub(super) fn is_deep(&self) -> bool {
        let mut ty = self;
        let mut lists = 0;
        loop {
            ty = match ty {
                TypeRef::Named(_) => return lists > MAX_LIST_DEPTH,
                TypeRef::Required(inner) => inner,
                TypeRef::List(inner) => {
                    lists += 1;
                    inner
                }
            };
        }
    }

    /// The name of the type, without lists around it.
    pub(super) fn name(&self) -> &str {
        match self {
            TypeRef::Named(name) => name,
            TypeRef::List(inner) | TypeRef::Required(inner) => inner.name(),
        }
    }
}

/// Writes the type as in a query.
impl fmt::Display for TypeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeRef::Named(name) => f.write_str(name),
            TypeRef::List(inner) => write!(f, "[{inner}]"),
            TypeRef::Required(inner) => write!(f, "{inner}!"),
        }
    }
}

pub(super) fn is_built_in(name: &str) -> bool {
    BUILT_IN_SCALARS.contains(&name)
}

/// True if GraphQL allows an API to use this name. Two leading underscores are reserved.
pub(super) fn is_name(text: &str) -> bool {
    let mut letters = text.bytes();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
        && !text.starts_with("__")
}
