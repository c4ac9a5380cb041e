//! Random schemas, and values that they speak of.

mod validation;
