//! What a query of somebody's own reaches: the functions of the source that would do the same, each with its arguments.
//!
//! Invariant: nothing that a document may run is left out: each of its operations counts, whichever is named, each root
//! field wherever a fragment hides it, skipped or not. A document that cannot be read reaches nobody.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use apollo_compiler::{
    ast::{self, Definition, FragmentDefinition, OperationDefinition, OperationType, Selection},
    parser::Parser,
};
use serde_json::{Map, Value};

use super::functions::{ANY, Operation};

/// How deep a document may nest to be looked at.
const NESTING: usize = 128;
/// Root fields of one document.
const MOST: usize = 1_000;

/// A field of a root type, as its own function would be called.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// `mutation.rename`
    pub function: String,
    /// Of the document, with the values of its variables.
    pub arguments: Value,
    /// What that function says of itself.
    pub annotations: Value,
}

/// Whether the function of this name takes any document.
pub fn takes_any(function: &str) -> bool {
    function == ANY
}

/// What a call of [`ANY`] reaches. An error says why the document is sent to nobody.
pub fn reached(arguments: &Value) -> Result<Vec<Reached>, String> {
    let query = arguments.get("query").and_then(Value::as_str);
    let document = read(query.ok_or("`query` is missing")?)?;
    let nothing = Map::new();
    let given = arguments.get("variables").and_then(Value::as_object);
    let mut fragments = BTreeMap::new();
    for definition in &document.definitions {
        if let Definition::FragmentDefinition(fragment) = definition {
            fragments.insert(fragment.name.as_str(), &**fragment);
        }
    }
    let mut walk = Walk {
        fragments,
        given: given.unwrap_or(&nothing),
        found: Vec::new(),
        known: HashSet::new(),
    };
    for operation in operations(&document) {
        let mut seen = BTreeSet::new();
        walk.fields(operation, &operation.selection_set, &mut seen)?;
    }
    match walk.found.is_empty() {
        true => Err("`query` holds no operation".into()),
        false => Ok(walk.found),
    }
}

/// A document, or what is wrong with it.
pub(super) fn read(query: &str) -> Result<ast::Document, String> {
    let read = Parser::new()
        .recursion_limit(NESTING)
        .parse_ast(query, "query");
    read.map_err(|wrong| {
        let first = wrong.errors.iter().next();
        let place = first.as_ref().and_then(|error| error.line_column_range());
        let place = place.map(|range| {
            let start = range.start;
            format!(" (line {}, column {})", start.line, start.column)
        });
        let why = first.map(|error| error.error.to_string());
        format!(
            "`query` is no document of GraphQL, and is not sent: {}{}",
            why.unwrap_or_default(),
            place.unwrap_or_default()
        )
    })
}

pub(super) fn operations(document: &ast::Document) -> impl Iterator<Item = &OperationDefinition> {
    let definitions = document.definitions.iter();
    definitions.filter_map(|definition| match definition {
        Definition::OperationDefinition(operation) => Some(&**operation),
        _ => None,
    })
}

struct Walk<'a> {
    fragments: BTreeMap<&'a str, &'a FragmentDefinition>,
    given: &'a Map<String, Value>,
    found: Vec<Reached>,
    /// The same as texts.
    known: HashSet<String>,
}

