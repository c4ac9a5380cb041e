//! Sends HTTP requests to a remote server, up to the head of the response.
//!
//! Invariant: a request is sent once, and a second time only after a response that refuses it for lack of a valid
//! token.

use std::{collections::HashMap, fmt, path::Path, sync::Arc, time::Duration};

use parking_lot::Mutex;

use mux_auth::Account;
use mux_http::{
    connect_failure::connect_failure,
    http_client,
    proxies::{UsedProxy, used_proxy},
};
use mux_secrets::RecentTokens;
use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{
        AUTHORIZATION, CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue, LOCATION,
        WWW_AUTHENTICATE,
    },
};
use rmcp::model::{ClientJsonRpcMessage, GetMeta as _};
use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};

use super::{
    kept_messages::KeptMessages,
    response_body,
    sse_backoff::SseBackoff,
    streamable_http::{MAX_ERROR_BODY_BYTES, SESSION_ID_HEADER},
    token_provider::TokenProvider,
};
use crate::link::{
    link_ending::LinkEnding,
    link_error::{AuthChallenge, LinkError},
    lost_session_words::names_lost_session,
    reader::MessageReader,
};
use mux_settings::RemoteServer;
use mux_telemetry::trace::{TRACEPARENT, TraceContext};
use mux_text::error_chain::{error_causes, excerpt};

/// The maximum number of unanswered requests of one session.
pub(super) const MAX_CONCURRENT_REQUESTS: usize = 32;
/// The time limit for sending a message that is not a request.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(30);

/// The HTTP client of one session to one server. Cheap to clone.
#[derive(Clone)]
pub(in crate::link) struct HttpExchange(pub(super) Arc<HttpExchangeInner>);

/// The state of the session's HTTP client.
pub(super) struct HttpExchangeInner {
    client: Client,
    /// The proxy between muxd and the server.
    proxy: Option<UsedProxy>,
    /// The headers of the server's entry, sent with every request.
    headers: HeaderMap,
    authorization: TokenProvider,
    /// The URL without secrets, for messages.
    shown: String,
    /// Secrets to mask in errors, including the last tokens that were sent.
    secrets: RecentTokens,
    pub(super) ending: LinkEnding,
    pub(super) request_permits: Arc<Semaphore>,
    /// Permits one long response body in memory at a time.
    pub(super) long_body_permits: Arc<Semaphore>,
    pub(super) reader: MessageReader,
    /// The messages that were read ahead of rmcp, if rmcp reads the stream.
    pub(super) messages: KeptMessages,
    pub(super) sse_backoff: Mutex<SseBackoff>,
    /// Set once the server has answered the request for its event stream.
    pub(super) listening: watch::Sender<bool>,
}

impl fmt::Debug for HttpExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpExchange")
            .field("to", &self.0.shown)
            .finish_non_exhaustive()
    }
}

/// One HTTP request.
pub(crate) struct HttpRequest<'a> {
    pub(in crate::link) method: Method,
    pub(in crate::link) url: &'a str,
    pub(super) headers: HeaderMap,
    pub(in crate::link) body: Option<Vec<u8>>,
}

