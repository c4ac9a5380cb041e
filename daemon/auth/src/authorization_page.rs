//! Checks the page to which an authorization request leads.
//!
//! An issuer that does not know a client or a parameter shows an error page and must not redirect (RFC 6749, 4.1.2.1), so
//! muxd would wait for its answer in vain. Only a certain answer counts: a page that needs a browser, such as a page
//! behind a bot check, is left to the browser.
//!
//! Invariant: the request has another `state` and another challenge than the browser's, so its answer cannot complete a
//! login.

use std::time::Duration;

use mux_secrets::Secret;
use reqwest::header::WWW_AUTHENTICATE;
use tokio::time::timeout;
use url::Url;

use super::{
    auth_server_client::AuthServerClient,
    authorization_request::{random_text, same_but},
};
use mux_http::{
    address_policy::url_without_secrets,
    issuer_words::{self, IssuerError},
};

/// The time limit for the page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(20);
/// The statuses of a page that refuses the request.
const REFUSING_STATUSES: [u16; 5] = [400, 401, 404, 410, 422];
/// Errors that a user without a session gets, but the user's browser may not get.
const ERRORS_WITHOUT_A_USER: [&str; 7] = [
    "access_denied",
    "account_selection_required",
    "consent_required",
    "interaction_required",
    "login_required",
    "server_error",
    "temporarily_unavailable",
];

/// The issuer's refusal of an authorization request, without the secrets in `hidden`; `None` if the request may be shown
/// to the user. An error says why the page cannot be checked.
pub(super) async fn find_refusal(
    client: &AuthServerClient,
    request: &Url,
    redirect: &str,
    hidden: &[Secret],
) -> Result<Option<IssuerError>, String> {
    let unused = [("state", random_text()), ("code_challenge", random_text())];
    let url = same_but(request, &unused);
    let what = "authorization endpoint";
    // If the request accepts JSON, better-auth answers with JSON instead of a redirect.
    let asked = client.get(what, &url, "text/html, */*;q=0.8");
    let at = url_without_secrets(&url);
    let at = at.split('?').next().unwrap_or_default();
    let response = match timeout(PAGE_TIMEOUT, asked).await {
        Ok(response) => response.map_err(|why| format!("{at}: {why}"))?,
        Err(_) => return Err(format!("{at} did not answer within {PAGE_TIMEOUT:?}")),
    };
    if let Some(target) = response.redirect_target(&url) {
        let is_ours = target.as_str().starts_with(redirect);
        let error = error_in_query(&target, hidden);
        return Ok(error.filter(|_| is_ours || target.origin() == url.origin()));
    }
    if !REFUSING_STATUSES.contains(&response.status.as_u16()) {
        return Ok(None);
    }
    let response = response.without(hidden);
    let members = issuer_words::json_members(&response.body);
    let error = members.as_ref().and_then(issuer_words::error_in);
    if error.is_none() && response.headers.contains_key(WWW_AUTHENTICATE) {
        // A browser can sign in with Kerberos or a password.
        return Ok(None);
    }
    Ok(Some(error.unwrap_or_else(|| {
        issuer_words::error("", Some(&response.describe()))
    })))
}

/// The error in a redirect.
fn error_in_query(url: &Url, hidden: &[Secret]) -> Option<IssuerError> {
    let value = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name)?;
        let hide = |text: String, secret: &Secret| secret.hidden_in(&text);
        let value = hidden.iter().fold(found.1.into_owned(), hide);
        Some(value).filter(|value| !value.is_empty())
    };
    let code = value("error")?;
    let is_certain = !ERRORS_WITHOUT_A_USER.contains(&code.as_str());
    is_certain.then(|| issuer_words::error(&code, value("error_description").as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_of_the_request_are_refusals() {
        let of = |query: &str| {
            let url = Url::parse(&format!("http://127.0.0.1:1/callback?{query}")).unwrap();
            error_in_query(&url, &[]).map(|error| error.words)
        };
        assert_eq!(
            of("error=invalid_scope&error_description=no+such+scope&state=s").as_deref(),
            Some("invalid_scope, no such scope")
        );
        for query in [
            "code=c&state=s",
            "error=login_required",
            "error=",
            "error=access_denied",
        ] {
            assert_eq!(of(query), None, "{query}");
        }
    }
}
