//! The authorization endpoint: the checks of a request, pages before the answer, and the redirect.
//!
//! Clients may look at the page before they send a browser there, with another `state` and another challenge. The
//! code that they get then is of no use.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, RawQuery, State as Given},
    http::{HeaderMap, header},
    response::{Html, IntoResponse, Redirect, Response},
    routing::get,
};
use url::Url;

use super::{
    Shared,
    issuer::Us,
    oddity::status_of,
    rules::{Grants, Rejection},
    state::{Code, GrantHolder, State},
    token_endpoint::Fields,
};

/// How far the user has come.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Step {
    Asked,
    SignedIn,
    Approved,
}

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/authorize", get(authorize).post(approve))
        .route("/login", get(login))
        .route("/error", get(error_page))
}

async fn authorize(
    Given(us): Us,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    Query(asked): Query<Fields>,
) -> Response {
    us.hold("authorize").await;
    let mut state = us.state();
    let looks = is_program(&headers);
    state.happened(if looks { "look" } else { "authorize" });
    let status = state.rules.programs_get.filter(|_| looks);
    if let Some(status) = status {
        return (status_of(status), "programs are not served").into_response();
    }
    if let Err(response) = check(&us, &mut state, &asked) {
        return response;
    }
    match state.rules.login_page.clone() {
        Some(at) => {
            Redirect::to(&format!("{at}/login?{}", query.unwrap_or_default())).into_response()
        }
        None => decide(&us, &mut state, &asked, Step::Asked, looks),
    }
}

async fn login(Given(us): Us, headers: HeaderMap, Query(asked): Query<Fields>) -> Response {
    let mut state = us.state();
    let looks = is_program(&headers);
    state.happened(if looks { "login looked at" } else { "login" });
    decide(&us, &mut state, &asked, Step::SignedIn, looks)
}

async fn approve(Given(us): Us, Query(asked): Query<Fields>) -> Response {
    decide(&us, &mut us.state(), &asked, Step::Approved, false)
}

async fn error_page(Query(asked): Query<Fields>) -> Html<String> {
    let error = asked.get("error").unwrap_or_default();
    Html(format!("<h1>Error</h1><p>{error}</p>"))
}

/// Returns true if the request comes from the client itself, and not from a browser.
fn is_program(headers: &HeaderMap) -> bool {
    let agent = headers.get(header::USER_AGENT);
    agent.is_some_and(|agent| agent.as_bytes().starts_with(b"muxd"))
}

/// Checks a request. The redirect is checked first: a response goes only to a known one.
fn check(us: &Shared, state: &mut State, asked: &Fields) -> Result<(), Response> {
    let value = |name: &str| asked.get(name).unwrap_or_default().to_owned();
    let id = value("client_id");
    let redirect = value("redirect_uri");
    let client = state.clients.get(&id).cloned();
    let Some(client) = client.filter(|client| client.redirect == redirect) else {
        let forgotten = state.forgotten.get(&id).cloned();
        if forgotten.is_none() {
            state.complain(format!("client {id:?} came with the redirect {redirect:?}"));
        }
        let secrets = if state.rules.repeats {
            state.secrets_of(&id, forgotten.as_ref()).join(" ")
        } else {
            String::new()
        };
        let page = format!("<p>Unrecognized client_id or redirect_uri</p>{secrets}");
        return Err((status_of(state.rules.unknown_client), Html(page)).into_response());
    };
    let known = us.named_resources(&state.rules);
    for resource in asked.all("resource") {
        if !known.contains(&resource.to_owned()) {
            state.complain(format!("resource is {resource:?}"));
        }
    }
    if asked.get("resource").is_none() {
        state.complain("no resource");
    }
    for (name, wanted) in [("response_type", "code"), ("code_challenge_method", "S256")] {
        if value(name) != wanted {
            state.complain(format!("{name} is {:?}", value(name)));
        }
    }
    let scope = value("scope");
    let mut unregistered = scope.split_whitespace().filter(|scope| {
        let registered = client.scopes.as_ref();
        registered.is_some_and(|all| !all.iter().any(|known| known == scope))
    });
    let prompt = value("prompt");
    let mut unknown = prompt.split_whitespace().filter(|prompt| {
        let known = state.rules.prompts.as_ref();
        known.is_some_and(|known| !known.contains(prompt))
    });
    if let Some((error, why)) = state.rules.rejects {
        return Err(reject(us, state, asked, error, why));
    }
    if unknown.next().is_some() {
        let why = "unsupported prompt value requested";
        return Err(reject(us, state, asked, "invalid_request", why));
    }
    if let Some(scope) = unregistered.next().filter(|_| state.rules.scopes_bound) {
        let why = format!("Client was not registered with scope {scope}");
        return Err(reject(us, state, asked, "invalid_scope", &why));
    }
    if asked.all("resource").count() > 1 && state.rules.grants == Grants::One {
        let why = "only one resource indicator value is supported";
        return Err(reject(us, state, asked, "invalid_target", why));
    }
    Ok(())
}

