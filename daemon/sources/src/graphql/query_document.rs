//! A document that a caller wrote, parsed within limits.
//!
//! Invariant: a document that defines a name twice is rejected, because servers differ in which definition they use.
//! The limits here bound the cost of parsing, before anything of the document is checked.

use std::{collections::HashSet, fmt::Display};

use apollo_compiler::{
    ast::{self, Definition, FragmentDefinition, OperationDefinition, OperationType, Selection},
    parser::Parser,
};

use super::tool_list::destroys;

pub(super) const MAX_DOCUMENT_BYTES: usize = 256 << 10;
/// The number of tokens, including whitespace.
pub(super) const MAX_DOCUMENT_TOKENS: usize = 100_000;
pub(super) const MAX_OPERATIONS: usize = 100;
/// The nesting of selections and of values.
pub(super) const MAX_NESTING: usize = 128;

/// The reason a document was not checked completely, and is not sent.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DocumentError {
    /// The document is wrong. The text says what to write instead.
    #[error("{0}")]
    Invalid(String),
    /// The document exceeds a limit.
    #[error("{what}: the limit `{name}` is {value}")]
    Limit {
        what: &'static str,
        name: &'static str,
        value: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The judge stopped the check.
    #[error("the document was not checked completely")]
    Stopped,
}

const SPLIT_REMEDY: &str = "send it in several calls";

impl DocumentError {
    pub(super) fn limit(what: &'static str, name: &'static str, value: impl Display) -> Self {
        Self::Limit {
            what,
            name,
            value: value.to_string(),
            remedy: SPLIT_REMEDY,
        }
    }
}

/// A document that was parsed and checked.
#[derive(Debug)]
pub(super) struct QueryDocument {
    ast: ast::Document,
    /// Set if one of its fields has a destructive name.
    pub(super) destroys: bool,
}

/// The effect of a request with a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DocumentEffect {
    Reads,
    /// Changes something, or may.
    Changes,
    Subscribes,
}

impl QueryDocument {
    pub(super) fn read(query: &str) -> Result<Self, DocumentError> {
        if query.len() > MAX_DOCUMENT_BYTES {
            return Err(DocumentError::limit(
                "`query` is too long",
                "max_document_bytes",
                format_args!("{MAX_DOCUMENT_BYTES} bytes"),
            ));
        }
        let mut parser = Parser::new()
            .recursion_limit(MAX_NESTING)
            .token_limit(MAX_DOCUMENT_TOKENS);
        let parsed = parser.parse_ast(query, "query");
        if parser.tokens_reached() > MAX_DOCUMENT_TOKENS {
            return Err(DocumentError::limit(
                "`query` has too many tokens",
                "max_document_tokens",
                MAX_DOCUMENT_TOKENS,
            ));
        }
        let ast = parsed.map_err(|wrong| {
            let first = wrong.errors.iter().next();
            let place = first
                .as_ref()
                .and_then(apollo_compiler::diagnostic::Diagnostic::line_column_range);
            let place = place.map(|range| {
                let start = range.start;
                format!(" (line {}, column {})", start.line, start.column)
            });
            let why = first.map(|error| error.error.to_string());
            DocumentError::Invalid(format!(
                "`query` is not a valid GraphQL document, and is not sent: {}{}",
                why.unwrap_or_default(),
                place.unwrap_or_default()
            ))
        })?;
        let mut reading = DocumentChecker::default();
        let read = Self {
            destroys: reading.document(&ast)?,
            ast,
        };
        match read.operations().count() {
            0 => Err(DocumentError::Invalid("`query` has no operation".into())),
            1..=MAX_OPERATIONS => Ok(read),
            _ => Err(DocumentError::limit(
                "`query` has too many operations",
                "max_operations",
                MAX_OPERATIONS,
            )),
        }
    }

    pub(super) fn operations(&self) -> impl Iterator<Item = &OperationDefinition> {
        let definitions = self.ast.definitions.iter();
        definitions.filter_map(|definition| match definition {
            Definition::OperationDefinition(operation) => Some(&**operation),
            _ => None,
        })
    }

