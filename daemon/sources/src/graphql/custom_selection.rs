//! A selection that the caller writes: as GraphQL, `{ id author { name } }`, or as an object, `{ id: true, author: {
//! name: true } }`.
//!
//! Both are checked against the schema, names as well as required arguments and members of input objects, which lets an
//! error suggest known names. Nothing is sent that the API would certainly refuse for these reasons.
//!
//! Invariant: the query contains one selection of one field, written here from the parsed input. The caller's text is
//! never copied into it.

use std::collections::HashMap;

use apollo_compiler::{ast, parser::Parser};
use serde_json::{Map, Value};

use super::{
    argument_schema::SELECT_ARGUMENT,
    default_selection::DefaultSelection,
    schema_model::{GraphqlSchema, SchemaArgument, SchemaField, is_name},
    tool_list::ToolBudget,
    value_literal::{self, MAX_LITERAL_NESTING, instead},
};
use mux_text::json_length;

/// The limit of a selection: of the caller's text or object, and of the GraphQL made from it.
pub(super) const MAX_SELECTION_BYTES: usize = 64 << 10;
/// The member of an object selection that holds the arguments of a field.
const ARGUMENTS_KEY: &str = "$args";
const FRAGMENT_PREFIX: &str = "... on ";
const TYPENAME_FIELD: &str = "__typename";
/// The number of leaves in the example selection of an error.
const MAX_EXAMPLE_LEAVES: usize = 5;

/// The selection of a field of type `ty`, as GraphQL. An error begins with the name of the argument.
pub(super) fn spelled<'a>(
    schema: &'a GraphqlSchema,
    ty: &'a str,
    choice: &Value,
    room: &'a ToolBudget,
) -> Result<String, String> {
    let mut chosen = SelectionWriter {
        schema,
        room,
        spelled: String::new(),
        leaves: HashMap::new(),
    };
    let written = match choice {
        Value::Object(members) => chosen.whole(ty, members),
        Value::String(text) if text.len() > MAX_SELECTION_BYTES => Err(too_long("it")),
        Value::String(text) => match serde_json::from_str(text) {
            // An object in JSON, as typed in a shell.
            Ok(Value::Object(members)) => chosen.whole(ty, &members),
            _ => chosen.text(ty, text),
        },
        _ => Err("it must be a string or an object".to_owned()),
    };
    match written {
        Ok(()) => Ok(chosen.spelled),
        Err(why) => Err(format!("`{SELECT_ARGUMENT}`: {why}")),
    }
}

struct SelectionWriter<'a> {
    schema: &'a GraphqlSchema,
    room: &'a ToolBudget,
    spelled: String,
    /// The selection of all leaves of a type.
    leaves: HashMap<&'a str, String>,
}

impl<'a> SelectionWriter<'a> {
    fn push(&mut self, text: &str) -> Result<(), String> {
        if self.spelled.len() + text.len() > MAX_SELECTION_BYTES {
            return Err(too_long("its expansion"));
        }
        self.spelled.push_str(text);
        Ok(())
    }

    fn text(&mut self, ty: &'a str, text: &str) -> Result<(), String> {
        let text = text.trim();
        let braced = if text.starts_with('{') {
            text.to_owned()
        } else {
            format!("{{ {text} }}")
        };
        let parser = Parser::new().recursion_limit(MAX_LITERAL_NESTING);
        let parsed = { parser }
            .parse_ast(braced, SELECT_ARGUMENT)
            .map_err(|found| {
                let first = found.errors.iter().next();
                let place = first
                    .as_ref()
                    .and_then(apollo_compiler::diagnostic::Diagnostic::line_column_range);
                let why = first.map_or_else(String::new, |first| first.error.to_string());
                match place {
                    Some(range) => format!("{}:{}: {why}", range.start.line, range.start.column),
                    None => why,
                }
            })?;
        let [ast::Definition::OperationDefinition(operation)] = parsed.definitions.as_slice()
        else {
            return Err("it must be one selection in braces, such as \"{ id name }\"".into());
        };
        self.selections(ty, &operation.selection_set)
    }

    fn selections(&mut self, ty: &'a str, selections: &[ast::Selection]) -> Result<(), String> {
        if selections.is_empty() {
            return Err(self.empty(ty));
        }
        self.push("{")?;
        for selection in selections {
            self.push(" ")?;
            match selection {
                ast::Selection::Field(field) => self.field(ty, field)?,
                ast::Selection::InlineFragment(fragment) => {
                    let on = fragment
                        .type_condition
                        .as_ref()
                        .map(apollo_compiler::Name::as_str);
                    has_no_variables(&fragment.directives)?;
                    self.push("...")?;
                    let ty = match on {
                        None => ty,
                        Some(on) => {
                            self.push(" on ")?;
                            self.push(on)?;
                            self.condition(on)?
                        }
                    };
                    let directives = fragment.directives.serialize().no_indent().to_string();
                    self.push(&directives)?;
                    self.push(" ")?;
                    self.selections(ty, &fragment.selection_set)?;
                }
                ast::Selection::FragmentSpread(spread) => {
                    return Err(format!(
                        "named fragments are not supported here: write the fields of ...{} inline",
                        spread.fragment_name
                    ));
                }
            }
        }
        self.push(" }")
    }

