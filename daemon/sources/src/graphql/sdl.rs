//! Parses a schema in GraphQL's schema definition language.
//!
//! Invariant: an error names the line and the column. Directives have no effect here, so errors in them are ignored.

use std::{collections::HashSet, fmt::Write as _};

use apollo_compiler::{
    Name, Node, Schema as Parsed,
    ast::{self, DirectiveList},
    parser::Parser,
    schema::{Component, ExtendedType, FieldDefinition, InputValueDefinition},
    validation::DiagnosticList,
};

use super::{
    schema_model::{
        EnumValue, GraphqlSchema, SchemaArgument, SchemaField, SchemaType, TypeRef, TypeShape,
        is_built_in,
    },
    value_literal,
};

/// The nesting of lists and values.
const MAX_SDL_NESTING: usize = 200;
/// The number of tokens. GitHub's schema has a quarter of a million.
const MAX_SDL_TOKENS: usize = 5_000_000;
/// The number of schema errors in an error message.
const MAX_REPORTED_MISTAKES: usize = 3;

/// Schema errors that occur in practice: directives that a server adds by itself, and names with two underscores, which
/// are left out.
const HARMLESS_DIAGNOSTICS: &[&str] = &[
    "UndefinedDirective",
    "UndefinedArgument",
    "UniqueDirective",
    "UnsupportedLocation",
    "RequiredArgument",
    "ReservedName",
    "EmptyFieldSet",
    "EmptyValueSet",
    "EmptyMemberSet",
    "EmptyInputValueSet",
    "RecursiveDirectiveDefinition",
    "MissingInterfaceField",
    "MissingInterfaceFieldArgument",
    "TransitiveImplementedInterfaces",
    "InvalidImplementationFieldType",
    "InvalidImplementationFieldArgumentType",
    "ExtraRequiredImplementationFieldArgument",
];

/// Parts of the messages of harmless errors without a diagnostic name.
const DUPLICATE_MESSAGES: &[&str] = &["duplicate definitions for the `", "` more than once"];

/// Parses a schema. `place` is the schema's name in error messages.
pub(super) fn read(text: &str, place: &str) -> Result<GraphqlSchema, String> {
    let mut builder = Parsed::builder()
        .adopt_orphan_extensions()
        .ignore_builtin_redefinitions();
    Parser::new()
        .recursion_limit(MAX_SDL_NESTING)
        .token_limit(MAX_SDL_TOKENS)
        .parse_into_schema_builder(text, place, &mut builder);
    let parsed = match builder.build() {
        Ok(parsed) => parsed,
        // Duplicates count once, because published schemas have some.
        Err(error) => match report_mistakes(&error.errors, place, &[]) {
            Some(mistakes) => return Err(mistakes),
            None => error.partial,
        },
    };
    let parsed = match parsed.validate() {
        Ok(valid) => valid.into_inner(),
        Err(error) => match report_mistakes(&error.errors, place, HARMLESS_DIAGNOSTICS) {
            Some(mistakes) => return Err(mistakes),
            None => error.partial,
        },
    };
    Ok(build_model(&parsed))
}

/// Describes the first few errors. `None` if all are harmless.
fn report_mistakes(errors: &DiagnosticList, place: &str, harmless: &[&str]) -> Option<String> {
    let is_twice = |text: &str| DUPLICATE_MESSAGES.iter().any(|part| text.contains(part));
    let harmful: Vec<String> = errors
        .iter()
        .filter(|found| match found.error.unstable_error_name() {
            Some(name) => !harmless.contains(&name),
            None => !is_twice(&found.error.to_string()),
        })
        .map(|found| match found.line_column_range() {
            Some(range) => {
                let line = range.start.line;
                let column = range.start.column;
                format!("{place}:{line}:{column}: {}", found.error)
            }
            None => format!("{place}: {}", found.error),
        })
        .collect();
    let more = harmful.len().saturating_sub(MAX_REPORTED_MISTAKES);
    let mut text = harmful
        .get(..MAX_REPORTED_MISTAKES)
        .unwrap_or(&harmful)
        .join("; ");
    if more > 0 {
        _ = write!(text, " (and {more} more)");
    }
    (!harmful.is_empty()).then_some(text)
}

