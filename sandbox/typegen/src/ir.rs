//! The types between JSON Schema and TypeScript.
//!
//! Invariant: a `Type` is finite and owns all its parts. Recursion is only ever an index into the definitions of its
//! schema.

use super::jsdoc::ValueDoc;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    /// Unknown, with a note about the reason if the schema was not empty.
    Unknown(Option<String>),
    /// No observed value tells the type.
    Any,
    Never,
    Null,
    Boolean,
    Number,
    String,
    /// A constant as a TypeScript literal.
    Literal(String),
    Array(Box<Type>),
    Tuple(Tuple),
    Object(Object),
    /// Two or more alternatives.
    Union(Vec<Variant>),
    /// An intersection of two or more types.
    All(Vec<Type>),
    /// An index into the definitions of the schema.
    Named(usize),
    /// A type that the globals declare.
    Global(&'static str),
    /// A type that was observed in values, not declared by a schema.
    Seen(Box<Type>),
    /// An object whose schema forbids other members, marked for the type checker.
    Closed(Box<Type>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tuple {
    pub(super) items: Vec<Type>,
    /// The number of required items. Optional items follow.
    pub(super) required: usize,
    pub(super) rest: Option<Box<Type>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Object {
    pub(super) members: Vec<Member>,
    /// The type of all members that are not listed.
    pub(super) index: Option<Box<Member>>,
    /// The schema forbids members that are not listed.
    pub(super) is_closed: bool,
}

/// A property, or all the properties that are not listed by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) optional: bool,
    /// Only a part that applies to some values (`then`, `else`, `dependentSchemas`) mentions it.
    pub(super) is_conditional: bool,
    pub(super) ty: Type,
    pub(super) doc: ValueDoc,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    pub(super) ty: Type,
    pub(super) doc: ValueDoc,
}

/// The position of a name in an alias. TypeScript lets an alias mention itself only where the mention is not resolved
/// eagerly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AliasPosition {
    /// The alias itself, or an alternative of it.
    Bare,
    /// Inside an intersection, which is resolved eagerly even through arrays and tuples.
    Intersected,
    /// Inside an object, or inside an array or tuple elsewhere.
    Deferred,
}

impl AliasPosition {
    fn in_list(self) -> Self {
        if self == AliasPosition::Bare {
            AliasPosition::Deferred
        } else {
            self
        }
    }
}

/// The members that every object inherits.
const INHERITED_MEMBERS: &[&str] = &[
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

impl Member {
    /// Makes the member optional and conditional.
    pub(super) fn conditional(self) -> Self {
        Self {
            optional: true,
            is_conditional: true,
            ..self
        }
    }

    /// The type as written: `any` for an optional member with the name of an inherited one, because otherwise
    /// TypeScript would compare it with the inherited member and accept no object.
    pub(super) fn written(&self) -> &Type {
        if self.optional && INHERITED_MEMBERS.contains(&self.name.as_str()) {
            &Type::Any
        } else {
            &self.ty
        }
    }
}

impl Type {
    /// Marks the closed objects in this type.
    pub(super) fn mark_closed(&mut self) {
        match self {
            Type::Seen(ty) | Type::Closed(ty) | Type::Array(ty) => ty.mark_closed(),
            Type::Tuple(tuple) => {
                let items = tuple.items.iter_mut().chain(tuple.rest.as_deref_mut());
                items.for_each(Type::mark_closed);
            }
            Type::Object(object) => {
                let members = object.members.iter_mut().chain(object.index.as_deref_mut());
                members.for_each(|member| member.ty.mark_closed());
                if object.is_closed {
                    *self = Type::Closed(Box::new(Type::Object(std::mem::take(object))));
                }
            }
            Type::Union(variants) => variants.iter_mut().for_each(|v| v.ty.mark_closed()),
            // An intersection has the members of all its parts.
            _ => {}
        }
    }

    /// Calls `visit` for every mentioned definition with its position; `at` is the position of `self`.
    pub(super) fn mentions(&self, at: AliasPosition, visit: &mut impl FnMut(usize, AliasPosition)) {
        match self {
            Type::Named(index) => visit(*index, at),
            Type::Seen(ty) | Type::Closed(ty) => ty.mentions(at, visit),
            Type::Array(items) => items.mentions(at.in_list(), visit),
            Type::Tuple(tuple) => {
                let items = tuple.items.iter().chain(tuple.rest.as_deref());
                items.for_each(|item| item.mentions(at.in_list(), visit));
            }
            Type::Object(object) => {
                let members = object.members.iter().chain(object.index.as_deref());
                members.for_each(|member| member.ty.mentions(AliasPosition::Deferred, visit));
            }
            Type::Union(variants) => variants.iter().for_each(|v| v.ty.mentions(at, visit)),
            Type::All(parts) => {
                let at = if at == AliasPosition::Bare {
                    AliasPosition::Intersected
                } else {
                    at
                };
                for part in parts {
                    part.mentions(at, visit);
                }
            }
            _ => {}
        }
    }
}
