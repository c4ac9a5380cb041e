//! The HTTP client against real servers on this machine.

mod answers;
mod failures;
mod origins;
mod paging;
mod secrets;
mod tokens;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Bytes, to_bytes},
    extract::Request as Asked,
    response::{IntoResponse, Response},
};
use reqwest::Method;
use serde_json::Value;
use tokio::net::TcpListener;

use super::*;
use crate::{call_progress::CallProgress, source::CallFailure};
use mux_settings::{DescriptionLocation, SourceCredential, SourceDefinition, SourceKind};

/// A request that a server received.
#[derive(Clone, Debug)]
struct RecordedRequest {
    method: String,
    target: String,
    headers: axum::http::HeaderMap,
    body: Bytes,
}

impl RecordedRequest {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

type RequestLog = Arc<Mutex<Vec<RecordedRequest>>>;

/// Starts a server on a free port. Returns its URL and the requests that it received.
async fn serve<R: IntoResponse>(
    answer: impl Fn(&RecordedRequest, usize) -> R + Clone + Send + Sync + 'static,
) -> (String, RequestLog) {
    let log = RequestLog::default();
    let router = Router::new().fallback({
        let log = Arc::clone(&log);
        move |asked: Asked| {
            let log = Arc::clone(&log);
            let answer = answer.clone();
            async move {
                let (parts, body) = asked.into_parts();
                let seen = RecordedRequest {
                    method: parts.method.to_string(),
                    target: parts.uri.to_string(),
                    headers: parts.headers,
                    body: to_bytes(body, usize::MAX).await.unwrap(),
                };
                let number = {
                    let mut log = log.lock().unwrap();
                    log.push(seen.clone());
                    log.len()
                };
                answer(&seen, number).into_response()
            }
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, log)
}

fn settings() -> SourceDefinition {
    SourceDefinition {
        kind: SourceKind::OpenApi,
        description: Some(DescriptionLocation::File("api.json".into())),
        written: "api.json".into(),
        base_url: None,
        variables: BTreeMap::new(),
        headers: BTreeMap::new(),
        credentials: BTreeMap::new(),
        origins: Vec::new(),
        secret_headers: Vec::new(),
        account: None,
        scopes: None,
        rate: None,
        refresh: Duration::from_mins(1),
        depth: 2,
        max_functions: 20_000,
        exclude: Vec::new(),
        network: Arc::default(),
    }
}

pub(super) fn api(base: &str) -> ApiClient {
    api_with(base, &settings(), &[])
}

fn api_with(
    base: &str,
    settings: &SourceDefinition,
    schemes: &[(&str, SecurityScheme)],
) -> ApiClient {
    let schemes = schemes
        .iter()
        .map(|(name, scheme)| ((*name).to_owned(), scheme.clone()));
    let origins = AllowedOrigins::listed("shop", settings).with_calls(base);
    let lasting = EntryState::new(settings);
    ApiClient::new(
        "shop",
        settings,
        (base, origins),
        schemes.collect(),
        &lasting,
    )
    .unwrap()
}

fn text(text: &str) -> SourceCredential {
    SourceCredential::Text(text.into())
}

fn request(method: Method, path: &str) -> ApiRequest {
    ApiRequest {
        safe: method == Method::GET,
        method,
        path: path.into(),
        query: Vec::new(),
        headers: Vec::new(),
        cookies: Vec::new(),
        body: None,
        security: Vec::new(),
    }
}

pub(super) fn get(path: &str) -> ApiRequest {
    request(Method::GET, path)
}

fn telling() -> CallProgress {
    CallProgress::to_nobody(Duration::from_mins(1))
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// The message and the details of an error result.
fn refusal(result: &Value) -> (&str, &Value) {
    assert_eq!(result["isError"], true, "{result}");
    (
        result["content"][0]["text"].as_str().unwrap(),
        &result["structuredContent"],
    )
}

fn media(media: &'static str, body: impl Into<axum::body::Body>) -> Response {
    ([("content-type", media)], body.into()).into_response()
}
