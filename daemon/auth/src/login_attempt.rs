//! A login attempt: from the authorization request until its response, a timeout or a cancellation.
//!
//! Invariant: only a redirect with the state of this request is a response, and the first response counts.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use mux_http::issuer_words::one_line_excerpt;
use mux_messages::{LoginStarted, LoginState, millis};
use mux_secrets::Secret;
use mux_wire::Fault;
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::info;
use url::{Url, form_urlencoded};

use super::{
    account::Account,
    authorization_request::AuthorizationRequest,
    callback_server::{CallbackRequest, CallbackServer},
    error::{AuthError, is_request_refusal},
    login_record::LoginRecord,
};

/// How long the user may take to sign in.
pub(super) const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);

/// A login in progress or completed.
#[derive(Debug)]
pub struct LoginAttempt {
    pub server: String,
    pub started: LoginStarted,
    redirects: mpsc::Sender<CallbackRequest>,
    outcome: watch::Receiver<Option<Result<LoginState, AuthError>>>,
    given_up: CancellationToken,
    /// Cancelled when the client that started it has ended.
    abandoned: CancellationToken,
    /// Resolves when the login's port is free. Taken by [`Self::cancel_attempt`].
    over: Mutex<Option<oneshot::Receiver<()>>>,
}

/// Opens a new session of the server. Returns the number of its tools.
pub type SessionOpener = Box<dyn FnOnce() -> BoxFuture<'static, Result<usize, Fault>> + Send>;

impl LoginAttempt {
    pub(super) fn begin(
        id: String,
        server: &str,
        account: Arc<Account>,
        request: AuthorizationRequest,
        callback: CallbackServer,
        opening: SessionOpener,
    ) -> Arc<Self> {
        let (redirects, brought) = mpsc::channel(8);
        let (ended, outcome) = watch::channel(None);
        let (free, over) = oneshot::channel();
        let given_up = CancellationToken::new();
        let abandoned = CancellationToken::new();
        let attempt = Arc::new(Self {
            server: server.to_owned(),
            started: LoginStarted {
                login: id,
                url: request.url.to_string(),
                covered_by: None,
                notes: request.notes.clone(),
                issuer: one_line_excerpt(request.issuer()),
                redirect_port: callback.port,
                expires_ms: millis(LOGIN_TIMEOUT),
            },
            redirects: redirects.clone(),
            outcome,
            given_up: given_up.clone(),
            abandoned: abandoned.clone(),
            over: Mutex::new(Some(over)),
        });
        let server = server.to_owned();
        let client_id = request.client_id().to_owned();
        tokio::spawn(async move {
            let receiving = callback.serve(redirects);
            let ending = AttemptEnd {
                given_up,
                abandoned,
            };
            let answering = answer(&server, &account, request, brought, &ending);
            let signed_in = tokio::select! {
                signed_in = answering => signed_in,
                never = receiving => match never {},
            };
            // The port is free.
            drop(free);
            if matches!(
                signed_in,
                Err(AuthError::TimedOut(_) | AuthError::Superseded | AuthError::Abandoned)
            ) {
                // The issuer may have shown an error page: it must not redirect for a client that it does not know.
                account.give_up_registration(&client_id);
            }
            let outcome = match signed_in {
                Ok(record) => {
                    info!(server, issuer = record.issuer, "signed in");
                    let completed = complete(server, record, opening).await;
                    if completed.problem.is_none() {
                        account.set_proven();
                    }
                    Ok(completed)
                }
                Err(error) => {
                    info!(server, %error, "not signed in");
                    Err(error)
                }
            };
            // The receivers may be gone.
            drop(ended.send(Some(outcome)));
        });
        attempt
    }

