//! The whole of muxd from outside, as its users have it. One binary, one module a subject.

mod agents;
mod check;
mod commands;
mod config;
mod discovery;
mod faults;
mod fuzz;
mod guest;
mod hostile;
mod hostile_servers;
mod lifecycle;
mod mcp;
mod oauth;
mod offers;
mod once;
mod orphans;
mod pins;
mod pool;
mod protocol;
mod real;
mod runs;
mod smoke;
mod snapshots;
mod soak;
mod strangers;
mod types;
