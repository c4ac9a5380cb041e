//! Who is let in, and what every answer tells the browser to forbid.
//!
//! Pages of other sites run in the same browser and can send requests here; other programs and users of the machine
//! can, too. Invariant: whatever is not a file of the page needs the token, and no request is served that was
//! addressed to another name than ours, as after a site had its own name lead here.

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::token::Secret;

/// What only the token opens.
const API: &str = "/api/";
/// Where a code for one use becomes the token.
pub(super) const ENTER: &str = "/api/enter";

/// No script but the files of the page, nothing from elsewhere, no frame around it, and no text as markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
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

pub(super) struct Guard {
    /// As a browser may call us.
    hosts: Vec<String>,
    token: Secret,
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("this server answers at 127.0.0.1 and its port only")]
    Host,
    #[error("this request comes from another site")]
    Site,
    #[error("the token is missing, or is not that of this `mux ui`")]
    Token,
}

impl Guard {
    pub(super) fn new(port: u16, token: Secret) -> Self {
        let names = ["127.0.0.1", "localhost"];
        let mut hosts = names.map(|name| format!("{name}:{port}")).to_vec();
        if port == 80 {
            // That is how a browser writes it.
            hosts.extend(names.map(str::to_owned));
        }
        Self { hosts, token }
    }

    /// For a page that has brought the code for one use.
    pub(super) fn token(&self) -> String {
        self.token.to_string()
    }

    pub(super) fn judge(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        let host = only(headers, &header::HOST).ok_or(Refusal::Host)?;
        if !self.hosts.iter().any(|ours| ours == host) {
            return Err(Refusal::Host);
        }
        if !path.starts_with(API) {
            return Ok(());
        }
        let ours = format!("http://{host}");
        let origin = match headers.contains_key(header::ORIGIN) {
            true => only(headers, &header::ORIGIN) == Some(ours.as_str()),
            // A browser names it for everything that may change something.
            false => *method == Method::GET,
        };
        let site = headers.get("sec-fetch-site");
        if !origin || site.is_some_and(|site| site != "same-origin") {
            return Err(Refusal::Site);
        }
        if path == ENTER {
            return Ok(());
        }
        let said = only(headers, &header::AUTHORIZATION);
        match said.and_then(|said| said.strip_prefix("Bearer ")) {
            Some(token) if self.token.is(token) => Ok(()),
            _ => Err(Refusal::Token),
        }
    }
}

/// The value of a header that stands there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

/// What every answer has.
pub(super) fn forbid(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

impl IntoResponse for Refusal {
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

    /// What becomes of a request with these headers, of which `TOKEN` is the token.
    fn judged(method: &Method, path: &str, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let guard = Guard::new(8700, Secret::new().unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = value.replace("TOKEN", &guard.token());
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(&value).unwrap(),
            );
        }
        guard.judge(method, path, &map)
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:8700");
    const BEARER: (&str, &str) = ("authorization", "Bearer TOKEN");
    const ORIGIN: (&str, &str) = ("origin", "http://127.0.0.1:8700");

    #[test]
    fn files_of_the_page_need_our_name_and_nothing_else() {
        for (host, answer) in [
            ("127.0.0.1:8700", Ok(())),
            ("localhost:8700", Ok(())),
            ("127.0.0.1:8701", Err(Refusal::Host)),
            ("127.0.0.1", Err(Refusal::Host)),
            ("evil.example:8700", Err(Refusal::Host)),
            ("127.0.0.1:8700.evil.example", Err(Refusal::Host)),
            ("[::1]:8700", Err(Refusal::Host)),
        ] {
            for path in ["/", "/main.js", "/nothing"] {
                assert_eq!(
                    judged(&Method::GET, path, &[("host", host)]),
                    answer,
                    "{host}"
                );
            }
        }
        assert_eq!(judged(&Method::GET, "/", &[]), Err(Refusal::Host));
        assert_eq!(judged(&Method::GET, "/", &[HOST, HOST]), Err(Refusal::Host));
    }

    #[test]
    fn the_api_needs_the_token_whole_and_once() {
        let stream = "/api/stream";
        assert_eq!(judged(&Method::GET, stream, &[HOST, BEARER]), Ok(()));
        for wrong in [
            "Bearer ",
            "TOKEN",
            "bearer TOKEN",
            "Bearer TOKENx",
            "Basic TOKEN",
        ] {
            let said = [HOST, ("authorization", wrong)];
            assert_eq!(
                judged(&Method::GET, stream, &said),
                Err(Refusal::Token),
                "{wrong}"
            );
        }
        for said in [&[HOST][..], &[HOST, BEARER, BEARER]] {
            assert_eq!(judged(&Method::GET, stream, said), Err(Refusal::Token));
        }
    }

    #[test]
    fn another_site_is_refused_even_with_the_token() {
        let decide = "/api/decide";
        assert_eq!(
            judged(&Method::POST, decide, &[HOST, BEARER, ORIGIN]),
            Ok(())
        );
        // What a browser did not send says nothing of where it comes from.
        assert_eq!(
            judged(&Method::POST, decide, &[HOST, BEARER]),
            Err(Refusal::Site)
        );
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:8700",
            "http://127.0.0.1:8701",
            "http://localhost:8700",
        ] {
            let said = [HOST, BEARER, ("origin", origin)];
            assert_eq!(
                judged(&Method::POST, decide, &said),
                Err(Refusal::Site),
                "{origin}"
            );
            assert_eq!(
                judged(&Method::GET, "/api/stream", &said),
                Err(Refusal::Site)
            );
        }
        for site in ["cross-site", "same-site", "none"] {
            let said = [HOST, BEARER, ("sec-fetch-site", site)];
            assert_eq!(
                judged(&Method::GET, "/api/stream", &said),
                Err(Refusal::Site),
                "{site}"
            );
        }
    }

    #[test]
    fn a_code_is_handed_in_without_the_token_by_our_own_page_only() {
        assert_eq!(judged(&Method::POST, ENTER, &[HOST, ORIGIN]), Ok(()));
        assert_eq!(judged(&Method::POST, ENTER, &[HOST]), Err(Refusal::Site));
        assert_eq!(
            judged(&Method::POST, "/api/enter/", &[HOST, ORIGIN]),
            Err(Refusal::Token)
        );
    }
}