fn reject(us: &Shared, state: &State, asked: &Fields, error: &str, why: &str) -> Response {
    let mut back = match state.rules.rejection {
        Rejection::Page(status) => {
            let page = format!("<h1>{error}</h1><p>{why}</p>");
            return (status_of(status), Html(page)).into_response();
        }
        Rejection::ErrorPage => Url::parse(&format!("{}/error", us.issuer)).unwrap(),
        Rejection::Redirect => Url::parse(asked.get("redirect_uri").unwrap_or_default()).unwrap(),
    };
    back.query_pairs_mut()
        .append_pair("state", asked.get("state").unwrap_or_default())
        .append_pair("error", error)
        .append_pair("error_description", why);
    answered(us, state, back)
}

/// A redirect with the `iss` of the rules.
fn answered(us: &Shared, state: &State, mut back: Url) -> Response {
    let issuer = us.issuer_url(&state.rules);
    if let Some(iss) = &state.rules.iss {
        let iss = if iss.is_empty() { &issuer } else { iss };
        back.query_pairs_mut().append_pair("iss", iss);
    }
    Redirect::to(back.as_str()).into_response()
}

fn decide(us: &Shared, state: &mut State, asked: &Fields, step: Step, looks: bool) -> Response {
    if let Err(response) = check(us, state, asked) {
        return response;
    }
    if state.rules.consent && step != Step::Approved {
        let page = "<form method=post>The client wants in. <button>Yes</button></form>";
        return Html(page).into_response();
    }
    let value = |name: &str| asked.get(name).unwrap_or_default().to_owned();
    let request = [value("state"), value("code_challenge")];
    match looks {
        true => state.looked.extend(request),
        false if request.iter().any(|text| state.looked.contains(text)) => {
            state.complain("a browser came with what the client had shown before");
        }
        false => {}
    }
    let redirect = value("redirect_uri");
    let mut back = Url::parse(&redirect).unwrap();
    back.query_pairs_mut().append_pair("state", &value("state"));
    if state.rules.denies {
        back.query_pairs_mut().append_pair("error", "access_denied");
        return answered(us, state, back);
    }
    let code = state.secret("code");
    back.query_pairs_mut().append_pair("code", &code);
    let scopes: Vec<String> = value("scope")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let has_consent = value("prompt").split(' ').any(|prompt| prompt == "consent");
    let is_offline = has_consent && scopes.iter().any(|scope| scope == "offline_access");
    let named = asked.all("resource").map(str::to_owned);
    let issued = Code {
        client: value("client_id"),
        redirect,
        challenge: value("code_challenge"),
        scopes,
        looks,
        holder: GrantHolder {
            user: state.rules.user,
            audience: value("resource"),
            resources: match state.rules.grants {
                Grants::One | Grants::First => named.take(1).collect(),
                Grants::Named => named.collect(),
                Grants::All => us.named_resources(&state.rules),
            },
            refreshable: !state.rules.offline_consent || is_offline,
        },
    };
    state.codes.insert(code, issued);
    answered(us, state, back)
}
