//! Descriptions that change, disappear and come back. Each line of one is a function.

use std::{collections::BTreeMap, fs, path::Path};

use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

use super::*;
use crate::{CallFailure, CallProgress, first_seen_origins::FirstSeenOrigins};
use mux_http::http_client;
use mux_settings::{DescriptionLocation, SourceDefinition as Settings, SourceKind};

#[derive(Debug)]
struct LineSource(Vec<String>);

impl Source for LineSource {
    fn identity(&self) -> (String, String) {
        ("lines".into(), "1".into())
    }

    fn tools(&self, _page: usize) -> Vec<Value> {
        self.0
            .iter()
            .map(|line| {
                let (name, more) = line.split_once(' ').unwrap_or((line, ""));
                json!({ "name": name, "description": more, "inputSchema": {} })
            })
            .collect()
    }

    fn function_count(&self) -> usize {
        self.0.len()
    }

    fn call(
        self: Arc<Self>,
        tool: String,
        _: Map<String, Value>,
        _: CallProgress,
    ) -> BoxFuture<'static, Result<Value, CallFailure>> {
        Box::pin(async move { Err(CallFailure::Unknown(tool)) })
    }
}

fn read(_: &SourceConfig, document: &DescriptionDocument) -> Result<Arc<dyn Source>, String> {
    if document.text.contains("broken") {
        return Err("line 1 is broken".into());
    }
    let lines = document.text.lines().map(str::to_owned);
    Ok(Arc::new(LineSource(lines.collect())))
}

fn making(description: DescriptionLocation, base_url: Option<&str>) -> SourceConfig {
    let settings = Settings {
        kind: SourceKind::OpenApi,
        description: Some(description),
        written: "x".into(),
        base_url: base_url.map(str::to_owned),
        variables: BTreeMap::new(),
        headers: BTreeMap::from([("X-Token".into(), "canary-token".into())]),
        credentials: BTreeMap::new(),
        origins: Vec::new(),
        secret_headers: Vec::new(),
        account: None,
        scopes: None,
        rate: None,
        refresh: Duration::from_secs(3600),
        depth: 2,
        max_functions: 20_000,
        exclude: Vec::new(),
        network: Arc::default(),
    };
    let nowhere = FirstSeenOrigins::new("/nowhere/sources.json".into());
    SourceConfig::new(
        "shop",
        &settings,
        http_client::client_builder,
        Arc::new(nowhere),
    )
    .with_reader(read)
}

fn shelf(folder: &Path) -> Arc<DescriptionCache> {
    Arc::new(DescriptionCache::new(folder.join("kept")))
}

type OpenedSource = (Arc<LiveSource>, watch::Receiver<Arc<dyn Source>>);

async fn opened(making: SourceConfig, folder: &Path) -> Result<OpenedSource, String> {
    LiveSource::open(making, shelf(folder), Duration::from_secs(60)).await
}

