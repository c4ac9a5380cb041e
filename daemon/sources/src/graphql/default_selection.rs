//! The selection of a call without `$select`: leaves down to a depth.
//!
//! Level by level, the leaves of an object are selected together or not at all, as long as there is room. Fields are
//! omitted if they need arguments, are deprecated, are pages of connections (an API may reject them without a size), or
//! lead back to an enclosing type or to a root type.
//!
//! Invariant: the selection is valid for its schema, however much is omitted, and never empty. No field of a root type
//! is selected, because each of those is a separate function.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    schema_model::{GraphqlSchema, SchemaField, TypeShape},
    tool_list::{ToolBudget, destroys},
};

/// The number of union members that are considered, and of fields of each.
const MAX_UNION_MEMBERS: usize = 40;
const MAX_SELECTED_TYPE_FIELDS: usize = 400;
/// Arguments of a field that returns one page of many.
const PAGE_ARGUMENTS: &[&str] = &["first", "last"];

/// A selection as a tree. The first node is the field itself.
#[derive(Debug)]
pub(super) struct DefaultSelection<'a> {
    nodes: Vec<SelectionNode<'a>>,
}

#[derive(Debug)]
struct SelectionNode<'a> {
    what: SelectionItem<'a>,
    parent: usize,
    children: Vec<usize>,
    /// The type whose fields are selected. `None` for a leaf.
    ty: Option<&'a str>,
    /// Set if there is a leaf in this subtree.
    lives: bool,
}

/// One item of a selection.
#[derive(Debug)]
pub(super) enum SelectionItem<'a> {
    /// The root of the tree: the field to which the selection belongs.
    Whole,
    TypeName,
    /// A field, with its alias in the result if there is one.
    Field(&'a SchemaField, Option<String>),
    /// An inline fragment on this member of a union.
    On(&'a str),
}

/// A type whose fields must still be selected.
struct OpenType<'a> {
    node: usize,
    ty: &'a str,
    level: u32,
}

/// Fields of union members that have the same name and different types.
struct FieldClashes<'a> {
    names: HashSet<&'a str>,
    clashing: HashSet<&'a str>,
}

impl<'a> DefaultSelection<'a> {
    /// The default selection of a field of this composite type.
    pub(super) fn of(
        schema: &'a GraphqlSchema,
        ty: &'a str,
        depth: u32,
        room: &ToolBudget,
    ) -> Self {
        Self::grown(schema, ty, (depth, room), false)
    }

    /// Like [`Self::of`], without fields whose names say that they destroy something.
    pub(super) fn of_group(
        schema: &'a GraphqlSchema,
        ty: &'a str,
        depth: u32,
        room: &ToolBudget,
    ) -> Self {
        Self::grown(schema, ty, (depth, room), true)
    }

    fn grown(
        schema: &'a GraphqlSchema,
        ty: &'a str,
        (depth, room): (u32, &ToolBudget),
        is_harmless: bool,
    ) -> Self {
        let whole = SelectionNode {
            what: SelectionItem::Whole,
            parent: 0,
            children: Vec::new(),
            ty: Some(ty),
            lives: false,
        };
        let mut growing = SelectionBuilder {
            schema,
            is_harmless,
            depth,
            left: room.leaves,
            open: VecDeque::from([OpenType {
                node: 0,
                ty,
                level: 1,
            }]),
            selection: Self { nodes: vec![whole] },
        };
        while let Some(open) = growing.open.pop_front() {
            growing.grow(&open);
        }
        let mut selection = growing.selection;
        if !selection.nodes[0].lives {
            selection.add(0, SelectionItem::TypeName, None);
        }
        selection
    }

    /// The selection as GraphQL: `{ id author { name } }`.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text
    }

    fn write(&self, node: usize, text: &mut String) {
        text.push('{');
        for &child in self.children(node) {
            text.push(' ');
            match &self.nodes[child].what {
                SelectionItem::Whole => {}
                SelectionItem::TypeName => text.push_str("__typename"),
                SelectionItem::Field(field, None) => text.push_str(&field.name),
                SelectionItem::Field(field, Some(alias)) => {
                    text.push_str(alias);
                    text.push_str(": ");
                    text.push_str(&field.name);
                }
                SelectionItem::On(member) => {
                    text.push_str("... on ");
                    text.push_str(member);
                }
            }
            if self.nodes[child].ty.is_some() {
                text.push(' ');
                self.write(child, text);
            }
        }
        text.push_str(" }");
    }

    pub(super) fn children(&self, node: usize) -> impl Iterator<Item = &usize> {
        let living = |child: &&usize| self.nodes[**child].lives;
        self.nodes[node].children.iter().filter(living)
    }

    pub(super) fn what(&self, node: usize) -> &SelectionItem<'a> {
        &self.nodes[node].what
    }

    /// The type whose fields are selected at this node. `None` for a leaf.
    pub(super) fn ty(&self, node: usize) -> Option<&'a str> {
        self.nodes[node].ty
    }

    fn add(&mut self, parent: usize, what: SelectionItem<'a>, ty: Option<&'a str>) -> usize {
        let node = self.nodes.len();
        self.nodes.push(SelectionNode {
            what,
            parent,
            children: Vec::new(),
            ty,
            lives: false,
        });
        self.nodes[parent].children.push(node);
        if ty.is_none() {
            self.revive(node);
        }
        node
    }

    fn revive(&mut self, mut node: usize) {
        while !std::mem::replace(&mut self.nodes[node].lives, true) {
            node = self.nodes[node].parent;
        }
    }

    fn is_inside(&self, mut node: usize, ty: &str) -> bool {
        loop {
            if self.nodes[node].ty == Some(ty) {
                return true;
            }
            if node == 0 {
                return false;
            }
            node = self.nodes[node].parent;
        }
    }
}

