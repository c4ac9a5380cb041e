//! Arguments of `mux sources`.

use clap::{Args as ClapArgs, Subcommand};

use super::{ServerChangeArgs, servers::parse_pair};

#[derive(Debug, ClapArgs)]
pub(crate) struct SourcesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SourcesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SourcesCommand {
    /// List the configured sources (the default)
    #[command(after_help = "Example: mux sources list --json")]
    List,
    /// Add a source to config.toml and print its functions
    #[command(
        after_help = "Stores secrets in the file `env` next to it. ${NAME} is a variable, ${cmd:…} a command's output.\n\
        Examples:\n  mux sources add petstore --openapi petstore.json --base-url http://localhost:8080/v1\n  \
        mux sources add github --openapi https://example.com/github.json --header 'Authorization=Bearer ${GITHUB_TOKEN}' --rate 5000/h\n  \
        mux sources add shop --graphql https://shop.example/graphql --auth 'bearer=${cmd:pass shop}'"
    )]
    Add(Box<SourceAddArgs>),
    /// Remove a source from config.toml
    #[command(after_help = "Example: mux sources remove petstore")]
    Remove(ServerChangeArgs),
    /// Fetch a source's description now and print what has changed
    #[command(after_help = "Example: mux sources refresh petstore")]
    Refresh { source: String },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SourceAddArgs {
    /// The name in programs: mux.NAME
    pub(crate) name: String,
    /// An OpenAPI description, 3.0 or 3.1, JSON or YAML
    #[arg(long, value_name = "FILE|URL", required_unless_present = "graphql")]
    pub(crate) openapi: Option<String>,
    /// The URL of a GraphQL endpoint
    #[arg(long, value_name = "URL", conflicts_with_all = ["openapi", "base_url", "origins", "scopes"])]
    pub(crate) graphql: Option<String>,
    /// The schema of an endpoint without introspection: SDL, or an introspection result
    #[arg(long, value_name = "FILE|URL", requires = "graphql")]
    pub(crate) schema: Option<String>,
    /// The base URL of the operations, replacing the description's
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Also allow sending credentials to this origin; can be repeated
    #[arg(long = "origin", value_name = "https://HOST")]
    pub(crate) origins: Vec<String>,
    /// The key or token for a security scheme; can be repeated
    #[arg(long = "auth", value_name = "SCHEME=VALUE", value_parser = parse_pair)]
    pub(crate) auth: Vec<(String, String)>,
    /// The user name and password, or client id and secret, for a security scheme
    #[arg(long = "login", value_name = "SCHEME=USER:PASSWORD", value_parser = parse_login)]
    pub(crate) logins: Vec<(String, String, String)>,
    /// Request tokens for this scope instead of every scope that operations name; can be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Send this header with each request; can be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) headers: Vec<(String, String)>,
    /// The maximum request rate, such as 10/s or 5000/h
    #[arg(long, value_name = "COUNT/UNIT")]
    pub(crate) rate: Option<String>,
    /// Overwrite an existing entry with this name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show what would change without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn parse_login(text: &str) -> Result<(String, String, String), String> {
    // The text is not quoted in the message: it contains a password.
    let wrong = || "it must be SCHEME=USER:PASSWORD".to_owned();
    let (scheme, pair) = text.split_once('=').ok_or_else(wrong)?;
    let (user, password) = pair.split_once(':').ok_or_else(wrong)?;
    if scheme.is_empty() || user.is_empty() {
        Err(wrong())
    } else {
        Ok((scheme.into(), user.into(), password.into()))
    }
}
