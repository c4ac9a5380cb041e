//! The token endpoint, and how clients authenticate.

use axum::{
    Form, Json,
    extract::State as Given,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{
    Shared,
    issuer::Us,
    oddity::written,
    rules::{Grants, Refresh},
    state::{State, challenge_of, web_token},
};

/// The fields of a query or a form, which may repeat a name.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The answer, and whether it is held.
type Answer = Result<(Value, bool), Response>;

pub(super) async fn token(
    Given(us): Us,
    headers: HeaderMap,
    Form(asked): Form<Fields>,
) -> Response {
    us.hold("token").await;
    let is_refresh = asked.get("grant_type") == Some("refresh_token");
    let answer = {
        let mut state = us.state();
        state
            .secrets
            .extend(asked.get("code_verifier").map(str::to_owned));
        let Some(client) = authenticated_client(&mut state, &headers, &asked) else {
            return refused(&state, &asked, StatusCode::UNAUTHORIZED, "invalid_client");
        };
        let known = us.named_resources(&state.rules);
        let resource = asked.get("resource").map(str::to_owned);
        if resource
            .as_ref()
            .is_none_or(|resource| !known.contains(resource))
        {
            state.complain(format!("a token was asked for {resource:?}"));
        }
        match asked.get("grant_type") {
            Some("authorization_code") => exchange(&us, &mut state, &client, &asked),
            Some("refresh_token") => refresh(&mut state, &client, &asked),
            _ => Err(refused(
                &state,
                &asked,
                StatusCode::BAD_REQUEST,
                "unsupported_grant_type",
            )),
        }
    };
    let (answer, held) = match answer {
        Ok(answer) => answer,
        Err(refusal) => return refusal,
    };
    if held {
        us.released.notified().await;
    }
    let state = us.state();
    let of_refresh = state.rules.oddity("refresh").filter(|_| is_refresh);
    let odd = of_refresh.or_else(|| state.rules.oddity("token"));
    written(odd, StatusCode::OK, answer, &us.places(0))
}

fn exchange(us: &Shared, state: &mut State, client: &str, asked: &Fields) -> Answer {
    state.happened("code");
    let value = |name: &str| asked.get(name).unwrap_or_default().to_owned();
    let wrong = |state: &State| refused(state, asked, StatusCode::BAD_REQUEST, "invalid_grant");
    let Some(mut code) = state.codes.remove(&value("code")) else {
        return Err(wrong(state));
    };
    let mistake = if code.looks {
        "a code came that no browser has got"
    } else if code.client != client || code.redirect != value("redirect_uri") {
        "a code came from another client, or with another redirect"
    } else if challenge_of(&value("code_verifier")) != code.challenge {
        "the verifier proves nothing"
    } else if !code.holder.resources.contains(&value("resource")) {
        "a code came for another resource"
    } else {
        ""
    };
    if !mistake.is_empty() {
        state.complain(mistake);
        return Err(wrong(state));
    }
    code.holder.audience = value("resource");
    let (access, token) = state.issue(client, code.scopes, code.holder, None);
    let refresh = token.holder.refreshable.then_some(&*token.refresh);
    let mut granted = granted(state, &access, refresh, &token.scopes);
    if let Some(user) = token.holder.user
        && (!state.rules.userinfo || state.rules.subject_only)
        && token.scopes.iter().any(|scope| scope == "openid")
    {
        let mut claims = json!({ "iss": us.issuer_url(&state.rules), "aud": client, "sub": "7" });
        if !state.rules.subject_only {
            claims["email"] = user.into();
        }
        granted["id_token"] = web_token(&claims, &state.secret("id")).into();
    }
    Ok((granted, false))
}

fn refresh(state: &mut State, client: &str, asked: &Fields) -> Answer {
    state.happened("refresh");
    let refused =
        |state: &State, error: &str| Err(refused(state, asked, StatusCode::BAD_REQUEST, error));
    match state.rules.refresh {
        Refresh::Rejected => return refused(state, "invalid_grant"),
        Refresh::Broken => return Err(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        Refresh::Good | Refresh::Held => {}
    }
    let old = asked.get("refresh_token").unwrap_or_default();
    let Some(before) = state.by_refresh(old) else {
        return refused(state, "invalid_grant");
    };
    if before.client != client || !before.holder.refreshable {
        state.complain("a refresh token came from another client, or was never issued");
        return refused(state, "invalid_grant");
    }
    let mut holder = before.holder.clone();
    let resource = asked.get("resource").map(str::to_owned);
    if let Some(audience) = resource.filter(|other| *other != holder.audience) {
        let is_granted = state.rules.grants == Grants::All || holder.resources.contains(&audience);
        if !is_granted {
            state.happened("invalid_target");
            if state.rules.rotates_first {
                state.replace(old);
            }
            return refused(state, "invalid_target");
        }
        holder.audience = audience;
    }
    state.replace(old);
    let (access, token) = state.issue(client, before.scopes.clone(), holder, Some(&before));
    let held = state.rules.refresh == Refresh::Held;
    let answer = granted(state, &access, Some(&token.refresh), &token.scopes);
    Ok((answer, held))
}

fn granted(state: &State, access: &str, refresh: Option<&str>, scopes: &[String]) -> Value {
    let mut granted = json!({
        "access_token": access,
        "token_type": "Bearer",
        "scope": scopes.join(" "),
    });
    if let Some(refresh) = refresh {
        granted["refresh_token"] = refresh.into();
    }
    if let Some(lifetime) = state.rules.lifetime {
        granted["expires_in"] = lifetime.into();
    }
    granted
}

/// The id of the client that sent the request, if it authenticates with a method that the server supports.
pub(super) fn authenticated_client(
    state: &mut State,
    headers: &HeaderMap,
    asked: &Fields,
) -> Option<String> {
    let basic = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Basic "))
        .and_then(|text| String::from_utf8(STANDARD.decode(text).ok()?).ok())
        .and_then(|text| {
            let (id, secret) = text.split_once(':')?;
            Some((decoded(id), decoded(secret)))
        });
    let (id, secret, method) = if let Some((id, secret)) = basic {
        (id, Some(secret), "client_secret_basic")
    } else {
        let id = asked.get("client_id")?.to_owned();
        match asked.get("client_secret") {
            Some(secret) => (id, Some(secret.to_owned()), "client_secret_post"),
            None => (id, None, "none"),
        }
    };
    if !state.rules.auth_methods.contains(&method) {
        state.complain(format!("a client came with {method}"));
        return None;
    }
    let known = state.clients.get(&id)?.clone();
    if state.rules.method_bound && method != known.method {
        let own = &known.method;
        state.complain(format!("a client of the method {own} came with {method}"));
        return None;
    }
    let is_public = known.method == "none" && secret.is_none();
    (is_public || known.secret == secret).then_some(id)
}

/// Both parts of a Basic header are encoded before they are joined (RFC 6749, 2.3.1).
fn decoded(text: &str) -> String {
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    pairs
        .next()
        .map_or_else(String::new, |(text, _)| text.into_owned())
}

pub(super) fn refused(state: &State, asked: &Fields, status: StatusCode, error: &str) -> Response {
    let mut refusal = json!({ "error": error });
    if state.rules.repeats {
        let secrets = [
            "refresh_token",
            "token",
            "code",
            "code_verifier",
            "client_secret",
        ];
        let sent: Vec<&str> = secrets.iter().filter_map(|name| asked.get(name)).collect();
        refusal["error_description"] = format!("not accepted: {}", sent.join(", ")).into();
    }
    (status, Json(refusal)).into_response()
}