    pub(super) fn fragments(&self) -> impl Iterator<Item = &FragmentDefinition> {
        let definitions = self.ast.definitions.iter();
        definitions.filter_map(|definition| match definition {
            Definition::FragmentDefinition(fragment) => Some(&**fragment),
            _ => None,
        })
    }

    /// The effect of the operation with this name, or of all operations.
    pub(super) fn effect(&self, name: Option<&str>) -> DocumentEffect {
        let is_meant = |operation: &&OperationDefinition| {
            let own = operation.name.as_ref().map(apollo_compiler::Name::as_str);
            name.is_none_or(|name| own == Some(name))
        };
        let meant = self.operations().filter(is_meant);
        let types: Vec<OperationType> = meant.map(|one| one.operation_type).collect();
        if types.contains(&OperationType::Subscription) {
            return DocumentEffect::Subscribes;
        }
        // An operation that is not in the document may do anything.
        if !types.is_empty() && types.iter().all(|one| *one == OperationType::Query) {
            DocumentEffect::Reads
        } else {
            DocumentEffect::Changes
        }
    }
}

/// Visits every part of a document once.
#[derive(Default)]
struct DocumentChecker {
    destroys: bool,
}

impl DocumentChecker {
    /// Returns true if a field has a destructive name.
    fn document(&mut self, document: &ast::Document) -> Result<bool, DocumentError> {
        let mut fragments = HashSet::new();
        let mut operations = HashSet::new();
        for definition in &document.definitions {
            match definition {
                Definition::FragmentDefinition(fragment) => {
                    unique(&mut fragments, fragment.name.as_str(), "fragments")?;
                    Self::directives(&fragment.directives)?;
                    self.selections(&fragment.selection_set)?;
                }
                Definition::OperationDefinition(operation) => {
                    if let Some(name) = &operation.name {
                        unique(&mut operations, name.as_str(), "operations")?;
                    }
                    let mut variables = HashSet::new();
                    for variable in &operation.variables {
                        unique(&mut variables, variable.name.as_str(), "variables")?;
                        if let Some(default) = &variable.default_value {
                            Self::value(default)?;
                        }
                    }
                    Self::directives(&operation.directives)?;
                    self.selections(&operation.selection_set)?;
                }
                _ => {}
            }
        }
        Ok(self.destroys)
    }

    fn selections(&mut self, selections: &[Selection]) -> Result<(), DocumentError> {
        for selection in selections {
            match selection {
                Selection::Field(field) => {
                    self.destroys |= destroys(field.name.as_str());
                    Self::arguments(&field.arguments)?;
                    Self::directives(&field.directives)?;
                    self.selections(&field.selection_set)?;
                }
                Selection::InlineFragment(fragment) => {
                    Self::directives(&fragment.directives)?;
                    self.selections(&fragment.selection_set)?;
                }
                Selection::FragmentSpread(spread) => Self::directives(&spread.directives)?,
            }
        }
        Ok(())
    }

    fn directives(directives: &ast::DirectiveList) -> Result<(), DocumentError> {
        let mut each = directives.iter();
        each.try_for_each(|directive| Self::arguments(&directive.arguments))
    }

    fn arguments(arguments: &[apollo_compiler::Node<ast::Argument>]) -> Result<(), DocumentError> {
        let mut names = HashSet::new();
        for argument in arguments {
            unique(&mut names, argument.name.as_str(), "arguments")?;
            Self::value(&argument.value)?;
        }
        Ok(())
    }

    fn value(value: &ast::Value) -> Result<(), DocumentError> {
        match value {
            ast::Value::List(items) => items.iter().try_for_each(|item| Self::value(item)),
            ast::Value::Object(members) => {
                let mut names = HashSet::new();
                for (name, value) in members {
                    unique(&mut names, name.as_str(), "fields of one input")?;
                    Self::value(value)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn unique<'a>(
    known: &mut HashSet<&'a str>,
    name: &'a str,
    what: &str,
) -> Result<(), DocumentError> {
    if known.insert(name) {
        Ok(())
    } else {
        Err(DocumentError::Invalid(format!(
            "`query` has two {what} named `{name}`, and is not sent: servers differ in which one they use"
        )))
    }
}
