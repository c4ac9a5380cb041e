//! Arguments of `mux servers pins` and `mux servers accept`.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct PinsArgs {
    pub(crate) server: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AcceptArgs {
    pub(crate) server: String,
    /// The tools to accept, as the server names them [default: all that are new or changed]
    #[arg(value_name = "TOOL")]
    pub(crate) tools: Vec<String>,
    /// Accept without asking for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}
