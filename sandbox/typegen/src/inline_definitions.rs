//! Decides which definitions keep their name, and which are written inline where they are mentioned.
//!
//! Invariant: afterwards, inline definitions have no cycles, so writing them terminates.

use super::ir::{AliasPosition, Member, Type, Variant};
use super::references::SchemaDefinition;

/// A union of up to this many plain types is written out rather than named.
const MAX_INLINE_VARIANTS: usize = 8;

/// Keeps the names of definitions that are recursive, or mentioned more than once and longer than their name; all
/// others become inline.
pub(super) fn mark_inline_definitions(definitions: &mut [SchemaDefinition]) {
    // A definition that consists only of a reference to itself has no meaning, and TypeScript refuses it as an alias.
    let bare = mention_graph(definitions, true);
    for (index, definition) in definitions.iter_mut().enumerate() {
        if reaches_itself(&bare, index) {
            definition.body = Type::Unknown(Some("defined by itself alone".to_owned()));
        }
    }
    let mut edges = mention_graph(definitions, false);
    let mut mentions = vec![0usize; definitions.len()];
    edges.iter().flatten().for_each(|&to| mentions[to] += 1);
    mentions[0] += 1;
    // A big schema may mention the same few definitions a million times.
    for edges in &mut edges {
        edges.sort_unstable();
        edges.dedup();
    }
    for (index, definition) in definitions.iter_mut().enumerate() {
        let short = is_short(&definition.body);
        definition.inline = !reaches_itself(&edges, index) && (short || mentions[index] < 2);
    }
    for index in topological_order(&edges) {
        let body = std::mem::replace(&mut definitions[index].body, Type::Never);
        definitions[index].body = merge_inline(body, definitions);
    }
}

/// For each definition, the definitions that it mentions.
fn mention_graph(definitions: &[SchemaDefinition], bare_only: bool) -> Vec<Vec<usize>> {
    let edges_of = |definition: &SchemaDefinition| {
        let mut edges = Vec::new();
        definition
            .body
            .mentions(AliasPosition::Bare, &mut |to, at| {
                if at != AliasPosition::Deferred || !bare_only {
                    edges.push(to);
                }
            });
        edges
    };
    definitions.iter().map(edges_of).collect()
}

fn reaches_itself(edges: &[Vec<usize>], start: usize) -> bool {
    let mut seen = vec![false; edges.len()];
    let mut open = edges[start].clone();
    while let Some(at) = open.pop() {
        if at == start {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            open.extend(&edges[at]);
        }
    }
    false
}

/// All definitions, sorted: a definition comes after the definitions that it mentions.
fn topological_order(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(edges.len());
    let mut seen = vec![false; edges.len()];
    let mut open: Vec<(usize, bool)> = (0..edges.len()).map(|index| (index, false)).collect();
    while let Some((index, done)) = open.pop() {
        if done {
            order.push(index);
        } else if !std::mem::replace(&mut seen[index], true) {
            open.push((index, true));
            open.extend(edges[index].iter().map(|&to| (to, false)));
        }
    }
    order
}

/// Replaces inline names by their bodies inside intersections, which merges plain objects that extend each other by
/// reference, and inside unions whose member is itself a union.
fn merge_inline(ty: Type, definitions: &mut [SchemaDefinition]) -> Type {
    match ty {
        Type::All(parts) => {
            let part = |part| match part {
                Type::Named(index) if definitions[index].inline => take_body(index, definitions),
                part => merge_inline(part, definitions),
            };
            Type::all(parts.into_iter().map(part).collect::<Vec<_>>())
        }
        Type::Union(variants) => {
            let variant = |Variant { ty, doc }| {
                let ty = match ty {
                    Type::Named(index)
                        if definitions[index].inline
                            && matches!(definitions[index].body, Type::Union(_)) =>
                    {
                        take_body(index, definitions)
                    }
                    ty => merge_inline(ty, definitions),
                };
                Variant { ty, doc }
            };
            Type::union(variants.into_iter().map(variant).collect::<Vec<_>>())
        }
        Type::Array(items) => Type::Array(Box::new(merge_inline(*items, definitions))),
        Type::Tuple(mut tuple) => {
            tuple.items = tuple
                .items
                .into_iter()
                .map(|item| merge_inline(item, definitions))
                .collect();
            tuple.rest = tuple
                .rest
                .map(|rest| Box::new(merge_inline(*rest, definitions)));
            Type::Tuple(tuple)
        }
        Type::Object(mut object) => {
            let mut member = |member: Member| Member {
                ty: merge_inline(member.ty, definitions),
                ..member
            };
            object.members = object.members.into_iter().map(&mut member).collect();
            object.index = object.index.map(|index| Box::new(member(*index)));
            Type::Object(object)
        }
        ty => ty,
    }
}

/// Takes the body of an inline definition. A body that is not short has only this mention, so it can be moved.
fn take_body(index: usize, definitions: &mut [SchemaDefinition]) -> Type {
    let body = &mut definitions[index].body;
    if is_short(body) {
        body.clone()
    } else {
        std::mem::replace(body, Type::Never)
    }
}

/// Returns true if a body may be repeated at every mention. A body that mentions other definitions may not, because
/// repeating those in turn could double the output at each step.
fn is_short(body: &Type) -> bool {
    match body {
        Type::Array(items) => is_plain(items),
        Type::Union(variants) => {
            variants.len() <= MAX_INLINE_VARIANTS
                && variants.iter().all(|v| v.doc.is_empty() && is_plain(&v.ty))
        }
        body => is_plain(body),
    }
}

fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Unknown(_) | Type::Any | Type::Never | Type::Null | Type::Boolean => true,
        Type::Number | Type::String | Type::Literal(_) | Type::Global(_) => true,
        Type::Array(items) => is_plain(items),
        Type::Seen(_)
        | Type::Closed(_)
        | Type::Tuple(_)
        | Type::Object(_)
        | Type::Union(_)
        | Type::All(_)
        | Type::Named(_) => false,
    }
}
