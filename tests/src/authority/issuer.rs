//! The authorization server: metadata, registration, authorization, tokens, revocation.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Form, Json, Router,
    extract::{Query, State as Given},
    http::{HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use url::Url;

use super::{
    Shared,
    rules::Refresh,
    state::{Client, Code, GrantHolder, State, challenge_of, web_token},
};

type Fields = HashMap<String, String>;
type Us = Given<Arc<Shared>>;

pub(super) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/.well-known/oauth-authorization-server", get(oauth))
        .route("/.well-known/openid-configuration", get(openid))
        .route("/register", post(register))
        .route("/authorize", get(authorize).post(approve))
        .route("/token", post(token))
        .route("/revoke", post(revoke))
        .route("/userinfo", get(userinfo))
        .with_state(shared)
}

async fn oauth(Given(us): Us) -> Response {
    published(&us, false)
}

async fn openid(Given(us): Us) -> Response {
    published(&us, true)
}

fn published(us: &Shared, openid: bool) -> Response {
    let state = us.state();
    if let Some(text) = state.rules.odd_answer_of("metadata") {
        return text.into_response();
    }
    match state.rules.openid == openid {
        true => Json(metadata(us, &state)).into_response(),
        false => StatusCode::NOT_FOUND.into_response(),
    }
}

