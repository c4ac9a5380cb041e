//! The severity of diagnostics.
//!
//! TypeScript is stricter than the engine: it knows no values, only declared or inferred types. Code that is certain to
//! fail when it executes is an error, which the location of a diagnostic decides. All other findings are warnings.
//!
//! Invariant: a program that works unchecked has no errors, unless it calls a tool that does not exist, or a tool with
//! arguments that the tool cannot accept.

use super::super::{
    Severity,
    enclosing_call::{called_function, is_builtin, mux_path},
    execution::is_certain,
    hints::{members_of_type, quoted_after},
    printed_types::{self, alternatives},
    syntax_tree::SyntaxTree,
    value_origin::{Origins, WantedType},
    value_uses::{
        binding, constant_object, fails_without, is_key, is_reassigned, is_test, is_tested,
        is_written_out, lists_members, member_names, receiver, receiver_names,
    },
};

/// Codes in the range of syntax errors that concern types.
const NON_SYNTAX_CODES: &[u32] = &[1058, 1062, 1117, 1320, 1321, 1322, 1345, 1355, 1360];
/// Codes that are irrelevant at run time: uninitialized properties, values of unknown type, the comma instead of a
/// default export, calls of a promise's `resolve` without a value.
const IGNORED_CODES: &[u32] = &[2564, 2571, 2683, 2695, 2794, 18046];
/// Names that are not declared.
pub(super) const UNKNOWN_NAME_CODES: &[u32] = &[
    2304, 2552, 2580, 2581, 2582, 2584, 2591, 2592, 2593, 2662, 2663, 2867, 2868, 18004,
];

/// Globals of the engine that the type library lacks or declares as types only.
const ENGINE_GLOBALS: &[&str] = &[
    "AsyncDisposableStack",
    "DisposableStack",
    "Float16Array",
    "Iterator",
    "SuppressedError",
];
/// Library types whose members can be called by their global name.
const LIBRARY_OBJECTS: &[&str] = &["Atomics", "Intl", "JSON", "Math", "Reflect"];
/// Types and namespaces of Node and the DOM, which programs name without using their values.
const FOREIGN_TYPES: &[&str] = &[
    "AbortController",
    "AbortSignal",
    "Blob",
    "Buffer",
    "BufferEncoding",
    "BodyInit",
    "Document",
    "Element",
    "Event",
    "EventTarget",
    "File",
    "FormData",
    "Headers",
    "HeadersInit",
    "HTMLElement",
    "Node",
    "NodeJS",
    "ReadableStream",
    "Request",
    "RequestInfo",
    "RequestInit",
    "Response",
    "ResponseInit",
    "Storage",
    "TransformStream",
    "WebSocket",
    "Window",
    "Worker",
    "WritableStream",
];

/// The location of a diagnostic.
pub(super) struct SeverityContext<'a> {
    pub(super) tree: &'a SyntaxTree,
    /// The innermost node at the beginning.
    pub(super) at: usize,
    /// The program declares something for the compiler only.
    pub(super) has_declare: bool,
    /// The name there is used as a type.
    pub(super) is_type_name: bool,
    /// The declarations that the program is checked against.
    pub(super) types: &'a str,
}

/// The severity of a diagnostic, or `None` if it is not reported.
pub(super) fn of(code: u32, message: &str, context: &SeverityContext<'_>) -> Option<Severity> {
    let severity = judged(code, message, context)?;
    // No tree, or too much to read: no answer about the program is certain.
    if severity == Severity::Error && !context.tree.is_readable() {
        return Some(Severity::Warning);
    }
    Some(severity)
}

fn judged(code: u32, message: &str, context: &SeverityContext<'_>) -> Option<Severity> {
    if (7000..7100).contains(&code) || IGNORED_CODES.contains(&code) {
        return None;
    }
    if (1000..2000).contains(&code) && !NON_SYNTAX_CODES.contains(&code) {
        return Some(Severity::Syntax);
    }
    let first = message.lines().next().unwrap_or_default();
    let verdict = match code {
        // The name of a type has no effect when the program runs.
        2503 if is_foreign(first) => return None,
        code if UNKNOWN_NAME_CODES.contains(&code) && context.is_type_name => {
            if is_foreign(first) {
                return None;
            }
            Severity::Warning
        }
        2693 => error_if(unknown_name(first, context)),
        code if UNKNOWN_NAME_CODES.contains(&code) => error_if(unknown_name(first, context)),
        2339 | 2551 => property(first, message, context)?,
        2353 | 2561 => error_if(unknown_argument(first, context)),
        2322 | 2345 | 2559 | 2739..=2741 | 2769 | 2820 => value(code, message, context)?,
        2554 | 2555 if has_too_many(first) => error_if(has_positional_arguments(context)),
        2554 | 2555 => error_if(is_call_of_mux(context)),
        2349 | 2351 | 2488 | 2504 => error_if(unusable(message, context)),
        // A variable that is used before its declaration, a constant that is assigned, a module that cannot exist.
        2448 | 2449 | 2588 | 2307 => error_if(is_certain(context.tree, context.at)),
        // The engine refuses such a program as a whole, unless one declaration is for the compiler only.
        2451 => error_if(!context.has_declare),
        _ => Severity::Warning,
    };
    // An observed type is not a guarantee.
    if message.contains("Seen<") {
        return Some(Severity::Warning);
    }
    Some(verdict)
}