fn names(source: &watch::Receiver<Arc<dyn Source>>) -> Vec<String> {
    let tools = source.borrow().tools(0);
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The text that the server returns, and for each request its `If-None-Match` and whether it had the entry's header.
#[derive(Clone, Default)]
struct DescriptionServer(Arc<Mutex<(String, Vec<ReceivedRequest>)>>);

type ReceivedRequest = (Option<String>, bool);

impl DescriptionServer {
    fn set(&self, text: &str) {
        self.0.lock().0 = text.to_owned();
    }

    fn asked(&self) -> Vec<ReceivedRequest> {
        self.0.lock().1.clone()
    }

    fn answer(&self, asked: &Request) -> Response {
        let mut page = self.0.lock();
        let header = |name: &str| {
            let value = asked.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let known = header("if-none-match");
        page.1.push((known.clone(), header("x-token").is_some()));
        let etag = format!("\"{}\"", page.0.len());
        match page.0.as_str() {
            "" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            _ if known.as_ref() == Some(&etag) => StatusCode::NOT_MODIFIED.into_response(),
            text => ([("etag", etag)], text.to_owned()).into_response(),
        }
    }

    async fn serve(&self) -> String {
        let page = self.clone();
        let router =
            Router::new().fallback(move |asked: Request| async move { page.answer(&asked) });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        base
    }
}

#[tokio::test]
async fn file_is_reread_and_an_unreadable_one_keeps_the_current_source() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("api");
    fs::write(&file, "a\nb").unwrap();
    let making = making(DescriptionLocation::File(file.clone()), None);
    let (standing, mut source) = opened(making, folder.path()).await.unwrap();
    assert_eq!(names(&source), ["a", "b"]);
    assert!(standing.refresh().await.unwrap().is_same());
    fs::write(&file, "a otherwise\nc").unwrap();
    let found = standing.refresh().await.unwrap();
    let expected = RefreshReport {
        functions: 2,
        added: vec!["c".into()],
        removed: vec!["b".into()],
        changed: vec!["a".into()],
        ..RefreshReport::default()
    };
    assert_eq!(found, expected);
    assert!(source.has_changed().unwrap());
    source.mark_unchanged();
    for broken in ["broken", ""] {
        match broken {
            "" => fs::remove_file(&file).unwrap(),
            text => fs::write(&file, text).unwrap(),
        }
        let problem = standing.refresh().await.unwrap_err();
        assert_eq!(standing.described().problem.as_ref(), Some(&problem));
        assert_eq!(names(&source), ["a", "c"]);
        assert!(!source.has_changed().unwrap());
    }
    fs::write(&file, "d").unwrap();
    standing.refresh().await.unwrap();
    assert_eq!(
        (names(&source), standing.described().problem),
        (vec!["d".to_owned()], None)
    );
    assert_eq!(standing.described().fetched, None);
}

#[tokio::test]
async fn remote_description_is_fetched_once_and_then_revalidated() {
    let folder = tempfile::tempdir().unwrap();
    let page = DescriptionServer::default();
    page.set("a");
    let base = page.serve().await;
    let place = || {
        making(
            DescriptionLocation::Url(format!("{base}/api.json?key=s3cret")),
            None,
        )
    };
    let (_, source) = opened(place(), folder.path()).await.unwrap();
    assert_eq!(names(&source), ["a"]);
    drop(source);
    // From here on it is cached and fresh.
    let (standing, source) = opened(place(), folder.path()).await.unwrap();
    assert_eq!(names(&source), ["a"]);
    assert_eq!(page.asked().len(), 1);
    assert!(standing.refresh().await.unwrap().is_same());
    page.set("a\nb");
    assert_eq!(standing.refresh().await.unwrap().added, ["b"]);
    let known = |etag: &str| (Some(etag.to_owned()), false);
    assert_eq!(
        page.asked(),
        [(None, false), known("\"1\""), known("\"1\"")]
    );
    // A broken description is not cached either.
    page.set("broken");
    assert!(standing.refresh().await.is_err());
    let (_, again) = opened(place(), folder.path()).await.unwrap();
    assert_eq!(names(&again), ["a", "b"]);
    assert_eq!(names(&source), ["a", "b"]);
}

#[tokio::test]
async fn cached_description_is_used_with_a_problem_while_the_server_fails() {
    let folder = tempfile::tempdir().unwrap();
    let page = DescriptionServer::default();
    let base = page.serve().await;
    let place = || {
        making(
            DescriptionLocation::Url(format!("{base}/api.json?key=s3cret")),
            None,
        )
    };
    let problem = opened(place(), folder.path()).await.unwrap_err();
    assert!(
        problem.contains("HTTP 500") && !problem.contains("s3cret"),
        "{problem}"
    );
    page.set("a");
    drop(opened(place(), folder.path()).await.unwrap());
    page.set("");
    let (standing, source) = opened(place(), folder.path()).await.unwrap();
    assert_eq!(names(&source), ["a"]);
    assert!(standing.refresh().await.is_err());
    let described = standing.described();
    assert!(described.problem.unwrap().contains("HTTP 500"));
    assert!(described.fetched.is_some());
    assert!(
        LiveSource::unopened(&place(), &shelf(folder.path()))
            .fetched
            .is_some()
    );
}

#[tokio::test]
async fn stale_description_is_used_at_once_and_refreshed_in_background() {
    let folder = tempfile::tempdir().unwrap();
    let page = DescriptionServer::default();
    page.set("new");
    let base = page.serve().await;
    let address = format!("{base}/api.json");
    let kept = CachedDescription {
        private: Some(false),
        text: "old".into(),
        version: HttpValidators::default(),
        fetched: SystemTime::now() - Duration::from_secs(7200),
    };
    shelf(folder.path()).keep("shop", &address, &kept);
    let making = making(DescriptionLocation::Url(address), None);
    let (_, mut source) = opened(making, folder.path()).await.unwrap();
    assert_eq!(names(&source), ["old"]);
    let changed = tokio::time::timeout(Duration::from_secs(20), source.changed()).await;
    assert!(changed.unwrap().is_ok());
    assert_eq!(names(&source), ["new"]);
}

#[tokio::test]
async fn headers_are_sent_only_to_the_origin_of_the_base_url() {
    let page = DescriptionServer::default();
    page.set("a");
    let base = page.serve().await;
    for (base_url, goes) in [
        (Some(format!("{base}/v1")), true),
        (Some("http://127.0.0.1:9/v1".into()), false),
        (None, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let making = making(
            DescriptionLocation::Url(format!("{base}/api")),
            base_url.as_deref(),
        );
        drop(opened(making, folder.path()).await.unwrap());
        assert_eq!(page.asked().last().unwrap().1, goes, "{base_url:?}");
    }
}

#[tokio::test]
async fn opening_times_out_while_a_description_is_being_read() {
    static READ: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    fn endless(_: &SourceConfig, _: &DescriptionDocument) -> Result<Arc<dyn Source>, String> {
        while !READ.load(std::sync::atomic::Ordering::Acquire) {
            std::thread::yield_now();
        }
        Err("it was read".into())
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("api");
    fs::write(&file, "a").unwrap();
    let making = making(DescriptionLocation::File(file), None).with_reader(endless);
    let within = Duration::from_millis(20);
    let opened = LiveSource::open(making, shelf(folder.path()), within).await;
    READ.store(true, std::sync::atomic::Ordering::Release);
    let problem = opened.unwrap_err();
    assert!(problem.contains("within 20ms (start_timeout)"), "{problem}");
}
