//! All cases over HTTP: `/CLIENT/SUBJECT/mcp` is streamable HTTP, `/CLIENT/SUBJECT/sse` HTTP+SSE of 2024-11-05.
//!
//! Invariant: each client has its own server, and does not see the sessions of another.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::stream;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    case::{Case, Framing, Habit, Subject, Transport},
    framing::Framer,
    messages,
    scripted_server::{ScriptedServer, SessionCheck},
    stdio::SLOW,
};

const SESSION_ID: &str = "mcp-session-id";

struct Host {
    subjects: HashMap<String, (Case, Transport)>,
    servers: Mutex<HashMap<(String, String), Arc<ScriptedServer>>>,
    /// The streams of HTTP+SSE, by number.
    streams: Mutex<HashMap<usize, mpsc::UnboundedSender<String>>>,
    opened: AtomicUsize,
}

/// Serves all subjects.
pub(super) fn routes(subjects: &[Subject]) -> Router {
    let by_name = |subject: &Subject| {
        let served = (subject.case.clone(), subject.transport);
        (subject.name(), served)
    };
    let host = Host {
        subjects: subjects.iter().map(by_name).collect(),
        servers: Mutex::default(),
        streams: Mutex::default(),
        opened: AtomicUsize::new(1),
    };
    Router::new()
        .route(
            "/{client}/{subject}/mcp",
            get(no_stream).post(streamable).delete(|| async {}),
        )
        .route("/{client}/{subject}/sse", get(open_stream))
        .route("/{client}/{subject}/messages", post(message))
        .with_state(Arc::new(host))
}

impl Host {
    fn server(&self, client: &str, subject: &str) -> Option<(Arc<ScriptedServer>, Transport)> {
        let (case, transport) = self.subjects.get(subject)?;
        let mut servers = self.servers.lock();
        let key = (client.to_owned(), subject.to_owned());
        let server = servers
            .entry(key)
            .or_insert_with(|| Arc::new(ScriptedServer::new(case.clone())));
        Some((Arc::clone(server), *transport))
    }
}

async fn no_stream(
    State(host): State<Arc<Host>>,
    Path((client, subject)): Path<(String, String)>,
) -> Response {
    let found = host.server(&client, &subject);
    let is_unauthorized = found.is_some_and(|(server, _)| server.has(Habit::GetUnauthorized));
    if is_unauthorized {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        return (StatusCode::UNAUTHORIZED, challenge).into_response();
    }
    (
        StatusCode::METHOD_NOT_ALLOWED,
        [(header::ALLOW, "POST, DELETE")],
    )
        .into_response()
}

async fn streamable(
    State(host): State<Arc<Host>>,
    Path((client, subject)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (Some((server, transport)), Ok(message)) = (
        host.server(&client, &subject),
        serde_json::from_slice::<Value>(&body),
    ) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let id = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
    let session = match server.check_session(&message, id) {
        SessionCheck::Known(session) => session,
        SessionCheck::Lost(habit) => return lost(habit, &message),
    };
    let mut response = answer(&server, transport, &message).await;
    if let Some(session) = session {
        let headers = response.headers_mut();
        headers.insert(SESSION_ID, session.parse().unwrap());
    }
    response
}

async fn answer(server: &ScriptedServer, transport: Transport, message: &Value) -> Response {
    let replies = replies(server, message).await;
    let is_later = message["method"] != "initialize" && message["method"] != "server/discover";
    let framer = Framer::new(&server.case.framing, is_later);
    if message.get("id").is_none() || message.get("method").is_none() {
        return if framer.has(Framing::StatusNoContent) {
            StatusCode::NO_CONTENT.into_response()
        } else if framer.has(Framing::StatusOkText) {
            "ok".into_response()
        } else {
            StatusCode::ACCEPTED.into_response()
        };
    }
    let text = match transport {
        Transport::Json => framer.document(&replies),
        _ => framer.event_stream(&replies),
    };
    let pieces = framer.pieces(framer.encoded(text));
    let chunks = pieces.into_iter().map(Ok::<_, Infallible>);
    let status = if framer.has(Framing::StatusCreated) {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let mut response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, framer.media_type(transport));
    if framer.has(Framing::Gzip) {
        response = response.header(header::CONTENT_ENCODING, "gzip");
    }
    response
        .body(Body::from_stream(stream::iter(chunks)))
        .unwrap()
}

async fn replies(server: &ScriptedServer, message: &Value) -> Vec<String> {
    if message["method"] == "initialize" && server.has(Habit::SlowInitialize) {
        tokio::time::sleep(SLOW).await;
    }
    server.replies(message)
}

/// The ways in which servers say that they do not know a session.
fn lost(habit: Habit, message: &Value) -> Response {
    let mut error = messages::error(-32001, "Session not found");
    error["id"] = message["id"].clone();
    let document = (
        [(header::CONTENT_TYPE, "application/json")],
        error.to_string(),
    );
    match habit {
        Habit::LosesSession400 => (StatusCode::BAD_REQUEST, "Invalid session ID").into_response(),
        Habit::LosesSession410 => (StatusCode::GONE, document).into_response(),
        Habit::LosesSession200 => document.into_response(),
        _ => (StatusCode::NOT_FOUND, document).into_response(),
    }
}

async fn open_stream(
    State(host): State<Arc<Host>>,
    Path((client, subject)): Path<(String, String)>,
) -> Response {
    let Some((server, transport)) = host.server(&client, &subject) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let number = host.opened.fetch_add(1, Ordering::SeqCst);
    let (sender, receiver) = mpsc::unbounded_channel();
    let framer = Framer::new(&server.case.framing, false);
    let endpoint = if server.has(Habit::EndpointNotFound) {
        format!("/messages?session={number}")
    } else {
        format!("/{client}/{subject}/messages?session={number}")
    };
    let start = format!(
        "{}event: endpoint\ndata: {endpoint}\n\n",
        framer.stream_start()
    );
    drop(sender.send(start));
    host.streams.lock().insert(number, sender);
    let events = stream::unfold(receiver, |mut receiver| async {
        let event = receiver.recv().await?;
        Some((Ok::<_, Infallible>(event), receiver))
    });
    Response::builder()
        .header(header::CONTENT_TYPE, framer.media_type(transport))
        .body(Body::from_stream(events))
        .unwrap()
}

async fn message(
    State(host): State<Arc<Host>>,
    Path((client, subject)): Path<(String, String)>,
    Query(query): Query<HashMap<String, usize>>,
    body: Bytes,
) -> Response {
    let number = query.get("session").copied().unwrap_or_default();
    let stream = host.streams.lock().get(&number).cloned();
    let (Some((server, _)), Some(stream), Ok(message)) = (
        host.server(&client, &subject),
        stream,
        serde_json::from_slice::<Value>(&body),
    ) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let is_later = message["method"] != "initialize" && message["method"] != "server/discover";
    let framer = Framer::new(&server.case.framing, is_later);
    for (index, reply) in replies(&server, &message).await.iter().enumerate() {
        drop(stream.send(framer.event(reply, index)));
    }
    (StatusCode::ACCEPTED, "Accepted").into_response()
}
