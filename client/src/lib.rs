//! Talks to `muxd`: connects to the one that runs, or starts it.
//!
//! ```no_run
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! use mux_proto::{RunRequest, endpoint::Dirs};
//! let dirs = Dirs::resolve(None)?;
//! let me = mux_client::Identity::new("my-editor", "1.0");
//! let session = mux_client::connect_or_spawn(&dirs, None, &me).await?;
//! let request = RunRequest { source: "return 1 + 1".into(), ..RunRequest::default() };
//! let finished = mux_client::run(&session, request, |event| drop(event)).await?;
//! # Ok(()) }
//! ```
//!
//! Most methods of the daemon are asked on [`Session::client`] itself. What takes more than one
//! request has a function here: [`run`] and its halves [`start`] and [`watch`], and [`Pages`].
//! Invariant: a method that the daemon did not list when it was greeted is never called, because it
//! would end the connection; see [`Session::require`].

mod connect;
mod ending;
mod error;
mod listed;
mod pages;
mod run;
mod spawn;

pub use connect::{Identity, Session, connect, connect_or_spawn, within_seconds};
pub use ending::{StartsHeld, ended, hold_starts, holder};
pub use error::{ConnectError, lost};
pub use pages::Pages;
pub use run::{Finished, run, start, watch};
pub use spawn::beside_us as daemon_program;