    /// A login that needs no browser: the sign-in of another server is used.
    pub(super) fn of_shared_sign_in(
        id: String,
        server: &str,
        record: LoginRecord,
        covered_by: Option<String>,
        opening: SessionOpener,
    ) -> Arc<Self> {
        let (ended, outcome) = watch::channel(None);
        let (redirects, _) = mpsc::channel(1);
        let attempt = Arc::new(Self {
            server: server.to_owned(),
            started: LoginStarted {
                login: id,
                url: String::new(),
                covered_by,
                notes: Vec::new(),
                issuer: one_line_excerpt(&record.issuer),
                redirect_port: 0,
                expires_ms: millis(LOGIN_TIMEOUT),
            },
            redirects,
            outcome,
            given_up: CancellationToken::new(),
            abandoned: CancellationToken::new(),
            over: Mutex::default(),
        });
        let server = server.to_owned();
        tokio::spawn(async move {
            let completed = complete(server, record, opening).await;
            drop(ended.send(Some(Ok(completed))));
        });
        attempt
    }

    /// Waits for the outcome. `None` if there is none within this time.
    pub async fn outcome(&self, within: Duration) -> Option<Result<LoginState, AuthError>> {
        let mut outcome = self.outcome.clone();
        let found = timeout(within, outcome.wait_for(Option::is_some)).await;
        match found {
            Ok(Ok(found)) => found.clone(),
            Ok(Err(_)) => Some(Err(AuthError::Superseded)),
            Err(_) => None,
        }
    }

    /// Submits the URL to which a browser was redirected. On an error the login stays open.
    pub async fn submit_redirect_url(&self, redirect_url: &str) -> Result<(), AuthError> {
        let no_answer = |why: &str| AuthError::NoAnswer(why.to_owned());
        let url = Url::parse(redirect_url.trim()).map_err(|_| no_answer("this is not a URL"))?;
        let query = url
            .query()
            .ok_or_else(|| no_answer("this URL has no query"))?
            .to_owned();
        let (answer, outcome) = oneshot::channel();
        let over = || AuthError::Unknown(self.started.login.clone());
        let brought = CallbackRequest { query, answer };
        self.redirects.send(brought).await.map_err(|_| over())?;
        match outcome.await {
            // The result is in `outcome`.
            Ok(_) => Ok(()),
            Err(_) if self.outcome.borrow().is_some() => Ok(()),
            Err(_) => Err(no_answer("this URL belongs to another login")),
        }
    }

    /// Returns true while the login waits for the browser.
    pub(super) fn is_pending(&self) -> bool {
        self.outcome.borrow().is_none()
    }

    /// Cancels the login if it still waits for its browser, because the client that started it has ended.
    pub fn abandon(&self) {
        self.abandoned.cancel();
    }

    /// Cancels the login. Returns when its port is free.
    pub(super) async fn cancel_attempt(&self) {
        self.given_up.cancel();
        let over = {
            let mut over = self.over.lock();
            over.take()
        };
        if let Some(over) = over {
            // Nothing is ever sent: the sender is dropped.
            _ = over.await;
        }
    }
}

/// Opens the server's session after a successful login.
async fn complete(server: String, record: LoginRecord, opening: SessionOpener) -> LoginState {
    let (tools, problem) = match opening().await {
        Ok(tools) => (Some(tools), None),
        Err(fault) => (None, Some(mux_messages::Error::from(fault))),
    };
    LoginState {
        server,
        pending: false,
        issuer: Some(record.issuer),
        who: record.who,
        scopes: record.scopes,
        tools,
        problem_kind: problem.as_ref().map(|error| error.kind.clone()),
        problem: problem.map(|error| error.message),
    }
}

/// The tokens that end an attempt before the browser returns. Once the browser has returned, the attempt is completed.
struct AttemptEnd {
    given_up: CancellationToken,
    abandoned: CancellationToken,
}

/// The response in a redirect.
enum AuthorizationResponse {
    Code {
        code: Secret,
        issuer: Option<String>,
    },
    Refusal(String),
}

