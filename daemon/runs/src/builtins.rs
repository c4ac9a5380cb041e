//! Built-in functions of `mux` that the daemon itself answers, such as `mux.read`.
//!
//! Invariant: each function counts toward the run's call limit, and none calls a tool.

mod discovery;
mod read_value;
mod resources_and_prompts;

use mux_wire::{Fault, FaultKind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

#[cfg(test)]
pub(super) use self::read_value::read;
use super::run_context::RunContext;
use mux_text::{did_you_mean::nearest, json_depth};

/// Names of built-in functions, without `mux.`.
const DAEMON_FUNCTIONS: &[&str] = &[
    "catalog.namespaces",
    "catalog.tools",
    "describe",
    "discover",
    "read",
    "search",
];

/// True if a function's answer is a server's, so that a resumed run must not ask for it again.
pub(super) fn asks_servers(name: &str) -> bool {
    ["resources.read", "prompts.get"].contains(&name)
}

/// Returns the result as JSON. `arguments` is the JSON object that the guest side of the bridge built.
pub(super) async fn call_builtin(
    name: &str,
    arguments: &str,
    context: &RunContext,
) -> Result<String, Fault> {
    let path = || format!("mux.{name}");
    json_depth::check(arguments, "the argument").map_err(|fault| fault.path(path()))?;
    // Faults of these functions have the path of their server.
    if let Some(answer) = resources_and_prompts::call(name, arguments, context).await {
        return answer.map_err(|fault| match fault.path {
            Some(_) => fault,
            None => fault.path(path()),
        });
    }
    let answer = match name {
        "read" => read_value::read(arguments, &context.handles).await,
        "search" => discovery::search_tools(arguments, context).await,
        "describe" => discovery::describe_tools(arguments, context).await,
        "discover" => discovery::discover_tools(arguments, context).await,
        "catalog.namespaces" => discovery::list_namespaces(arguments, context),
        "catalog.tools" => discovery::list_catalog_tools(arguments, context).await,
        _ => return Err(unknown_builtin_fault(name)),
    };
    answer.map_err(|fault| fault.path(path()))
}

/// Parses the arguments of a function. The fault has `usage` as its hint.
fn parse_arguments<T: DeserializeOwned>(
    name: &str,
    arguments: &str,
    usage: &str,
) -> Result<T, Fault> {
    serde_json::from_str(arguments)
        .and_then(|object: Map<String, Value>| T::deserialize(Value::Object(object)))
        .map_err(|error| {
            let message = format!("the arguments of mux.{name} are not valid: {error}");
            Fault::new(FaultKind::Validation, message).hint(usage)
        })
}

fn unknown_builtin_fault(name: &str) -> Fault {
    let shown: String = name.chars().take(80).collect();
    let fault = Fault::new(
        FaultKind::NotFound,
        format!("there is no function `mux.{shown}`"),
    );
    let names = || {
        DAEMON_FUNCTIONS
            .iter()
            .chain(resources_and_prompts::RESOURCE_AND_PROMPT_NAMES)
            .copied()
    };
    fault.hint(match nearest(&shown, names()) {
        Some(near) => format!("did you mean mux.{near}?"),
        None => format!(
            "mux has {}, and one object for each server",
            names().collect::<Vec<_>>().join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_builtin_suggests_existing_names() {
        let fault = unknown_builtin_fault("raed");
        assert_eq!(fault.hint.as_deref(), Some("did you mean mux.read?"));
        let fault = unknown_builtin_fault("catalog.namespace");
        let hint = fault.hint.unwrap();
        assert_eq!(hint, "did you mean mux.catalog.namespaces?");
        assert!(
            unknown_builtin_fault("frobnicate")
                .hint
                .unwrap()
                .contains("search")
        );
    }
}
