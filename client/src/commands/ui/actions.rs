//! Requests of the page that act on servers and call tools, and the checks of `mux doctor`.
//!
//! Invariant: each of them does the same as the command of the same name, by the same code. config.toml is edited here
//! and never by a request to the daemon.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Query, State, rejection::JsonRejection},
    http::StatusCode,
    routing::{get, post},
};
use mux_proto::{
    CallRequest, Error, Held, JsonText, Kind, LoginFinishRequest, LoginRequest, LoginStarted,
    LoginState, LoginWaitRequest, MuxClient, ReadPage, ReadRequest, SandboxProfile, ServerInfo,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::SemaphorePermit;

use super::{
    UiState,
    api::{ApiResult, SharedUiState},
};
use crate::{
    commands::{
        CommandFailure, doctor::run_checks, login::check_login_url, logs::last_lines_of_server,
        servers::switch_entry,
    },
    request_timeouts::{CALL_TIMEOUT, LOGIN_TIMEOUT_SECS, SERVER_START_TIMEOUT},
};

/// The maximum size of a call's arguments, in bytes.
const MAX_CALL_BYTES: usize = 8 << 20;
/// How many calls and restarts may be in progress. A browser has six connections to this server for all tabs, and the
/// answer to an approval, on which a call waits, needs one of them.
pub(super) const MAX_LONG_REQUESTS: usize = 3;
/// How many lines of a server's log the page shows.
const SHOWN_LOG_LINES: usize = 300;
/// The length of a page of a stored value, in bytes.
const VALUE_PAGE_BYTES: u64 = 1 << 20;

pub(super) fn routes() -> Router<Arc<UiState>> {
    Router::new()
        .route("/api/doctor", get(doctor))
        .route("/api/logs", get(logs))
        .route("/api/sandbox", get(sandbox))
        .route("/api/value", get(value))
        .route("/api/restart", post(restart))
        .route("/api/switch", post(switch))
        .route("/api/login", post(login))
        .route("/api/login/wait", post(login_wait))
        .route("/api/login/finish", post(login_finish))
        .route(
            "/api/call",
            post(call).layer(DefaultBodyLimit::max(MAX_CALL_BYTES)),
        )
}

/// Runs the code of a command in another thread: it reads and writes files, and must not delay other requests.
async fn run_command<T, F>(command: impl FnOnce() -> F + Send + 'static) -> Result<T, Error>
where
    T: Send + 'static,
    F: Future<Output = Result<T, CommandFailure>>,
{
    let internal = |error: &dyn std::fmt::Display| Error::new(Kind::Internal, error.to_string());
    let ran = tokio::task::spawn_blocking(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build();
        let runtime = runtime.map_err(|error| internal(&error))?;
        runtime.block_on(command()).map_err(Error::from)
    });
    ran.await.unwrap_or_else(|lost| Err(internal(&lost)))
}

/// The findings of `mux doctor`.
async fn doctor() -> ApiResult<Value> {
    let checks = run_command(|| async { Ok(run_checks().await) }).await?;
    Ok(Json(json!({ "checks": checks })))
}

#[derive(Deserialize)]
struct ServerParams {
    server: String,
}

/// The end of a server's log, as `mux logs --server` prints it.
async fn logs(Query(ServerParams { server }): Query<ServerParams>) -> ApiResult<Value> {
    let lines =
        run_command(|| async move { last_lines_of_server(&server, SHOWN_LOG_LINES) }).await?;
    Ok(Json(json!({ "lines": lines })))
}

async fn sandbox(
    State(state): SharedUiState,
    Query(ServerParams { server }): Query<ServerParams>,
) -> ApiResult<SandboxProfile> {
    state.answer(60, server, MuxClient::sandbox).await
}

#[derive(Deserialize)]
struct ValueQuery {
    handle: String,
    #[serde(default)]
    offset: u64,
}

/// A page of a result that is too long for one message.
async fn value(
    State(state): SharedUiState,
    Query(ValueQuery { handle, offset }): Query<ValueQuery>,
) -> ApiResult<ReadPage> {
    let request = ReadRequest {
        handle,
        offset,
        length: Some(VALUE_PAGE_BYTES),
    };
    state.answer(30, request, MuxClient::read).await
}

/// A permit for a request that may take long, or an error at once.
fn begin_long_request(state: &UiState) -> Result<SemaphorePermit<'_>, Error> {
    state.long_requests.try_acquire().map_err(|_| {
        let message =
            format!("{MAX_LONG_REQUESTS} calls and restarts are already in progress on this page");
        Error::new(Kind::Busy, message).hint("wait for one of them, or cancel it")
    })
}

