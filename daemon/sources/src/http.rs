//! One request to an API, and its answer.
//!
//! A [`ApiRequest`] is data: what a function's arguments became. An [`ApiClient`] sends it: it adds the entry's headers and
//! the credentials (`credentials`, `token`), keeps to the entry's rate (`rate`), tries again what the API has not
//! taken (`sending`, `again`), and makes MCP's result of the answer (`reply`, `result`, `reason`). `pages` joins several.
//! What is the entry's and not its description's is `lasting`.
//!
//! Invariant: a request goes out at most once unless it was not sent, or the API says that it has not taken it; and
//! whatever is told of it holds no credential.

pub(super) mod allowed_origins;
mod api_client;
mod api_response;
mod body_encoding;
mod call_result;
mod dot_segments;
mod entry_state;
mod error_reason;
mod link_header;
mod pagination;
mod request_credentials;
mod retry_policy;
mod secret_mask;
mod send_request;
mod source_rate_limiter;
#[cfg(test)]
mod tests;
mod token_fetcher;

use reqwest::Method;
use serde_json::Value;

pub(super) use self::{
    allowed_origins::AllowedOrigins,
    api_client::{ApiClient, HttpClientFactory},
    api_response::ApiResponse,
    dot_segments::has_steps,
    entry_state::EntryState,
    pagination::{MAX_PAGES, PageSize, PaginationPlan, PaginationStyle},
    secret_mask::SecretMask,
};

/// What a function's arguments became. Everything is written as it goes over the wire, but for the security.
#[derive(Clone, Debug)]
pub(super) struct ApiRequest {
    pub(super) method: Method,
    /// Appended to the base address; its parts are encoded already.
    pub(super) path: String,
    /// Names and values are encoded already.
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) cookies: Vec<(String, String)>,
    pub(super) body: Option<RequestBody>,
    /// Any one of these will do; each is what it takes at once. Empty: nothing is needed.
    pub(super) security: Vec<Vec<String>>,
    /// A second one does what one does: it may be sent again where the API has not taken it.
    pub(super) safe: bool,
}

#[derive(Clone, Debug)]
pub(super) enum RequestBody {
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
pub(super) enum SecurityScheme {
    Header(String),
    Query(String),
    Cookie(String),
    Basic,
    Bearer,
    /// A token that was fetched with client id and secret, given as [`mux_settings::SourceCredential::Basic`]; or any
    /// token, given as text.
    ClientCredentials {
        token_url: String,
        scopes: Vec<String>,
    },
}

/// The credentials of an entry, in every spelling in which they go out.
pub fn source_secrets(source: &mux_settings::SourceDefinition) -> mux_secrets::KnownSecrets {
    let address = source.base_url.as_deref().unwrap_or_default();
    secret_mask::credentials(source, address)
}
