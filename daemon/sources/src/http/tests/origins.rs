//! Credentials go only to origins that the user has allowed.

use serde_json::json;

use super::*;

const KEY: &str = "canary-k3y-to-one-place";

/// An entry with a key, and a header for every request.
fn entry(origins: &[&str]) -> SourceDefinition {
    let mut source = settings();
    source.credentials.insert("key".into(), text(KEY));
    source
        .headers
        .insert("X-Token".into(), "canary-token-1".into());
    source.origins = origins.iter().map(|it| (*it).to_owned()).collect();
    source
}

fn guarded(path: &str) -> ApiRequest {
    ApiRequest {
        security: vec![vec!["key".into()]],
        ..get(path)
    }
}

fn key() -> [(&'static str, SecurityScheme); 1] {
    [("key", SecurityScheme::Header("X-Key".into()))]
}

#[tokio::test]
async fn credentials_go_to_another_origin_only_if_the_entry_names_it() {
    let (own, asked) = serve(|_, _| "ok").await;
    let (other, strangers) = serve(|_, _| "ok").await;
    let elsewhere =
        |entry: &SourceDefinition| api_with(&own, entry, &key()).at(&format!("{other}/v1"));
    for request in [guarded("/up"), get("/up")] {
        let failure = elsewhere(&entry(&["https://more.example"]))
            .call(&request, &telling())
            .await
            .unwrap_err();
        let CallFailure::Credential { why, fix } = failure else {
            panic!("{failure:?}");
        };
        assert!(why.contains(&other), "{why}");
        let line = format!("origins = [\"https://more.example\", \"{other}\"]");
        assert!(
            fix.contains("[sources.shop]") && fix.contains(&line),
            "{fix}"
        );
    }
    assert!(strangers.lock().unwrap().is_empty());
    // Calls without credentials go to the origins that the description first named.
    let bare = |origins: &[&String]| {
        let source = settings();
        let known = AllowedOrigins::listed("shop", &source).with_calls(&own);
        let known = known.with_bare_calls(origins.iter().map(|it| (*it).clone()));
        let lasting = EntryState::new(&source);
        let api =
            ApiClient::new("shop", &source, (&own, known), BTreeMap::new(), &lasting).unwrap();
        api.at(&other)
    };
    let new = bare(&[]);
    let failure = new.call(&get("/up"), &telling()).await.unwrap_err();
    let CallFailure::Forbidden { why, fix } = failure else {
        panic!("{failure:?}");
    };
    let line = format!("origins = [\"{other}\"]");
    assert!(why.contains(&other) && fix.contains(&line), "{why} {fix}");
    assert_eq!(new.forbidden(), Some((why, fix)));
    assert!(strangers.lock().unwrap().is_empty());
    let bare = bare(&[&other]);
    bare.call(&get("/up"), &telling()).await.unwrap();
    assert_eq!(bare.forbidden(), None);
    assert_eq!(bare.withheld(), None);
    let named = elsewhere(&entry(&[&other]));
    named.call(&guarded("/up"), &telling()).await.unwrap();
    let seen = strangers.lock().unwrap().clone();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].header("x-key"), None);
    assert_eq!(
        (seen[1].target.as_str(), seen[1].header("x-key")),
        ("/v1/up", Some(KEY))
    );
    assert!(asked.lock().unwrap().is_empty());
}

/// A public description of an API whose origin the entry does not name.
fn published(base: &str, listed: &[&str]) -> ApiClient {
    let mut source = settings();
    source.description = Some(DescriptionLocation::Url(
        "https://api.example/openapi.json".into(),
    ));
    source.origins = listed.iter().map(|it| (*it).to_owned()).collect();
    let known = AllowedOrigins::listed("shop", &source).with_calls(base);
    let lasting = EntryState::new(&source);
    ApiClient::new("shop", &source, (base, known), BTreeMap::new(), &lasting).unwrap()
}

#[tokio::test]
async fn public_description_cannot_name_local_addresses_unless_the_entry_does() {
    let (local, asked) = serve(|_, _| "internal").await;
    let port = local.rsplit(':').next().unwrap();
    let bases = [
        local.clone(),
        format!("http://localhost:{port}"),
        format!("http://[::ffff:127.0.0.1]:{port}"),
        "http://10.1.2.3".to_owned(),
        "http://169.254.169.254".to_owned(),
    ];
    for base in bases {
        let api = published(&base, &[]);
        let failure = api.call(&get("/latest/meta-data"), &telling()).await;
        let Err(CallFailure::Forbidden { why, fix }) = failure else {
            panic!("{base}: {failure:?}");
        };
        assert!(why.contains("leads"), "{why}");
        assert_eq!(api.forbidden(), Some((why, fix)), "{base}");
    }
    assert!(asked.lock().unwrap().is_empty());
    let named = published(&local, &[&local]);
    named.call(&get("/"), &telling()).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 1);
    // Link-local addresses are refused even if the entry names them.
    let never = published("http://169.254.169.254", &["http://169.254.169.254"]);
    let failure = never.call(&get("/"), &telling()).await.unwrap_err();
    assert!(
        matches!(failure, CallFailure::Forbidden { .. }),
        "{failure:?}"
    );
}