async fn answer(
    server: &str,
    account: &Arc<Account>,
    request: AuthorizationRequest,
    mut brought: mpsc::Receiver<CallbackRequest>,
    ending: &AttemptEnd,
) -> Result<LoginRecord, AuthError> {
    let deadline = Instant::now() + LOGIN_TIMEOUT;
    let late = |_| AuthError::TimedOut(LOGIN_TIMEOUT);
    let refusal = request.refusal();
    tokio::pin!(refusal);
    loop {
        let next = tokio::select! {
            next = timeout_at(deadline, brought.recv()) => next.map_err(late)?,
            refusal = &mut refusal => {
                account.give_up_registration(request.client_id());
                return Err(refusal);
            }
            () = ending.given_up.cancelled() => return Err(AuthError::Superseded),
            () = ending.abandoned.cancelled() => return Err(AuthError::Abandoned),
        };
        let CallbackRequest { query, answer } = next.ok_or(AuthError::Superseded)?;
        let Some(found) = read(&query, &request.state) else {
            // Not from this login, or from an abandoned page: the right response may still come. Dropping `answer`
            // reports that.
            continue;
        };
        let outcome = take(account, request, found).await;
        let page = match &outcome {
            Ok(_) => Ok(format!(
                "You are signed in to {server}. You can close this page."
            )),
            Err(error) => Err(format!("You are not signed in to {server}: {error}.")),
        };
        // The browser may have disconnected.
        drop(answer.send(page));
        return outcome;
    }
}

/// Parses the query of a redirect. `None` if it is not a response to this request.
fn read(query: &str, state: &Secret) -> Option<AuthorizationResponse> {
    let value = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let found = pairs.find(|(key, _)| key == name)?;
        Some(found.1.into_owned())
    };
    let state_matches = value("state").is_some_and(|found| Secret::new(found) == *state);
    if !state_matches || state.expose().is_empty() {
        return None;
    }
    if let Some(error) = value("error") {
        let error = match value("error_description") {
            Some(description) => format!("{error}, {description}"),
            None => error,
        };
        return Some(AuthorizationResponse::Refusal(one_line_excerpt(&error)));
    }
    let code = Secret::new(value("code")?);
    let issuer = value("iss");
    Some(AuthorizationResponse::Code { code, issuer })
}

async fn take(
    account: &Arc<Account>,
    request: AuthorizationRequest,
    brought: AuthorizationResponse,
) -> Result<LoginRecord, AuthError> {
    let client_id = request.client_id().to_owned();
    let is_own_client = request.is_own_client();
    let signed_in = match brought {
        AuthorizationResponse::Refusal(why) => Err(AuthError::Denied(why)),
        AuthorizationResponse::Code { code, issuer } => {
            request.exchange_code(&code, issuer.as_deref()).await
        }
    };
    let login = match signed_in {
        Ok(login) => login,
        Err(AuthError::Denied(why)) if is_request_refusal(&why) => {
            account.give_up_registration(&client_id);
            let next = if is_own_client {
                ""
            } else {
                "; the next login registers muxd again"
            };
            return Err(AuthError::Denied(format!("{why}{next}")));
        }
        Err(error) => return Err(error),
    };
    let record = login.record.clone();
    account.save_login(login).await?;
    account.end_borrowers(&record.id()).await?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_query_with_the_state_is_a_response() {
        let state = Secret::new("s1");
        for query in ["code=c", "code=c&state=s2", "state=s1", "code=c&state=", ""] {
            assert!(read(query, &state).is_none(), "{query}");
        }
        assert!(read("code=c&state=", &Secret::new("")).is_none());
        let Some(AuthorizationResponse::Code { code, issuer }) =
            read("code=c%2B1&state=s1&iss=https%3A%2F%2Fi", &state)
        else {
            panic!("no code");
        };
        assert_eq!(
            (code.expose(), issuer.as_deref()),
            ("c+1", Some("https://i"))
        );
        let refusal = read(
            "error=access_denied&error_description=no%0Away&state=s1",
            &state,
        );
        assert!(
            matches!(refusal, Some(AuthorizationResponse::Refusal(why)) if why == "access_denied, no way")
        );
    }
}
