//! The syntax tree of a program, as a worker has read it.
//!
//! A node has a number. Kinds and slots are the parser's names (`mux_wire::SyntaxNode`). Without a tree, and beyond its
//! nodes, every kind, slot and text is empty.
//!
//! Invariant: a tree is data of a worker, which may lie: any list of nodes is read without a panic. Every read of a node
//! counts. After [`MAX_STEPS`] reads, no node has a parent: each search ends, and its answer must not be trusted.

use std::{cell::Cell, collections::HashMap, ops::Range};

use mux_wire::SyntaxNode;

/// The maximum number of nodes that are read to judge one program.
const MAX_STEPS: usize = 5_000_000;
/// The maximum number of nodes around a node. A deeper tree counts as none.
const MAX_DEPTH: usize = 2_000;
/// The number of bytes of the types that are searched in the time of one step.
const BYTES_PER_STEP: usize = 100;
/// Kinds of expressions that have the value of the expression inside.
const WRAPPERS: &[&str] = &[
    "OptionalChainingExpression",
    "ParenthesisExpression",
    "TsNonNullExpression",
];
/// Kinds of TypeScript that are expressions, and not types.
const TYPED_EXPRESSIONS: &[&str] = &[
    "TsAsExpression",
    "TsConstAssertion",
    "TsInstantiation",
    "TsNonNullExpression",
    "TsSatisfiesExpression",
    "TsTypeAssertion",
];
const PATTERNS: &[&str] = &[
    "ArrayPattern",
    "AssignmentPattern",
    "AssignmentPatternProperty",
    "KeyValuePatternProperty",
    "ObjectPattern",
    "RestElement",
];

/// The role of a name where it occurs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NameRole {
    /// Declares a variable. The number of the `VariableDeclarator`.
    Variable(usize),
    /// Declares a parameter of a function or of a `catch`.
    Parameter,
    /// Names a function or a class.
    Function,
    /// Gets another value.
    Assigned,
    Used,
}

#[derive(Default)]
pub(super) struct SyntaxTree {
    nodes: Vec<SyntaxNode>,
    children: Vec<Vec<usize>>,
    /// For each node, the number after its last descendant.
    ends: Vec<usize>,
    /// The numbers of each name, property and string, except in types.
    occurrences: HashMap<String, Vec<usize>>,
    steps: Cell<usize>,
}

