//! The authorization server: metadata, registration, who has signed in, revocation.

use std::sync::Arc;

use axum::{
    Form, Json, Router,
    extract::State as Given,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use super::{
    Shared, authorization_endpoint,
    oddity::written,
    state::{Client, State},
    token_endpoint::{self, Fields, authenticated_client, refused},
};

pub(super) type Us = Given<Arc<Shared>>;

pub(super) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/register", post(register))
        .route("/token", post(token_endpoint::token))
        .route("/revoke", post(revoke))
        .route("/userinfo", get(userinfo))
        .merge(authorization_endpoint::routes())
        .fallback(published)
        .with_state(shared)
}

async fn published(Given(us): Us, uri: Uri) -> Response {
    us.hold("metadata").await;
    let state = us.state();
    let usual = if state.rules.openid {
        "/.well-known/openid-configuration"
    } else {
        "/.well-known/oauth-authorization-server"
    };
    let at = state.rules.metadata_at.unwrap_or(usual);
    if uri.path() == at && !state.rules.fronted {
        metadata(&us, &state)
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}

pub(super) fn metadata(us: &Shared, state: &State) -> Response {
    let rules = &state.rules;
    let at = &us.issuer;
    let own = || format!("{at}/token");
    let mut scopes = vec!["read", "write", "admin"];
    let mut metadata = json!({
        "issuer": rules.issuer.clone().unwrap_or_else(|| us.issuer_url(rules)),
        "authorization_endpoint": format!("{at}/authorize"),
        "token_endpoint": rules.token_endpoint.clone().unwrap_or_else(own),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": rules.auth_methods,
        "authorization_response_iss_parameter_supported": rules.iss.is_some(),
    });
    if rules.user.is_some() {
        scopes.extend(["openid", "email"]);
    }
    if rules.offline_consent {
        scopes.push("offline_access");
    }
    metadata["scopes_supported"] = json!(scopes);
    if rules.userinfo {
        metadata["userinfo_endpoint"] = format!("{at}/userinfo").into();
    }
    if let Some(methods) = &rules.challenge_methods {
        metadata["code_challenge_methods_supported"] = json!(methods);
    }
    if let Some(prompts) = rules.prompts.as_ref().filter(|_| rules.prompts_listed) {
        metadata["prompt_values_supported"] = json!(prompts);
    }
    if rules.metadata_documents {
        metadata["client_id_metadata_document_supported"] = true.into();
    }
    if rules.registration {
        metadata["registration_endpoint"] = format!("{at}/register").into();
    }
    if rules.revocation {
        metadata["revocation_endpoint"] = format!("{at}/revoke").into();
    }
    let odd = rules.oddity("metadata");
    written(odd, StatusCode::OK, metadata, &us.places(0))
}

async fn register(Given(us): Us, Json(wanted): Json<Value>) -> Response {
    us.hold("register").await;
    let mut state = us.state();
    state.happened("register");
    state.registrations.push(wanted.clone());
    let refusal = |error: &str, why: &str| {
        let refusal = json!({ "error": error, "error_description": why });
        (StatusCode::BAD_REQUEST, Json(refusal)).into_response()
    };
    if state.rules.registration_token {
        let why =
            json!({ "error": "invalid_token", "error_description": "no access token provided" });
        return (StatusCode::UNAUTHORIZED, Json(why)).into_response();
    }
    let asked = wanted["token_endpoint_auth_method"].as_str();
    // The default of RFC 7591, 2.
    let asked = asked.unwrap_or("client_secret_basic").to_owned();
    if state.rules.method_bound && !state.rules.auth_methods.contains(&&*asked) {
        let why = format!("Invalid claim: 'token_endpoint_auth_method', {asked:?}");
        return refusal("invalid_client_metadata", &why);
    }
    let scopes = wanted["scope"].as_str();
    if state.rules.scopes_unregistrable && scopes.is_some() {
        return refusal("invalid_client_metadata", "scope must only contain others");
    }
    let redirect = wanted["redirect_uris"][0]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if !redirect.starts_with("http://127.0.0.1:") {
        state.complain(format!("registered to come back to {redirect:?}"));
    }
    let id = format!("client-{}", state.registrations.len());
    let secret = state.rules.client_secrets.then(|| state.secret("client"));
    let mut answer = json!({ "client_id": id, "redirect_uris": [redirect] });
    if let Some(secret) = &secret {
        answer["client_secret"] = secret.clone().into();
        answer["client_secret_expires_at"] = 0.into();
    }
    let given = state.rules.method_given;
    let method = given.map_or(asked, str::to_owned);
    if given.is_some() || state.rules.method_bound {
        answer["token_endpoint_auth_method"] = method.clone().into();
    }
    if let Some(scopes) = scopes.filter(|_| state.rules.scopes_bound) {
        answer["scope"] = scopes.into();
    }
    let client = Client {
        secret,
        redirect,
        method,
        scopes: scopes.map(|scopes| scopes.split_whitespace().map(str::to_owned).collect()),
    };
    state.clients.insert(id, client);
    let odd = state.rules.oddity("register");
    written(odd, StatusCode::CREATED, answer, &us.places(0))
}

async fn userinfo(Given(us): Us, headers: HeaderMap) -> Response {
    us.hold("userinfo").await;
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let mut state = us.state();
    state.happened("userinfo");
    let user = token.and_then(|token| state.tokens.get(token)?.holder.user);
    let odd = state.rules.oddity("userinfo");
    match user {
        Some(user) => {
            let claims = json!({ "sub": "7", "email": user });
            written(odd, StatusCode::OK, claims, &us.places(0))
        }
        None => StatusCode::UNAUTHORIZED.into_response(),
    }
}

async fn revoke(Given(us): Us, headers: HeaderMap, Form(asked): Form<Fields>) -> Response {
    us.hold("revoke").await;
    let mut state = us.state();
    if authenticated_client(&mut state, &headers, &asked).is_none() {
        return refused(&state, &asked, StatusCode::UNAUTHORIZED, "invalid_client");
    }
    state.happened("revoke");
    state.revoke(asked.get("token").unwrap_or_default());
    StatusCode::OK.into_response()
}
