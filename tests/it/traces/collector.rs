//! A collector of spans and an API, on one separate thread.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use mux_tests::web::Web;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message as _;

/// How long to wait for spans before the test fails.
const HANG: Duration = Duration::from_mins(1);

#[derive(Default)]
pub(super) struct Seen {
    pub(super) spans: Vec<Span>,
    /// The bodies of the requests with spans.
    pub(super) bodies: Vec<Bytes>,
    pub(super) resource: BTreeMap<String, String>,
    pub(super) keys: Vec<String>,
    /// The headers of the requests to the API.
    pub(super) headers: Vec<HeaderMap>,
}

pub(super) struct Collector {
    pub(super) url: String,
    _web: Web,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl Collector {
    pub(super) fn start() -> Self {
        let seen = Arc::<(Mutex<Seen>, Condvar)>::default();
        let spans = Arc::clone(&seen);
        let api = Arc::clone(&seen);
        let router = Router::new()
            .route(
                "/v1/traces",
                post(async move |headers: HeaderMap, body: Bytes| take(&spans, &headers, &body)),
            )
            .route(
                "/ping",
                get(async move |headers: HeaderMap| {
                    api.0.lock().unwrap().headers.push(headers);
                    r#"{"pong":true}"#
                }),
            );
        let web = Web::open(router);
        Self {
            url: web.url.clone(),
            _web: web,
            seen,
        }
    }

    /// Waits for `count` spans of this name. Returns everything received so far.
    #[track_caller]
    pub(super) fn until(&self, name: &str, count: usize) -> std::sync::MutexGuard<'_, Seen> {
        let over = Instant::now() + HANG;
        let mut seen = self.seen.0.lock().unwrap();
        while seen.spans.iter().filter(|span| span.name == name).count() < count {
            assert!(Instant::now() < over, "{:#?}", seen.spans);
            let left = over.saturating_duration_since(Instant::now());
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
        seen
    }

    pub(super) fn now(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.0.lock().unwrap()
    }

    /// The entry `[sources.api]` for this API.
    pub(super) fn source(&self, more: &str) -> String {
        format!(
            "[sources.api]\nopenapi = \"api.yaml\"\nbase_url = {:?}\n{more}\n",
            self.url
        )
    }
}

fn take(seen: &(Mutex<Seen>, Condvar), headers: &HeaderMap, body: &Bytes) -> StatusCode {
    let Ok(request) = ExportTraceServiceRequest::decode(body.clone()) else {
        return StatusCode::BAD_REQUEST;
    };
    let mut all = seen.0.lock().unwrap();
    all.bodies.push(body.clone());
    let key = headers.get("x-key").map(|key| key.to_str().unwrap());
    all.keys.extend(key.map(str::to_owned));
    for of_resource in request.resource_spans {
        let resource = of_resource.resource.unwrap_or_default();
        all.resource = texts(&resource.attributes);
        let scopes = of_resource.scope_spans.into_iter();
        all.spans.extend(scopes.flat_map(|scope| scope.spans));
    }
    seen.1.notify_all();
    StatusCode::OK
}

/// The attributes, all as texts.
pub(super) fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |pair: &KeyValue| match pair.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    };
    let pairs = attributes.iter();
    pairs
        .filter_map(|pair| Some((pair.key.clone(), text(pair)?)))
        .collect()
}
