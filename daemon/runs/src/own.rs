//! Functions of `mux` that the daemon itself answers, such as `mux.read`.
//!
//! Invariant: they are calls in the budget of the run, and none of them calls a tool.

mod discovery;
mod offers;
mod read;

use mux_wire::{Fault, Kind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

#[cfg(test)]
pub(super) use self::read::read;
use super::reach::Reach;
use mux_text::{did_you_mean::nearest, json_depth};

/// Their names, as they stand after `mux.`.
const NAMES: &[&str] = &[
    "catalog.namespaces",
    "catalog.tools",
    "describe",
    "discover",
    "read",
    "search",
];

/// Gives the answer as JSON text. `arguments` is an object, as the guest's side of the bridge made it.
pub(super) async fn call(name: &str, arguments: &str, reach: &Reach) -> Result<String, Fault> {
    let path = || format!("mux.{name}");
    json_depth::check(arguments, "the argument").map_err(|fault| fault.path(path()))?;
    // What goes wrong there has the path of its server.
    if let Some(answer) = offers::call(name, arguments, reach).await {
        return answer.map_err(|fault| match fault.path {
            Some(_) => fault,
            None => fault.path(path()),
        });
    }
    let answer = match name {
        "read" => read::read(arguments, &reach.handles).await,
        "search" => discovery::search(arguments, reach).await,
        "describe" => discovery::describe(arguments, reach).await,
        "discover" => discovery::discover(arguments, reach).await,
        "catalog.namespaces" => discovery::namespaces(arguments, reach),
        "catalog.tools" => discovery::tools(arguments, reach).await,
        _ => return Err(unknown(name)),
    };
    answer.map_err(|fault| fault.path(path()))
}

/// What a function is given, or how it is called.
fn given<T: DeserializeOwned>(name: &str, arguments: &str, usage: &str) -> Result<T, Fault> {
    serde_json::from_str(arguments)
        .and_then(|object: Map<String, Value>| T::deserialize(Value::Object(object)))
        .map_err(|error| {
            let message = format!("mux.{name} does not take this: {error}");
            Fault::new(Kind::Validation, message).hint(usage)
        })
}

fn unknown(name: &str) -> Fault {
    let shown: String = name.chars().take(80).collect();
    let fault = Fault::new(
        Kind::NotFound,
        format!("there is no function `mux.{shown}`"),
    );
    let names = || NAMES.iter().chain(offers::NAMES).copied();
    fault.hint(match nearest(&shown, names()) {
        Some(near) => format!("did you mean mux.{near}?"),
        None => format!(
            "there are {}, and one object for each server",
            names().collect::<Vec<_>>().join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_is_none_names_those_that_are() {
        let fault = unknown("raed");
        assert_eq!(fault.hint.as_deref(), Some("did you mean mux.read?"));
        let fault = unknown("catalog.namespace");
        let hint = fault.hint.unwrap();
        assert_eq!(hint, "did you mean mux.catalog.namespaces?");
        assert!(unknown("frobnicate").hint.unwrap().contains("search"));
    }
}
