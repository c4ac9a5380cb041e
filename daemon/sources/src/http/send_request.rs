//! Sends a request: encoded, within the rate, and retried only if the API did not accept it.
//!
//! Invariant: a request that left the daemon and was not answered is lost, and is never sent again here.

use std::sync::atomic::Ordering;

use reqwest::{
    StatusCode, Url,
    header::{ACCEPT, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue},
};
use tracing::debug;

use super::{
    ApiClient, ApiRequest,
    api_response::{ApiResponse, MAX_RESPONSE_BYTES, MAX_RESPONSE_VALUES, ResponseReadError},
    body_encoding::encoded,
    dot_segments::has_steps,
    request_credentials::AppliedCredentials,
    retry_policy,
};
use crate::{call_progress::CallProgress, source::CallFailure};
use mux_http::{address_policy::refusal_in, connect_failure::connect_failure, proxies::used_proxy};
use mux_telemetry::trace::TraceContext;
use mux_text::error_chain::error_causes;
use mux_text::json_weight as weight;

/// The length of an encoding in an error, in characters.
const MAX_SHOWN_ENCODING: usize = 40;

/// An encoded request, without the parts that may change between attempts.
struct RequestDraft<'a> {
    request: &'a ApiRequest,
    url: Url,
    media: Option<String>,
    body: Vec<u8>,
    needs: &'a [String],
    trace: Option<&'a TraceContext>,
}

/// The outcome of one attempt.
enum AttemptOutcome {
    Answered(Box<(ApiResponse, AppliedCredentials)>),
    /// Nothing was sent.
    Unsent(String),
}

impl ApiClient {
    /// Sends a request, with retries. Returns the last response, regardless of its status.
    pub(crate) async fn send(
        &self,
        request: &ApiRequest,
        telling: &CallProgress,
    ) -> Result<ApiResponse, CallFailure> {
        let url = self.url(request)?;
        self.send_to(request, url, telling).await
    }

    /// Sends a request to a URL that the API itself has given.
    pub(super) async fn send_to(
        &self,
        request: &ApiRequest,
        url: Url,
        telling: &CallProgress,
    ) -> Result<ApiResponse, CallFailure> {
        let needs = self.shared.keys.pick(&request.security)?;
        let carries = !needs.is_empty() || !self.shared.headers.is_empty();
        if carries && !self.shared.origins.have(&url) {
            return Err(self.shared.origins.withheld(&url));
        }
        self.allowed(&url)?;
        let body = request.body.as_ref().map(encoded).transpose();
        let body = body.map_err(CallFailure::Unfit)?;
        let (media, body) = match body {
            Some((media, body)) => (Some(media), body),
            None => (None, Vec::new()),
        };
        let draft = RequestDraft {
            request,
            url,
            media,
            body,
            needs,
            trace: telling.trace(),
        };
        let mut attempt = 0;
        let mut unsent = false;
        let mut renewed = false;
        loop {
            if let Some(rate) = &self.shared.rate {
                let turn = rate.turn(telling).await;
                turn.map_err(CallFailure::Declined)?;
            }
            let (reply, shown) = match self.attempt(&draft).await? {
                AttemptOutcome::Answered(answered) => *answered,
                // Retried once, on a new connection.
                AttemptOutcome::Unsent(_) if !unsent => {
                    unsent = true;
                    continue;
                }
                AttemptOutcome::Unsent(why) => return Err(CallFailure::Declined(why)),
            };
            // The token is no longer valid, so the request was not processed.
            if reply.status == StatusCode::UNAUTHORIZED && !renewed && !shown.fetched.is_empty() {
                renewed = true;
                for (tokens, token) in shown.fetched {
                    tokens.stale(token.expose());
                }
                continue;
            }
            let answer = (reply.status, &reply.headers);
            let wait = retry_policy::after(answer, (request.safe, attempt), telling.patience());
            let Some(wait) = wait else {
                return Ok(reply);
            };
            let status = reply.status.as_u16();
            drop(reply);
            attempt += 1;
            let source = &self.shared.source;
            debug!(source, status, attempt, ?wait, "not accepted, retrying");
            telling.note(&format!(
                "HTTP {status} from {source}: retrying in {wait:?}"
            ));
            tokio::time::sleep(wait).await;
            telling.note(&format!("retry {attempt} of {}", retry_policy::MAX_RETRIES));
        }
    }

