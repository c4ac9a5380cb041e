//! The HTTP API of the page. `actions` has the requests that act on servers and tools.
//!
//! Invariant: nothing is decided here. Each request is passed to the daemon, which treats it like that of any other
//! client.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Query, Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
    routing::{get, post},
};
use futures::{Stream, stream};
use mux_proto::{
    ApprovalList, ApprovalsRequest, DecideRequest, Decided, DescribeRequest, Description, Error,
    GrantInfo, Kind, MuxClient, ResumeRequest, Resumed, SearchPage, SearchRequest,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    UiState, actions, request_guard, static_files,
    tab_stream::{ShownRun, stream_to_tab},
};

/// The maximum size of a request body: the longest is the reason for a denial.
const MAX_BODY_BYTES: usize = 64 << 10;
/// The maximum number of messages that are queued for a slow tab.
const MAX_UNREAD_MESSAGES: usize = 4;
/// Milliseconds to wait for servers that were never connected.
const CONNECT_WAIT_MS: u64 = 10_000;

pub(super) type ApiResult<T> = Result<Json<T>, ApiError>;
pub(super) type SharedUiState = State<Arc<UiState>>;

pub(super) fn routes(state: Arc<UiState>) -> Router {
    Router::new()
        .route("/api/stream", get(follow))
        .route("/api/search", get(search))
        .route("/api/tool", get(tool))
        .route("/api/approval", get(approval))
        .route("/api/grants", get(grants))
        .route(request_guard::ENTER_PATH, post(enter))
        .route("/api/connect", post(connect))
        .route("/api/decide", post(decide))
        .route("/api/resume", post(resume))
        .route("/api/revoke", post(revoke))
        .route("/api/cancel", post(cancel))
        .merge(actions::routes())
        .fallback(static_files::serve_static_file)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&state),
            check_request,
        ))
        .with_state(state)
}

/// Middleware for every request and response: checks the request, and adds the security headers.
async fn check_request(State(state): SharedUiState, request: Request, next: Next) -> Response {
    let method = request.method();
    let path = request.uri().path();
    let mut response = match state
        .guard
        .authorize_request(method, path, request.headers())
    {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    request_guard::set_security_headers(response.headers_mut());
    response
}

#[derive(Deserialize)]
struct StreamQuery {
    run: Option<String>,
    #[serde(default)]
    after: u64,
}

async fn follow(
    State(state): SharedUiState,
    Query(StreamQuery { run, after }): Query<StreamQuery>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (tab, messages) = mpsc::channel(MAX_UNREAD_MESSAGES);
    let shown = run.map(|run| ShownRun { run, after });
    tokio::spawn(stream_to_tab(state, shown, tab));
    let messages = stream::unfold(messages, |mut messages| async {
        let text: String = messages.recv().await?;
        Some((Ok(Event::default().data(text)), messages))
    });
    // A broken connection is detected when something is sent.
    Sse::new(messages).keep_alive(KeepAlive::new().interval(Duration::from_secs(10)))
}

#[derive(Deserialize)]
struct SearchQuery {
    #[serde(default)]
    query: String,
    server: Option<String>,
    cursor: Option<String>,
}

async fn search(
    State(state): SharedUiState,
    Query(wanted): Query<SearchQuery>,
) -> ApiResult<SearchPage> {
    let request = SearchRequest {
        query: wanted.query,
        server: wanted.server.filter(|server| !server.is_empty()),
        limit: Some(50),
        cursor: wanted.cursor,
        ..SearchRequest::default()
    };
    state.answer(15, request, MuxClient::search).await
}

#[derive(Deserialize)]
struct ToolQuery {
    path: String,
}

async fn tool(
    State(state): SharedUiState,
    Query(ToolQuery { path }): Query<ToolQuery>,
) -> ApiResult<Description> {
    let request = DescribeRequest {
        paths: vec![path.clone()],
        schemas: true,
        ..DescribeRequest::default()
    };
    let found = state.connection.request(30, request, MuxClient::describe);
    let mut found = found.await?;
    // The path of a group matches all its tools, and may also be the path of a tool.
    let index = found.tools.iter().position(|found| found.tool.path == path);
    match (index, found.missing.pop()) {
        (Some(index), _) => Ok(Json(found.tools.swap_remove(index))),
        (None, Some(missing)) => Err(missing.into()),
        (None, None) => match found.tools.pop() {
            Some(other) => Ok(Json(other)),
            None => Err(Error::new(Kind::NotFound, format!("there is no tool `{path}`")).into()),
        },
    }
}

#[derive(Deserialize)]
struct IdParams {
    id: String,
}

/// One approval, with all of its arguments.
async fn approval(
    State(state): SharedUiState,
    Query(IdParams { id }): Query<IdParams>,
) -> ApiResult<ApprovalList> {
    list_approvals(&state, Some(id)).await
}

/// The permanent grants.
async fn grants(State(state): SharedUiState) -> ApiResult<ApprovalList> {
    list_approvals(&state, None).await
}

async fn list_approvals(state: &UiState, approval: Option<String>) -> ApiResult<ApprovalList> {
    let request = ApprovalsRequest {
        granted: approval.is_none(),
        approval,
        ..ApprovalsRequest::default()
    };
    state.answer(10, request, MuxClient::approvals).await
}

#[derive(Deserialize)]
struct EnterBody {
    code: String,
}

/// Exchanges the code for the token, once.
async fn enter(State(state): SharedUiState, Json(EnterBody { code }): Json<EnterBody>) -> Response {
    if state.once.redeem_code(&code) {
        Json(json!({ "token": state.guard.token() })).into_response()
    } else {
        request_guard::RequestRefusal::Token.into_response()
    }
}

/// Starts the servers whose tools were never listed.
async fn connect(State(state): SharedUiState) -> ApiResult<SearchPage> {
    let request = SearchRequest {
        limit: Some(1),
        wait_ms: CONNECT_WAIT_MS,
        ..SearchRequest::default()
    };
    state.answer(30, request, MuxClient::search).await
}

async fn decide(
    State(state): SharedUiState,
    Json(request): Json<DecideRequest>,
) -> ApiResult<Decided> {
    state.answer(10, request, MuxClient::decide).await
}

/// Resumes a run, detached from the page.
async fn resume(
    State(state): SharedUiState,
    Json(IdParams { id }): Json<IdParams>,
) -> ApiResult<Resumed> {
    let request = ResumeRequest { id, detach: true };
    state.answer(30, request, MuxClient::resume_run).await
}

async fn revoke(
    State(state): SharedUiState,
    Json(IdParams { id }): Json<IdParams>,
) -> ApiResult<GrantInfo> {
    state.answer(10, id, MuxClient::revoke_approval).await
}

async fn cancel(
    State(state): SharedUiState,
    Json(IdParams { id }): Json<IdParams>,
) -> ApiResult<Value> {
    let cancelled = state.connection.request(10, id, MuxClient::cancel_run);
    cancelled.await?;
    Ok(Json(json!({})))
}

/// An error response.
pub(super) struct ApiError(Error);

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = match self.0.kind.known().unwrap_or_default() {
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Validation => StatusCode::UNPROCESSABLE_ENTITY,
            Kind::Denied => StatusCode::CONFLICT,
            Kind::Unavailable | Kind::UnknownOutcome | Kind::Busy => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Kind::Limit => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::Timeout => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(json!({ "error": self.0 }))).into_response()
    }
}