    fn field(&mut self, ty: &'a str, field: &ast::Field) -> Result<(), String> {
        let name = field.name.as_str();
        if let Some(alias) = &field.alias {
            self.push(alias)?;
            self.push(": ")?;
        }
        self.push(name)?;
        if name == TYPENAME_FIELD {
            return Ok(());
        }
        let known = self.known(ty, name)?;
        let mut given = Map::new();
        for argument in &field.arguments {
            argument_of(known, argument.name.as_str())?;
            if has_variable(&argument.value) {
                return Err(no_variables());
            }
            let value = argument.value.serialize().no_indent().to_string();
            self.push(if given.is_empty() { "(" } else { ", " })?;
            self.push(&format!("{}: {value}", argument.name))?;
            let value = value_literal::json(&argument.value);
            if given.insert(argument.name.to_string(), value).is_some() {
                return Err(format!("`{}` of `{name}` is given twice", argument.name));
            }
        }
        if !given.is_empty() {
            self.push(")")?;
        }
        self.has_arguments(known, &given)?;
        has_no_variables(&field.directives)?;
        let directives = field.directives.serialize().no_indent().to_string();
        self.push(&directives)?;
        match (self.is_composite(known), field.selection_set.is_empty()) {
            (true, false) => {
                self.push(" ")?;
                self.selections(known.ty.name(), &field.selection_set)
            }
            (true, true) => Err(self.wants_fields(known)),
            (false, true) => Ok(()),
            (false, false) => Err(has_no_fields(known)),
        }
    }

    /// Writes an object that is the entire selection.
    fn whole(&mut self, ty: &'a str, members: &Map<String, Value>) -> Result<(), String> {
        match json_length::of(members, MAX_SELECTION_BYTES) {
            Some(_) => self.object(ty, members, 0),
            None => Err(too_long("it")),
        }
    }

    fn object(
        &mut self,
        ty: &'a str,
        members: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_LITERAL_NESTING {
            return Err(format!("it is nested deeper than {MAX_LITERAL_NESTING}"));
        }
        let mut chosen = members
            .iter()
            .filter(|(name, value)| {
                name.as_str() != ARGUMENTS_KEY && !matches!(value, Value::Bool(false) | Value::Null)
            })
            .peekable();
        if chosen.peek().is_none() {
            return Err(self.empty(ty));
        }
        self.push("{")?;
        for (name, value) in chosen {
            self.push(" ")?;
            if let Some(on) = name.strip_prefix(FRAGMENT_PREFIX) {
                let Value::Object(inner) = value else {
                    return Err(format!("{name:?} must be an object of fields"));
                };
                let on = self.condition(on)?;
                self.push(FRAGMENT_PREFIX)?;
                self.push(on)?;
                self.push(" ")?;
                self.object(on, inner, depth + 1)?;
            } else if name == TYPENAME_FIELD {
                self.push(name)?;
            } else {
                self.member(self.known(ty, name)?, value, depth)?;
            }
        }
        self.push(" }")
    }

    /// Writes one member of an object selection. `true` for a composite type selects its leaves.
    fn member(
        &mut self,
        field: &'a SchemaField,
        value: &Value,
        depth: usize,
    ) -> Result<(), String> {
        let name = &field.name;
        let ty = field.ty.name();
        self.push(name)?;
        let members = match value {
            Value::Bool(_) => {
                self.has_arguments(field, &Map::new())?;
                if self.is_composite(field) {
                    self.leaves(ty)?;
                }
                return Ok(());
            }
            Value::Object(members) => members,
            _ => {
                return Err(format!("`{name}` must be `true` or an object of fields"));
            }
        };
        match members.get(ARGUMENTS_KEY) {
            None | Some(Value::Null) => self.has_arguments(field, &Map::new())?,
            Some(Value::Object(arguments)) => {
                for (place, (name, value)) in arguments.iter().enumerate() {
                    let known = argument_of(field, name)?;
                    let value =
                        value_literal::spelled(self.schema, &known.ty, value).ok_or_else(|| {
                            format!("`{name}` of `{}` cannot be written as GraphQL", field.name)
                        })?;
                    self.push(if place == 0 { "(" } else { ", " })?;
                    self.push(&format!("{name}: {value}"))?;
                }
                if !arguments.is_empty() {
                    self.push(")")?;
                }
                self.has_arguments(field, arguments)?;
            }
            Some(_) => return Err(format!("`{ARGUMENTS_KEY}` of `{name}` must be an object")),
        }
        let wants_more = members.keys().any(|name| name != ARGUMENTS_KEY);
        match (self.is_composite(field), wants_more) {
            (true, true) => {
                self.push(" ")?;
                self.object(ty, members, depth + 1)
            }
            (true, false) => self.leaves(ty),
            (false, false) => Ok(()),
            (false, true) => Err(has_no_fields(field)),
        }
    }

