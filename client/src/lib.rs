//! Talks to `muxd`: connects to the one that runs, or starts it.
//!
//! ```no_run
//! # async fn f() -> Result<(), mux_client::ConnectError> {
//! use mux_proto::endpoint::Dirs;
//! let dirs = Dirs::resolve(None)?;
//! let me = mux_client::Identity::new("my-editor", "1.0");
//! let session = mux_client::connect_or_spawn(&dirs, None, &me).await?;
//! let status = session.client.status(mux_client::within_seconds(5)).await;
//! # Ok(()) }
//! ```

mod connect;
mod ending;
mod error;
mod run;
mod spawn;

pub use connect::{Identity, Session, connect, connect_or_spawn, within_seconds};
pub use ending::{ended, holder};
pub use error::ConnectError;
pub use run::{Finished, lost, run};
