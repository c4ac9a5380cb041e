//! Output of `mux servers login` and `mux servers logout`.

use std::process::ExitCode;

use super::terminal::{eprintln, report};
use mux_proto::{Error, Kind, LoggedOut, LoginStarted, LoginState};

use super::{
    failure::failure,
    human_units, note, print_document,
    style::{NAME, escape_text, paint},
    warn,
};

/// Prints the authorization address to standard error.
pub(crate) fn open_this(url: &str, opened: bool) {
    if opened {
        eprintln!("opening a browser; if none opens, open this address:");
    } else {
        eprintln!("open this address in a browser:");
    }
    eprintln!("\n{}\n", escape_text(url));
}

/// Prints where the user signs in: the origin of the issuer, and that of the page if it differs.
pub(crate) fn sign_in_at(server: &str, issuer: &str, page: &str) {
    let origin = |address: &str| {
        let url = url::Url::parse(address).ok()?;
        Some(url.origin().ascii_serialization())
    };
    let page = origin(page);
    let issuer = origin(issuer);
    let Some(at) = issuer.as_ref().or(page.as_ref()) else {
        return;
    };
    let elsewhere = page.as_ref().filter(|page| *page != at);
    let elsewhere = elsewhere.map(|page| format!(", on a page of {page}"));
    eprintln!(
        "you will sign in at {}, which `{}` names{}",
        escape_text(at),
        escape_text(server),
        escape_text(&elsewhere.unwrap_or_default())
    );
}

/// Prints the server whose sign-in is used instead of a page.
pub(crate) fn covered_sign_in(server: &str, started: &LoginStarted) {
    let by = match &started.covered_by {
        Some(other) => format!("the sign-in of `{other}`"),
        None => format!("a sign-in at {}", started.issuer),
    };
    eprintln!(
        "{} covers `{}`, so no page is opened",
        escape_text(&by),
        escape_text(server)
    );
}

pub(crate) fn paste_this() {
    eprintln!(
        "if the browser ends up on a page that cannot be loaded (127.0.0.1), paste that page's address here:"
    );
}

/// Prints the outcome of a login. The login has failed if the server refuses the token that was just issued: another
/// login would have the same result.
pub(crate) fn signed_in(state: &LoginState, json: bool) -> ExitCode {
    let refused = match (&state.problem_kind, &state.problem) {
        (Some(kind), Some(why)) if *kind == Kind::AuthRequired => {
            Some(Error::new(Kind::AuthRequired, why))
        }
        _ => None,
    };
    if json {
        if let Some(error) = &refused {
            return failure(error, json, None);
        }
        print_document(state);
        return ExitCode::SUCCESS;
    }
    let name = paint(NAME, &state.server);
    let by = state.issuer.as_deref().unwrap_or("an unnamed server");
    let who = state.who.as_deref().map(|who| format!(" as {who}"));
    report!(
        "signed in to {name} by {}{}",
        escape_text(by),
        escape_text(&who.unwrap_or_default())
    );
    if !state.scopes.is_empty() {
        report!("allowed: {}", escape_text(&state.scopes.join(" ")));
    }
    match (&state.problem, state.tools) {
        _ if refused.is_some() => {}
        (Some(problem), _) => warn(format!("the server is not usable yet: {problem}")),
        (None, Some(tools)) => report!("{} available", human_units::count_text(tools, "tool")),
        (None, None) => {}
    }
    refused.map_or(ExitCode::SUCCESS, |error| failure(&error, json, None))
}

pub(crate) fn logged_out(ended: &LoggedOut) {
    let name = paint(NAME, &ended.server);
    match ended.was_signed_in {
        false => report!("not signed in to {name}"),
        true if ended.revoked => report!("signed out of {name}; its tokens are revoked"),
        true => report!("signed out of {name}; its tokens are deleted"),
    }
    if let Some(problem) = &ended.problem {
        note(&format!("the tokens were not revoked: {problem}"));
    }
}