struct SelectionBuilder<'a> {
    schema: &'a GraphqlSchema,
    /// Set if destructive fields are omitted.
    is_harmless: bool,
    depth: u32,
    /// The number of leaves that still fit.
    left: usize,
    open: VecDeque<OpenType<'a>>,
    selection: DefaultSelection<'a>,
}

impl<'a> SelectionBuilder<'a> {
    fn grow(&mut self, open: &OpenType<'a>) {
        match self.schema.shape(open.ty) {
            Some(TypeShape::Object(_)) if self.schema.is_root(open.ty) => {}
            Some(TypeShape::Object(fields)) => self.fields(open, fields, None),
            Some(TypeShape::Interface(fields)) => {
                self.type_name(open.node);
                // An object behind it may be of a root type.
                if self.schema.operations_at(open.ty).is_empty() {
                    self.fields(open, fields, None);
                }
            }
            Some(TypeShape::Union(members)) => {
                self.type_name(open.node);
                let members = members.iter().filter(|member| !self.schema.is_root(member));
                let members = members.take(MAX_UNION_MEMBERS);
                let members: Vec<(&'a str, &'a [SchemaField])> = members
                    .filter_map(|member| Some((member.as_str(), self.schema.fields(member)?)))
                    .collect();
                let clashes = FieldClashes::of(&members);
                for (member, fields) in members {
                    let parent = open.node;
                    let level = open.level;
                    let what = SelectionItem::On(member);
                    let node = self.selection.add(parent, what, Some(member));
                    let open = OpenType {
                        node,
                        ty: member,
                        level,
                    };
                    self.fields(&open, fields, Some(&clashes));
                }
            }
            _ => {}
        }
    }

    fn type_name(&mut self, node: usize) {
        self.selection.add(node, SelectionItem::TypeName, None);
        self.left = self.left.saturating_sub(1);
    }

    /// Selects all leaves, or none if they do not fit. On the first level, selects as many as fit.
    fn fields(
        &mut self,
        open: &OpenType<'a>,
        fields: &'a [SchemaField],
        clashes: Option<&FieldClashes<'a>>,
    ) {
        let has_nodes = fields.iter().any(|field| field.name == "nodes");
        let usual = fields
            .iter()
            .take(MAX_SELECTED_TYPE_FIELDS)
            .filter(|field| {
                let repeats_nodes = has_nodes && field.name == "edges";
                let is_harmful = self.is_harmless && destroys(&field.name);
                let is_plain = !field.needs_arguments() && field.deprecated.is_none();
                is_plain && !repeats_nodes && !is_harmful && !self.schema.is_root(field.ty.name())
            });
        let (composite, leaves): (Vec<&SchemaField>, Vec<&SchemaField>) =
            usual.partition(|field| self.schema.is_composite(field.ty.name()));
        if leaves.len() > self.left && open.level > 1 {
            return;
        }
        for field in leaves.into_iter().take(self.left) {
            if let Some(alias) = alias(field, open.ty, clashes) {
                let what = SelectionItem::Field(field, alias);
                self.selection.add(open.node, what, None);
                self.left -= 1;
            }
        }
        if self.left == 0 {
            return;
        }
        for field in composite {
            let ty = field.ty.name();
            // An edge does not count as a level.
            let is_edge = field.name == "edges" && self.schema.field(ty, "node").is_some();
            let level = if is_edge { open.level } else { open.level + 1 };
            let is_page = PAGE_ARGUMENTS.iter().any(|name| {
                field
                    .arguments
                    .iter()
                    .any(|argument| argument.name == *name)
            });
            if level > self.depth || is_page || self.selection.is_inside(open.node, ty) {
                continue;
            }
            if let Some(alias) = alias(field, open.ty, clashes) {
                let what = SelectionItem::Field(field, alias);
                let node = self.selection.add(open.node, what, Some(ty));
                self.open.push_back(OpenType { node, ty, level });
            }
        }
    }
}

impl<'a> FieldClashes<'a> {
    fn of(members: &[(&'a str, &'a [SchemaField])]) -> Self {
        let mut types: HashMap<&str, String> = HashMap::new();
        let mut clashing = HashSet::new();
        for field in members
            .iter()
            .flat_map(|(_, fields)| fields.iter().take(MAX_SELECTED_TYPE_FIELDS))
        {
            let ty = field.ty.to_string();
            match types.get(field.name.as_str()) {
                Some(known) if *known != ty => {
                    clashing.insert(field.name.as_str());
                }
                Some(_) => {}
                None => {
                    types.insert(&field.name, ty);
                }
            }
        }
        Self {
            names: types.into_keys().collect(),
            clashing,
        }
    }
}

/// The alias of a field, if it needs one. `None` if the alias is taken, too.
#[expect(clippy::option_option, reason = "taken, not needed, or chosen")]
fn alias(
    field: &SchemaField,
    ty: &str,
    clashes: Option<&FieldClashes<'_>>,
) -> Option<Option<String>> {
    let Some(clashes) = clashes.filter(|clashes| clashes.clashing.contains(field.name.as_str()))
    else {
        return Some(None);
    };
    let alias = format!("{ty}_{}", field.name);
    (!clashes.names.contains(alias.as_str())).then_some(Some(alias))
}
