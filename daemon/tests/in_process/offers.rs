//! Resources and prompts of servers, and their notifications and requests during calls, as a client gets them.
//!
//! Invariant: a client gets only messages that its own calls caused, and every server request is answered.

mod asks;
mod clocks;
mod lists;
mod notices;
mod policy;
mod subscriptions;

use crate::home::Home;

/// A home with a fixture server `fix` that has all capabilities. `more` begins with keys of its entry.
fn with_offers(more: &str) -> Home {
    let home = Home::new();
    let fix = home.fixture("fix", &["--offers"]);
    let sampling = "[[policy]]\nmatch = \"fix.sampling/createMessage\"\naction = \"allow\"\n";
    home.write_config(&format!("{sampling}{fix}{more}"));
    home
}
