//! The MCP server that requires a token: streamable HTTP with a few tools.

use std::{fmt::Write as _, sync::Arc};

use axum::{
    Json, Router,
    extract::State as Given,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};

use super::{
    Shared, issuer,
    oddity::{Places, written},
    state::{State, Token},
};

/// One MCP server.
#[derive(Clone)]
pub(super) struct ProtectedServer {
    pub(super) shared: Arc<Shared>,
    pub(super) resource: String,
}

type Us = Given<ProtectedServer>;

pub(super) fn routes(protected: ProtectedServer) -> Router {
    Router::new()
        .route("/mcp", post(message).get(stream).delete(ended))
        .fallback(published)
        .with_state(protected)
}

async fn published(Given(us): Us, uri: Uri) -> Response {
    us.shared.hold("resource").await;
    let state = us.shared.state();
    match uri.path() {
        "/.well-known/oauth-authorization-server" if state.rules.fronted => {
            issuer::metadata(&us.shared, &state)
        }
        path if path == state.rules.resource_metadata_at => metadata(&us, &state),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn metadata(us: &ProtectedServer, state: &State) -> Response {
    let elsewhere = state.rules.authority_at.clone();
    let issuer = elsewhere.unwrap_or_else(|| us.shared.issuer_url(&state.rules));
    let metadata = json!({
        "resource": us.places().filled(state.rules.resource),
        "authorization_servers": [issuer],
        "scopes_supported": ["read"],
        "bearer_methods_supported": ["header"],
    });
    let odd = state.rules.oddity("resource");
    written(odd, StatusCode::OK, metadata, &us.places())
}

impl ProtectedServer {
    fn places(&self) -> Places<'_> {
        Places {
            url: &self.resource,
            issuer: &self.shared.issuer,
        }
    }
}

async fn stream(Given(us): Us, headers: HeaderMap) -> Response {
    match admitted(&us, &headers) {
        Ok(_) => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        Err(refusal) => refusal,
    }
}

async fn ended(Given(us): Us, headers: HeaderMap) -> Response {
    match admitted(&us, &headers) {
        Ok(_) => StatusCode::NO_CONTENT.into_response(),
        Err(refusal) => refusal,
    }
}

/// The request's token if it is valid.
fn admitted(us: &ProtectedServer, headers: &HeaderMap) -> Result<Token, Response> {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
        .unwrap_or_default();
    let mut state = us.shared.state();
    let admitted = if state.rules.accepts_nobody {
        None
    } else {
        let audience = us.places().filled(state.rules.resource);
        state.admit(token, &audience)
    };
    admitted.ok_or_else(|| {
        state.happened("refused");
        refusal(us, &state, token)
    })
}

fn refusal(us: &ProtectedServer, state: &State, token: &str) -> Response {
    let usual = || {
        let mut challenge = format!(
            "Bearer error=\"invalid_token\", error_description=\"The token is not known\", scope=\"{}\"",
            state.rules.scope
        );
        if state.rules.points {
            let at = format!("{{origin}}{}", state.rules.resource_metadata_at);
            _ = write!(challenge, ", resource_metadata=\"{at}\"");
        }
        vec![challenge]
    };
    let own = state.rules.challenges.as_ref();
    let own = own.map(|own| own.iter().copied().map(str::to_owned).collect());
    let mut headers = HeaderMap::new();
    for challenge in own.unwrap_or_else(usual) {
        let challenge = HeaderValue::try_from(us.places().filled(&challenge)).unwrap();
        headers.append(header::WWW_AUTHENTICATE, challenge);
    }
    let body = if state.rules.repeats {
        format!("{token} is not known here")
    } else {
        String::new()
    };
    (StatusCode::UNAUTHORIZED, headers, body).into_response()
}

async fn message(Given(us): Us, headers: HeaderMap, Json(message): Json<Value>) -> Response {
    us.shared.hold("mcp").await;
    let is_open = us.shared.state().rules.open_handshake;
    match message["method"].as_str().unwrap_or_default() {
        "initialize" if is_open => return answer(&message["id"], initialized()),
        "notifications/initialized" if is_open => return StatusCode::ACCEPTED.into_response(),
        _ => {}
    }
    let token = match admitted(&us, &headers) {
        Ok(token) => token,
        Err(refusal) => return refusal,
    };
    let Some(id) = message.get("id") else {
        return StatusCode::ACCEPTED.into_response();
    };
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => initialized(),
        "ping" => json!({}),
        "tools/list" => tools(token.holder.user),
        "tools/call" => match call(&us, &token, &message["params"]) {
            Ok(result) => result,
            Err(refusal) => return refusal,
        },
        method => {
            let error = json!({ "code": -32601, "message": format!("no method {method}") });
            let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            return Json(answer).into_response();
        }
    };
    answer(id, result)
}

fn answer(id: &Value, result: Value) -> Response {
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let session = (HeaderName::from_static("mcp-session-id"), "session-1");
    ([session], Json(answer)).into_response()
}

fn initialized() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "protected", "version": "1" },
    })
}

fn tools(user: Option<&str>) -> Value {
    let tool = |name: &str, description: &str| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
        })
    };
    let mut tools = vec![
        tool("echo", "Says it again"),
        tool("scopes", "What the caller may do"),
        tool("admin", "Wants the scope `admin`"),
    ];
    // The second one is on the list of this user alone.
    tools.extend(user.into_iter().flat_map(|user| {
        let name = user.split('@').next().unwrap_or_default();
        [
            tool("whoami", "Says who you are"),
            tool(&format!("of_{name}"), "Echoes as well"),
        ]
    }));
    json!({ "tools": tools })
}

fn call(us: &ProtectedServer, token: &Token, params: &Value) -> Result<Value, Response> {
    let text = match params["name"].as_str().unwrap_or_default() {
        "echo" => params["arguments"]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        "scopes" => token.scopes.join(" "),
        "whoami" => token.holder.user.unwrap_or_default().to_owned(),
        _ if token.scopes.iter().any(|scope| scope == "admin") => "done".into(),
        _ => {
            let scope = us.shared.state().rules.step_up;
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            let header = [(header::WWW_AUTHENTICATE, challenge)];
            return Err((StatusCode::FORBIDDEN, header).into_response());
        }
    };
    us.shared.state().happened("call");
    Ok(json!({ "content": [{ "type": "text", "text": text }] }))
}
