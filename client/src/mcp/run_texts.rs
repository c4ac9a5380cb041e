//! The texts that introduce programs: the description of `run`, the description of its parameter `code`, and the
//! instructions. The inventory is in the one where it arrives whole.
//!
//! Invariants:
//!
//! - No text is longer than the agent's profile passes on, because a text's statements about its completeness must stay
//!   true.
//! - How to write a program, how results come back, and the servers are in the first 2,000 characters of the
//!   description.

use std::fmt::Write as _;

use mux_proto::{Inventory, InventoryRequest};

use super::{
    guide::{INSTRUCTIONS_PURPOSE, INSTRUCTIONS_RULES, RUN_PURPOSE, RUN_RULES},
    profiles::{AgentProfile, InventoryPlace},
};

/// The length of a description that every agent is expected to pass on, in UTF-16 code units.
const HEAD_CHARS: usize = 2_000;
/// The maximum length of the server names in the instructions, and in the first sentence of the description for agents
/// that show only its beginning.
const INSTRUCTIONS_NAMES_CHARS: usize = 110;
const PREVIEW_NAMES_CHARS: usize = 90;
const CODE_DESCRIPTION: &str = "TypeScript, with top-level await and return.";
const TOOLS_HEADING: &str = "Tools (`mux.<path>`):";
const CODE_POINTER: &str = "The description of `code` has their signatures.";

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunTexts {
    /// The description of `run`.
    pub(super) description: String,
    /// The description of its parameter `code`.
    pub(super) code: String,
}

/// The request for an inventory that fits where the profile places it.
pub(super) fn inventory_request(
    profile: &AgentProfile,
    budget_tokens: Option<usize>,
    wait_ms: u64,
) -> InventoryRequest {
    // The separators between the parts have at most 4 characters.
    let around_tools = chars(TOOLS_HEADING) + 4;
    let (before, limit) = match profile.inventory {
        InventoryPlace::Description => (HEAD_CHARS, profile.description_chars),
        InventoryPlace::Code => (chars(CODE_DESCRIPTION), profile.parameter_chars),
    };
    let names_chars = match profile.preview_chars {
        Some(_) => PREVIEW_NAMES_CHARS + 4,
        None => 0,
    };
    let head = chars(RUN_PURPOSE) + names_chars + chars(RUN_RULES) + chars(CODE_POINTER) + 4;
    InventoryRequest {
        budget_tokens,
        max_overview_chars: Some(HEAD_CHARS.saturating_sub(head)),
        max_chars: limit.map(|limit| limit.saturating_sub(before + around_tools)),
        wait_ms,
    }
}

/// The request for only the server names. The daemon answers it without waiting.
pub(super) fn names_request() -> InventoryRequest {
    InventoryRequest {
        budget_tokens: Some(0),
        ..InventoryRequest::default()
    }
}

pub(super) fn run_texts(profile: &AgentProfile, inventory: &Inventory) -> RunTexts {
    let mut description = String::new();
    if profile.preview_chars.is_some() {
        _ = write!(
            description,
            "{}: ",
            names_within(&server_names(inventory), PREVIEW_NAMES_CHARS)
        );
    }
    description.push_str(RUN_PURPOSE);
    description.push_str(RUN_RULES);
    let overview = inventory.overview.trim_end();
    if !overview.is_empty() {
        _ = write!(description, "\n\n{overview}");
    }
    let mut code = CODE_DESCRIPTION.to_owned();
    if !inventory.text.is_empty() {
        let tools = format!("\n\n{TOOLS_HEADING}\n{}", inventory.text.trim_end());
        match profile.inventory {
            InventoryPlace::Description => description.push_str(&tools),
            InventoryPlace::Code => {
                _ = write!(description, "\n{CODE_POINTER}");
                code.push_str(&tools);
            }
        }
    }
    RunTexts { description, code }
}

