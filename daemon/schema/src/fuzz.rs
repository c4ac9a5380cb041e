//! Random schemas, and values that they mention.

mod validation;
