//! The types between JSON Schema and TypeScript.
//!
//! Invariant: a `Type` is finite and owns all its parts; recursion is only ever an index into the
//! definitions of its schema.

use super::doc::Doc;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    /// Nothing is known; the note says why, when the schema did say something.
    Unknown(Option<String>),
    /// Nothing was seen that could tell.
    Any,
    Never,
    Null,
    Boolean,
    Number,
    String,
    /// A constant as TypeScript spells it.
    Literal(String),
    Array(Box<Type>),
    Tuple(Tuple),
    Object(Object),
    /// Two or more alternatives.
    Union(Vec<Variant>),
    /// Two or more types that hold at once.
    All(Vec<Type>),
    /// An index into the definitions of the schema.
    Named(usize),
    /// A type that the globals declare.
    Global(&'static str),
    /// What values looked like, as opposed to what a schema says of them.
    Seen(Box<Type>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tuple {
    pub(super) items: Vec<Type>,
    /// How many items must be there; the others come after them.
    pub(super) required: usize,
    pub(super) rest: Option<Box<Type>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Object {
    pub(super) members: Vec<Member>,
    /// The type of all members that are not listed.
    pub(super) index: Option<Box<Member>>,
}

/// A property, or all the properties without a name of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) optional: bool,
    pub(super) ty: Type,
    pub(super) doc: Doc,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    pub(super) ty: Type,
    pub(super) doc: Doc,
}

/// Where a name stands in an alias, as it matters to TypeScript: an alias may mention itself only
/// where the mention is not looked into at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// The alias itself, or an alternative of it.
    Bare,
    /// Inside an intersection, which is looked into through arrays and tuples.
    Intersected,
    /// Inside an object, or inside an array or tuple elsewhere.
    Deferred,
}

impl Position {
    fn in_list(self) -> Self {
        if self == Position::Bare {
            Position::Deferred
        } else {
            self
        }
    }
}

/// What every object has, whether or not it is said.
const INHERITED: &[&str] = &[
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

impl Member {
    /// The type as it can be written. To TypeScript every object has what it inherits, so without
    /// these members no object would have the type of an optional one of the same name.
    pub(super) fn written(&self) -> &Type {
        if self.optional && INHERITED.contains(&self.name.as_str()) {
            &Type::Any
        } else {
            &self.ty
        }
    }
}

impl Type {
    /// Calls `visit` for every definition mentioned, with where it stands; `at` is where `self`
    /// stands.
    pub(super) fn mentions(&self, at: Position, visit: &mut impl FnMut(usize, Position)) {
        match self {
            Type::Named(index) => visit(*index, at),
            Type::Seen(ty) => ty.mentions(at, visit),
            Type::Array(items) => items.mentions(at.in_list(), visit),
            Type::Tuple(tuple) => {
                let items = tuple.items.iter().chain(tuple.rest.as_deref());
                items.for_each(|item| item.mentions(at.in_list(), visit));
            }
            Type::Object(object) => {
                let members = object.members.iter().chain(object.index.as_deref());
                members.for_each(|member| member.ty.mentions(Position::Deferred, visit));
            }
            Type::Union(variants) => variants.iter().for_each(|v| v.ty.mentions(at, visit)),
            Type::All(parts) => {
                let at = if at == Position::Bare {
                    Position::Intersected
                } else {
                    at
                };
                parts.iter().for_each(|part| part.mentions(at, visit));
            }
            _ => {}
        }
    }
}
