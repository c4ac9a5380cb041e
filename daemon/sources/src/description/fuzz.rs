//! Random input for the readers of stored and fetched descriptions.

mod descriptions;
