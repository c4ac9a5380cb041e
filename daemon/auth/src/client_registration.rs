//! The registration of muxd as a client of an authorization server (RFC 7591).
//!
//! The answer determines the client's authentication, secret and scopes, even if it differs from the request. A
//! registration may end: the issuer forgets the client, or the registered scopes no longer include all needed scopes.

use mux_http::{
    issuer_words,
    token_endpoint::{ClientAuthMethod, ClientCredentials, list_of_words, seconds},
};
use mux_secrets::Secret;
use serde_json::{Map, Value, json};
use url::Url;

use super::{
    auth_server_client::AuthServerResponse,
    discovery::{DiscoveredIssuer, IssuerMetadata},
    error::AuthError,
    login_record::now,
};

const CLIENT_NAME: &str = "muxd";

/// A client that muxd has registered.
#[derive(Clone, Debug)]
pub(super) struct RegisteredClient {
    pub(super) credentials: ClientCredentials,
    /// The scopes that the client may request. `None` if the registration does not say.
    pub(super) scopes: Option<Vec<String>>,
    /// The scopes for which the registration was requested. An issuer that registered fewer would do so again.
    pub(super) asked: Vec<String>,
    /// The expiry of its secret, in seconds since 1970.
    pub(super) expires_at: Option<u64>,
}

/// Registers a client for these scopes. An issuer that refuses the scopes is asked once more without them.
pub(super) async fn register(
    found: &DiscoveredIssuer,
    redirect: &str,
    scopes: &[String],
) -> Result<RegisteredClient, AuthError> {
    let Some(endpoint) = &found.metadata.registration_endpoint else {
        return Err(needs_own_client(
            "its authorization server does not support dynamic client registration",
        ));
    };
    let endpoint = Url::parse(endpoint)
        .map_err(|_| AuthError::Unfit("its registration endpoint is not a URL".into()))?;
    let methods = offered_methods(&found.metadata)?;
    let mut others = methods.iter().copied();
    let mut method = others.next().unwrap_or_default();
    let mut asked = scopes;
    // A refusal of the scopes or of the method leads to one request without the scopes, or with the next method.
    let response = loop {
        let request = request(redirect, method, asked);
        let sent = found
            .client
            .post_json("registration endpoint", &endpoint, &request);
        let response = sent.await.map_err(AuthError::Unavailable)?;
        if !response.status.is_client_error() {
            break response;
        }
        let why = refusal(&response);
        if !asked.is_empty() && why.contains("scope") {
            asked = &[];
        } else if why.contains("invalid_client_metadata")
            && let Some(next) = others.next()
        {
            method = next;
        } else {
            break response;
        }
    };
    if !response.status.is_success() {
        return Err(match response.status.as_u16() {
            401 => needs_own_client(&format!(
                "its registration endpoint requires an initial access token ({}), which muxd does not offer",
                refusal(&response)
            )),
            404 if found.metadata.is_assumed => AuthError::Unfit(
                "it names no authorization server, and there is none at its own address".into(),
            ),
            408 | 425 | 429 => {
                AuthError::Unavailable(format!("the registration: {}", response.describe()))
            }
            400..500 => AuthError::Denied(format!("the registration: {}", refusal(&response))),
            _ => AuthError::Unavailable(format!("the registration: {}", response.describe())),
        });
    }
    let members = response.members().unwrap_or_default();
    let mut client = read(&members, &found.metadata, method, asked)?;
    client.asked = scopes.to_vec();
    Ok(client)
}

/// An error that tells the user to register a client.
fn needs_own_client(why: &str) -> AuthError {
    AuthError::Unfit(format!(
        "{why}: register muxd there, with the redirect http://127.0.0.1:PORT/callback, and put \
         oauth = {{ client_id = \"…\", port = PORT }} into the entry"
    ))
}

fn request(redirect: &str, method: ClientAuthMethod, scopes: &[String]) -> Value {
    let mut request = json!({
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.as_str(),
        "application_type": "native",
    });
    if !scopes.is_empty() {
        request["scope"] = scopes.join(" ").into();
    }
    request
}

/// The methods for the registration, the best first: `none` if the issuer offers it or does not list its methods. The
/// Python SDK's token endpoint requires the client ID in the body even beside HTTP Basic, and others refuse both.
pub(super) fn offered_methods(
    metadata: &IssuerMetadata,
) -> Result<Vec<ClientAuthMethod>, AuthError> {
    let mut methods = vec![
        ClientAuthMethod::None,
        ClientAuthMethod::ClientSecretPost,
        ClientAuthMethod::ClientSecretBasic,
    ];
    let Some(offered) = &metadata.auth_methods else {
        return Ok(methods);
    };
    methods.retain(|method| offered.iter().any(|name| name == method.as_str()));
    if methods.is_empty() {
        return Err(AuthError::Unfit(format!(
            "its authorization server accepts only clients that authenticate with {}, which muxd does not offer",
            offered.join(" or ")
        )));
    }
    Ok(methods)
}

/// The method for a secret whose registration does not name one.
pub(super) fn method_for_secret(metadata: &IssuerMetadata) -> ClientAuthMethod {
    let offered = metadata.auth_methods.as_deref().unwrap_or_default();
    let offers = |method: ClientAuthMethod| offered.iter().any(|name| name == method.as_str());
    if offers(ClientAuthMethod::ClientSecretPost) && !offers(ClientAuthMethod::ClientSecretBasic) {
        ClientAuthMethod::ClientSecretPost
    } else {
        ClientAuthMethod::ClientSecretBasic
    }
}

fn refusal(response: &AuthServerResponse) -> String {
    let members = response.members();
    let error = members.as_ref().and_then(issuer_words::error_in);
    error.map_or_else(|| response.describe(), |error| error.words)
}