fn error_if(is_certain: bool) -> Severity {
    if is_certain {
        Severity::Error
    } else {
        Severity::Warning
    }
}

fn is_foreign(message: &str) -> bool {
    let name = message.split('\'').nth(1);
    name.is_some_and(|name| FOREIGN_TYPES.contains(&name))
}

/// Returns true if the value of a name that is not declared is certainly read or assigned.
fn unknown_name(message: &str, context: &SeverityContext<'_>) -> bool {
    let tree = context.tree;
    let Some(name) = message.split('\'').nth(1) else {
        return false;
    };
    let is_guarded = || {
        tree.occurrences(name).any(|at| {
            let operator = tree.parent(at).map_or("", |outer| tree.text(outer));
            let owner = receiver(tree, at).map_or("", |owner| tree.text(owner));
            tree.kind(at) == "StringLiteral" || operator == "typeof" || owner == "globalThis"
        })
    };
    !ENGINE_GLOBALS.contains(&name) && !is_guarded() && is_certain(tree, context.at)
}

/// The severity of an unknown property.
fn property(first: &str, message: &str, context: &SeverityContext<'_>) -> Option<Severity> {
    let name = quoted_after(first, "Property '")?;
    let (_, of) = first.split_once("' does not exist on type '")?;
    let of = quoted_type(of);
    // The members of these types are unknown.
    if matches!(of, "{}" | "never" | "object" | "never[]") {
        return None;
    }
    let tree = context.tree;
    tree.count_search(context.types);
    if members_of_type(context.types, of).is_some() {
        return Some(error_if(!is_tested(tree, name, context.at)));
    }
    // One member of a union may have the property.
    let is_of_union = message.lines().nth(1).is_some();
    let lacks_it = || {
        let is_misspelled = first.contains("'. Did you mean '");
        match of {
            of if of.starts_with("Promise<") => is_known_receiver(context, WantedType::Promise),
            of if is_closed(of, context) => is_known_receiver(context, WantedType::Members),
            // The program may define the member.
            _ if is_key(tree, name) => false,
            "string" | "number" | "boolean" | "bigint" => {
                is_known_receiver(context, WantedType::Members)
            }
            of if is_literal_type(of) => is_known_receiver(context, WantedType::Members),
            of if LIBRARY_OBJECTS.contains(&of) => is_misspelled,
            _ => {
                is_misspelled
                    && is_library_type(of)
                    && is_known_receiver(context, WantedType::Members)
            }
        }
    };
    let fails = !is_of_union
        && lacks_it()
        && !is_tested(tree, name, context.at)
        && !receiver_names(tree, context.at)
            .iter()
            .any(|name| is_reassigned(tree, name))
        && fails_without(tree, context.at);
    Some(error_if(fails))
}

/// Returns true if the expression before a member certainly has the type that the compiler infers.
fn is_known_receiver(context: &SeverityContext<'_>, wanted: WantedType) -> bool {
    let origins = origins(context, wanted);
    match binding(context.tree, context.at) {
        Some(binding) => origins.is_pattern_known(binding.pattern),
        None => receiver(context.tree, context.at).is_some_and(|value| origins.is_known(value)),
    }
}

fn is_library_type(printed: &str) -> bool {
    let name = printed.split('<').next().unwrap_or(printed);
    kind_of(printed) == Some(JsonKind::Array) || matches!(name, "Map" | "Set" | "Date" | "RegExp")
}

fn origins<'a>(context: &SeverityContext<'a>, wanted: WantedType) -> Origins<'a> {
    Origins::new(context.tree, context.types, wanted)
}

/// Returns true if a tool refuses all members but those of a printed type: each of its alternatives is marked, or is the
/// name of a marked type.
fn is_closed(printed: &str, context: &SeverityContext<'_>) -> bool {
    let mut parts = alternatives(printed).into_iter().peekable();
    parts.peek().is_some()
        && parts.all(|part| {
            let name = part.rsplit('.').next().unwrap_or(part);
            context.tree.count_search(context.types);
            part.starts_with("Closed<") && part.ends_with('>')
                || context
                    .types
                    .contains(&format!("    type {name} = Closed<"))
        })
}

