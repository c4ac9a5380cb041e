//! Requests to an API, and their responses.
//!
//! An [`ApiRequest`] is data, made from a function's arguments. An [`ApiClient`] sends it with the entry's headers and
//! credentials, within the entry's rate and its allowed origins, retries requests that the API did not accept, and
//! turns the response into an MCP result. [`EntryState`] belongs to the entry, and outlives its description.
//!
//! Invariant: a request is sent again only if it did not leave the daemon, or if the API says that it was not accepted.
//! No text about a request contains a credential.

pub(super) mod allowed_origins;
mod api_client;
mod api_response;
mod body_encoding;
mod call_result;
mod dot_segments;
mod entry_state;
mod error_reason;
#[cfg(test)]
mod fuzz;
mod link_header;
mod next_page;
mod pagination;
mod paging_hints;
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
    api_client::{ApiClient, entry_headers},
    api_response::ApiResponse,
    dot_segments::has_steps,
    entry_state::EntryState,
    pagination::{CountingParameter, CursorParameter, MAX_PAGES, PaginationPlan, choose_list},
    paging_hints::{MAX_HINT_DEPTH, NextKind, PagingHint, hint_of, letters},
    secret_mask::SecretMask,
};

/// A request, made from a function's arguments. Everything is encoded for the wire, except `security`.
#[derive(Clone, Debug)]
pub(super) struct ApiRequest {
    pub(super) method: Method,
    /// Appended to the base URL. Already percent-encoded.
    pub(super) path: String,
    /// Names and values, already percent-encoded.
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) cookies: Vec<(String, String)>,
    pub(super) body: Option<RequestBody>,
    /// Alternatives, each a list of security schemes that are needed together. Empty: no credential is needed.
    pub(super) security: Vec<Vec<String>>,
    /// Set if the request is idempotent and may be retried if the API did not accept it.
    pub(super) safe: bool,
}

#[derive(Clone, Debug)]
pub(super) enum RequestBody {
    Json(Value),
    /// Names and values, already percent-encoded.
    Form(Vec<(String, String)>),
    Multipart(MultipartBody),
    Bytes {
        media: String,
        bytes: Vec<u8>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct MultipartBody {
    /// The media type, without the boundary.
    pub(super) media: String,
    pub(super) parts: Vec<FormPart>,
}

#[derive(Clone, Debug)]
pub(super) struct FormPart {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) media: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// How a credential is sent to the API, as the description says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum SecurityScheme {
    Header(String),
    Query(String),
    Cookie(String),
    Basic,
    Bearer,
    /// A token that is fetched with client ID and secret, given as [`mux_settings::SourceCredential::Basic`], or any
    /// token, given as a string.
    ClientCredentials {
        token_url: String,
        scopes: Vec<String>,
    },
}

/// The credentials of an entry, in every encoding in which they are sent.
pub fn source_secrets(source: &mux_settings::SourceDefinition) -> mux_secrets::KnownSecrets {
    let address = source.base_url.as_deref().unwrap_or_default();
    secret_mask::credentials(source, address)
}
