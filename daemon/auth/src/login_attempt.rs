//! One attempt to sign in: from the question until the user has answered, or somebody gives up.
//!
//! Invariant: only what brings the state of this very question is an answer, and the first one counts.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use mux_secrets::Secret;
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
    error::{AuthError, is_client_rejection, one_line_excerpt},
};

/// For the user to say yes.
pub(super) const LOGIN_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// A login as those see it who wait for it.
#[derive(Debug)]
pub struct LoginAttempt {
    pub id: String,
    pub server: String,
    /// Where the user says yes.
    pub url: String,
    /// Who vouches for him there, by what the server names.
    pub issuer: String,
    pub redirect_port: u16,
    redirects: mpsc::Sender<CallbackRequest>,
    outcome: watch::Receiver<Option<Result<CompletedLogin, AuthError>>>,
    given_up: CancellationToken,
    /// Resolves when its port is free. Guarded for the one who takes it.
    over: Mutex<Option<oneshot::Receiver<()>>>,
}

/// What a login came to.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletedLogin {
    pub issuer: String,
    pub scopes: Vec<String>,
    /// What the server offers to this user, or why it cannot be opened all the same.
    pub opened: Result<usize, String>,
}

/// Opens the server's session anew; gives the number of its tools.
pub type SessionOpener = Box<dyn FnOnce() -> BoxFuture<'static, Result<usize, String>> + Send>;

impl LoginAttempt {
    pub(super) fn begin(
        id: String,
        server: &str,
        account: Arc<Account>,
        question: AuthorizationRequest,
        callback: CallbackServer,
        opening: SessionOpener,
    ) -> Arc<Self> {
        let (redirects, brought) = mpsc::channel(8);
        let (ended, outcome) = watch::channel(None);
        let (free, over) = oneshot::channel();
        let given_up = CancellationToken::new();
        let attempt = Arc::new(Self {
            id,
            server: server.to_owned(),
            url: question.url.to_string(),
            issuer: one_line_excerpt(question.issuer()),
            redirect_port: callback.port,
            redirects: redirects.clone(),
            outcome,
            given_up: given_up.clone(),
            over: Mutex::new(Some(over)),
        });
        let server = server.to_owned();
        tokio::spawn(async move {
            let receiving = callback.serve(redirects);
            let answering = answer(&server, &account, question, brought);
            let signed_in = tokio::select! {
                signed_in = answering => signed_in,
                () = receiving => Err(AuthError::Superseded),
                () = given_up.cancelled() => Err(AuthError::Superseded),
            };
            // The port is free.
            drop(free);
            let outcome = match signed_in {
                Ok((issuer, scopes)) => {
                    info!(server, issuer, "signed in");
                    let opened = opening().await;
                    Ok(CompletedLogin {
                        issuer,
                        scopes,
                        opened,
                    })
                }
                Err(error) => Err(error),
            };
            // Whoever asked may have gone.
            drop(ended.send(Some(outcome)));
        });
        attempt
    }

    /// `None` if nobody has answered in that time.
    pub async fn outcome(&self, within: Duration) -> Option<Result<CompletedLogin, AuthError>> {
        let mut outcome = self.outcome.clone();
        let found = timeout(within, outcome.wait_for(Option::is_some)).await;
        match found {
            Ok(Ok(found)) => found.clone(),
            Ok(Err(_)) => Some(Err(AuthError::Superseded)),
            Err(_) => None,
        }
    }

    /// Hands in the address that a browser was sent to. An error leaves the login open.
    pub async fn submit_redirect_url(&self, redirect_url: &str) -> Result<(), AuthError> {
        let no_answer = |why: &str| AuthError::NoAnswer(why.to_owned());
        let url = Url::parse(redirect_url.trim())
            .map_err(|_| no_answer("this is no address of a login"))?;
        let query = url
            .query()
            .ok_or_else(|| no_answer("this address has nothing behind a `?`"))?
            .to_owned();
        let (told, outcome) = oneshot::channel();
        let over = || AuthError::Unknown(self.id.clone());
        let brought = CallbackRequest { query, told };
        self.redirects.send(brought).await.map_err(|_| over())?;
        match outcome.await {
            // What became of it is told by the outcome.
            Ok(_) => Ok(()),
            Err(_) if self.outcome.borrow().is_some() => Ok(()),
            Err(_) => Err(no_answer("this address belongs to another login")),
        }
    }

    /// Ends it; returns when its port is free.
    pub(super) async fn cancel_attempt(&self) {
        self.given_up.cancel();
        let over = {
            let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
            over.take()
        };
        if let Some(over) = over {
            // Nothing is ever sent: it is dropped.
            _ = over.await;
        }
    }
}

/// What a browser can bring.
enum AuthorizationResponse {
    Code {
        code: Secret,
        issuer: Option<String>,
    },
    Refusal(String),
}

async fn answer(
    server: &str,
    account: &Account,
    question: AuthorizationRequest,
    mut brought: mpsc::Receiver<CallbackRequest>,
) -> Result<(String, Vec<String>), AuthError> {
    let deadline = Instant::now() + LOGIN_TIMEOUT;
    let late = |_| AuthError::TimedOut(LOGIN_TIMEOUT);
    loop {
        let next = timeout_at(deadline, brought.recv()).await.map_err(late)?;
        let CallbackRequest { query, told } = next.ok_or(AuthError::Superseded)?;
        let Some(found) = read(&query, &question.state) else {
            // A stranger, or the page of a login that was given up: the right one may still come. Dropping
            // `told` says so.
            continue;
        };
        let outcome = take(account, question, found).await;
        let page = match &outcome {
            Ok(_) => Ok(format!(
                "You are signed in to {server}. You can close this page."
            )),
            Err(error) => Err(format!("You are not signed in to {server}: {error}.")),
        };
        // The browser may have gone.
        drop(told.send(page));
        return outcome;
    }
}

/// `None` if it is no answer to this question.
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
    let (code, issuer) = (Secret::new(value("code")?), value("iss"));
    Some(AuthorizationResponse::Code { code, issuer })
}

async fn take(
    account: &Account,
    question: AuthorizationRequest,
    brought: AuthorizationResponse,
) -> Result<(String, Vec<String>), AuthError> {
    let (code, issuer) = match brought {
        AuthorizationResponse::Refusal(why) => return Err(AuthError::Denied(why)),
        AuthorizationResponse::Code { code, issuer } => (code, issuer),
    };
    let client_id = question.client_id().to_owned();
    let login = match question.exchange_code(&code, issuer.as_deref()).await {
        Ok(login) => login,
        Err(error) => {
            if matches!(&error, AuthError::Denied(why) if is_client_rejection(why)) {
                account.unregister(&client_id).await;
            }
            return Err(error);
        }
    };
    let (issuer, scopes) = (login.record.issuer.clone(), login.record.scopes.clone());
    account.save_login(login).await?;
    Ok((issuer, scopes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_state_of_the_question_makes_an_answer() {
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
