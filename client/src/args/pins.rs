//! Arguments of `mux servers pins` and `mux servers accept`.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct PinsArgs {
    pub(crate) server: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AcceptArgs {
    pub(crate) server: String,
    /// The tools to accept, by the server's own names [default: all new or changed tools]
    #[arg(value_name = "TOOL")]
    pub(crate) tools: Vec<String>,
    /// Accept without asking for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}
