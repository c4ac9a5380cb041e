//! Values by chance, given to everything that reads what a stranger wrote: the frames of workers and of
//! clients, programs and what they are given, the configuration, the schemas of servers.
//!
//! Short here, and the same every time; `scripts/fuzz` looks for as long as one likes. A value that
//! failed is kept in `tests/data/proptest-regressions` and tried first from then on.
//!
//! Invariant: a property says what must hold for every value, not only that nothing panics.

mod clients;
mod configs;
mod expressions;
mod frames;
mod json;
mod programs;
mod schemas;
mod speech;
mod values;
mod workers;
