//! A local API server that answers as its description says, and echoes other requests.

use std::{
    future::IntoFuture,
    net,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, RawQuery},
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Map, Value, json};
use tokio::{net::TcpListener, runtime, sync::oneshot};

/// The headers of a request that are echoed.
const TOLD: [&str; 7] = [
    "accept",
    "content-type",
    "cookie",
    "id",
    "x-list",
    "api_key",
    "authorization",
];
/// The number of things in all pages together.
const THINGS: usize = 7;

pub(super) struct Shop {
    url: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    deleted: Arc<Mutex<Vec<u64>>>,
    told: Arc<AtomicUsize>,
}

impl Shop {
    pub(super) fn open() -> Self {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let deleted = Arc::<Mutex<Vec<u64>>>::default();
        let count = Arc::<AtomicUsize>::default();
        let routes = routes(Arc::clone(&deleted), Arc::clone(&count));
        let (end, ended) = oneshot::channel::<()>();
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    served = axum::serve(listener, routes).into_future() => served.unwrap(),
                    _ = ended => {}
                }
            });
        });
        Self {
            url,
            end: Some(end),
            thread: Some(thread),
            deleted,
            told: count,
        }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The number of requests that were echoed.
    pub(super) fn told(&self) -> usize {
        self.told.load(Ordering::Relaxed)
    }

    pub(super) fn deleted(&self) -> Vec<u64> {
        self.deleted.lock().unwrap().clone()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn routes(deleted: Arc<Mutex<Vec<u64>>>, count: Arc<AtomicUsize>) -> Router {
    let told = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
        count.fetch_add(1, Ordering::Relaxed);
        told(method, uri, headers, body)
    };
    let delete = move |Path(id): Path<u64>| async move {
        deleted.lock().unwrap().push(id);
        StatusCode::NO_CONTENT
    };
    Router::new()
        .route("/pet/findByStatus", get(pets))
        .route("/pet/{id}", get(pet).delete(delete))
        .route("/picture", get(picture))
        .route("/linked", get(linked))
        .route("/cursor", get(cursor))
        .route("/numbers", get(async || Json(12)))
        .route("/upload", post(told.clone()))
        .fallback(told)
}

async fn pets() -> Json<Value> {
    Json(
        json!([{ "id": 1, "name": "Rex", "photoUrls": [] }, { "id": 2, "name": "Tom", "photoUrls": [] }]),
    )
}

async fn pet(Path(id): Path<u64>) -> Response {
    match id {
        404 => (
            StatusCode::NOT_FOUND,
            [(header::CONTENT_TYPE, "application/problem+json")],
            json!({ "title": "No such pet", "detail": "404 ran away" }).to_string(),
        )
            .into_response(),
        id => Json(json!({ "id": id, "name": "Rex", "photoUrls": ["a"] })).into_response(),
    }
}

async fn picture() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "image/png")],
        vec![0x89, b'P', 0, 255],
    )
}

/// Three things per page, with a `Link` to the next page. The last page fails for `fail`.
async fn linked(uri: Uri, RawQuery(query): RawQuery) -> Response {
    let page = number(query.as_deref(), "page").unwrap_or(1);
    if query.as_deref().is_some_and(|query| query.contains("fail")) && page == 3 {
        return (StatusCode::INTERNAL_SERVER_ERROR, "out of things").into_response();
    }
    let things = things(3 * (page - 1));
    if 3 * page >= THINGS {
        return Json(things).into_response();
    }
    let fail = if query.is_some_and(|query| query.contains("fail")) {
        "&fail=1"
    } else {
        ""
    };
    let next = format!("<{}?page={}{fail}>; rel=\"next\"", uri.path(), page + 1);
    ([(header::LINK, next)], Json(things)).into_response()
}

async fn cursor(RawQuery(query): RawQuery) -> Json<Value> {
    let from = number(query.as_deref(), "cursor").unwrap_or(0);
    let next = (from + 3 < THINGS).then(|| (from + 3).to_string());
    Json(json!({ "users": things(from), "next_cursor": next }))
}

fn things(from: usize) -> Vec<String> {
    let to = THINGS.min(from + 3);
    (from..to).map(|number| format!("thing {number}")).collect()
}

fn number(query: Option<&str>, name: &str) -> Option<usize> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(known, _)| *known == name);
    values.next()?.1.parse().ok()
}

#[expect(clippy::unused_async, reason = "a handler of axum is async")]
async fn told(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Json<Value> {
    let mut said = Map::new();
    for name in TOLD {
        if let Some(value) = headers.get(name) {
            said.insert(name.to_owned(), value.to_str().unwrap_or("?").into());
        }
    }
    let target = uri.path_and_query().map(ToString::to_string);
    Json(json!({
        "method": method.as_str(),
        "target": target,
        "headers": said,
        "body": String::from_utf8_lossy(&body),
    }))
}