    /// Fails if a required argument is missing, or a value lacks a member that its type requires.
    fn has_arguments(&self, field: &SchemaField, given: &Map<String, Value>) -> Result<(), String> {
        let name = &field.name;
        for argument in &field.arguments {
            let SchemaArgument {
                name: wanted, ty, ..
            } = argument;
            match given.get(wanted) {
                Some(value) => {
                    if let Some(why) = value_literal::misfit(self.schema, wanted, ty, value) {
                        return Err(format!("the arguments of `{name}` do not fit: {why}"));
                    }
                }
                None if argument.is_required() => {
                    return Err(format!(
                        "`{name}` needs the argument `{wanted}` of type {ty}: write `{name}({wanted}: …)`, or \
                         `\"{name}\": {{ \"{ARGUMENTS_KEY}\": {{ \"{wanted}\": … }} }}` in an object"
                    ));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn leaves(&mut self, ty: &'a str) -> Result<(), String> {
        let schema = self.schema;
        let room = self.room;
        let leaves = self.leaves.entry(ty);
        let leaves = leaves.or_insert_with(|| DefaultSelection::of(schema, ty, 1, room).text());
        let leaves = format!(" {leaves}");
        self.push(&leaves)
    }

    fn known(&self, ty: &str, name: &str) -> Result<&'a SchemaField, String> {
        self.schema.field(ty, name).ok_or_else(|| {
            let known = self.schema.fields(ty).unwrap_or_default();
            let known = known.iter().map(|field| field.name.as_str());
            format!("{ty} has no field `{name}`{}", instead(name, known))
        })
    }

    /// The type that a fragment's condition names.
    fn condition(&self, on: &str) -> Result<&'a str, String> {
        let known = self.schema.types.get_key_value(on);
        let known = known.filter(|_| is_name(on) && self.schema.is_composite(on));
        known.map(|(name, _)| name.as_str()).ok_or_else(|| {
            let types = self.schema.types.keys().map(String::as_str);
            format!("there is no type {on:?}{}", instead(on, types))
        })
    }

    fn is_composite(&self, field: &SchemaField) -> bool {
        self.schema.is_composite(field.ty.name())
    }

    fn wants_fields(&self, field: &SchemaField) -> String {
        let name = &field.name;
        let ty = field.ty.name();
        let leaves = self.example(ty);
        format!("`{name}` is a {ty}: select fields of it, such as {name} {leaves}")
    }

    fn empty(&self, ty: &str) -> String {
        let leaves = self.example(ty);
        format!("no field of {ty} is selected: write, for example, {leaves}")
    }

    fn example(&self, ty: &str) -> String {
        let room = ToolBudget {
            leaves: MAX_EXAMPLE_LEAVES,
            ..*self.room
        };
        DefaultSelection::of(self.schema, ty, 1, &room).text()
    }
}

fn too_long(what: &str) -> String {
    format!(
        "{what} is longer than {MAX_SELECTION_BYTES} bytes (max_selection_bytes); select less at once, in several calls"
    )
}

fn argument_of<'b>(field: &'b SchemaField, name: &str) -> Result<&'b SchemaArgument, String> {
    let mut arguments = field.arguments.iter();
    let found = arguments.find(|argument| argument.name == name);
    found.ok_or_else(|| {
        let known = field.arguments.iter();
        let known = known.map(|argument| argument.name.as_str());
        format!(
            "`{}` takes no argument `{name}`{}",
            field.name,
            instead(name, known)
        )
    })
}

fn has_no_variables(directives: &ast::DirectiveList) -> Result<(), String> {
    let mut arguments = directives.iter().flat_map(|one| &one.arguments);
    if arguments.any(|argument| has_variable(&argument.value)) {
        Err(no_variables())
    } else {
        Ok(())
    }
}

fn has_variable(value: &ast::Value) -> bool {
    !value_literal::variables_in(value).is_empty()
}

fn no_variables() -> String {
    "variables are not supported here: write the values, or use `graphql`".into()
}

fn has_no_fields(field: &SchemaField) -> String {
    format!(
        "`{}` is a {}, which has no fields",
        field.name,
        field.ty.name()
    )
}