/// Reads the answer. RFC 7591, 3.2.1.
fn read(
    members: &Map<String, Value>,
    metadata: &IssuerMetadata,
    asked_method: ClientAuthMethod,
    asked_scopes: &[String],
) -> Result<RegisteredClient, AuthError> {
    let text = |name: &str| members.get(name)?.as_str().filter(|text| !text.is_empty());
    let Some(id) = text("client_id") else {
        return Err(match issuer_words::error_in(members) {
            Some(error) => AuthError::Denied(format!("the registration: {}", error.words)),
            None => AuthError::Unfit(
                "its registration endpoint gave an answer without a client ID; is it another service, or a \
                 web page?"
                    .into(),
            ),
        });
    };
    let mut secret = text("client_secret").map(Secret::new);
    let method = match (text("token_endpoint_auth_method"), &secret) {
        (Some(name), _) => name.parse().map_err(|_| {
            AuthError::Unfit(format!(
                "its authorization server registered muxd for the method {name:?}, which muxd does not offer"
            ))
        })?,
        (None, None) => ClientAuthMethod::None,
        (None, Some(_)) if asked_method == ClientAuthMethod::None => method_for_secret(metadata),
        (None, Some(_)) => asked_method,
    };
    if method == ClientAuthMethod::None {
        secret = None;
    }
    let scopes = members.get("scope").and_then(list_of_words);
    let scopes = scopes.filter(|scopes| !scopes.is_empty());
    // RFC 7591, 2: the scopes of the request restrict the client unless the answer has other scopes.
    let asked_scopes = Some(asked_scopes.to_vec()).filter(|scopes| !scopes.is_empty());
    Ok(RegisteredClient {
        credentials: ClientCredentials {
            id: id.to_owned(),
            secret,
            method,
        },
        scopes: scopes.or(asked_scopes),
        asked: Vec::new(),
        // 0 means never.
        expires_at: seconds(members, "client_secret_expires_at").filter(|at| *at > 0),
    })
}

impl RegisteredClient {
    /// Returns true if another registration for these scopes would not allow more than this registration.
    pub(super) fn allows(&self, scopes: &[String]) -> bool {
        self.scopes.as_ref().is_none_or(|registered| {
            let is_covered = |scope| registered.contains(scope) || self.asked.contains(scope);
            scopes.iter().all(is_covered)
        })
    }

    pub(super) fn has_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offering(methods: &[&str]) -> IssuerMetadata {
        IssuerMetadata {
            auth_methods: Some(methods.iter().map(|name| (*name).to_owned()).collect()),
            ..IssuerMetadata::default()
        }
    }

    #[test]
    fn requested_method_is_one_that_the_issuer_offers() {
        use ClientAuthMethod::{ClientSecretBasic as Basic, ClientSecretPost as Post, None};
        for (offered, method) in [
            (&["none", "client_secret_basic"][..], &[None, Basic][..]),
            (
                &["client_secret_basic", "client_secret_post"],
                &[Post, Basic],
            ),
            (&["client_secret_basic", "private_key_jwt"], &[Basic]),
        ] {
            assert_eq!(offered_methods(&offering(offered)).unwrap(), method);
        }
        let unknown = IssuerMetadata::default();
        assert_eq!(offered_methods(&unknown).unwrap()[0], None);
        let error = offered_methods(&offering(&["private_key_jwt"])).unwrap_err();
        assert!(error.to_string().contains("private_key_jwt"), "{error}");
    }

    #[test]
    fn answer_of_a_registration_decides() {
        use ClientAuthMethod::{ClientSecretBasic as Basic, ClientSecretPost as Post, None};
        let both = offering(&["none", "client_secret_basic", "client_secret_post"]);
        let post = offering(&["client_secret_post"]);
        let asked = ["read".to_owned()];
        for (answer, metadata, asked_method, method, has_secret, scopes) in [
            (json!({}), &both, None, None, false, "read"),
            (
                json!({ "client_secret": "s" }),
                &both,
                None,
                Basic,
                true,
                "read",
            ),
            (
                json!({ "client_secret": "s" }),
                &post,
                Post,
                Post,
                true,
                "read",
            ),
            (
                json!({ "client_secret": "s", "token_endpoint_auth_method": "none" }),
                &both,
                None,
                None,
                false,
                "read",
            ),
            (
                json!({ "client_secret": "s", "token_endpoint_auth_method": "client_secret_post" }),
                &both,
                None,
                Post,
                true,
                "read",
            ),
            (
                json!({ "client_secret": "", "scope": "read write", "client_secret_expires_at": "0" }),
                &both,
                None,
                None,
                false,
                "read write",
            ),
            (
                json!({ "scope": ["a"], "redirect_uris": null }),
                &both,
                None,
                None,
                false,
                "a",
            ),
        ] {
            let mut members = answer.as_object().unwrap().clone();
            members.insert("client_id".into(), "c".into());
            let client = read(&members, metadata, asked_method, &asked).unwrap();
            assert_eq!(client.credentials.method, method, "{answer}");
            assert_eq!(client.credentials.secret.is_some(), has_secret, "{answer}");
            assert_eq!(client.scopes.unwrap().join(" "), scopes, "{answer}");
            assert_eq!(client.expires_at, Option::None, "{answer}");
        }
        for (answer, part) in [
            (json!({}), "without a client ID"),
            (json!({ "client_id": 7 }), "without a client ID"),
            (
                json!({ "error": "invalid_redirect_uri", "error_description": "no" }),
                "invalid_redirect_uri, no",
            ),
            (
                json!({ "client_id": "c", "token_endpoint_auth_method": "private_key_jwt" }),
                "private_key_jwt",
            ),
        ] {
            let error = read(answer.as_object().unwrap(), &both, None, &asked).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
