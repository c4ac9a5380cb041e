//! Servers that die, hang, flap or start late.
//!
//! Invariant: the affected call gets one error that says what is known, no request is sent twice, and everything
//! else continues.

mod calls;
mod retries;
mod starts;
mod timeouts;