fn metadata(us: &Shared, state: &State) -> Value {
    let (rules, at) = (&state.rules, &us.issuer);
    let own = || format!("{at}/token");
    let mut metadata = json!({
        "issuer": rules.issuer.clone().unwrap_or_else(|| at.clone()),
        "authorization_endpoint": format!("{at}/authorize"),
        "token_endpoint": rules.token_endpoint.clone().unwrap_or_else(own),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": rules.auth_methods,
        "authorization_response_iss_parameter_supported": rules.iss.is_some(),
        "scopes_supported": ["read", "write", "admin"],
    });
    if rules.user.is_some() {
        metadata["scopes_supported"] = json!(["read", "write", "admin", "openid", "email"]);
    }
    if rules.userinfo {
        metadata["userinfo_endpoint"] = format!("{at}/userinfo").into();
    }
    if let Some(methods) = &rules.challenge_methods {
        metadata["code_challenge_methods_supported"] = json!(methods);
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
    metadata
}

async fn register(Given(us): Us, Json(wanted): Json<Value>) -> Response {
    let mut state = us.state();
    state.happened("register");
    if let Some(text) = state.rules.odd_answer_of("register") {
        return text.into_response();
    }
    let redirect = wanted["redirect_uris"][0]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if !redirect.starts_with("http://127.0.0.1:") {
        state.complain(format!("registered to come back to {redirect:?}"));
    }
    let id = format!("client-{}", state.clients.len() + 1);
    let secret = state.rules.client_secrets.then(|| state.secret("client"));
    let mut answer = json!({ "client_id": id, "redirect_uris": [redirect] });
    if let Some(secret) = &secret {
        answer["client_secret"] = secret.clone().into();
        answer["client_secret_expires_at"] = 0.into();
    }
    state.clients.insert(id, Client { secret, redirect });
    (StatusCode::CREATED, Json(answer)).into_response()
}

async fn authorize(Given(us): Us, Query(asked): Query<Fields>) -> Response {
    let mut state = us.state();
    state.happened("authorize");
    if state.rules.consent {
        let page = "<form method=post>The client wants in. <button>Yes</button></form>";
        return Html(page).into_response();
    }
    decide(&us, &mut state, &asked)
}

async fn approve(Given(us): Us, Query(asked): Query<Fields>) -> Response {
    decide(&us, &mut us.state(), &asked)
}

fn decide(us: &Shared, state: &mut State, asked: &Fields) -> Response {
    let value = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let (id, redirect) = (value("client_id"), value("redirect_uri"));
    let known = state.clients.get(&id).map(|client| client.redirect.clone());
    if known.as_ref() != Some(&redirect) {
        state.complain(format!("client {id:?} came with the redirect {redirect:?}"));
        return (StatusCode::BAD_REQUEST, "unknown client or redirect").into_response();
    }
    if !us.resources.contains(&value("resource")) {
        state.complain(format!("resource is {:?}", value("resource")));
    }
    for (name, wanted) in [("response_type", "code"), ("code_challenge_method", "S256")] {
        if value(name) != wanted {
            state.complain(format!("{name} is {:?}", value(name)));
        }
    }
    let mut back = Url::parse(&redirect).unwrap();
    let mut pairs = back.query_pairs_mut();
    pairs.append_pair("state", &value("state"));
    if state.rules.denies {
        pairs.append_pair("error", "access_denied");
    } else {
        let code = state.secret("code");
        pairs.append_pair("code", &code);
        let scopes = value("scope")
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let challenge = value("code_challenge");
        let issued = Code {
            client: id,
            redirect,
            challenge,
            scopes,
            holder: GrantHolder {
                user: state.rules.user,
                audience: value("resource"),
            },
        };
        state.codes.insert(code, issued);
    }
    match state.rules.iss.as_deref() {
        Some("") => _ = pairs.append_pair("iss", &us.issuer),
        Some(other) => _ = pairs.append_pair("iss", other),
        None => {}
    }
    drop(pairs);
    Redirect::to(back.as_str()).into_response()
}

async fn token(Given(us): Us, headers: HeaderMap, Form(asked): Form<Fields>) -> Response {
    let answer = {
        let mut state = us.state();
        if let Some(text) = state.rules.odd_answer_of("token") {
            return text.into_response();
        }
        let Some(client) = client(&mut state, &headers, &asked) else {
            return refused(StatusCode::UNAUTHORIZED, "invalid_client");
        };
        let known = |resource: &&String| us.resources.contains(resource);
        if asked.get("resource").filter(known).is_none() {
            state.complain(format!("a token was asked for {:?}", asked.get("resource")));
        }
        match asked.get("grant_type").map(String::as_str) {
            Some("authorization_code") => exchange(&us, &mut state, &client, &asked),
            Some("refresh_token") => refresh(&mut state, &client, &asked),
            _ => return refused(StatusCode::BAD_REQUEST, "unsupported_grant_type"),
        }
    };
    let (answer, held) = match answer {
        Ok(answer) => answer,
        Err(refusal) => return refusal,
    };
    if held {
        us.released.notified().await;
    }
    Json(answer).into_response()
}

type Answer = Result<(Value, bool), Response>;

fn exchange(us: &Shared, state: &mut State, client: &str, asked: &Fields) -> Answer {
    state.happened("code");
    let value = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let wrong = || refused(StatusCode::BAD_REQUEST, "invalid_grant");
    let code = state.codes.remove(&value("code")).ok_or_else(wrong)?;
    if code.client != client || code.redirect != value("redirect_uri") {
        state.complain("a code came from another client, or with another redirect");
        return Err(wrong());
    }
    if challenge_of(&value("code_verifier")) != code.challenge {
        state.complain("the verifier proves nothing");
        return Err(wrong());
    }
    if code.holder.audience != value("resource") {
        state.complain("a code came for another resource");
        return Err(wrong());
    }
    let (access, token) = state.issue(client, code.scopes, code.holder, None);
    let mut granted = granted(state, &access, &token.refresh, &token.scopes);
    if let Some(user) = token.holder.user
        && !state.rules.userinfo
        && token.scopes.iter().any(|scope| scope == "openid")
    {
        let claims = json!({ "iss": us.issuer, "aud": client, "sub": "7", "email": user });
        granted["id_token"] = web_token(&claims, &state.secret("id")).into();
    }
    Ok((granted, false))
}

async fn userinfo(Given(us): Us, headers: HeaderMap) -> Response {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let state = us.state();
    let user = token.and_then(|token| state.tokens.get(token)?.holder.user);
    match user {
        Some(user) => Json(json!({ "sub": "7", "email": user })).into_response(),
        None => StatusCode::UNAUTHORIZED.into_response(),
    }
}

fn refresh(state: &mut State, client: &str, asked: &Fields) -> Answer {
    state.happened("refresh");
    let rejected = || refused(StatusCode::BAD_REQUEST, "invalid_grant");
    match state.rules.refresh {
        Refresh::Rejected => return Err(rejected()),
        Refresh::Broken => return Err(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        Refresh::Good | Refresh::Held => {}
    }
    let old = asked.get("refresh_token").cloned().unwrap_or_default();
    let before = state.by_refresh(&old).ok_or_else(rejected)?;
    if before.client != client {
        state.complain("a refresh token came from another client");
        return Err(rejected());
    }
    let mut holder = before.holder.clone();
    if let Some(audience) = asked
        .get("resource")
        .filter(|other| **other != holder.audience)
    {
        if !state.rules.audiences {
            return Err(refused(StatusCode::BAD_REQUEST, "invalid_target"));
        }
        holder.audience.clone_from(audience);
    }
    state.replace(&old);
    let (access, token) = state.issue(client, before.scopes.clone(), holder, Some(&before));
    let held = state.rules.refresh == Refresh::Held;
    Ok((granted(state, &access, &token.refresh, &token.scopes), held))
}

fn granted(state: &State, access: &str, refresh: &str, scopes: &[String]) -> Value {
    let mut granted = json!({
        "access_token": access,
        "token_type": "Bearer",
        "refresh_token": refresh,
        "scope": scopes.join(" "),
    });
    if let Some(lifetime) = state.rules.lifetime {
        granted["expires_in"] = lifetime.into();
    }
    granted
}

async fn revoke(Given(us): Us, headers: HeaderMap, Form(asked): Form<Fields>) -> Response {
    let mut state = us.state();
    if client(&mut state, &headers, &asked).is_none() {
        return refused(StatusCode::UNAUTHORIZED, "invalid_client");
    }
    state.happened("revoke");
    state.revoke(asked.get("token").map_or("", String::as_str));
    StatusCode::OK.into_response()
}

/// The id of the client that sent the request, if it authenticates with a method that the server supports.
fn client(state: &mut State, headers: &HeaderMap, asked: &Fields) -> Option<String> {
    let basic = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Basic "))
        .and_then(|text| String::from_utf8(STANDARD.decode(text).ok()?).ok())
        .and_then(|text| {
            Some((
                text.split_once(':')?.0.to_owned(),
                text.split_once(':')?.1.to_owned(),
            ))
        });
    let (id, secret, method) = match basic {
        Some((id, secret)) => (id, Some(secret), "client_secret_basic"),
        None => match asked.get("client_secret") {
            Some(secret) => (
                asked.get("client_id")?.clone(),
                Some(secret.clone()),
                "client_secret_post",
            ),
            None => (asked.get("client_id")?.clone(), None, "none"),
        },
    };
    if !state.rules.auth_methods.contains(&method) {
        state.complain(format!("a client came with {method}"));
        return None;
    }
    let known = state.clients.get(&id)?;
    (known.secret == secret).then_some(id)
}

fn refused(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}
