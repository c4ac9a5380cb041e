//! How the conformance client signs in: its browser follows every redirect, and its user always says yes.
//!
//! Invariant: no token passes through this program. The program only carries an address out and an address back.

use anyhow::{Context as _, Result, bail};
use mux_client::{Session, within_seconds};
use mux_proto::{Error, Kind, LoginFinishRequest, LoginRequest};
use mux_tests::authority::visit;
use serde_json::{Value, json};
use url::Url;

use super::PATIENCE;

/// A login, one for a scope that was lacking, and one more. A server that wants another after that wants
/// them for ever.
const MOST: usize = 3;
/// The URL at which the suite places our metadata, for servers that read it. The URL cannot be fetched.
const METADATA: &str = "https://conformance-test.local/client-metadata.json";
/// Pages between the authorization server and us.
const HOPS: usize = 10;

/// Who we are, as the entry says it: whom the suite has registered, at which issuer, or an address.
pub(super) fn entry(context: &Value, issuer: Option<&str>) -> String {
    let id = context["client_id"].as_str().unwrap_or(METADATA);
    let secret = match context["client_secret"].as_str() {
        Some(secret) => format!(", client_secret = {}", json!(secret)),
        None => String::new(),
    };
    let issuer = issuer.map_or_else(String::new, |it| format!(", issuer = {}", json!(it)));
    format!("oauth = {{ client_id = {}{secret}{issuer} }}\n", json!(id))
}

/// The issuer that the entry must name before anybody signs in: a user of the suite has registered his client with it.
pub(super) fn wanted_issuer(outcome: &Result<()>) -> Option<String> {
    let error = outcome.as_ref().err()?.downcast_ref::<Error>()?;
    let (_, line) = error.hint.as_deref()?.split_once("issuer = ")?;
    serde_json::from_str(line).ok()
}

/// Repeats the attempt, and signs in whenever it is required, until no sign-in is needed any more.
pub(super) async fn signing_in<F>(session: &Session, mut attempt: impl FnMut() -> F) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    for _ in 0..MOST {
        match attempt().await {
            Err(error) if wants_login(&error) => sign_in(session).await?,
            outcome => return outcome,
        }
    }
    attempt().await
}

fn wants_login(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<Error>();
    error.is_some_and(|error| error.kind == Kind::AuthRequired)
}

async fn sign_in(session: &Session) -> Result<()> {
    let request = LoginRequest {
        server: "suite".into(),
    };
    let started = session.client.login(within_seconds(PATIENCE), request);
    let started = started.await??;
    let url = started.url.clone();
    let browsed = tokio::task::spawn_blocking(move || redirected(&url, started.redirect_port));
    let request = LoginFinishRequest {
        login: started.login,
        redirect_url: browsed.await??,
    };
    let finished = session
        .client
        .login_finish(within_seconds(PATIENCE), request);
    // If opening the session fails, the next attempt also fails.
    finished.await??;
    Ok(())
}

/// The address that the browser is sent to in the end: ours.
fn redirected(url: &str, port: u16) -> Result<String> {
    let mut at = Url::parse(url)?;
    for _ in 0..HOPS {
        let page = visit("GET", at.as_str());
        let Some(next) = page.location else {
            bail!("the way ends with {}: {}", page.status, page.text);
        };
        at = at.join(&next).context("a redirect to no address")?;
        if at.host_str() == Some("127.0.0.1") && at.port() == Some(port) {
            return Ok(at.into());
        }
    }
    bail!("more than {HOPS} redirects")
}