impl HttpExchange {
    pub(in crate::link) fn new(
        remote: &RemoteServer,
        account: Option<Arc<Account>>,
        ending: LinkEnding,
        reader: MessageReader,
    ) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &remote.headers {
            let key = HeaderName::try_from(name)
                .map_err(|_| format!("headers: {name:?} is not a valid header name"))?;
            let mut value = HeaderValue::from_str(value.expose())
                .map_err(|_| format!("headers: the value of {name} cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        if let Some(socket) = &remote.socket {
            check_socket_owner(socket)?;
        }
        Ok(Self(Arc::new(HttpExchangeInner {
            client: http_client::build_client(&remote.network, remote.socket.as_deref())?,
            proxy: proxy_of(remote),
            headers,
            authorization: TokenProvider(account),
            shown: remote.redacted_url(),
            secrets: RecentTokens::beside(remote.known_secrets()),
            ending,
            request_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS)),
            long_body_permits: Arc::new(Semaphore::new(1)),
            reader,
            messages: KeptMessages::default(),
            sse_backoff: Mutex::default(),
            listening: watch::Sender::new(false),
        })))
    }

    /// The trace headers for a message. The entry's own `traceparent` takes precedence.
    pub(super) fn trace_headers(&self, message: &ClientJsonRpcMessage) -> HeaderMap {
        let ClientJsonRpcMessage::Request(request) = message else {
            return HeaderMap::new();
        };
        let meta = request.request.get_meta();
        let parent = meta
            .get_traceparent()
            .filter(|_| !self.0.headers.contains_key(TRACEPARENT));
        let context = parent.and_then(|parent| TraceContext::parse(parent, meta.get_tracestate()));
        context.iter().flat_map(TraceContext::headers).collect()
    }

    /// Sends a request, with a new token after a 401 or 403. Returns any response that does not ask for a token.
    pub(in crate::link) async fn send(
        &self,
        request: HttpRequest<'_>,
    ) -> Result<Response, LinkError> {
        let authorization = &self.0.authorization;
        let mut token = authorization.token().await?;
        let mut retried = false;
        loop {
            let response = self.send_once(&request, token.as_deref()).await?;
            let Some(challenge) = auth_challenge(&response) else {
                return Ok(response);
            };
            if let Some(error) = self
                .lost_session_error(&request, &challenge, response)
                .await
            {
                return Err(error);
            }
            if retried {
                let given_up = authorization.retry_refused(token.as_deref(), &challenge);
                return Err(given_up.await);
            }
            retried = true;
            let sent = token.take();
            match authorization
                .token_refused(sent.as_deref(), &challenge)
                .await?
            {
                Some(other) => token = Some(other),
                None => return Err(LinkError::SignIn(challenge)),
            }
        }
    }

    /// The error of a 401 that does not demand a login: the server does not know the session.
    async fn lost_session_error(
        &self,
        request: &HttpRequest<'_>,
        challenge: &AuthChallenge,
        response: Response,
    ) -> Option<LinkError> {
        if !challenge.header.is_empty() || !request.headers.contains_key(SESSION_ID_HEADER) {
            return None;
        }
        let status = response.status();
        let headers = response.headers().clone();
        let body = response_body::read_error_body(response, MAX_ERROR_BODY_BYTES).await;
        let text = String::from_utf8_lossy(&body);
        names_lost_session(&text).then(|| self.status_link_error(status, &headers, &text))
    }

    /// Sends a request without refreshing its token. For the last request of a session: the daemon may end before the
    /// new refresh token is saved, which would lose the user's login.
    pub(super) async fn send_without_refresh(
        &self,
        request: HttpRequest<'_>,
    ) -> Result<Response, LinkError> {
        let token = self.0.authorization.held_token();
        self.send_once(&request, token.as_deref()).await
    }

    async fn send_once(
        &self,
        request: &HttpRequest<'_>,
        token: Option<&str>,
    ) -> Result<Response, LinkError> {
        let url = Url::parse(request.url)
            .map_err(|_| LinkError::Unreached("the address cannot be read".into()))?;
        let mut headers = self.0.headers.clone();
        headers.extend(request.headers.clone());
        if let Some(token) = token {
            self.0.secrets.remember(token);
            let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| LinkError::Unreached("the token cannot be sent".into()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut sending = self.0.client.request(request.method.clone(), url);
        if let Some(body) = &request.body {
            sending = sending.body(body.clone());
        }
        let sent = sending.headers(headers).send().await;
        // Calls in flight are not affected by a connection that could not be made.
        let response = sent.map_err(|error| self.reqwest_link_error(error))?;
        self.check_encoding(&response)?;
        Ok(response)
    }

    /// Refuses a body in an encoding that the client has not decoded: the client removes the header of an encoding that
    /// it decodes.
    fn check_encoding(&self, response: &Response) -> Result<(), LinkError> {
        let encoding = response.headers().get(CONTENT_ENCODING);
        let encoding = encoding.and_then(|encoding| encoding.to_str().ok());
        match encoding.map(str::trim) {
            None | Some("" | "identity") => Ok(()),
            Some(other) => {
                let text = format!(
                    "{} compresses its response with {:?} (Content-Encoding), which muxd cannot decode: it decodes gzip, deflate, br and zstd",
                    self.0.shown,
                    excerpt(other)
                );
                Err(LinkError::Lost(self.mask_secrets(&text)))
            }
        }
    }

    /// Sends a message other than a request, under a time limit because no caller would cancel it.
    pub(super) async fn send_notification_in_time<T>(
        &self,
        posted: impl Future<Output = Result<T, LinkError>>,
    ) -> Result<T, LinkError> {
        let late = |_| {
            let shown = &self.0.shown;
            LinkError::Lost(format!(
                "{shown} did not accept a message within {NOTIFICATION_TIMEOUT:?}"
            ))
        };
        timeout(NOTIFICATION_TIMEOUT, posted).await.map_err(late)?
    }

    /// Maps a client error to the outcome of the request, without secrets in the text.
    pub(super) fn reqwest_link_error(&self, error: reqwest::Error) -> LinkError {
        let shown = &self.0.shown;
        if error.is_builder() {
            let why = error_causes(&error.without_url());
            return LinkError::Unreached(
                self.mask_secrets(&format!("the request cannot be made: {why}")),
            );
        }
        if !error.is_connect() {
            let why = error_causes(&error.without_url());
            let text = format!("the connection to {shown} was lost: {why}");
            return LinkError::Lost(self.mask_secrets(&text));
        }
        let why = connect_failure(error, self.0.proxy.as_ref(), "url");
        LinkError::Unreached(self.mask_secrets(&format!("{shown} {why}")))
    }

    /// Maps an HTTP error status to the outcome of the request.
    pub(super) fn status_link_error(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &str,
    ) -> LinkError {
        let quoted = excerpt(body);
        let quoted = if quoted.is_empty() {
            String::new()
        } else {
            format!("; it says: {quoted}")
        };
        let fix = match status.as_u16() {
            300..400 => return self.redirect_link_error(status, headers),
            403 => "its headers or its token do not allow this",
            404 => "check the path of `url`",
            405 => "this address does not accept messages: check `url`, or its `transport`",
            407 => {
                "the proxy requires a user and a password: HTTPS_PROXY=http://user:password@host"
            }
            408 | 429 => "try again later",
            500..600 => "the problem is on the server's side",
            _ => "check `url` and `headers`",
        };
        // A proxy answers itself if it does not reach the server.
        let proxy = self.0.proxy.as_ref();
        let proxy = match (status.as_u16(), proxy) {
            (407 | 502..=504, Some(proxy)) => format!("; the request went through {proxy}"),
            _ => String::new(),
        };
        let text = format!(
            "{} answers HTTP {status}: {fix}{proxy}{quoted}",
            self.0.shown
        );
        let text = self.mask_secrets(&text);
        if status.is_server_error() {
            LinkError::Lost(text)
        } else {
            LinkError::Declined {
                status: status.as_u16(),
                text,
            }
        }
    }

    fn redirect_link_error(&self, status: StatusCode, headers: &HeaderMap) -> LinkError {
        let target = headers.get(LOCATION).and_then(|to| to.to_str().ok());
        // The query may contain secrets.
        let target = target.map(|to| to.split(['?', '#']).next().unwrap_or(to));
        let to = target.map_or("elsewhere".into(), |to| format!("to {}", excerpt(to)));
        let text = format!(
            "{} redirects {to} (HTTP {status}), which is not followed: write that address as `url` if you trust it",
            self.0.shown
        );
        LinkError::Declined {
            status: status.as_u16(),
            text: self.mask_secrets(&text),
        }
    }

    /// The text with known secrets masked.
    pub(super) fn mask_secrets(&self, text: &str) -> String {
        self.0.secrets.masker().text(text)
    }

    pub(super) fn shown_url(&self) -> &str {
        &self.0.shown
    }
}

fn proxy_of(remote: &RemoteServer) -> Option<UsedProxy> {
    if remote.socket.is_some() {
        return None;
    }
    used_proxy(&remote.network, &Url::parse(remote.url.expose()).ok()?)
}

/// Converts rmcp's headers.
pub(super) fn header_map(headers: HashMap<HeaderName, HeaderValue>) -> HeaderMap {
    headers.into_iter().collect()
}

/// Refuses another user's socket: that user could read everything that is sent to it.
#[cfg(unix)]
fn check_socket_owner(socket: &Path) -> Result<(), String> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let shown = socket.display();
    let found = std::fs::metadata(socket).map_err(|error| {
        format!("the socket {shown} cannot be used: {error}; is the server running?")
    })?;
    if !found.file_type().is_socket() {
        return Err(format!("{shown} is not a socket"));
    }
    if found.uid() == nix::unistd::geteuid().as_raw() {
        Ok(())
    } else {
        Err(format!(
            "the socket {shown} belongs to another user (uid {}), and is refused",
            found.uid()
        ))
    }
}

/// Passes: `mux_http` has refused the socket already.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn check_socket_owner(_socket: &Path) -> Result<(), String> {
    Ok(())
}

fn auth_challenge(response: &Response) -> Option<AuthChallenge> {
    // A server may offer several ways to authenticate, each in a header.
    let headers = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let headers: Vec<&str> = headers.filter_map(|one| one.to_str().ok()).collect();
    let header = headers.join(", ");
    let wanted = match response.status().as_u16() {
        401 => true,
        // Without that error code, signing in does not help.
        403 => header.contains("insufficient_scope"),
        _ => false,
    };
    wanted.then(|| AuthChallenge {
        status: response.status().as_u16(),
        header,
        why: None,
        refuses_new_token: false,
    })
}
