//! `mux servers login`, `mux servers logout`.
//!
//! Invariant: an address is opened only if it is http or https, and never through a shell.

use std::io::{self, IsTerminal};

use mux_client::{Session, within_seconds};
use mux_proto::{
    Error, Kind, LoginFinishRequest, LoginRequest, LoginStarted, LoginState, LoginWaitRequest,
};
use serde_json::{Value, json};

use super::{
    CommandFailure, CommandResult, LOGIN_TIMEOUT_SECS, browser, config::change::ConfigSource,
    connect_or_start, repeated_edit::repeat_edit, within_server_start,
};
use crate::{
    args, exit,
    render::{self, ConfigEdit},
    web_url,
};

/// Milliseconds of one long poll. The daemon does not wait longer.
const LOGIN_POLL_MS: u64 = 30_000;

pub(super) async fn login(args: args::LoginArgs, json: bool) -> CommandResult {
    if let Some(account) = &args.account {
        set_key(&args.server, &EntryKey::Account(account), json).await?;
    }
    if args.share {
        set_key(&args.server, &EntryKey::Share, json).await?;
    }
    let session = connect_or_start().await?;
    let server = args.server.clone();
    let request = LoginRequest {
        server: args.server,
    };
    let within = within_seconds(LOGIN_TIMEOUT_SECS);
    let answer = session.client.login(within, request);
    let what = "looking for the authorization server";
    let started = render::with_spinner(what, json, answer).await??;
    for note in &started.notes {
        render::note(note);
    }
    if started.url.is_empty() {
        render::covered_sign_in(&server, &started);
        let state = wait_for_login(&session, &started).await?;
        return Ok(render::signed_in(&state, json));
    }
    check_login_url(&started)?;
    // Shown before anything is opened: the user may expect to sign in elsewhere.
    render::sign_in_at(&server, &started.issuer, &started.url);
    let opened = if args.no_browser || args.paste {
        None
    } else {
        browser::open_url(args.browser, &started.url)
    };
    render::open_this(&started.url, opened.is_some());
    // Without a terminal the user cannot paste the final address of the browser.
    let paste = args.paste || (opened.is_none() && io::stdin().is_terminal());
    let state = if paste {
        wait_for_login_or_paste(&session, &started).await?
    } else {
        wait_for_login(&session, &started).await?
    };
    drop(opened);
    Ok(render::signed_in(&state, json))
}

/// Fails if the page of a login must not be opened in a browser.
pub(super) fn check_login_url(started: &LoginStarted) -> Result<(), Error> {
    if web_url::parse_web_url(&started.url).is_some() {
        Ok(())
    } else {
        let message = "the authorization server gave an address that is not http or https";
        Err(exit::unavailable_error(message.into()))
    }
}

/// A key that is written into a server's entry before the login.
enum EntryKey<'a> {
    Account(&'a str),
    Share,
}

impl EntryKey<'_> {
    fn option(&self) -> &'static str {
        match self {
            Self::Account(_) => "--account",
            Self::Share => "--share",
        }
    }

    /// The path below the entry, the value, and how both are shown.
    fn edit(&self, entry: &Value) -> Result<(&'static [&'static str], Value, String), Error> {
        match self {
            Self::Account(account) => Ok((
                &["account"],
                (*account).into(),
                format!("account = {account:?}"),
            )),
            Self::Share => {
                let shown = "oauth.share = true".to_owned();
                match entry["oauth"] {
                    Value::Bool(false) => {
                        let message =
                            "its entry has `oauth = false`, so it has no sign-in to share";
                        Err(Error::new(Kind::Validation, message).hint("remove that key"))
                    }
                    // `true` means the same as an empty table.
                    Value::Bool(true) => Ok((&["oauth"], json!({ "share": true }), shown)),
                    _ => Ok((&["oauth", "share"], true.into(), shown)),
                }
            }
        }
    }
}

/// Writes a key into the server's entry.
async fn set_key(server: &str, key: &EntryKey<'_>, json: bool) -> Result<(), CommandFailure> {
    let edit = repeat_edit(async || write_key(server, key).await).await?;
    let summary = edit.summary;
    if let Some(problem) = edit.not_reloaded {
        let message = format!("{summary}, but it has not taken effect: {problem}");
        return Err(Error::new(Kind::Unavailable, message)
            .hint("`mux reload`")
            .into());
    }
    if edit.changed && !json {
        render::note(&format!("{summary} of config.toml"));
    }
    Ok(())
}

async fn write_key(server: &str, key: &EntryKey<'_>) -> Result<ConfigEdit, CommandFailure> {
    let source = ConfigSource::read()?;
    let document = source.document()?;
    let Some((name, entry)) = document.find_spelled_entry(&["servers"], server) else {
        let message = format!("config.toml has no server `{server}`");
        let error = Error::new(Kind::NotFound, message);
        let hint = format!(
            "`mux servers` lists them; {} works only for servers in your own config.toml",
            key.option()
        );
        return Err(error.hint(hint).into());
    };
    let (below, value, shown) = key.edit(entry)?;
    let mut path = vec!["servers", name];
    path.extend(below);
    let text = document.with_value(&path, 2, &value)?.text();
    let summary = format!("{shown} is set in [servers.{name}]");
    source.apply(&text, summary, None, false).await
}

pub(super) async fn logout(server: String, json: bool) -> CommandResult {
    let session = connect_or_start().await?;
    let ended = session.client.logout(within_server_start(), server);
    let ended = ended.await??;
    Ok(render::show(&ended, json, render::logged_out))
}

/// Waits until the login has ended in the browser.
async fn wait_for_login(
    session: &Session,
    started: &LoginStarted,
) -> Result<LoginState, CommandFailure> {
    loop {
        let request = LoginWaitRequest {
            login: started.login.clone(),
            wait_ms: LOGIN_POLL_MS,
        };
        // A login includes connecting to the server, but a poll never takes longer than `wait_ms`.
        let state = session.client.login_wait(within_seconds(60), request);
        let state = state.await??;
        if !state.pending {
            return Ok(state);
        }
    }
}

/// Waits for the browser, or for the user to paste the address that the browser would deliver.
async fn wait_for_login_or_paste(
    session: &Session,
    started: &LoginStarted,
) -> Result<LoginState, CommandFailure> {
    render::paste_this();
    let waited = wait_for_login(session, started);
    tokio::pin!(waited);
    loop {
        let line = tokio::select! {
            state = &mut waited => return state,
            line = read_stdin_line() => line,
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
            .login_finish(within_seconds(LOGIN_TIMEOUT_SECS), request);
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

/// The next line of standard input, or `None` at its end.
async fn read_stdin_line() -> Option<String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let count = io::stdin().read_line(&mut line).ok()?;
        (count > 0).then_some(line)
    });
    read.await.ok().flatten()
}
