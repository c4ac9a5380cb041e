//! `mux sources` with all that it does.

use clap::{Args as ClapArgs, Subcommand};

use super::{ChangeServer, servers::pair};

#[derive(Debug, ClapArgs)]
pub(crate) struct Sources {
    #[command(subcommand)]
    pub(crate) command: Option<SourcesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SourcesCommand {
    /// List them (the default)
    #[command(after_help = "Example: mux sources list --json")]
    List,
    /// Write a source into config.toml, and say what it offers
    #[command(
        after_help = "Secrets go into the file `env` beside it. ${NAME} is a variable, ${cmd:…} what a command tells.\n\
        Examples:\n  mux sources add petstore --openapi petstore.json --base-url http://localhost:8080/v1\n  \
        mux sources add github --openapi https://example.com/github.json --header 'Authorization=Bearer ${GITHUB_TOKEN}' --rate 5000/h\n  \
        mux sources add shop --graphql https://shop.example/graphql --auth 'bearer=${cmd:pass shop}'"
    )]
    Add(Box<AddSource>),
    /// Take a source out of config.toml
    #[command(after_help = "Example: mux sources remove petstore")]
    Remove(ChangeServer),
    /// Look at a source's description now, and say what has changed
    #[command(after_help = "Example: mux sources refresh petstore")]
    Refresh { source: String },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AddSource {
    /// What programs call it: mux.NAME
    pub(crate) name: String,
    /// An OpenAPI description, 3.0 or 3.1, JSON or YAML
    #[arg(long, value_name = "FILE|URL", required_unless_present = "graphql")]
    pub(crate) openapi: Option<String>,
    /// The address of a GraphQL endpoint
    #[arg(long, value_name = "URL", conflicts_with_all = ["openapi", "base_url", "origins", "scopes"])]
    pub(crate) graphql: Option<String>,
    /// Its schema, where the endpoint does not tell it: SDL, or the answer to an introspection
    #[arg(long, value_name = "FILE|URL", requires = "graphql")]
    pub(crate) schema: Option<String>,
    /// Call its operations here, and not where the description says
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Let credentials go here, too, as with functions that are called elsewhere; may stand several times
    #[arg(long = "origin", value_name = "https://HOST")]
    pub(crate) origins: Vec<String>,
    /// Give this key or token for a security scheme; may stand several times
    #[arg(long = "auth", value_name = "SCHEME=VALUE", value_parser = pair)]
    pub(crate) auth: Vec<(String, String)>,
    /// Give a user's name and password, or a client's id and secret, for a security scheme
    #[arg(long = "login", value_name = "SCHEME=USER:PASSWORD", value_parser = login)]
    pub(crate) logins: Vec<(String, String, String)>,
    /// Fetch tokens for this scope, and not for all that operations name; may stand several times
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Send this header with each request; may stand several times
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) headers: Vec<(String, String)>,
    /// Send no more requests than these in a time, such as 10/s or 5000/h
    #[arg(long, value_name = "COUNT/UNIT")]
    pub(crate) rate: Option<String>,
    /// Write over the entry of this name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn login(text: &str) -> Result<(String, String, String), String> {
    // It is not repeated: it holds a password.
    let wrong = || "it must be SCHEME=USER:PASSWORD".to_owned();
    let (scheme, pair) = text.split_once('=').ok_or_else(wrong)?;
    let (user, password) = pair.split_once(':').ok_or_else(wrong)?;
    match scheme.is_empty() || user.is_empty() {
        true => Err(wrong()),
        false => Ok((scheme.into(), user.into(), password.into())),
    }
}
