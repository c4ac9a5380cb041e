//! Members of arguments that are sent under their own names: the members of an object with `explode` in a query, a
//! form, a cookie or a path.
//!
//! The caller chooses these names, so a member could replace another argument, of a fixed argument or of a credential.
//!
//! Invariant: an argument gives a value only under names that no other argument and no credential has, however
//! leniently the server compares names.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::{
    operation::OpenApiOperation,
    operation_body::{BodyArguments, BodyKind},
    operation_request::ArgumentError,
    parameter_style::{ParameterEncoding, ParameterLocation},
    parameters::ParameterFormat,
};
use mux_text::loose_name::fold;

/// How many times percent signs of a name are decoded.
const MAX_NAME_DECODINGS: usize = 3;

/// An argument with the names and values of its members as sent.
struct ExplodedArgument<'a> {
    /// The name of the argument.
    argument: &'a str,
    members: Vec<(String, &'a Value)>,
}

/// Fails if a member would be sent under the name of another argument or of a credential.
pub(super) fn check_exploded_members(
    operation: &OpenApiOperation,
    arguments: &Map<String, Value>,
) -> Result<(), ArgumentError> {
    let exploded = exploded_arguments(operation, arguments);
    if exploded.is_empty() {
        return Ok(());
    }
    let taken = taken_names(operation, arguments);
    for ExplodedArgument { argument, members } in exploded {
        for (member, _) in members {
            let owners = name_readings(&member);
            let mut owners = owners.iter().filter_map(|name| taken.get(name)).flatten();
            if let Some(owner) = owners.find(|owner| **owner != NameOwner::Argument(argument)) {
                return Err(match owner {
                    NameOwner::Argument(other) => ArgumentError::TakesArgument {
                        argument: argument.to_owned(),
                        member,
                        other: (*other).to_owned(),
                    },
                    NameOwner::Credential => ArgumentError::TakesCredential {
                        argument: argument.to_owned(),
                        member,
                    },
                });
            }
        }
    }
    Ok(())
}

/// The arguments that exploded members become, as objects: several members with one name are in several objects,
/// because none may hide another from a rule.
pub(super) fn members_as_arguments(
    operation: &OpenApiOperation,
    arguments: &Map<String, Value>,
) -> Vec<Map<String, Value>> {
    let mut objects: Vec<Map<String, Value>> = Vec::new();
    let mut occurrences = HashMap::<String, usize>::new();
    for exploded in exploded_arguments(operation, arguments) {
        for (name, value) in exploded.members {
            for reading in plain_readings(&name) {
                let occurrence = occurrences.entry(reading.clone()).or_default();
                if *occurrence == objects.len() {
                    objects.push(Map::new());
                }
                objects[*occurrence].insert(reading, value.clone());
                *occurrence += 1;
            }
        }
    }
    objects
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum NameOwner<'a> {
    Argument(&'a str),
    Credential,
}

/// The names under which other values are sent, folded, with their owners.
fn taken_names<'a>(
    operation: &'a OpenApiOperation,
    arguments: &'a Map<String, Value>,
) -> HashMap<String, Vec<NameOwner<'a>>> {
    let mut taken = HashMap::<String, Vec<NameOwner<'_>>>::new();
    let mut take = |name: &str, owner| taken.entry(folded(name)).or_default().push(owner);
    for parameter in &operation.parameters {
        // No server mistakes a header for a query.
        if parameter.location != ParameterLocation::Header {
            take(&parameter.name, NameOwner::Argument(&parameter.argument));
        }
    }
    let is_parameter = |name: &str| {
        let mut parameters = operation.parameters.iter();
        parameters.any(|parameter| parameter.argument == name)
    };
    for name in arguments.keys().filter(|name| !is_parameter(name)) {
        take(name, NameOwner::Argument(name));
    }
    if let Some(body) = &operation.body
        && let BodyArguments::Whole(name) = &body.given
        && let Some(Value::Object(members)) = arguments.get(name)
    {
        for member in members.keys() {
            take(member, NameOwner::Argument(member));
        }
    }
    let template = operation.path.split('#').next().unwrap_or_default();
    let query = template.split_once('?').map_or("", |(_, query)| query);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        take(name, NameOwner::Argument(name));
    }
    for name in operation.credential_names.iter() {
        take(name, NameOwner::Credential);
    }
    taken
}

fn exploded_arguments<'a>(
    operation: &'a OpenApiOperation,
    arguments: &'a Map<String, Value>,
) -> Vec<ExplodedArgument<'a>> {
    let mut exploded = Vec::new();
    let mut add = |argument: &'a str, name: &str, encoding: ParameterEncoding, value: &'a Value| {
        let members = encoding.exploded_members(name, value);
        if !members.is_empty() {
            exploded.push(ExplodedArgument { argument, members });
        }
    };
    for parameter in &operation.parameters {
        if let ParameterFormat::Styled(encoding) = &parameter.written
            && parameter.location != ParameterLocation::Header
            && let Some(value) = arguments.get(&parameter.argument)
        {
            add(&parameter.argument, &parameter.name, *encoding, value);
        }
    }
    if let Some(body) = &operation.body
        && let BodyKind::Form(encodings) = &body.kind
    {
        let members = match &body.given {
            BodyArguments::Members => Some(arguments),
            BodyArguments::Whole(name) => arguments.get(name).and_then(Value::as_object),
        };
        let is_parameter = |name: &str| {
            let mut parameters = operation.parameters.iter();
            body.given == BodyArguments::Members
                && parameters.any(|parameter| parameter.argument == name)
        };
        let members = members.into_iter().flatten();
        for (name, value) in members.filter(|(name, _)| !is_parameter(name)) {
            if let Some(encoding) = encodings.get(name) {
                add(name, name, *encoding, value);
            }
        }
    }
    exploded
}

/// A name, decoded, and without the part after a bracket, at which servers begin to read a list or an object.
fn plain_readings(name: &str) -> Vec<String> {
    let mut readings: Vec<String> = Vec::new();
    let mut decoded = name.to_owned();
    for _ in 0..=MAX_NAME_DECODINGS {
        let root = decoded.split(['[', '\0']).next().unwrap_or_default();
        for reading in [decoded.as_str(), root] {
            if !reading.is_empty() && !readings.iter().any(|known| known == reading) {
                readings.push(reading.to_owned());
            }
        }
        let next = percent_decode_str(&decoded)
            .decode_utf8_lossy()
            .into_owned();
        if next == decoded {
            break;
        }
        decoded = next;
    }
    readings
}

fn name_readings(name: &str) -> Vec<String> {
    let readings = plain_readings(name);
    readings.iter().map(|name| folded(name)).collect()
}

/// A name without case and separators, but with the brackets of lists and objects: `ids[]` is `ids`. A part without
/// letters and digits is compared unchanged.
fn folded(name: &str) -> String {
    let parts = name.trim_end_matches("[]").split('[');
    let parts = parts.map(|part| match fold(part) {
        folded if folded.is_empty() => part.to_owned(),
        folded => folded,
    });
    parts.collect::<Vec<_>>().join("[")
}
