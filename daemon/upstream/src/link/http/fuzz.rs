//! Random input for the reader of event streams.

mod events;
