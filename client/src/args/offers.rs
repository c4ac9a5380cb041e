//! Arguments of `mux resources` and `mux prompts`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct ResourcesArgs {
    /// List only resources of this server
    pub(crate) server: Option<String>,
    /// Print this resource
    pub(crate) uri: Option<String>,
    /// Write the resource's contents to new files in this directory
    #[arg(long, value_name = "DIR", requires = "uri")]
    pub(crate) save_parts: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PromptsArgs {
    /// List only prompts of this server
    pub(crate) server: Option<String>,
    /// Print the messages of this prompt
    pub(crate) prompt: Option<String>,
    /// The prompt's arguments: KEY=VALUE pairs, or one JSON object, @FILE, or - for standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
}
