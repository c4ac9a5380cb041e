//! Converts a shape to a type.
//!
//! Invariant: every message of the checker about an observed type names `Seen`, so that a reader can tell it from a
//! declared type: every object is marked, and so is a result without objects.

use super::super::doc::Doc;
use super::super::ir::{Member, Object as ObjectType, Type, Variant};
use super::fields::Object;
use super::node::{ANY, BOOLEAN, NULL, NUMBER, Node, PART, STRING};

/// The type of whole results; `None` if nothing is known.
pub(super) fn result(node: &Node) -> Option<Type> {
    let ty = match ty(node) {
        Type::Any => return None,
        Type::Union(variants) => {
            let marked = |variant: Variant| Variant {
                ty: marked(variant.ty),
                ..variant
            };
            Type::Union(variants.into_iter().map(marked).collect())
        }
        ty => marked(ty),
    };
    Some(ty)
}

fn marked(ty: Type) -> Type {
    if ty == Type::Null || names_seen(&ty) {
        ty
    } else {
        Type::Seen(Box::new(ty))
    }
}

fn names_seen(ty: &Type) -> bool {
    match ty {
        Type::Seen(_) => true,
        Type::Array(items) => names_seen(items),
        Type::Union(variants) => variants.iter().any(|variant| names_seen(&variant.ty)),
        _ => false,
    }
}

fn ty(node: &Node) -> Type {
    // Objects beside content blocks: the open members of content blocks would hide the observed ones.
    if node.has(ANY) || (node.has(PART) && node.object.is_some()) {
        return Type::Any;
    }
    let mut types = Vec::new();
    for (kind, ty) in [
        (STRING, Type::String),
        (NUMBER, Type::Number),
        (BOOLEAN, Type::Boolean),
        (PART, Type::Global("ContentBlock")),
    ] {
        if node.has(kind) {
            types.push(ty);
        }
    }
    types.extend(
        node.items
            .as_ref()
            .map(|items| Type::Array(Box::new(ty(items)))),
    );
    types.extend(
        node.object
            .as_ref()
            .map(|object| Type::Seen(Box::new(object_type(object)))),
    );
    // Null alone does not tell which other values are possible.
    if types.is_empty() {
        return Type::Any;
    }
    if node.has(NULL) {
        types.push(Type::Null);
    }
    Type::union(types.into_iter().map(|ty| Variant {
        ty,
        doc: Doc::default(),
    }))
}

fn object_type(object: &Object) -> Type {
    let member = |name: &str, optional, node| Member {
        name: name.to_owned(),
        optional,
        ty: ty(node),
        doc: Doc::default(),
    };
    Type::Object(match object {
        // An empty object tells nothing about its fields, like an empty array about its items.
        Object::Fields(fields) if fields.is_empty() => ObjectType {
            members: Vec::new(),
            index: Some(Box::new(member("", true, &Node::default()))),
        },
        Object::Fields(fields) => ObjectType {
            members: fields
                .iter()
                .map(|(name, field)| member(name, field.optional, &field.node))
                .collect(),
            index: None,
        },
        Object::Map(node) => ObjectType {
            members: Vec::new(),
            index: Some(Box::new(member("", true, node))),
        },
    })
}