#[tokio::test]
async fn path_cannot_leave_the_host() {
    let (other, strangers) = serve(|_, _| "got you").await;
    let port = other.rsplit(':').next().unwrap();
    for (base, path) in [
        ("http://127.0.0.1:1", format!("@127.0.0.1:{port}/steal")),
        ("http://127.0.0.1", format!(":{port}/steal")),
        ("http://127.0.0.1:1/v1", "steal".into()),
        ("http://127.0.0.1:1", ".evil.example/x".into()),
        ("http://127.0.0.1:1", "/\\127.0.0.1/x".into()),
        ("http://127.0.0.1:1/v1", "/f/..%2Fadmin".into()),
        ("http://127.0.0.1:1/v1", "/f/%2e%2e/admin".into()),
    ] {
        let api = api_with(base, &entry(&[&other]), &key());
        let failure = api.call(&guarded(&path), &telling()).await.unwrap_err();
        assert!(
            matches!(failure, CallFailure::Unfit(_)),
            "{path}: {failure:?}"
        );
    }
    assert!(strangers.lock().unwrap().is_empty());
}

#[tokio::test]
async fn cookie_of_a_program_cannot_replace_a_credential() {
    let (base, log) = serve(|_, _| "ok").await;
    let mut source = settings();
    source.credentials.insert("session".into(), text(KEY));
    let schemes = [("session", SecurityScheme::Cookie("sid".into()))];
    let request = ApiRequest {
        cookies: pairs(&[("sid", "mine"), ("theme", "dark")]),
        security: vec![vec!["session".into()]],
        ..get("/x")
    };
    api_with(&base, &source, &schemes)
        .call(&request, &telling())
        .await
        .unwrap();
    let expected = format!("theme=dark; sid={KEY}");
    assert_eq!(
        log.lock().unwrap()[0].header("cookie"),
        Some(expected.as_str())
    );
}

/// An API with client credentials, whose tokens may be fetched at its own origin, at `known` and at `listed`.
fn behind_tokens(base: &str, token_url: &str, known: &[&str], listed: &[&str]) -> ApiClient {
    let mut source = entry(listed);
    source.headers.clear();
    let login = SourceCredential::Basic {
        username: "client".into(),
        password: "canary-secret".into(),
    };
    source.credentials = BTreeMap::from([("oauth".into(), login)]);
    let scheme = SecurityScheme::ClientCredentials {
        token_url: token_url.into(),
        scopes: Vec::new(),
    };
    let origins = AllowedOrigins::listed("shop", &source).with_calls(base);
    let origins = origins.with_tokens(known.iter().map(|it| (*it).to_owned()));
    let schemes = BTreeMap::from([("oauth".to_owned(), scheme)]);
    let lasting = EntryState::new(&source);
    ApiClient::new("shop", &source, (base, origins), schemes, &lasting).unwrap()
}

#[tokio::test]
async fn client_secret_goes_only_to_known_or_listed_token_origins() {
    let (base, _) = serve(|_, _| "ok").await;
    let (login, asked) =
        serve(|_, _| axum::Json(json!({ "access_token": "tok-000001", "expires_in": 60 }))).await;
    let url = format!("{login}/token");
    let request = ApiRequest {
        security: vec![vec!["oauth".into()]],
        ..get("/data")
    };
    let moved = behind_tokens(&base, &url, &["https://login.example"], &[]);
    let failure = moved.call(&request, &telling()).await.unwrap_err();
    let CallFailure::Credential { why, fix } = &failure else {
        panic!("{failure:?}");
    };
    assert!(
        why.contains(&login) && fix.contains("origins = ["),
        "{failure:?}"
    );
    let notes = moved.notes();
    assert!(
        notes[0].text.contains("auth.oauth fetches no token"),
        "{notes:?}"
    );
    assert!(asked.lock().unwrap().is_empty());
    for (known, listed) in [(&[login.as_str()][..], &[][..]), (&[], &[login.as_str()])] {
        let api = behind_tokens(&base, &url, known, listed);
        api.call(&request, &telling()).await.unwrap();
        assert_eq!(api.notes(), []);
    }
    assert_eq!(asked.lock().unwrap().len(), 2);
    // An origin for tokens is not an origin for calls.
    let there = behind_tokens(&base, &url, &[&login], &[]).at(&login);
    assert!(there.call(&request, &telling()).await.is_err());
    assert_eq!(asked.lock().unwrap().len(), 2);
}
