//! Combines types: unions and intersections, simplified.
//!
//! Invariant: `union` and `all` never narrow what a schema allows, so a simplification never makes the checker refuse a
//! value that the server accepts.

use std::collections::{HashMap, HashSet};

use super::ir::{Member, Object, Type, Variant};
use super::jsdoc::ValueDoc;
use super::schema_parser::variant;

/// An intersection with more parts than this is not simplified, because comparing all pairs is quadratic.
const MAX_COMPARED_PARTS: usize = 64;

impl Type {
    /// The union of `variants`: nested unions are flattened, repetitions and `never` left out.
    pub(super) fn union(variants: impl IntoIterator<Item = Variant>) -> Type {
        let mut flat: Vec<Variant> = Vec::new();
        let mut seen = HashSet::new();
        for variant in variants {
            let nested = match variant.ty {
                Type::Union(nested) => nested,
                Type::Never => Vec::new(),
                unknown @ Type::Unknown(_) => return unknown,
                ty => vec![Variant {
                    ty,
                    doc: variant.doc,
                }],
            };
            flat.extend(
                nested
                    .into_iter()
                    .filter(|variant| seen.insert(variant.ty.clone())),
            );
        }
        match flat.len() {
            0 => Type::Never,
            1 => flat.remove(0).ty,
            _ => Type::Union(flat),
        }
    }

    /// The intersection of `parts`: plain objects are merged, parts that another one implies are left out.
    pub(super) fn all(parts: impl IntoIterator<Item = Type>) -> Type {
        let mut flat: Vec<Type> = Vec::new();
        let mut unknown = None;
        for part in parts {
            match part {
                Type::Unknown(note) => unknown = unknown.or(note),
                Type::Never => return Type::Never,
                Type::All(nested) => flat.extend(nested),
                part => flat.push(part),
            }
        }
        if (2..=MAX_COMPARED_PARTS).contains(&flat.len()) {
            drop_implied(&mut flat);
        }
        let mut objects: Vec<Object> = Vec::new();
        let mut place = 0;
        let mut kept: Vec<Type> = Vec::with_capacity(flat.len());
        for part in flat {
            match part {
                Type::Object(object) => {
                    place = if objects.is_empty() {
                        kept.len()
                    } else {
                        place
                    };
                    objects.push(object);
                }
                part => kept.push(part),
            }
        }
        if !objects.is_empty() {
            kept.insert(place, Type::Object(Object::merged(objects)));
        }
        match kept.len() {
            0 => Type::Unknown(unknown),
            1 => kept.remove(0),
            _ => Type::All(kept),
        }
    }

    /// Returns true if every value of `self` is one of `wider`, as far as a cheap comparison can tell.
    fn implies(&self, wider: &Type) -> bool {
        match (self, wider) {
            (Type::Union(variants), wider) if !matches!(wider, Type::Union(_)) => {
                variants.iter().all(|variant| variant.ty.implies(wider))
            }
            (Type::Literal(l), Type::String) => l.starts_with('"'),
            (Type::Literal(l), Type::Boolean) => l == "true" || l == "false",
            (Type::Literal(l), Type::Number) => {
                l.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            }
            (Type::Array(_) | Type::Tuple(_), Type::Array(items)) => {
                matches!(**items, Type::Unknown(_)) || self == wider
            }
            // `type: object` beside a reference or a list of alternatives adds nothing to them.
            (Type::Object(_) | Type::Named(_) | Type::All(_), Type::Object(o)) => {
                o.is_open() || self == wider
            }
            _ => self == wider,
        }
    }
}

impl Object {
    /// An object with unknown members.
    pub(super) fn open() -> Self {
        let ty = Type::Unknown(None);
        let any = Member {
            is_conditional: false,
            name: String::new(),
            optional: true,
            ty,
            doc: ValueDoc::default(),
        };
        Self {
            members: Vec::new(),
            index: Some(Box::new(any)),
            is_closed: false,
        }
    }

    fn is_open(&self) -> bool {
        let index = self.index.as_ref();
        self.members.is_empty() && index.is_some_and(|index| matches!(index.ty, Type::Unknown(_)))
    }

    /// The intersection of `objects`. A member is required if any of them requires it.
    fn merged(objects: Vec<Object>) -> Object {
        let mut merged = Object {
            // A closed part beside members of another part is a common error in schemas: ignore it.
            is_closed: objects.iter().all(|object| object.is_closed),
            ..Object::default()
        };
        let mut places: HashMap<String, usize> = HashMap::new();
        for object in objects {
            for member in object.members {
                if let Some(&at) = places.get(&member.name) {
                    merged.members[at].narrow(member);
                } else {
                    places.insert(member.name.clone(), merged.members.len());
                    merged.members.push(member);
                }
            }
            match (&mut merged.index, object.index) {
                (Some(index), Some(later)) => index.narrow(*later),
                (index @ None, later) => *index = later,
                (Some(_), None) => {}
            }
        }
        if !merged.members.is_empty() {
            merged.index = merged.index.filter(|index| index.ty != Type::Never);
        }
        merged
    }
}

impl Member {
    pub(super) fn narrow(&mut self, other: Member) {
        if self.is_conditional && !other.is_conditional {
            *self = other;
            return;
        }
        if !self.is_conditional && other.is_conditional {
            return;
        }
        let ty = std::mem::replace(&mut self.ty, Type::Never);
        self.ty = if self.is_conditional {
            Type::union([ty, other.ty].map(|ty| variant(ty, ValueDoc::default())))
        } else {
            Type::all([ty, other.ty])
        };
        self.optional &= other.optional;
        self.doc.absorb(other.doc);
    }
}

/// Leaves out each part that another one implies. Of two equal parts, the first stays.
fn drop_implied(parts: &mut Vec<Type>) {
    let mut at = 0;
    while at < parts.len() {
        let implied = parts.iter().enumerate().any(|(other, part)| {
            other != at && part.implies(&parts[at]) && (other < at || !parts[at].implies(part))
        });
        if implied {
            parts.remove(at);
        } else {
            at += 1;
        }
    }
}