async fn restart(
    State(state): SharedUiState,
    Json(ServerParams { server }): Json<ServerParams>,
) -> ApiResult<ServerInfo> {
    let _permit = begin_long_request(&state)?;
    let timeout_seconds = SERVER_START_TIMEOUT.as_secs();
    let answer = state.answer(timeout_seconds, server, MuxClient::restart_server);
    answer.await
}

#[derive(Deserialize)]
struct SwitchBody {
    server: String,
    enabled: bool,
}

/// Enables or disables an entry of config.toml, as `mux servers enable` and `disable` do.
async fn switch(
    State(state): SharedUiState,
    Json(SwitchBody { server, enabled }): Json<SwitchBody>,
) -> ApiResult<Value> {
    let servers = state.connection.ask(10, MuxClient::servers).await?;
    let info = servers.into_iter().find(|info| info.name == server);
    let is_source = info.is_some_and(|info| info.source.is_some());
    let edit =
        run_command(move || async move { switch_entry(&server, is_source, enabled).await }).await?;
    Ok(Json(json!({
        "server": edit.server,
        "changed": edit.changed,
        "not_reloaded": edit.not_reloaded,
    })))
}

/// Starts a login. The user opens its URL, and the page waits for the outcome.
async fn login(
    State(state): SharedUiState,
    Json(request): Json<LoginRequest>,
) -> ApiResult<LoginStarted> {
    let started = state
        .connection
        .request(LOGIN_TIMEOUT_SECS, request, MuxClient::login)
        .await?;
    if !started.url.is_empty() {
        check_login_url(&started)?;
    }
    Ok(Json(started))
}

#[derive(Deserialize)]
struct LoginParams {
    login: String,
}

/// The outcome of a login; `pending` if there is none yet.
async fn login_wait(
    State(state): SharedUiState,
    Json(LoginParams { login }): Json<LoginParams>,
) -> ApiResult<LoginState> {
    // No connection of the browser waits.
    let request = LoginWaitRequest { login, wait_ms: 0 };
    state.answer(60, request, MuxClient::login_wait).await
}

/// Completes a login with the address to which the browser was sent.
async fn login_finish(
    State(state): SharedUiState,
    Json(request): Json<LoginFinishRequest>,
) -> ApiResult<LoginState> {
    state
        .answer(LOGIN_TIMEOUT_SECS, request, MuxClient::login_finish)
        .await
}

#[derive(Deserialize)]
struct CallBody {
    path: String,
    /// The arguments as JSON text, with which numbers stay as they were typed.
    arguments: Option<String>,
    /// In their place: names with text, as `mux call NAME=TEXT` sends them.
    #[serde(default)]
    typed: Vec<(String, String)>,
}

/// How a call ended. Its error is an outcome, too, and no failure of the page's request.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CallOutcome {
    Error(Error),
    #[serde(untagged)]
    Held(Held),
}

/// Calls a tool, as `mux call` does: with the same checks, the same policy and the same approvals.
async fn call(
    State(state): SharedUiState,
    body: Result<Json<CallBody>, JsonRejection>,
) -> ApiResult<CallOutcome> {
    let Json(body) = body.map_err(|rejection| refused_body(&rejection))?;
    let arguments = body.arguments.map(JsonText::new).transpose();
    let arguments = arguments.map_err(|error| {
        let message = format!("the arguments are not JSON: {error}");
        Error::new(Kind::Validation, message)
    })?;
    let request = CallRequest {
        path: body.path,
        arguments: arguments.unwrap_or_default(),
        typed: body.typed,
        declared_only: true,
        ..CallRequest::default()
    };
    let _permit = begin_long_request(&state)?;
    // If the page goes away, the call is cancelled with this request.
    let timeout_seconds = CALL_TIMEOUT.as_secs();
    let ended = state
        .connection
        .request(timeout_seconds, request, MuxClient::call);
    Ok(Json(
        ended.await.map_or_else(CallOutcome::Error, |answer| {
            CallOutcome::Held(answer.result)
        }),
    ))
}

fn refused_body(rejection: &JsonRejection) -> Error {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let message = "the arguments are longer than 8 MiB, the limit of this page";
            Error::new(Kind::Limit, message).hint("`mux call PATH @FILE` sends longer ones")
        }
        _ => Error::new(Kind::Validation, rejection.body_text()),
    }
}
