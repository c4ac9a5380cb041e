//! Tokens that are fetched with client credentials.

use axum::http::StatusCode;
use futures::future::join_all;
use serde_json::json;

use super::*;

fn login(base: &str, token_url: &str) -> ApiClient {
    login_for(base, token_url, None)
}

fn login_for(base: &str, token_url: &str, scopes: Option<&[&str]>) -> ApiClient {
    let mut source = settings();
    source.scopes = scopes.map(|scopes| scopes.iter().map(|it| (*it).to_owned()).collect());
    let credential = SourceCredential::Basic {
        username: "client".into(),
        password: "canary-secret".into(),
    };
    source.credentials = BTreeMap::from([("oauth".into(), credential)]);
    let scheme = SecurityScheme::ClientCredentials {
        token_url: token_url.into(),
        scopes: vec!["read".into(), "write".into()],
    };
    api_with(base, &source, &[("oauth", scheme)])
}

fn asked() -> ApiRequest {
    ApiRequest {
        security: vec![vec!["oauth".into()]],
        ..get("/data")
    }
}

fn tokens(log: &RequestLog) -> usize {
    log.lock()
        .unwrap()
        .iter()
        .filter(|seen| seen.target == "/token")
        .count()
}

#[tokio::test]
async fn one_token_request_serves_all_calls() {
    let (base, log) = serve(|seen, _| match seen.target.as_str() {
        "/token" => {
            axum::Json(json!({ "access_token": "tok-000001", "expires_in": 3600 })).into_response()
        }
        _ => media(
            "text/plain",
            seen.header("authorization").unwrap().len().to_string(),
        ),
    })
    .await;
    let api = login(&base, "/token");
    let request = asked();
    let nobody = telling();
    let calls = (0..20).map(|_| api.call(&request, &nobody));
    for result in join_all(calls).await {
        assert_eq!(result.unwrap()["content"][0]["text"], "17");
    }
    api.call(&request, &nobody).await.unwrap();
    assert_eq!(tokens(&log), 1);
    let log = log.lock().unwrap();
    let first = &log[0];
    assert_eq!(
        &first.body[..],
        b"grant_type=client_credentials&scope=read+write"
    );
    assert_eq!(
        first.header("authorization"),
        Some("Basic Y2xpZW50OmNhbmFyeS1zZWNyZXQ=")
    );
    assert_eq!(log[1].header("authorization"), Some("Bearer tok-000001"));
}