    async fn attempt(&self, draft: &RequestDraft<'_>) -> Result<AttemptOutcome, CallFailure> {
        let shared = &self.shared;
        let shown = shared.keys.show(draft.needs).await?;
        let mut url = draft.url.clone();
        if !shown.query.is_empty() {
            url.set_query(Some(&with_credentials(url.query(), &shown.query)));
        }
        let headers = self.headers(draft, &shown)?;
        let mut sending = shared.client.request(draft.request.method.clone(), url);
        sending = sending.headers(headers);
        if draft.request.body.is_some() {
            sending = sending.body(draft.body.clone());
        }
        shared.requests.fetch_add(1, Ordering::Relaxed);
        let response = match sending.send().await {
            Ok(response) => response,
            Err(error) => return self.failed(error).map(AttemptOutcome::Unsent),
        };
        match ApiResponse::read(response).await {
            Ok(reply) => Ok(AttemptOutcome::Answered(Box::new((reply, shown)))),
            Err(ResponseReadError::Broken(error)) => {
                // The API has answered, so the request was sent, whatever the error.
                let why = error_causes(&error.without_url());
                Err(CallFailure::Lost(shared.mask.words(&format!(
                    "the connection to {} broke in the middle of the answer: {why}",
                    self.shown()
                ))))
            }
            Err(ResponseReadError::Encoded(encoding)) => {
                let encoding: String = encoding.chars().take(MAX_SHOWN_ENCODING).collect();
                Err(CallFailure::Lost(shared.mask.words(&format!(
                    "{} compresses its response with {encoding:?} (Content-Encoding), which muxd cannot decode: it \
                     decodes gzip, deflate, br and zstd",
                    self.shown()
                ))))
            }
            Err(ResponseReadError::TooMany) => Err(CallFailure::TooMuch(format!(
                "the response holds more than {MAX_RESPONSE_VALUES} JSON values, {}; the request was sent, and no part \
                 of the response is used: ask for less, such as a smaller page, a range or fewer fields",
                weight::WEIGHT_RULE_TEXT
            ))),
            Err(ResponseReadError::TooLong) => Err(CallFailure::TooMuch(format!(
                "the response is longer than {} MiB; the request was sent, and no part of the response is used: ask \
                 for less, such as a smaller page, a range or fewer fields",
                MAX_RESPONSE_BYTES >> 20
            ))),
        }
    }

    /// The request's headers. The entry's headers override the call's, and credentials override both.
    fn headers(
        &self,
        draft: &RequestDraft<'_>,
        shown: &AppliedCredentials,
    ) -> Result<HeaderMap, CallFailure> {
        let mut headers = HeaderMap::new();
        let default = HeaderValue::from_static("application/json, */*;q=0.8");
        headers.insert(ACCEPT, default);
        for (name, value) in &draft.request.headers {
            let header = HeaderName::try_from(name);
            let header =
                header.map_err(|_| CallFailure::Unfit(format!("{name:?} is not a header name")))?;
            let value = HeaderValue::from_str(value).map_err(|_| {
                CallFailure::Unfit(format!("the value of the header {name} cannot be sent"))
            })?;
            headers.insert(header, value);
        }
        for (name, value) in draft.trace.iter().flat_map(|context| context.headers()) {
            // The API may have a header parameter of this name.
            headers.entry(name).or_insert(value);
        }
        if let Some(media) = &draft.media
            && !headers.contains_key(CONTENT_TYPE)
        {
            let value = HeaderValue::from_str(media).map_err(|_| {
                CallFailure::Unfit("the media type of the body cannot be sent".into())
            })?;
            headers.insert(CONTENT_TYPE, value);
        }
        let is_shown = |name: &str| shown.cookies.iter().any(|(key, _)| key == name);
        let cookies = draft.request.cookies.iter();
        let cookies = cookies.filter(|(name, _)| !is_shown(name));
        let cookies = cookies.chain(&shown.cookies);
        let cookies: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !cookies.is_empty() {
            let mut value = HeaderValue::from_str(&cookies.join("; "))
                .map_err(|_| CallFailure::Unfit("a cookie cannot be sent".into()))?;
            value.set_sensitive(true);
            headers.insert(COOKIE, value);
        }
        for own in [&self.shared.headers, &shown.headers] {
            for (name, value) in own {
                headers.insert(name, value.clone());
            }
        }
        Ok(headers)
    }

