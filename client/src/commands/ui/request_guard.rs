//! Authorization of requests, and the security headers of responses.
//!
//! Pages of other sites in the same browser can send requests here, and so can other programs and users of the machine.
//! Invariant: everything except the page's files needs the token, and requests for another host name are rejected, as
//! sent after DNS rebinding.

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::access_token::AccessSecret;

/// The path prefix that requires the token.
const API_PREFIX: &str = "/api/";
/// The path that exchanges a one-time code for the token.
pub(super) const ENTER_PATH: &str = "/api/enter";

/// Allows only the page's own scripts and no other origins, and forbids framing and setting HTML from strings.
const CSP_HEADER_VALUE: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

const SECURITY_HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, CSP_HEADER_VALUE),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=()",
    ),
];

pub(super) struct RequestAuthorizer {
    /// The accepted `Host` headers.
    hosts: Vec<String>,
    token: AccessSecret,
}

/// Why a request is rejected.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum RequestRefusal {
    #[error("this server is only available at 127.0.0.1 and its port")]
    Host,
    #[error("this request comes from another site")]
    Site,
    #[error("the token is missing, or is not that of this `mux ui`")]
    Token,
}

impl RequestAuthorizer {
    pub(super) fn new(port: u16, token: AccessSecret) -> Self {
        let names = ["127.0.0.1", "localhost"];
        let mut hosts = names.map(|name| format!("{name}:{port}")).to_vec();
        if port == 80 {
            // Browsers omit the default port.
            hosts.extend(names.map(str::to_owned));
        }
        Self { hosts, token }
    }

    /// The token, for a page that has presented the one-time code.
    pub(super) fn token(&self) -> String {
        self.token.to_string()
    }

    pub(super) fn authorize_request(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), RequestRefusal> {
        let host = single_header(headers, &header::HOST).ok_or(RequestRefusal::Host)?;
        if !self.hosts.iter().any(|ours| ours == host) {
            return Err(RequestRefusal::Host);
        }
        if !path.starts_with(API_PREFIX) {
            return Ok(());
        }
        let ours = format!("http://{host}");
        let origin = if headers.contains_key(header::ORIGIN) {
            single_header(headers, &header::ORIGIN) == Some(ours.as_str())
        } else {
            *method == Method::GET
        };
        let site = headers.get("sec-fetch-site");
        if !origin || site.is_some_and(|site| site != "same-origin") {
            return Err(RequestRefusal::Site);
        }
        if path == ENTER_PATH {
            return Ok(());
        }
        let credentials = single_header(headers, &header::AUTHORIZATION);
        match credentials.and_then(|given| given.strip_prefix("Bearer ")) {
            Some(token) if self.token.matches_secret(token) => Ok(()),
            _ => Err(RequestRefusal::Token),
        }
    }
}

/// The value of a header that occurs exactly once.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

/// Sets the security headers of a response.
pub(super) fn set_security_headers(headers: &mut HeaderMap) {
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

impl IntoResponse for RequestRefusal {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Site => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        };
        let error = json!({
            "kind": "denied",
            "message": self.to_string(),
            "hint": "open the address that `mux ui` has printed",
        });
        (status, Json(json!({ "error": error }))).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges a request with these headers, in which `TOKEN` is replaced by the token.
    fn judged(method: &Method, path: &str, headers: &[(&str, &str)]) -> Result<(), RequestRefusal> {
        let guard = RequestAuthorizer::new(8700, AccessSecret::new().unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = value.replace("TOKEN", &guard.token());
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(&value).unwrap(),
            );
        }
        guard.authorize_request(method, path, &map)
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:8700");
    const BEARER: (&str, &str) = ("authorization", "Bearer TOKEN");
    const ORIGIN: (&str, &str) = ("origin", "http://127.0.0.1:8700");

    #[test]
    fn page_files_need_only_our_host_name() {
        for (host, answer) in [
            ("127.0.0.1:8700", Ok(())),
            ("localhost:8700", Ok(())),
            ("127.0.0.1:8701", Err(RequestRefusal::Host)),
            ("127.0.0.1", Err(RequestRefusal::Host)),
            ("evil.example:8700", Err(RequestRefusal::Host)),
            ("127.0.0.1:8700.evil.example", Err(RequestRefusal::Host)),
            ("[::1]:8700", Err(RequestRefusal::Host)),
        ] {
            for path in ["/", "/main.js", "/nothing"] {
                assert_eq!(
                    judged(&Method::GET, path, &[("host", host)]),
                    answer,
                    "{host}"
                );
            }
        }
        assert_eq!(judged(&Method::GET, "/", &[]), Err(RequestRefusal::Host));
        assert_eq!(
            judged(&Method::GET, "/", &[HOST, HOST]),
            Err(RequestRefusal::Host)
        );
    }

    #[test]
    fn api_needs_the_exact_token_exactly_once() {
        let stream = "/api/stream";
        assert_eq!(judged(&Method::GET, stream, &[HOST, BEARER]), Ok(()));
        for wrong in [
            "Bearer ",
            "TOKEN",
            "bearer TOKEN",
            "Bearer TOKENx",
            "Basic TOKEN",
        ] {
            let headers = [HOST, ("authorization", wrong)];
            assert_eq!(
                judged(&Method::GET, stream, &headers),
                Err(RequestRefusal::Token),
                "{wrong}"
            );
        }
        for headers in [&[HOST][..], &[HOST, BEARER, BEARER]] {
            assert_eq!(
                judged(&Method::GET, stream, headers),
                Err(RequestRefusal::Token)
            );
        }
    }

    #[test]
    fn cross_site_request_is_refused_even_with_the_token() {
        let decide = "/api/decide";
        assert_eq!(
            judged(&Method::POST, decide, &[HOST, BEARER, ORIGIN]),
            Ok(())
        );
        // A request without Origin may come from any site.
        assert_eq!(
            judged(&Method::POST, decide, &[HOST, BEARER]),
            Err(RequestRefusal::Site)
        );
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:8700",
            "http://127.0.0.1:8701",
            "http://localhost:8700",
        ] {
            let headers = [HOST, BEARER, ("origin", origin)];
            assert_eq!(
                judged(&Method::POST, decide, &headers),
                Err(RequestRefusal::Site),
                "{origin}"
            );
            assert_eq!(
                judged(&Method::GET, "/api/stream", &headers),
                Err(RequestRefusal::Site)
            );
        }
        for site in ["cross-site", "same-site", "none"] {
            let headers = [HOST, BEARER, ("sec-fetch-site", site)];
            assert_eq!(
                judged(&Method::GET, "/api/stream", &headers),
                Err(RequestRefusal::Site),
                "{site}"
            );
        }
    }

    #[test]
    fn code_is_accepted_without_the_token_only_from_our_page() {
        assert_eq!(judged(&Method::POST, ENTER_PATH, &[HOST, ORIGIN]), Ok(()));
        assert_eq!(
            judged(&Method::POST, ENTER_PATH, &[HOST]),
            Err(RequestRefusal::Site)
        );
        assert_eq!(
            judged(&Method::POST, "/api/enter/", &[HOST, ORIGIN]),
            Err(RequestRefusal::Token)
        );
    }
}
