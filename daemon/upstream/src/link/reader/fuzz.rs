//! Random input for the reader of messages.

mod messages;
