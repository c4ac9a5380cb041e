//! A program as a journal keeps it: the text, its input, and who started it.
//!
//! The other two shapes of a program are the message of a client (`mux_proto`) and the frame to a worker
//! (`mux_wire`).

use std::{sync::Arc, time::Duration};

use mux_caller::ClientOrigin;
use mux_messages::Language;
use serde::{Deserialize, Serialize};

/// A program with everything that is needed to run it again.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Program {
    pub source: Arc<str>,
    pub language: Language,
    /// The client's name for the program.
    pub name: Option<Arc<str>>,
    /// The first line that run lists show.
    pub title: String,
    /// `mux.input` as JSON.
    pub input: Arc<str>,
    /// The time limit.
    pub wall: Duration,
    pub origin: Arc<ClientOrigin>,
}
