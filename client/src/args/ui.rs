//! Arguments of `mux ui`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct UiArgs {
    /// The port on 127.0.0.1 to listen on [default: any free port]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Print the address without opening a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Open the address with this program
    #[arg(long, value_name = "PROGRAM", conflicts_with = "no_open")]
    pub(crate) browser: Option<PathBuf>,
}
