//! What `mux servers pins` and `mux servers accept` are asked for.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct Pins {
    pub(crate) server: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Accept {
    pub(crate) server: String,
    /// Only these, as the server spells them; otherwise all that changed or came later
    #[arg(value_name = "TOOL")]
    pub(crate) tools: Vec<String>,
    /// Accept what is shown without asking
    #[arg(long)]
    pub(crate) yes: bool,
}
