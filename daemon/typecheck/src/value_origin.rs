//! Finds out where a value of a program comes from, to know if it certainly has the type that the compiler prints.
//!
//! The compiler believes annotations and casts, and an inferred type can be too narrow. Literals, the results of tools
//! that declare them, and values that built-in functions compute from these have their declared types.
//!
//! Invariant: an origin that the tree does not show is unknown.

use std::cell::Cell;

use mux_typegen::names::MUX_MEMBERS;

use super::{
    enclosing_call::mux_path,
    syntax_tree::{NameRole, SyntaxTree},
};

/// The maximum number of variables through which an origin is followed.
const MAX_VARIABLES: usize = 8;

/// The maximum number of calls in one expression whose results are looked up.
const MAX_CALLS: usize = 20;

/// Built-in functions and objects whose results have their declared types.
const LANGUAGE_ROOTS: &[&str] = &[
    "Array", "Boolean", "Math", "Number", "Object", "Promise", "String",
];

/// Built-in functions whose results have the same type for every argument.
const CONVERSIONS: &[&str] = &["Boolean", "Number", "String"];

/// Methods that pass the elements of a list to their callback as its first argument.
const ELEMENT_METHODS: &[&str] = &[
    "map",
    "filter",
    "forEach",
    "flatMap",
    "find",
    "some",
    "every",
    "findIndex",
];

/// Methods that change a list, a map or a set.
const CHANGING_METHODS: &[&str] = &[
    "add",
    "assign",
    "copyWithin",
    "fill",
    "push",
    "set",
    "splice",
    "unshift",
];

/// A program and the declarations that it is checked against.
pub(super) struct Origins<'a> {
    tree: &'a SyntaxTree,
    types: &'a str,
    wanted: WantedType,
    calls: Cell<usize>,
}

/// The property of a value that must be certain.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum WantedType {
    /// The value is of its type, or `undefined` if it is an element of a list.
    Members,
    /// The value is of its type.
    Value,
    /// The value is a promise, as an asynchronous function always returns.
    Promise,
}

impl<'a> Origins<'a> {
    pub(super) fn new(tree: &'a SyntaxTree, types: &'a str, wanted: WantedType) -> Self {
        Self {
            tree,
            types,
            wanted,
            calls: Cell::new(0),
        }
    }

    /// Returns true if the value of a node certainly has the type that the compiler infers.
    pub(super) fn is_known(&self, value: usize) -> bool {
        self.is_known_within(value, MAX_VARIABLES) && self.tree.is_readable()
    }

    /// Returns true if the value that a pattern takes apart is known.
    pub(super) fn is_pattern_known(&self, pattern: usize) -> bool {
        let source = self.source_of_pattern(pattern);
        source.is_some_and(|value| self.is_known(value))
    }

    /// Returns true if each name in a node is known.
    fn is_known_within(&self, at: usize, depth: usize) -> bool {
        let tree = self.tree;
        match tree.kind(at) {
            _ if depth == 0 => return false,
            "TemplateLiteral" => return true,
            "Import" | "MetaProperty" | "Super" | "ThisExpression" | "YieldExpression" => {
                return false;
            }
            "TsConstAssertion" | "TsNonNullExpression" => {}
            // A type that the program gives.
            kind if kind.starts_with("Ts") => return false,
            // An element may be missing.
            "Computed" if self.wanted == WantedType::Value => return false,
            "AwaitExpression" if self.wanted == WantedType::Promise && tree.slot(at) == "init" => {
                return false;
            }
            "CallExpression" | "MemberExpression" => {
                let call = tree.child(at, "callee");
                let chain = tree.chain(call.unwrap_or(at)).unwrap_or_default();
                if chain.first().is_some_and(|first| first == "mux") {
                    return self.is_known_result(chain);
                }
                if let ([function], Some(_)) = (chain.as_slice(), call)
                    && (CONVERSIONS.contains(&function.as_str()) || self.is_async(at, function))
                {
                    return true;
                }
            }
            "Identifier" if tree.is_name(at) => return self.is_known_name(at, depth - 1),
            _ => {}
        }
        let mut inside = tree.children(Some(at)).into_iter();
        inside.all(|inner| self.is_known_within(inner, depth))
    }

    /// Returns true if `mux` and these names are a tool whose results have no learned type. The result of a tool does
    /// not depend on the arguments.
    fn is_known_result(&self, chain: Vec<String>) -> bool {
        self.calls.set(self.calls.get() + 1);
        let names = mux_path(self.tree, chain);
        self.calls.get() <= MAX_CALLS
            && !names.is_some_and(|names| learns_result(self.tree, self.types, &names))
    }

    /// Returns true if an asynchronous function of the program is called, and its promise is wanted.
    fn is_async(&self, call: usize, function: &str) -> bool {
        let tree = self.tree;
        let is_async = |at: usize| {
            let declaration = tree.parent(at).unwrap_or(at);
            let value = tree.child(declaration, "init").unwrap_or(declaration);
            tree.text(value) == "async"
        };
        let mut declared = tree
            .names(function)
            .filter(|at| tree.role(*at) != NameRole::Used)
            .peekable();
        self.wanted == WantedType::Promise
            && tree.parent_kind(tree.whole(call)) != "AwaitExpression"
            && declared.peek().is_some()
            && declared.all(is_async)
    }

