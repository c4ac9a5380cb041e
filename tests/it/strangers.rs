//! `mux mcp` with third-party programs: the conformance suite, the Inspector and SDKs.
//!
//! Invariant: the server behind it is `mux-conformance-server`, configured as `conf`.

mod conformance;
mod home;
mod inspector;
mod sdks;

pub(crate) use self::home::program;