/// A value in the arguments of a function of `mux`.
struct ArgumentOfMux {
    /// The names after `mux`.
    names: Vec<String>,
    call: usize,
    /// The value, or the innermost part of it that is an argument, an element or a member.
    value: usize,
}

/// The call that gets the value at `at` as an argument, or as a part of one.
fn argument_of(context: &SeverityContext<'_>) -> Option<ArgumentOfMux> {
    let tree = context.tree;
    let mut value = None;
    let mut inner = context.at;
    loop {
        let outer = tree.parent(inner)?;
        if value.is_none() && matches!(tree.slot(inner), "value" | "elements" | "properties") {
            value = Some(inner);
        }
        match tree.kind(outer) {
            "CallExpression" if tree.is_argument(inner) => {
                return Some(ArgumentOfMux {
                    names: called_function(tree, outer)?,
                    call: outer,
                    value: value.unwrap_or(inner),
                });
            }
            "Computed" | "NewExpression" | "TemplateLiteral" => return None,
            kind if kind.contains("Function") || kind.ends_with("Statement") => return None,
            _ => inner = outer,
        }
    }
}

/// Returns true if a tool certainly refuses an argument that is not declared.
fn unknown_argument(first: &str, context: &SeverityContext<'_>) -> bool {
    let tree = context.tree;
    let target = first.split_once(" does not exist in type '");
    let target = target.map_or("", |(_, rest)| quoted_type(rest));
    if argument_of(context).is_none() {
        return false;
    }
    if is_closed(target, context) {
        return true;
    }
    let kinds: Option<Vec<JsonKind>> = alternatives(target).into_iter().map(kind_of).collect();
    if kinds.is_some_and(|kinds| !kinds.contains(&JsonKind::Object)) {
        return true;
    }
    // The compiler reports no missing members beside an unknown one.
    let member = match tree.parent(context.at) {
        Some(outer) if tree.kind(outer) == "KeyValueProperty" => outer,
        _ => context.at,
    };
    let Some(object) = tree.parent(member) else {
        return false;
    };
    let given = member_names(tree, object);
    alternatives(target).len() == 1
        && lists_members(tree, object)
        && printed_types::members(target)
            .iter()
            .any(|member| !member.is_optional && !given.contains(&member.name))
}

/// The severity of a value of the wrong type.
fn value(code: u32, message: &str, context: &SeverityContext<'_>) -> Option<Severity> {
    let last = message.lines().last().unwrap_or_default().trim();
    let Some(argument) = argument_of(context) else {
        // An empty array that is filled later, a `null` that is replaced: the inferred type is too narrow.
        let is_placeholder = last.ends_with(" type 'never'.")
            || last.ends_with("'ConcatArray<never>'.")
            || message
                .lines()
                .next()
                .is_some_and(|first| first.contains("'never[]'"));
        return (!is_placeholder).then_some(Severity::Warning);
    };
    Some(error_if(is_refused_value(
        code, message, &argument, context,
    )))
}

/// Returns true if a tool certainly refuses a value in its arguments.
fn is_refused_value(
    code: u32,
    message: &str,
    argument: &ArgumentOfMux,
    context: &SeverityContext<'_>,
) -> bool {
    let tree = context.tree;
    let value = tree
        .child(argument.value, "value")
        .unwrap_or(argument.value);
    let mut lines = message.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let second = lines.next().unwrap_or_default();
    let is_missing = |line: &str| {
        line.starts_with("Property '") && line.contains("' is missing in type '")
            || line.contains(" is missing the following properties from type '")
    };
    if is_missing(first) || is_missing(second) {
        let literal = match tree.kind(value) {
            "ObjectExpression" => Some(value),
            "Identifier" => constant_object(tree, tree.text(value)),
            _ => None,
        };
        if let Some(object) = literal {
            return lists_members(tree, object);
        }
    }
    if is_written_out(tree, value) {
        return true;
    }
    let Some((source, target)) = source_and_target(first) else {
        return false;
    };
    let kind = tree.kind(value);
    let is_value = matches!(kind, "Identifier" | "ArrayExpression") || kind.ends_with("Literal");
    // An object may have a `toJSON` that gives another kind.
    let is_object = kind_of(source) == Some(JsonKind::Object);
    let never_fits = !is_object && (is_literal_type(source) || differ_in_kind(source, target));
    code != 2769 && is_value && never_fits && origins(context, WantedType::Value).is_known(value)
}

/// The types of `Type 'source' is not assignable to type 'target'.`, or of `Property 'a' is missing in type 'source' but
/// required in type 'target'.`
fn source_and_target(line: &str) -> Option<(&str, &str)> {
    let (source, target) = line
        .split_once("' is not assignable to ")
        .or_else(|| line.split_once("' but required in "))?;
    let (_, source) = source.split_once("ype '")?;
    let (_, target) = target.split_once("type '")?;
    Some((source, quoted_type(target)))
}

