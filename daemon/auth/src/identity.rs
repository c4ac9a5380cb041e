//! The user who has signed in, according to the authorization server: the claims of an ID token, or of its userinfo
//! endpoint.
//!
//! An ID token comes from the token endpoint itself, over TLS, so its signature need not be checked (OpenID Connect
//! Core, 3.1.3.7). The answer is only shown to the user, and decides nothing.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use mux_http::issuer_words::one_line_excerpt;
use mux_secrets::Secret;
use mux_text::sanitize;
use serde_json::Value;

use super::issuer_bindings::is_same_issuer;

const MAX_IDENTITY_CHARS: usize = 64;
/// The claims that name a user, the best first.
const NAMING_CLAIMS: [&str; 4] = ["email", "preferred_username", "name", "sub"];

/// The user that an ID token of this issuer for this client names.
pub(super) fn of_id_token(token: &Secret, issuer: &str, client_id: &str) -> Option<String> {
    let claims = claims(token.expose())?;
    let is_ours = is_same_issuer(claims["iss"].as_str()?, issuer)
        && audiences(&claims).any(|audience| audience == client_id);
    is_ours.then(|| of_claims(&claims)).flatten()
}

/// Returns true if an ID token has more than the subject's ID.
pub(super) fn names_person(token: &Secret) -> bool {
    let claims = claims(token.expose()).unwrap_or_default();
    let is_set = |claim: &str| claims[claim].as_str().is_some_and(|name| !name.is_empty());
    NAMING_CLAIMS
        .iter()
        .any(|claim| *claim != "sub" && is_set(claim))
}

/// The user that the claims name, on one line.
pub(super) fn of_claims(claims: &Value) -> Option<String> {
    NAMING_CLAIMS.iter().find_map(|claim| {
        let text = one_line_excerpt(&sanitize::clean(claims[*claim].as_str()?));
        let name: String = text.chars().take(MAX_IDENTITY_CHARS).collect();
        (!name.is_empty()).then_some(name)
    })
}

/// The claims of a JSON web token. `None` for any other token.
pub(super) fn claims(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims = serde_json::from_slice::<Value>(&payload).ok()?;
    claims.is_object().then_some(claims)
}

/// The `aud` of the claims: a string or a list.
pub(super) fn audiences(claims: &Value) -> impl Iterator<Item = &str> {
    let all = match &claims["aud"] {
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    all.iter().filter_map(Value::as_str)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn web_token(claims: &Value) -> Secret {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let parts = [
            part("{\"alg\":\"none\"}"),
            part(&claims.to_string()),
            "sig".into(),
        ];
        Secret::new(parts.join("."))
    }

    #[test]
    fn id_token_of_this_issuer_and_client_names_the_user() {
        let who = |claims: Value| of_id_token(&web_token(&claims), "https://i.test/", "c");
        let ada = |more: Value| {
            let mut claims = json!({ "iss": "https://i.test", "aud": "c", "sub": "7" });
            claims
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            claims
        };
        for (claims, name) in [
            (ada(json!({})), Some("7")),
            (ada(json!({ "name": "Ada" })), Some("Ada")),
            (
                ada(json!({ "name": "Ada", "email": "ada@x.test" })),
                Some("ada@x.test"),
            ),
            (ada(json!({ "aud": ["d", "c"], "email": "" })), Some("7")),
            (
                ada(json!({ "email": "a\n\u{1b}[31mb\u{202e}c" })),
                Some("a [31mbc"),
            ),
            (ada(json!({ "aud": "d" })), None),
            (ada(json!({ "iss": "https://other.test" })), None),
            (json!({ "sub": "7" }), None),
        ] {
            assert_eq!(who(claims.clone()).as_deref(), name, "{claims}");
        }
        let long = who(ada(json!({ "email": "x".repeat(1000) }))).unwrap();
        assert_eq!(long.len(), MAX_IDENTITY_CHARS);
        for text in ["", "a.b", "a.!.c", "a.Im4i.c"] {
            assert_eq!(claims(text), None, "{text}");
        }
    }
}