fn build_model(parsed: &Parsed) -> GraphqlSchema {
    let definition = &parsed.schema_definition;
    let root = |name: &Option<apollo_compiler::schema::ComponentName>| {
        name.as_ref().map(|name| name.name.as_str().to_owned())
    };
    let types = parsed.types.iter();
    let types = types.filter(|(name, _)| !name.starts_with("__") && !is_built_in(name.as_str()));
    let mut schema = GraphqlSchema {
        query: root(&definition.query),
        mutation: root(&definition.mutation),
        subscription: root(&definition.subscription),
        types: types
            .map(|(name, ty)| (name.as_str().to_owned(), type_of(ty)))
            .collect(),
        ..GraphqlSchema::default()
    };
    schema.roots = schema.find_roots(|root, interface| implements(parsed, root, interface));
    schema
}

/// True if a type implements an interface, directly or through another interface.
fn implements(parsed: &Parsed, ty: &str, interface: &str) -> bool {
    let mut open = vec![ty];
    let mut seen = HashSet::new();
    while let Some(ty) = open.pop() {
        let its = match parsed.types.get(ty) {
            Some(ExtendedType::Object(object)) => &object.implements_interfaces,
            Some(ExtendedType::Interface(interface)) => &interface.implements_interfaces,
            _ => continue,
        };
        let new = its.iter().map(|name| name.name.as_str());
        open.extend(new.filter(|name| seen.insert(*name)));
    }
    seen.contains(interface)
}

fn type_of(ty: &ExtendedType) -> SchemaType {
    let fields = |fields: &apollo_compiler::collections::IndexMap<
        Name,
        Component<FieldDefinition>,
    >| { fields.values().map(|field| field_of(field)).collect() };
    let shape = match ty {
        ExtendedType::Scalar(_) => TypeShape::Scalar,
        ExtendedType::Object(object) => TypeShape::Object(fields(&object.fields)),
        ExtendedType::Interface(interface) => TypeShape::Interface(fields(&interface.fields)),
        ExtendedType::Union(union) => TypeShape::Union(
            union
                .members
                .iter()
                .map(|member| member.name.as_str().to_owned())
                .collect(),
        ),
        ExtendedType::Enum(choice) => TypeShape::Enum(
            choice
                .values
                .values()
                .map(|value| EnumValue {
                    name: value.value.as_str().to_owned(),
                    description: trimmed_description(value.description.as_ref()),
                    deprecated: directive_deprecation(&value.directives),
                })
                .collect(),
        ),
        ExtendedType::InputObject(input) => TypeShape::Input {
            fields: input
                .fields
                .values()
                .map(|field| argument_of(field))
                .collect(),
            one_of: input.directives.has("oneOf"),
        },
    };
    SchemaType {
        description: trimmed_description(ty.description()),
        shape,
    }
}

fn field_of(field: &FieldDefinition) -> SchemaField {
    SchemaField {
        name: field.name.as_str().to_owned(),
        description: trimmed_description(field.description.as_ref()),
        arguments: field.arguments.iter().map(|one| argument_of(one)).collect(),
        ty: type_ref_of(&field.ty),
        deprecated: directive_deprecation(&field.directives),
    }
}

fn argument_of(argument: &InputValueDefinition) -> SchemaArgument {
    SchemaArgument {
        name: argument.name.as_str().to_owned(),
        description: trimmed_description(argument.description.as_ref()),
        ty: type_ref_of(&argument.ty),
        default: argument
            .default_value
            .as_ref()
            .map(|value| value_literal::json(value)),
        deprecated: directive_deprecation(&argument.directives),
    }
}

fn type_ref_of(ty: &ast::Type) -> TypeRef {
    let named = |name: &Name| TypeRef::Named(name.as_str().to_owned());
    let required = |inner| TypeRef::Required(Box::new(inner));
    match ty {
        ast::Type::Named(name) => named(name),
        ast::Type::NonNullNamed(name) => required(named(name)),
        ast::Type::List(item) => TypeRef::List(Box::new(type_ref_of(item))),
        ast::Type::NonNullList(item) => required(TypeRef::List(Box::new(type_ref_of(item)))),
    }
}

fn directive_deprecation(directives: &DirectiveList) -> Option<String> {
    let directive = directives.get("deprecated")?;
    let reason = directive.specified_argument_by_name("reason");
    let reason = reason.and_then(|reason| reason.as_str());
    Some(reason.unwrap_or("No longer supported").to_owned())
}

fn trimmed_description(description: Option<&Node<str>>) -> Option<String> {
    let text = description?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
