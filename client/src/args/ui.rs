//! What `mux ui` is asked for.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct Ui {
    /// Listen on this port of 127.0.0.1; without it, on a free one
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Print the address, and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// The program that opens addresses
    #[arg(long, value_name = "PROGRAM", conflicts_with = "no_open")]
    pub(crate) browser: Option<PathBuf>,
}
