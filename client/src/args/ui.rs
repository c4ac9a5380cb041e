//! Arguments of `mux ui`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct UiArgs {
    /// The port of 127.0.0.1 to listen on [default: a free one]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Print the address, and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// The program that opens the address
    #[arg(long, value_name = "PROGRAM", conflicts_with = "no_open")]
    pub(crate) browser: Option<PathBuf>,
}
