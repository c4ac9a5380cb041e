//! `mux mcp` as strangers' programs have it: suites, tools and SDKs that were not written for muxd.
//!
//! Invariant: behind it stands `mux-conformance-server`, as the server `conf`.

mod conformance;
mod home;
mod inspector;
mod sdks;

pub(crate) use self::home::program;