impl<'a> Walk<'a> {
    fn fields(
        &mut self,
        of: &'a OperationDefinition,
        selected: &'a [Selection],
        seen: &mut BTreeSet<&'a str>,
    ) -> Result<(), String> {
        for selection in selected {
            match selection {
                Selection::Field(field) => self.take(of, field)?,
                Selection::InlineFragment(fragment) => {
                    self.fields(of, &fragment.selection_set, seen)?;
                }
                Selection::FragmentSpread(spread) => {
                    let name = spread.fragment_name.as_str();
                    let fragment = self.fragments.get(name).copied();
                    let fragment =
                        fragment.ok_or_else(|| format!("`query` has no fragment `{name}`"))?;
                    // Once is enough, and a circle ends.
                    if seen.insert(name) {
                        self.fields(of, &fragment.selection_set, seen)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, of: &OperationDefinition, field: &ast::Field) -> Result<(), String> {
        let (word, annotations) = match of.operation_type {
            OperationType::Query => ("query", Some(Operation::Query)),
            OperationType::Mutation => ("mutation", Some(Operation::Mutation)),
            OperationType::Subscription => ("subscription", None),
        };
        let name = field.name.as_str();
        let arguments = field.arguments.iter();
        let arguments = arguments.filter_map(|argument| {
            let value = self.value(of, &argument.value)?;
            Some((argument.name.to_string(), value))
        });
        let reached = Reached {
            function: format!("{word}.{name}"),
            arguments: Value::Object(arguments.collect()),
            annotations: annotations.map_or(Value::Null, |kind| kind.annotations(name)),
        };
        if !self
            .known
            .insert(format!("{} {}", reached.function, reached.arguments))
        {
            return Ok(());
        }
        if self.found.len() == MOST {
            return Err(format!("`query` asks for more than {MOST} root fields"));
        }
        self.found.push(reached);
        Ok(())
    }

    /// As JSON. None of a variable without a value: the argument is not given then.
    fn value(&self, of: &OperationDefinition, value: &ast::Value) -> Option<Value> {
        Some(match value {
            ast::Value::Null => Value::Null,
            ast::Value::Boolean(truth) => (*truth).into(),
            ast::Value::String(text) => text.as_str().into(),
            ast::Value::Enum(name) => name.as_str().into(),
            ast::Value::Int(number) => self::number(number.as_str()),
            ast::Value::Float(number) => self::number(number.as_str()),
            ast::Value::List(items) => {
                let items = items.iter();
                // Within a list what has no value is null.
                let items = items.map(|item| self.value(of, item).unwrap_or_default());
                Value::Array(items.collect())
            }
            ast::Value::Object(members) => {
                let members = members.iter();
                let members = members
                    .filter_map(|(name, value)| Some((name.to_string(), self.value(of, value)?)));
                Value::Object(members.collect())
            }
            ast::Value::Variable(name) => match self.given.get(name.as_str()) {
                Some(given) => given.clone(),
                None => {
                    let declared = of.variables.iter().find(|it| it.name == *name)?;
                    // A default names no variable.
                    self.value(of, declared.default_value.as_ref()?)?
                }
            },
        })
    }
}

/// However large it is, it is what the text says.
fn number(text: &str) -> Value {
    let read = text.parse::<serde_json::Number>().ok();
    read.map_or_else(|| text.into(), Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(query: &str, variables: Value) -> Result<Vec<String>, String> {
        let found = reached(&json!({ "query": query, "variables": variables }))?;
        let told = found
            .into_iter()
            .map(|one| format!("{} {}", one.function, one.arguments));
        Ok(told.collect())
    }

    #[test]
    fn every_root_field_is_found_with_its_arguments() {
        for (query, variables, expected) in [
            (
                "{ user(id: 1) { name } }",
                json!({}),
                &["query.user {\"id\":1}"][..],
            ),
            (
                "query A { a } mutation B($i: ID = \"d\", $n: Int) { x: drop(id: $i, n: $n) keep(o: { k: [E, $i, 1.5] }) }",
                json!({}),
                &[
                    "query.a {}",
                    "mutation.drop {\"id\":\"d\"}",
                    "mutation.keep {\"o\":{\"k\":[\"E\",\"d\",1.5]}}",
                ],
            ),
            (
                "mutation($i: ID!) { ...F ... on Mutation { b(i: $i) @skip(if: true) } ...F } fragment F on Mutation { a ...F }",
                json!({ "i": { "x": [7] } }),
                &["mutation.a {}", "mutation.b {\"i\":{\"x\":[7]}}"],
            ),
            ("subscription { s }", json!(null), &["subscription.s {}"]),
            ("{ a a b: a }", json!({}), &["query.a {}"]),
        ] {
            assert_eq!(told(query, variables).unwrap(), expected, "{query}");
        }
    }

    #[test]
    fn what_cannot_be_read_reaches_nobody() {
        let many: String = (0..=MOST).map(|n| format!("f{n} ")).collect();
        let deep = format!("{{ a{} }}", "{ a".repeat(1_000));
        for (query, part) in [
            ("mutation { drop ", "no document of GraphQL"),
            ("{ a } rubbish", "no document of GraphQL"),
            (deep.as_str(), "no document of GraphQL"),
            ("fragment F on Mutation { a }", "no operation"),
            ("", "no"),
            ("{ ...G }", "no fragment `G`"),
            (&format!("{{ {many} }}"), "more than 1000"),
        ] {
            let error = told(query, json!({})).unwrap_err();
            assert!(error.contains(part), "{query:.40}: {error}");
        }
        assert!(reached(&json!({ "query": 3 })).is_err());
    }
}
