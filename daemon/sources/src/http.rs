//! One request to an API, and its answer.
//!
//! A [`Request`] is data: what a function's arguments became. An [`Api`] sends it: it adds the entry's headers and
//! the credentials (`credentials`, `token`), keeps to the entry's rate (`rate`), tries again what the API has not
//! taken (`sending`, `again`), and makes MCP's result of the answer (`reply`, `result`, `reason`). `pages` joins several.
//! What is the entry's and not its description's is `lasting`.
//!
//! Invariant: a request goes out at most once unless it was not sent, or the API says that it has not taken it; and
//! whatever is told of it holds no credential.

mod again;
mod api;
mod body;
mod credentials;
mod lasting;
mod link;
mod mask;
pub(super) mod origins;
mod pages;
mod rate;
mod reason;
mod reply;
mod result;
mod sending;
mod steps;
#[cfg(test)]
mod tests;
mod token;

use reqwest::Method;
use serde_json::Value;

pub(super) use self::{
    api::{Api, MakeClient},
    lasting::Lasting,
    mask::Mask,
    origins::Origins,
    pages::{MOST_PAGES, Paged, Paging, Size},
    reply::Reply,
    steps::has_steps,
};

/// What a function's arguments became. Everything is written as it goes over the wire, but for the security.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Appended to the base address; its parts are encoded already.
    pub(super) path: String,
    /// Names and values are encoded already.
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) cookies: Vec<(String, String)>,
    pub(super) body: Option<Body>,
    /// Any one of these will do; each is what it takes at once. Empty: nothing is needed.
    pub(super) security: Vec<Vec<String>>,
    /// A second one does what one does: it may be sent again where the API has not taken it.
    pub(super) safe: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Json(Value),
    /// Names and values are encoded already.
    Form(Vec<(String, String)>),
    Multipart(Vec<FormPart>),
    Bytes {
        media: String,
        bytes: Vec<u8>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct FormPart {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) media: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// How a credential is shown to the API, as the description says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Scheme {
    Header(String),
    Query(String),
    Cookie(String),
    Basic,
    Bearer,
    /// A token that was fetched with client id and secret, given as [`mux_settings::Credential::Basic`]; or any
    /// token, given as text.
    ClientCredentials {
        token_url: String,
        scopes: Vec<String>,
    },
}

/// The credentials of an entry, in every spelling in which they go out.
pub fn secrets_of(source: &mux_settings::Source) -> mux_secrets::KnownSecrets {
    let address = source.base_url.as_deref().unwrap_or_default();
    mask::credentials(source, address)
}
