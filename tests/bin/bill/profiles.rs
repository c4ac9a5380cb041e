//! How much of the `mux mcp` definitions reaches each agent's model: signatures and tokens.

use mux_tests::{
    Agent, TestEnv,
    real_agents::{Inventory, Profile},
};
use serde_json::{Value, json};

use super::{plain::definitions, table::text_of, tokens::TokenCounter};

/// The arguments of `mux mcp` for an agent that passes every text on whole.
pub(crate) const WHOLE: [&str; 2] = ["--profile", "whole"];

/// Prints one row for each profile.
#[expect(clippy::print_stdout, reason = "this is what it is for")]
pub(crate) fn print(env: &TestEnv, tokens: &TokenCounter) {
    let inventory = Inventory::of(env);
    println!("| agent | signatures that reach the model | tokens of the definitions |");
    println!("|---|---|---|");
    for profile in Profile::all_known() {
        let mut agent = Agent::legacy(env, &["--profile", &profile.name], json!({}));
        let mut tools = definitions(&mut agent);
        for tool in &mut tools {
            cut(tool.get_mut("description"), profile.description_chars);
            let parameters = tool["input_schema"]["properties"].as_object_mut();
            for (_, parameter) in parameters.into_iter().flatten() {
                cut(parameter.get_mut("description"), profile.parameter_chars);
            }
        }
        let shown = inventory.shown_in(&tools[0]);
        println!(
            "| {} | {shown} of {} | {} |",
            profile.title,
            inventory.total(),
            tokens.count(&text_of(&tools))
        );
    }
    println!();
}

/// The part of a text that the agent passes on.
fn cut(text: Option<&mut Value>, chars: Option<usize>) {
    if let (Some(text), Some(chars)) = (text, chars) {
        let units = text.as_str().unwrap_or_default().encode_utf16();
        let units: Vec<u16> = units.take(chars).collect();
        *text = String::from_utf16_lossy(&units).into();
    }
}
