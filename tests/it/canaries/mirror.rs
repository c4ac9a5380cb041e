//! An API that repeats headers, login and query of the request in every response.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use mux_tests::web::Web;
use serde_json::json;

pub(super) struct Mirror {
    url: String,
    _web: Web,
    seen: Arc<Mutex<String>>,
}

impl Mirror {
    pub(super) fn open() -> Self {
        let seen = Arc::<Mutex<String>>::default();
        let log = Arc::clone(&seen);
        let routes = Router::new().fallback(move |asked: Request| {
            let (answer, sent) = answer(&asked);
            log.lock().unwrap().push_str(&sent);
            async move { answer }
        });
        let web = Web::open(routes);
        Self {
            url: web.url.clone(),
            _web: web,
            seen,
        }
    }

    /// An OpenAPI description of two functions, each of which requires all credentials of the entry.
    pub(super) fn description(&self) -> String {
        let function = |id: &str| json!({ "get": { "tags": ["say"], "operationId": id, "responses": { "200": { "description": "it" } } } });
        json!({
            "openapi": "3.1.0",
            "info": { "title": "Mirror", "version": "1" },
            "servers": [{ "url": self.url }],
            "security": [{ "key": [], "login": [], "query": [] }],
            "paths": { "/echo": function("echo"), "/refuse": function("refuse") },
            "components": { "securitySchemes": {
                "key": { "type": "apiKey", "in": "header", "name": "X-Access" },
                "login": { "type": "http", "scheme": "basic" },
                "query": { "type": "apiKey", "in": "query", "name": "q" },
            } },
        })
        .to_string()
    }

    /// Fails unless the secrets were sent: otherwise they could not have been repeated.
    #[track_caller]
    pub(super) fn was_sent(&self, secrets: &[String]) {
        let seen = self.seen.lock().unwrap();
        for secret in secrets {
            assert!(seen.contains(secret.as_str()), "{secret} was not sent");
        }
    }
}

/// The response, which repeats the request raw and decoded, and the repeated text.
fn answer(asked: &Request) -> (Response, String) {
    let headers = asked.headers().iter();
    let mut sent: Vec<String> = headers
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    let login = asked.headers().get("authorization");
    let login = login.and_then(|it| it.to_str().ok()?.strip_prefix("Basic "));
    let login = login.and_then(|it| String::from_utf8(STANDARD.decode(it).ok()?).ok());
    sent.extend(login);
    sent.push(asked.uri().to_string());
    let text = sent.join("\n");
    let answer = if asked.uri().path() == "/echo" {
        Json(json!({ "you sent": sent })).into_response()
    } else {
        let said = json!({ "message": format!("it is refused: {text}"), "sent": sent });
        let output = [("x-request-id", sent.join(" "))];
        (StatusCode::FORBIDDEN, output, Json(said)).into_response()
    };
    (answer, text)
}