/// The type at the start of the end of a message, which its closing quote follows, and perhaps a suggestion.
fn quoted_type(rest: &str) -> &str {
    let of = rest
        .split_once("'. Did you mean")
        .map_or(rest, |(of, _)| of);
    of.trim_end_matches("'.")
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Eq, PartialEq)]
enum JsonKind {
    String,
    Number,
    Boolean,
    Array,
    Object,
}

fn differ_in_kind(source: &str, target: &str) -> bool {
    let kinds: Option<Vec<JsonKind>> = alternatives(target).into_iter().map(kind_of).collect();
    match (kind_of(source), kinds) {
        (Some(source), Some(kinds)) => !kinds.is_empty() && !kinds.contains(&source),
        _ => false,
    }
}

fn is_literal_type(printed: &str) -> bool {
    let text = printed
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let is_text = text.is_some_and(|text| !text.contains('"'));
    is_text || matches!(printed, "true" | "false") || printed.parse::<f64>().is_ok()
}

/// The kind of the values of a printed type, or `None` if the type does not show it.
fn kind_of(printed: &str) -> Option<JsonKind> {
    if alternatives(printed) != [printed] {
        return None;
    }
    let starts = |beginnings: &[&str]| beginnings.iter().any(|start| printed.starts_with(start));
    if printed.ends_with("[]") || starts(&["[", "Array<", "readonly "]) {
        return Some(JsonKind::Array);
    }
    match printed {
        "string" => Some(JsonKind::String),
        "number" => Some(JsonKind::Number),
        "boolean" | "true" | "false" => Some(JsonKind::Boolean),
        _ if starts(&["\""]) => Some(JsonKind::String),
        _ if printed.parse::<f64>().is_ok() => Some(JsonKind::Number),
        _ if starts(&["{", "Closed<{"]) => Some(JsonKind::Object),
        _ => None,
    }
}

/// Returns true if a function of `mux` is called here with too few arguments.
fn is_call_of_mux(context: &SeverityContext<'_>) -> bool {
    let tree = context.tree;
    let chain = tree.chain(tree.whole_chain(context.at));
    let named = chain.and_then(|chain| mux_path(tree, chain));
    named.is_some_and(|names| names.len() > 1 || is_builtin(&names))
}

/// Returns true if the first of several arguments of a tool is a literal that is not an object.
fn has_positional_arguments(context: &SeverityContext<'_>) -> bool {
    let tree = context.tree;
    let tool = argument_of(context).filter(|argument| !is_builtin(&argument.names));
    let arguments = tool.map(|argument| tree.arguments(argument.call));
    match arguments.unwrap_or_default().as_slice() {
        [first, _, ..] => matches!(
            tree.kind(*first),
            "StringLiteral" | "NumericLiteral" | "TemplateLiteral"
        ),
        _ => false,
    }
}

/// Returns true if a value is certainly called, constructed or iterated that cannot be.
fn unusable(message: &str, context: &SeverityContext<'_>) -> bool {
    let tree = context.tree;
    let of = message
        .split_once("Type '")
        .and_then(|(_, rest)| rest.split_once('\''))
        .map_or("", |(of, _)| of);
    tree.count_search(context.types);
    if members_of_type(context.types, of).is_some() {
        return !is_test(tree, context.at);
    }
    let wanted = if of.starts_with("Promise<") {
        WantedType::Promise
    } else {
        WantedType::Members
    };
    let is_union = of.contains(" | ") || message.contains("Not all constituents");
    !is_union
        && !is_reassigned(tree, tree.text(context.at))
        && is_certain(tree, context.at)
        && origins(context, wanted).is_known(unusable_value(context, wanted))
}

/// The value that cannot be used: a chain of members, or the call that makes a promise.
fn unusable_value(context: &SeverityContext<'_>, wanted: WantedType) -> usize {
    let tree = context.tree;
    let chain = tree.whole_chain(context.at);
    let call = tree.parent(chain).filter(|_| tree.slot(chain) == "callee");
    match call {
        Some(call) if wanted == WantedType::Promise => call,
        _ => chain,
    }
}

fn has_too_many(first: &str) -> bool {
    let mut numbers = first
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next_back()) {
        (Some(expected), Some(got)) => got > expected,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_differ_only_if_both_types_show_them() {
        for (source, target, expected) in [
            ("number", "string", true),
            ("string", "\"a\" | \"b\"", false),
            ("string[]", "string | undefined", true),
            ("string[]", "(\"a\" | \"b\")[]", false),
            ("string | number", "string", false),
            ("string", "Mux.Files.Mode", false),
            ("string | string[]", "string", false),
            ("\"a | b\"", "number", true),
        ] {
            assert_eq!(
                differ_in_kind(source, target),
                expected,
                "{source} {target}"
            );
        }
    }
}