    fn is_known_name(&self, at: usize, depth: usize) -> bool {
        let tree = self.tree;
        let name = tree.text(at);
        let is_new = tree.parent_kind(at) == "NewExpression" && tree.slot(at) == "callee";
        let is_language =
            LANGUAGE_ROOTS.contains(&name) || is_new && matches!(name, "Date" | "Map" | "Set");
        if name == "undefined" || is_language {
            return tree.names(name).all(|at| tree.role(at) == NameRole::Used);
        }
        // Every variable with this name gets a known value, and no other.
        let mut is_declared = false;
        let is_known = tree.names(name).all(|at| {
            if tree.role(at) == NameRole::Used {
                return !self.is_changed(at);
            }
            is_declared = true;
            let source = self.source_of_name(at);
            source.is_some_and(|value| self.is_known_within(value, depth))
        });
        is_known && is_declared
    }

    /// Returns true if the list or object in the variable at `at` is changed there.
    fn is_changed(&self, at: usize) -> bool {
        let tree = self.tree;
        let mut value = tree.whole(at);
        while tree.slot(value) == "object"
            && let Some(member) = tree.parent(value)
        {
            let name = tree.member_name(member).unwrap_or_default();
            if CHANGING_METHODS.contains(&name) {
                return true;
            }
            value = tree.whole(member);
        }
        let Some(outer) = tree.parent(value) else {
            return false;
        };
        let callee = tree.callee(outer).unwrap_or_default();
        let changes = |name: &String| CHANGING_METHODS.contains(&name.as_str());
        tree.is_assigned(at)
            || tree.slot(value) == "left" && tree.kind(outer) == "AssignmentExpression"
            || tree.arguments(outer).first() == Some(&value) && callee.last().is_some_and(changes)
    }

    /// The value, or the list with the value as an element, that a declared name gets. `None` if that is not known.
    fn source_of_name(&self, at: usize) -> Option<usize> {
        let tree = self.tree;
        let (pattern, has_default) = tree.pattern(at);
        let is_element = tree.kind(pattern) == "ArrayPattern" && self.wanted == WantedType::Value;
        if has_default || is_element {
            return None;
        }
        match tree.role(at) {
            NameRole::Variable(_) => self.source_of_pattern(pattern),
            NameRole::Parameter => self.source_of_parameter(pattern),
            NameRole::Function | NameRole::Assigned | NameRole::Used => None,
        }
    }

    /// The value that a declaration without a type gives the names in a pattern.
    fn source_of_pattern(&self, pattern: usize) -> Option<usize> {
        let tree = self.tree;
        let outer = tree.parent(pattern)?;
        if tree.child(pattern, "typeAnnotation").is_some() {
            return None;
        }
        if tree.kind(outer) == "AssignmentExpression" {
            return tree.child(outer, "right");
        }
        let declaration = tree.parent(outer)?;
        let heads = || {
            let of = tree.parent(declaration)?;
            (tree.kind(of) == "ForOfStatement").then(|| tree.child(of, "right"))?
        };
        tree.child(outer, "init").or_else(heads)
    }

    /// The list whose method is called with the function that has this parameter, if the parameter has no type.
    fn source_of_parameter(&self, pattern: usize) -> Option<usize> {
        let tree = self.tree;
        let function = tree.parent(pattern)?;
        let call = tree.parent(function)?;
        let method = tree.plain(tree.child(call, "callee")?);
        let name = tree.member_name(method)?;
        let compares = matches!(name, "sort" | "toSorted");
        let is_first = tree.child(function, "params") == Some(pattern);
        let is_callback = tree.kind(function) == "ArrowFunctionExpression"
            && tree.arguments(call).first() == Some(&function);
        let gets_elements = ELEMENT_METHODS.contains(&name) && is_first || compares;
        if !is_callback || !gets_elements || tree.child(pattern, "typeAnnotation").is_some() {
            return None;
        }
        tree.child(method, "object")
    }
}

/// Returns true if the results of this tool may have a learned type.
fn learns_result(tree: &SyntaxTree, types: &str, names: &[String]) -> bool {
    let [server, .., tool] = names else {
        return false;
    };
    // None of these has a type that could be wrong.
    if MUX_MEMBERS.contains(&server.as_str()) {
        return false;
    }
    tree.count_search(types);
    let result = || {
        let (_, server) = types.split_once(&format!("\n  readonly {server}: Mux."))?;
        let (server, _) = server.split_once(';')?;
        let (_, tools) = types.split_once(&format!("\n  interface {server} {{\n"))?;
        let (_, tool) = tools.split_once(&format!("    {tool}("))?;
        let (_, result) = tool.split_once("): Promise<")?;
        result.lines().next()
    };
    result().is_none_or(|line| line.contains("Seen<"))
}