    pub(crate) fn url(&self, request: &ApiRequest) -> Result<Url, CallFailure> {
        let unreadable = || CallFailure::Unfit("the address of the call cannot be read".into());
        let (base, own) = match self.base.split_once('?') {
            Some((base, query)) => (base, Some(query)),
            None => (&*self.base, None),
        };
        let joined = if request.path.is_empty() {
            base.to_owned()
        } else {
            format!("{}{}", base.trim_end_matches('/'), request.path)
        };
        let mut url = Url::parse(&joined).map_err(|_| unreadable())?;
        let at = Url::parse(base).map_err(|_| unreadable())?;
        if leads_elsewhere(&request.path) || url.origin() != at.origin() {
            return Err(CallFailure::Unfit(
                "the path has a segment `.` or `..`, or leads elsewhere; nothing was sent".into(),
            ));
        }
        let pairs = request
            .query
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let query: Vec<String> = own.map(str::to_owned).into_iter().chain(pairs).collect();
        url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
        Ok(url)
    }

    /// Returns the error text of a failed request that was never sent. Otherwise fails with the error for the call.
    fn failed(&self, error: reqwest::Error) -> Result<String, CallFailure> {
        let shared = &self.shared;
        let connecting = error.is_connect();
        let building = error.is_builder();
        if let (Some(refused), Some(url)) = (refusal_in(&error), error.url()) {
            let failure = shared.origins.refused(url, refused);
            return Err(failure);
        }
        let masked = |text: String| shared.mask.words(&text);
        let shown = self.shown();
        if connecting {
            let proxy = error.url().and_then(|url| used_proxy(&shared.network, url));
            let why = connect_failure(error, proxy.as_ref(), shared.key);
            return Ok(masked(format!("{shown} {why}")));
        }
        let why = error_causes(&error.without_url());
        if building {
            let text = format!("cannot build the request: {why}");
            return Err(CallFailure::Declined(masked(text)));
        }
        let text = format!("the connection to {shown} was lost: {why}");
        Err(CallFailure::Lost(masked(text)))
    }
}

/// True if the path would lead to another function: by dot segments, or because it ends in the wrong place.
fn leads_elsewhere(path: &str) -> bool {
    let ends = |c: char| matches!(c, '?' | '#' | '\\') || c.is_ascii_control();
    (!path.is_empty() && !path.starts_with('/')) || path.contains(ends) || has_steps(path)
}

/// Appends credentials to a query, replacing pairs with the same names.
fn with_credentials(query: Option<&str>, credentials: &[(String, String)]) -> String {
    let is_one = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        credentials.iter().any(|(key, _)| key == name)
    };
    let kept = query.into_iter().flat_map(|query| query.split('&'));
    let kept = kept.filter(|pair| !is_one(pair)).map(str::to_owned);
    let given = credentials
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    kept.chain(given).collect::<Vec<_>>().join("&")
}
