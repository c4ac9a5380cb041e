//! Compares muxd with the official SDKs: one fake server, driven from data, that each of them speaks to.
//!
//! Where an SDK lists tools and gets the answer of a call, muxd must do so too.
//!
//! - `case` is one server as data: answers, framing and habits. `messages` has the valid messages of each revision.
//! - `mutation` makes faulty servers from a seed, with `json_tree`, which can represent invalid JSON.
//! - `scripted_server` answers, `framing` makes bytes of the answers, and `http` and `stdio` send them.
//! - `sdks` and `daemon` are the clients, `outcome` is what one of them reached, and `comparison` compares all three.

mod case;
mod comparison;
mod daemon;
mod framing;
mod http;
mod json_tree;
mod messages;
mod mutation;
mod outcome;
mod scripted_server;
mod sdks;
mod stdio;

pub use self::{
    case::{Case, Subject, handwritten},
    comparison::{Comparison, Failure, Figures},
    mutation::mutations,
    stdio::serve_stdio,
};
