//! Credentials are sent where they belong, and appear nowhere else.

use axum::http::StatusCode;
use serde_json::json;

use super::*;

const CANARY: &str = "canary-/\"5ecret";

fn schemes() -> [(&'static str, SecurityScheme); 5] {
    [
        ("key", SecurityScheme::Query("api_key".into())),
        ("header", SecurityScheme::Header("X-Api-Key".into())),
        ("cookie", SecurityScheme::Cookie("sid".into())),
        ("bearer", SecurityScheme::Bearer),
        ("basic", SecurityScheme::Basic),
    ]
}

fn guarded(base: &str) -> (ApiClient, ApiRequest) {
    let mut source = settings();
    for name in ["key", "header", "cookie"] {
        source.credentials.insert(name.into(), text(CANARY));
    }
    source
        .credentials
        .insert("basic".into(), text("ada:canary-of-basic"));
    source.headers = BTreeMap::from([
        ("X-Tenant".into(), "canary-tenant".into()),
        ("X-Session-Token".into(), "canary-session".into()),
    ]);
    let all = ["key", "header", "cookie", "basic"].map(str::to_owned);
    let request = ApiRequest {
        security: vec![all.into()],
        ..get("/echo")
    };
    (api_with(base, &source, &schemes()), request)
}

#[tokio::test]
async fn credentials_that_an_api_repeats_are_masked() {
    for (status, content) in [
        (200, "application/json"),
        (200, "text/plain"),
        (401, "application/json"),
        (403, "text/html"),
        (500, "text/plain"),
    ] {
        let (base, log) = serve(move |seen, _| {
            let said: Vec<String> = seen
                .headers
                .values()
                .map(|value| value.to_str().unwrap().to_owned())
                .chain([seen.target.clone(), CANARY.to_owned()])
                .collect();
            let body = json!({ "message": said.join(" "), "said": said });
            let status = StatusCode::from_u16(status).unwrap();
            (
                status,
                [
                    ("content-type", content),
                    ("x-request-id", "canary-session"),
                ],
                body.to_string(),
            )
        })
        .await;
        let (api, request) = guarded(&base);
        let result = api.call(&request, &telling()).await.unwrap().to_string();
        for secret in [
            "5ecret",
            "canary-session",
            "canary-of-basic",
            "YWRhOmNhbmFyeS1vZi1iYXNpYw",
        ] {
            assert!(!result.contains(secret), "{status} {content}: {result}");
        }
        // The value of an ordinary header may occur in a result.
        assert_eq!(
            result.contains("canary-tenant"),
            status == 200,
            "{status}: {result}"
        );
        let log = log.lock().unwrap();
        assert_eq!(log[0].header("x-api-key"), Some(CANARY));
        let basic = Some("Basic YWRhOmNhbmFyeS1vZi1iYXNpYw==");
        assert_eq!(log[0].header("authorization"), basic);
        assert_eq!(
            log[0].header("cookie"),
            Some(format!("sid={CANARY}").as_str())
        );
        assert!(
            log[0]
                .target
                .starts_with("/echo?api_key=canary-%2F%225ecret"),
            "{log:?}"
        );
    }
}

#[tokio::test]
async fn login_is_masked_however_it_was_given() {
    const PAIR: &str = "ada:canary-p4ss/word";
    // The encoding on the wire.
    let encoded = "YWRhOmNhbmFyeS1wNHNzL3dvcmQ=";
    for given in ["text", "pair", "header", "address"] {
        let (base, log) = serve(move |seen, _| {
            let said = seen.header("authorization").unwrap().to_owned();
            let status = match seen.target.as_str() {
                "/echo" => StatusCode::OK,
                _ => StatusCode::BAD_REQUEST,
            };
            let escaped = PAIR.replace('/', "\\/");
            let body = format!("{{ \"said\": [\"{said}\", \"{PAIR}\", \"{escaped}\"] }}");
            (status, [("content-type", "application/json")], body)
        })
        .await;
        let mut source = settings();
        let mut address = base.clone();
        match given {
            "text" => drop(source.credentials.insert("basic".into(), text(PAIR))),
            "pair" => {
                let (username, password) = PAIR.split_once(':').unwrap();
                let username = username.to_owned();
                let password = password.into();
                let login = SourceCredential::Basic { username, password };
                drop(source.credentials.insert("basic".into(), login));
            }
            "header" => {
                let value = format!("Basic {encoded}");
                drop(source.headers.insert("Authorization".into(), value.into()));
            }
            _ => address = base.replace("http://", "http://ada:canary-p4ss%2Fword@"),
        }
        let security = match given {
            "address" => Vec::new(),
            _ => vec![vec!["basic".to_owned()]],
        };
        let api = api_with(&address, &source, &schemes());
        for path in ["/echo", "/refuse"] {
            let security = security.clone();
            let request = ApiRequest {
                security,
                ..get(path)
            };
            let result = api.call(&request, &telling()).await.unwrap().to_string();
            assert!(result.contains("***"), "{given}: {result}");
            for part in ["canary-p4ss", "YWRhOmNhb"] {
                assert!(!result.contains(part), "{given}: {result}");
            }
        }
        let sent = log.lock().unwrap()[0]
            .header("authorization")
            .map(str::to_owned);
        assert_eq!(sent, Some(format!("Basic {encoded}")), "{given}");
    }
}

#[tokio::test]
async fn failures_hold_no_credential() {
    let unreachable = "http://me:canary-password@127.0.0.1:1/v1?token=canary-query";
    let (api, request) = guarded(unreachable);
    let failure = api.call(&request, &telling()).await.unwrap_err();
    let shown = format!("{failure:?} {failure} {api:?}");
    assert!(shown.contains("cannot be reached"), "{shown}");
    assert!(
        !shown.contains("canary") && !shown.contains("5ecret"),
        "{shown}"
    );
}

#[tokio::test]
async fn request_without_its_credential_is_not_sent() {
    let (base, log) = serve(|_, _| "ok").await;
    let api = api_with(&base, &settings(), &schemes());
    let request = ApiRequest {
        security: vec![vec!["bearer".into()]],
        ..get("/x")
    };
    let failure = api.call(&request, &telling()).await.unwrap_err();
    let CallFailure::Credential { why, fix } = failure else {
        panic!("{failure:?}");
    };
    assert!(why.contains("`bearer`"), "{why}");
    assert!(
        fix.contains("auth = { bearer = \"${SHOP_BEARER}\" }"),
        "{fix}"
    );
    assert!(log.lock().unwrap().is_empty());
    let security = [request.security.as_slice()];
    assert_eq!(api.wanting(security.into_iter()), ["bearer"]);
}

#[tokio::test]
async fn refused_credential_is_named_by_its_configuration_key() {
    let (base, _) = serve(|_, number| match number {
        1 => StatusCode::UNAUTHORIZED,
        _ => StatusCode::FORBIDDEN,
    })
    .await;
    let (api, request) = guarded(&base);
    for expected in [
        "was refused; check auth.key",
        "does not allow it; see auth.key",
    ] {
        let result = api.call(&request, &telling()).await.unwrap();
        let (message, _) = refusal(&result);
        assert!(message.contains(expected), "{message}");
    }
}