impl SyntaxTree {
    pub(super) fn new(nodes: Vec<SyntaxNode>) -> Self {
        let mut children = vec![Vec::new(); nodes.len()];
        let mut ends: Vec<usize> = (1..=nodes.len()).collect();
        let mut are_types = Vec::with_capacity(nodes.len());
        let mut depths: Vec<usize> = Vec::with_capacity(nodes.len());
        let mut occurrences: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, node) in nodes.iter().enumerate() {
            let parent = node.parent.map(|parent| parent as usize);
            if parent.is_some_and(|parent| parent >= at || depths[parent] >= MAX_DEPTH) {
                return Self::default();
            }
            depths.push(parent.map_or(0, |parent| depths[parent] + 1));
            let is_type = parent.is_some_and(|parent| are_types[parent])
                || node.kind.starts_with("Ts") && !TYPED_EXPRESSIONS.contains(&&*node.kind);
            are_types.push(is_type);
            if let Some(parent) = parent {
                children[parent].push(at);
            }
            if !is_type && matches!(&*node.kind, "Identifier" | "StringLiteral") {
                occurrences.entry(node.text.clone()).or_default().push(at);
            }
        }
        for at in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[at].parent {
                let parent = parent as usize;
                ends[parent] = ends[parent].max(ends[at]);
            }
        }
        Self {
            nodes,
            children,
            ends,
            occurrences,
            steps: Cell::new(0),
        }
    }

    /// Returns true if there is a tree, and its nodes were not read too often.
    pub(super) fn is_readable(&self) -> bool {
        !self.nodes.is_empty() && self.steps.get() <= MAX_STEPS
    }

    /// Counts a search in the types.
    pub(super) fn count_search(&self, types: &str) {
        self.count(types.len() / BYTES_PER_STEP);
    }

    fn count(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    fn read(&self, at: usize, read: impl Fn(&SyntaxNode) -> &str) -> &str {
        self.count(1);
        self.nodes.get(at).map_or("", read)
    }

    pub(super) fn kind(&self, at: usize) -> &str {
        self.read(at, |node| &node.kind)
    }

    pub(super) fn slot(&self, at: usize) -> &str {
        self.read(at, |node| &node.slot)
    }

    pub(super) fn text(&self, at: usize) -> &str {
        self.read(at, |node| &node.text)
    }

    pub(super) fn parent(&self, at: usize) -> Option<usize> {
        self.count(1);
        let node = self.nodes.get(at).filter(|_| self.is_readable())?;
        node.parent.map(|parent| parent as usize)
    }

    /// The kind of the parent. Empty at the top level.
    pub(super) fn parent_kind(&self, at: usize) -> &str {
        self.parent(at).map_or("", |parent| self.kind(parent))
    }

    /// The statements of the program, or the nodes directly inside a node.
    pub(super) fn children(&self, at: Option<usize>) -> Vec<usize> {
        let found = if let Some(at) = at {
            self.children.get(at).cloned().unwrap_or_default()
        } else {
            let nodes = self.nodes.iter().enumerate();
            let statements = nodes.filter(|(_, node)| node.parent.is_none());
            statements.map(|(at, _)| at).collect()
        };
        self.count(found.len());
        found
    }

    pub(super) fn child(&self, at: usize, slot: &str) -> Option<usize> {
        let children = self.children.get(at)?.iter().copied();
        children.into_iter().find(|child| self.slot(*child) == slot)
    }

    /// The arguments of a call.
    pub(super) fn arguments(&self, call: usize) -> Vec<usize> {
        let mut arguments = self.children(Some(call));
        arguments.retain(|child| self.is_argument(*child));
        arguments
    }

    /// Returns true for an argument of a call.
    pub(super) fn is_argument(&self, at: usize) -> bool {
        matches!(self.slot(at), "arguments" | "spread")
            && matches!(self.parent_kind(at), "CallExpression" | "NewExpression")
    }

    /// All nodes inside a node.
    pub(super) fn inside(&self, at: usize) -> Range<usize> {
        at + 1..self.ends.get(at).copied().unwrap_or(at + 1)
    }

    /// The innermost node at a byte of the program. A number beyond the nodes if there is none.
    pub(super) fn at_byte(&self, byte: usize) -> usize {
        let contains = |node: &SyntaxNode| (node.start as usize..node.end as usize).contains(&byte);
        self.nodes
            .iter()
            .rposition(contains)
            .unwrap_or(usize::MAX - 1)
    }

    /// All nodes that are this name, property or string, except in types.
    pub(super) fn occurrences(&self, name: &str) -> impl Iterator<Item = usize> {
        let found = self.occurrences.get(name).map_or(&[][..], Vec::as_slice);
        found.iter().copied().take_while(|_| self.is_readable())
    }

    /// All nodes that are this name, other than names of properties.
    pub(super) fn names(&self, name: &str) -> impl Iterator<Item = usize> {
        self.occurrences(name).filter(|at| self.is_name(*at))
    }

    /// Returns true for an identifier that stands for a variable, a function or a class.
    pub(super) fn is_name(&self, at: usize) -> bool {
        self.kind(at) == "Identifier"
            && match self.slot(at) {
                "property" | "label" => false,
                "key" => self.parent_kind(at) == "AssignmentPatternProperty",
                _ => true,
            }
    }

    /// The expression that has the value of this one: without parentheses, `!` and the ends of an optional chain.
    pub(super) fn whole(&self, mut at: usize) -> usize {
        while let Some(parent) = self.parent(at)
            && WRAPPERS.contains(&self.kind(parent))
        {
            at = parent;
        }
        at
    }

    /// The opposite of [`Self::whole`].
    pub(super) fn plain(&self, mut at: usize) -> usize {
        while WRAPPERS.contains(&self.kind(at))
            && let Some(inner) = self.children.get(at).and_then(|inner| inner.first())
        {
            at = *inner;
        }
        at
    }

    /// The expression that the name at `at` completes: the member of an object, or the name itself.
    pub(super) fn named_value(&self, at: usize) -> usize {
        let name = match self.parent(at) {
            Some(parent) if self.kind(parent) == "Computed" => parent,
            _ => at,
        };
        match self.parent(name) {
            Some(member) if self.slot(name) == "property" => member,
            _ => at,
        }
    }

    /// The longest chain of members that the name at `at` is a part of.
    pub(super) fn whole_chain(&self, at: usize) -> usize {
        let mut chain = self.whole(self.named_value(at));
        while self.slot(chain) == "object"
            && let Some(member) = self.parent(chain)
        {
            chain = self.whole(member);
        }
        chain
    }

    /// The name of the member that an expression reads, if it is written in the program.
    pub(super) fn member_name(&self, member: usize) -> Option<&str> {
        let property = self.child(member, "property")?;
        match self.kind(property) {
            "Identifier" => Some(self.text(property)),
            "Computed" => {
                let name = self.child(property, "expression")?;
                (self.kind(name) == "StringLiteral").then(|| self.text(name))
            }
            _ => None,
        }
    }

    /// The names of a chain of members, such as `mux.files["read"]`. The first is a variable.
    pub(super) fn chain(&self, at: usize) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let mut at = self.plain(at);
        while self.kind(at) == "MemberExpression" {
            names.push(self.member_name(at)?.to_owned());
            at = self.plain(self.child(at, "object")?);
        }
        if self.kind(at) != "Identifier" {
            return None;
        }
        names.push(self.text(at).to_owned());
        names.reverse();
        Some(names)
    }

    /// The names of the function that a call calls.
    pub(super) fn callee(&self, call: usize) -> Option<Vec<String>> {
        self.chain(self.child(call, "callee")?)
    }

    /// Returns true if a member is read, or a function called, only if there is one.
    pub(super) fn is_optional(&self, at: usize) -> bool {
        let chain = self.parent(at).filter(|_| self.slot(at) == "base");
        chain.is_some_and(|chain| self.text(chain) == "optional")
    }

    /// The outermost pattern that contains the name at `at`, and true if the name has a default there.
    pub(super) fn pattern(&self, at: usize) -> (usize, bool) {
        let mut pattern = at;
        let mut has_default = false;
        while let Some(parent) = self.parent(pattern)
            && PATTERNS.contains(&self.kind(parent))
        {
            has_default |= match self.kind(parent) {
                "AssignmentPattern" => true,
                "AssignmentPatternProperty" => self.child(parent, "value").is_some(),
                _ => false,
            };
            pattern = parent;
        }
        (pattern, has_default)
    }

    pub(super) fn role(&self, at: usize) -> NameRole {
        let (pattern, _) = self.pattern(self.named_value(at));
        let pattern = self.whole(pattern);
        match (self.parent_kind(pattern), self.slot(pattern)) {
            ("VariableDeclarator", "id") => {
                NameRole::Variable(self.parent(pattern).unwrap_or_default())
            }
            (_, "params" | "pat" | "param") => NameRole::Parameter,
            (_, "identifier") => NameRole::Function,
            ("AssignmentExpression" | "ForInStatement" | "ForOfStatement", "left") => {
                NameRole::Assigned
            }
            _ => NameRole::Used,
        }
    }

    /// Returns true if the name of a variable, or of a member, gets another value at `at`.
    pub(super) fn is_assigned(&self, at: usize) -> bool {
        self.role(at) == NameRole::Assigned
    }

    /// Returns true if a variable is declared by `const`.
    pub(super) fn is_constant(&self, declarator: usize) -> bool {
        let declaration = self.parent(declarator);
        declaration.is_some_and(|declaration| self.text(declaration) == "const")
    }
}
