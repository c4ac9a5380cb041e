//! The outline of a shape, for a reader of an observed value.

use super::{
    super::{
        ir::{Member, Object, Type, Variant},
        type_emitter::TypeEmitter,
    },
    ResultShape,
};

/// The maximum length of an outline, in bytes.
const MAX_OUTLINE_BYTES: usize = 4 << 10;

impl ResultShape {
    /// The type of the results as TypeScript, without the `Seen` marks of observed types. `None` if nothing is known or
    /// the outline would be too long.
    pub fn outline(&self) -> Option<String> {
        let ty = strip_seen(self.result_type()?);
        TypeEmitter::new(&[], MAX_OUTLINE_BYTES, 0).ty(&ty, 0).ok()
    }
}

fn strip_seen(ty: Type) -> Type {
    match ty {
        Type::Seen(ty) => strip_seen(*ty),
        Type::Array(items) => Type::Array(Box::new(strip_seen(*items))),
        Type::Union(variants) => Type::union(variants.into_iter().map(|variant| Variant {
            ty: strip_seen(variant.ty),
            ..variant
        })),
        Type::Object(object) => Type::Object(Object {
            members: object.members.into_iter().map(member).collect(),
            index: object.index.map(|index| Box::new(member(*index))),
            ..object
        }),
        other => other,
    }
}

fn member(member: Member) -> Member {
    Member {
        ty: strip_seen(member.ty),
        ..member
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outline_has_the_fields_without_seen_marks() {
        let mut shape = ResultShape::new();
        shape.add(&json!({ "items": [{ "id": 1 }, { "id": 2, "name": null }], "total": 2 }));
        let shown = shape.outline().unwrap();
        let line: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            line.contains("items:") && line.contains("total: number"),
            "{shown}"
        );
        assert!(!shown.contains("Seen"), "{shown}");
        assert_eq!(ResultShape::new().outline(), None);
    }
}
