//! Servers of both eras of MCP: legacy (2025-11-25) and modern (2026-07-28). Clients cannot tell them apart.
//!
//! Invariant: calls that work with a server of one era also work with a server of the other.

mod back_channel;
mod changes;
mod greetings;
mod questions;
mod tasks;

use crate::home::Home;

const LEGACY: &str = "legacy";
const MODERN: &str = "modern";
const BOTH: [&str; 2] = [LEGACY, MODERN];

/// A home with a fixture server `fix` of this era.
fn home_of(era: &str, more: &[&str]) -> Home {
    let home = Home::new();
    let mut flags = vec!["--offers", "--era", era];
    flags.extend(more);
    let sampling = "[[policy]]\nmatch = \"fix.sampling/createMessage\"\naction = \"allow\"\n";
    home.write_config(&format!("{sampling}{}", home.fixture("fix", &flags)));
    home
}
