//! `mux servers login`, `mux servers logout`.
//!
//! Invariant: an address is opened only if it is http or https, and never through a shell.

use std::io::{self, IsTerminal};

use mux_client::{Session, within_seconds};
use mux_proto::{
    Kind, LoginFinishRequest, LoginRequest, LoginStarted, LoginState, LoginWaitRequest, transport,
};

use super::{Failure, Outcome, browser, session, show::STARTS};
use crate::{args, exit, render};

/// Milliseconds of one long poll; the daemon waits no longer.
const POLL: u64 = 30_000;
/// Seconds for requests that discover and ask the authorization server, which may be slow.
const BEGINNING: u64 = 180;

pub(super) async fn login(args: args::Login, json: bool) -> Outcome {
    let session = session().await?;
    session.require("login").map_err(Failure::from)?;
    let waiting = render::Waiting::begin("looking for the authorization server", json);
    let server = args.server.clone();
    let request = LoginRequest {
        server: args.server,
    };
    let started = session
        .client
        .login(within_seconds(BEGINNING), request)
        .await;
    waiting.end();
    let started = started?.map_err(Failure::from)?;
    if !is_openable(&started.url) {
        let message = "the authorization server gave an address that is not http or https";
        return Err(exit::machinery(message.into()).into());
    }
    // Shown before anything is opened: the user may expect another place to sign in.
    render::sign_in_at(&server, started.issuer.as_deref(), &started.url);
    let opened = match args.no_browser || args.paste {
        true => None,
        false => browser::open(args.browser, &started.url),
    };
    render::open_this(&started.url, opened.is_some());
    // Without a terminal the user cannot paste the final address of the browser.
    let paste = args.paste || (opened.is_none() && io::stdin().is_terminal());
    let state = match paste {
        true => pasted(&session, &started).await?,
        false => outcome(&session, &started).await?,
    };
    drop(opened);
    Ok(render::signed_in(&state, json))
}

pub(super) async fn logout(server: String, json: bool) -> Outcome {
    let session = session().await?;
    session.require("logout").map_err(Failure::from)?;
    let ended = session.client.logout(transport::within(STARTS), server);
    let ended = ended.await?.map_err(Failure::from)?;
    Ok(render::logged_out(&ended, json))
}

/// Waits until the login has ended in the browser.
async fn outcome(session: &Session, started: &LoginStarted) -> Result<LoginState, Failure> {
    loop {
        let request = LoginWaitRequest {
            login: started.login.clone(),
            wait_ms: POLL,
        };
        // A login includes connecting to the server, but a poll never takes longer than `wait_ms`.
        let state = session.client.login_wait(within_seconds(60), request);
        let state = state.await?.map_err(Failure::from)?;
        if !state.pending {
            return Ok(state);
        }
    }
}

/// Waits for the browser, or for the user to paste the address that the browser would deliver.
async fn pasted(session: &Session, started: &LoginStarted) -> Result<LoginState, Failure> {
    render::paste_this();
    let waited = outcome(session, started);
    tokio::pin!(waited);
    loop {
        let line = tokio::select! {
            state = &mut waited => return state,
            line = line() => line,
        };
        let Some(line) = line else {
            // Standard input has ended: only the browser can finish the login.
            return waited.await;
        };
        if line.trim().is_empty() {
            continue;
        }
        let request = LoginFinishRequest {
            login: started.login.clone(),
            redirect_url: line.trim().to_owned(),
        };
        let finished = session
            .client
            .login_finish(within_seconds(BEGINNING), request);
        match finished.await? {
            Ok(state) if state.pending => {}
            Ok(state) => return Ok(state),
            // The login is still open, and the next line may be the right one.
            Err(error) if error.kind == Kind::Validation && io::stdin().is_terminal() => {
                render::note(&error.message);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The next line of standard input; `None` at its end.
async fn line() -> Option<String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let count = io::stdin().read_line(&mut line).ok()?;
        (count > 0).then_some(line)
    });
    read.await.ok().flatten()
}

fn is_openable(address: &str) -> bool {
    let parsed = url::Url::parse(address);
    parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_https_urls_are_opened() {
        for (address, openable) in [
            ("https://issuer.test/authorize?x=1", true),
            ("http://127.0.0.1:1/authorize", true),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("-flag", false),
            ("vscode://x", false),
        ] {
            assert_eq!(is_openable(address), openable, "{address}");
        }
    }
}
