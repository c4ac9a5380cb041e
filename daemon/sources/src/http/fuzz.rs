//! Random input for the readers of responses.

mod bodies;
