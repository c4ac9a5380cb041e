//! Converts a shape to a type.
//!
//! Invariant: every message of the checker about an observed type names `Seen`, which tells it from a declared
//! type: every object is marked, and so is a result without objects.

use super::super::ir::{Member, Object as ObjectType, Type, Variant};
use super::super::jsdoc::ValueDoc;
use super::object_shape::ObjectShape;
use super::shape_node::{ANY, BOOLEAN, NULL, NUMBER, PART, STRING, ShapeNode};

/// The type of whole results, or `None` if nothing is known.
pub(super) fn result_type_of(node: &ShapeNode) -> Option<Type> {
    let ty = match type_of_node(node) {
        Type::Any => return None,
        Type::Union(variants) => {
            let marked = |variant: Variant| Variant {
                ty: mark_as_seen(variant.ty),
                ..variant
            };
            Type::Union(variants.into_iter().map(marked).collect())
        }
        ty => mark_as_seen(ty),
    };
    Some(ty)
}

/// True if null is the only value that was seen.
pub(super) fn is_null(node: &ShapeNode) -> bool {
    *node == ShapeNode::of(NULL)
}

fn mark_as_seen(ty: Type) -> Type {
    if ty == Type::Null || contains_seen(&ty) {
        ty
    } else {
        Type::Seen(Box::new(ty))
    }
}

fn contains_seen(ty: &Type) -> bool {
    match ty {
        Type::Seen(_) => true,
        Type::Array(items) => contains_seen(items),
        Type::Union(variants) => variants.iter().any(|variant| contains_seen(&variant.ty)),
        _ => false,
    }
}

fn type_of_node(node: &ShapeNode) -> Type {
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
            .map(|items| Type::Array(Box::new(type_of_node(items)))),
    );
    types.extend(
        node.object
            .as_ref()
            .map(|object| Type::Seen(Box::new(type_of_object(object)))),
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
        doc: ValueDoc::default(),
    }))
}

fn type_of_object(object: &ObjectShape) -> Type {
    let member = |name: &str, optional, node| Member {
        is_conditional: false,
        name: name.to_owned(),
        optional,
        ty: type_of_node(node),
        doc: ValueDoc::default(),
    };
    Type::Object(match object {
        // An empty object reveals nothing about its fields, as an empty array reveals nothing about its items.
        ObjectShape::Fields(fields) if fields.is_empty() => ObjectType {
            members: Vec::new(),
            index: Some(Box::new(member("", true, &ShapeNode::default()))),
            is_closed: false,
        },
        ObjectShape::Fields(fields) => ObjectType {
            members: fields
                .iter()
                .map(|(name, field)| member(name, field.optional, &field.node))
                .collect(),
            index: None,
            is_closed: false,
        },
        ObjectShape::Map(node) => ObjectType {
            members: Vec::new(),
            index: Some(Box::new(member("", true, node))),
            is_closed: false,
        },
    })
}
