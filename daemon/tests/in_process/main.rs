//! Sessions, policy, approvals, runs and lists of a daemon inside this process: clients and servers are at the other ends
//! of streams in memory, and no process is started. Tests that need processes are in `tests/it`.

mod approvals;
mod client;
mod eras;
mod faults;
mod home;
mod offers;
mod pins;
mod policy;
mod programs;
mod result_secrets;
mod sharing;
mod types;