/// The instructions. `None`: the servers are not known.
pub(super) fn instructions(inventory: Option<&Inventory>) -> String {
    let servers = inventory.map_or_else(String::new, |inventory| {
        let names = names_within(&server_names(inventory), INSTRUCTIONS_NAMES_CHARS);
        format!(" Servers: {names}.")
    });
    format!("{INSTRUCTIONS_PURPOSE}{servers} {INSTRUCTIONS_RULES}")
}

fn server_names(inventory: &Inventory) -> Vec<String> {
    [&inventory.servers[..], &inventory.unknown].concat()
}

/// Server names, as many as fit, and the number of the others.
pub(super) fn names_within(names: &[String], max_chars: usize) -> String {
    if names.is_empty() {
        return "none yet".to_owned();
    }
    let text = |shown: usize| match names.len() - shown {
        0 => names.join(", "),
        1 if shown == 0 => "1 server".to_owned(),
        left if shown == 0 => format!("{left} servers"),
        left => format!("{} and {left} more", names[..shown].join(", ")),
    };
    let fitting = (0..=names.len())
        .rev()
        .find(|shown| chars(&text(*shown)) <= max_chars);
    text(fitting.unwrap_or(0))
}

fn chars(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(servers: usize) -> Inventory {
        Inventory {
            overview: "overview\n".into(),
            text: "COMPLETE: all\n".into(),
            servers: (0..servers).map(|n| format!("server{n}")).collect(),
            unknown: vec!["later".into()],
            ..Inventory::default()
        }
    }

    /// Whatever inventory the daemon returns, the texts fit the profile.
    #[test]
    fn texts_of_the_requested_size_fit_every_profile() {
        for profile in AgentProfile::all() {
            let request = inventory_request(profile, None, 0);
            let overview_chars = request.max_overview_chars.unwrap();
            assert!(overview_chars > 800, "{}: {overview_chars}", profile.name);
            let full = Inventory {
                overview: "o".repeat(overview_chars),
                text: "t".repeat(request.max_chars.unwrap_or(50_000)),
                ..inventory(200)
            };
            let RunTexts { description, code } = run_texts(profile, &full);
            let begins = description.find("oooo").unwrap() + overview_chars;
            assert!(begins <= HEAD_CHARS, "{}: {begins}", profile.name);
            for (text, limit) in [
                (&description, profile.description_chars),
                (&code, profile.parameter_chars),
            ] {
                let limit = limit.unwrap_or(usize::MAX);
                assert!(chars(text) <= limit, "{}: {}", profile.name, chars(text));
            }
            let told = instructions(Some(&full));
            assert!(chars(&told) <= 2_000);
        }
    }

    #[test]
    fn inventory_is_placed_once() {
        for profile in AgentProfile::all() {
            let RunTexts { description, code } = run_texts(profile, &inventory(2));
            let both = format!("{description}{code}");
            assert_eq!(both.matches("COMPLETE").count(), 1, "{}", profile.name);
            let is_in_code = profile.inventory == InventoryPlace::Code;
            assert_eq!(code.contains("COMPLETE"), is_in_code);
            assert_eq!(description.contains(CODE_POINTER), is_in_code);
        }
        let nothing = Inventory::default();
        let texts = run_texts(&AgentProfile::all()[0], &nothing);
        assert_eq!(texts.code, CODE_DESCRIPTION);
        assert!(!texts.description.contains(CODE_POINTER));
    }

    #[test]
    fn servers_are_named_in_the_first_250_characters() {
        let told = instructions(Some(&inventory(3)));
        let end = told.find("server0, server1, server2, later.").unwrap() + 32;
        assert!(end < 250, "{end}: {told}");
        let told = instructions(Some(&inventory(200)));
        let end = told.find(" more.").unwrap();
        assert!(end < 250, "{end}: {told}");
        assert!(instructions(Some(&Inventory::default())).contains("Servers: none yet."));
        assert!(!instructions(None).contains("Servers"));
        let qwen = AgentProfile::find("qwen-code").unwrap();
        let texts = run_texts(qwen, &inventory(2));
        assert!(
            texts
                .description
                .starts_with("server0, server1, later: Runs a TypeScript program")
        );
    }
}