#[tokio::test]
async fn refused_token_is_fetched_again_once() {
    let (base, log) = serve(|seen, number| match seen.target.as_str() {
        "/token" => {
            // Only the second token, of request 3, is accepted.
            let token = format!("tok-{number:06}");
            axum::Json(json!({ "access_token": token })).into_response()
        }
        _ if seen.header("authorization") == Some("Bearer tok-000003") => "good".into_response(),
        _ => StatusCode::UNAUTHORIZED.into_response(),
    })
    .await;
    let api = login(&base, "/token");
    let result = api.call(&asked(), &telling()).await.unwrap();
    assert_eq!(result["content"][0]["text"], "good");
    assert_eq!((tokens(&log), log.lock().unwrap().len()), (2, 4));
    let (never, log) = serve(|seen, _| match seen.target.as_str() {
        "/token" => axum::Json(json!({ "access_token": "tok-same" })).into_response(),
        _ => StatusCode::UNAUTHORIZED.into_response(),
    })
    .await;
    let result = login(&never, "/token")
        .call(&asked(), &telling())
        .await
        .unwrap();
    let (message, _) = refusal(&result);
    assert!(
        message.contains("auth.oauth of [sources.shop]"),
        "{message}"
    );
    assert_eq!(log.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn refused_client_error_does_not_contain_the_secret() {
    let (base, log) = serve(|seen, _| {
        assert_eq!(seen.target, "/token");
        (StatusCode::UNAUTHORIZED, "canary-secret is wrong")
    })
    .await;
    let failure = login(&base, "/token")
        .call(&asked(), &telling())
        .await
        .unwrap_err();
    let CallFailure::Credential { why, fix } = &failure else {
        panic!("{failure:?}");
    };
    assert!(
        why.contains("HTTP 401") && fix.contains("auth.oauth"),
        "{why}; {fix}"
    );
    assert!(!format!("{failure:?}").contains("canary"), "{failure:?}");
    // Also with the secret in the form, as some servers require.
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 2);
    assert!(
        log[1]
            .body
            .ends_with(b"client_id=client&client_secret=canary-secret")
    );
}

#[tokio::test]
async fn entry_state_survives_new_descriptions() {
    let (base, log) = serve(|seen, _| match seen.target.as_str() {
        "/token" => media(
            "application/json",
            "{\"access_token\": \"canary-token\", \"expires_in\": 3600}",
        ),
        _ => media(
            "text/plain",
            seen.header("authorization").unwrap_or("-").to_owned(),
        ),
    })
    .await;
    let mut source = settings();
    let credential = SourceCredential::Basic {
        username: "c".into(),
        password: "canary-secret".into(),
    };
    source.credentials = BTreeMap::from([("oauth".into(), credential)]);
    source.rate = Some(mux_settings::RequestRate {
        count: std::num::NonZeroU32::new(6).unwrap(),
        per: Duration::from_hours(1),
    });
    let lasting = EntryState::new(&source);
    let read = || {
        let scheme = SecurityScheme::ClientCredentials {
            token_url: "/token".into(),
            scopes: Vec::new(),
        };
        let schemes = BTreeMap::from([("oauth".to_owned(), scheme)]);
        let origins = AllowedOrigins::listed("shop", &source).with_calls(&base);
        ApiClient::new("shop", &source, (&base, origins), schemes, &lasting).unwrap()
    };
    let mut asked = get("/things");
    asked.security = vec![vec!["oauth".into()]];
    for _ in 0..3 {
        let result = read().call(&asked, &telling()).await.unwrap();
        assert!(!result.to_string().contains("canary"), "{result}");
    }
    assert_eq!(read().requests(), 3);
    let tokens = log
        .lock()
        .unwrap()
        .iter()
        .filter(|seen| seen.target == "/token")
        .count();
    assert_eq!(tokens, 1);
    // The burst is half of six, for all clients together.
    let (tell, mut received) = tokio::sync::mpsc::unbounded_channel();
    let limits = crate::call_progress::CallLimits {
        clock: Arc::default(),
        begun: tokio::time::Instant::now(),
        within: Duration::from_mins(1),
        whole: Duration::from_mins(1),
        trace: None,
    };
    let telling = CallProgress::new(limits, move |_, _, note| {
        tell.send(note.to_owned()).unwrap();
    });
    let api = read();
    let fourth = tokio::spawn(async move { api.call(&asked, &telling).await });
    assert!(received.recv().await.unwrap().contains("rate = \"6/h\""));
    fourth.abort();
}

#[tokio::test]
async fn configured_scopes_are_requested_and_their_refusal_is_reported() {
    let (base, log) = serve(|seen, _| {
        let narrow = !String::from_utf8_lossy(&seen.body).contains("write");
        match seen.target.as_str() {
            "/token" if narrow => {
                axum::Json(json!({ "access_token": "tok-000001" })).into_response()
            }
            "/token" => {
                let said =
                    json!({ "error": "invalid_scope", "error_description": "canary-secret" });
                (StatusCode::BAD_REQUEST, axum::Json(said)).into_response()
            }
            _ => "ok".into_response(),
        }
    })
    .await;
    let failure = login(&base, "/token")
        .call(&asked(), &telling())
        .await
        .unwrap_err();
    let CallFailure::Credential { why, fix } = &failure else {
        panic!("{failure:?}");
    };
    assert!(
        why.contains("invalid_scope") && why.contains("read write"),
        "{why}"
    );
    assert!(
        fix.contains("[sources.shop]") && fix.contains("scopes = ["),
        "{fix}"
    );
    assert!(!format!("{failure:?}").contains("canary"), "{failure:?}");
    // Not retried with the secret in the form, which would change nothing.
    assert_eq!(tokens(&log), 1);
    for (scopes, body) in [
        (&["read"][..], "grant_type=client_credentials&scope=read"),
        (&[], "grant_type=client_credentials"),
    ] {
        let api = login_for(&base, "/token", Some(scopes));
        api.call(&asked(), &telling()).await.unwrap();
        let log = log.lock().unwrap();
        assert_eq!(String::from_utf8_lossy(&log[log.len() - 2].body), body);
    }
}

#[tokio::test]
async fn token_url_of_an_https_api_must_be_https() {
    let mut source = settings();
    let credential = SourceCredential::Basic {
        username: "c".into(),
        password: "canary-secret".into(),
    };
    source.credentials = BTreeMap::from([("oauth".into(), credential)]);
    let scheme = SecurityScheme::ClientCredentials {
        token_url: "http://login.example/token".into(),
        scopes: Vec::new(),
    };
    let schemes = BTreeMap::from([("oauth".to_owned(), scheme)]);
    let lasting = EntryState::new(&source);
    let at = ("https://api.example", AllowedOrigins::default());
    let problem = ApiClient::new("shop", &source, at, schemes, &lasting).unwrap_err();
    assert!(
        problem.contains("auth.oauth") && problem.contains("https"),
        "{problem}"
    );
}
