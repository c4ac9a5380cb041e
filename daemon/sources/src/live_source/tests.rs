//! Descriptions that change, disappear and come back. Each line of a description is a function.

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
use crate::{
    call_progress::CallProgress, first_seen_origins::FirstSeenOrigins, source::CallFailure,
};
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

fn config(description: DescriptionLocation, base_url: Option<&str>) -> SourceConfig {
    let nowhere = FirstSeenOrigins::new("/nowhere/sources.json".into());
    config_with(description, base_url, "x", nowhere)
}

fn config_with(
    description: DescriptionLocation,
    base_url: Option<&str>,
    written: &str,
    origins: FirstSeenOrigins,
) -> SourceConfig {
    let settings = Settings {
        kind: SourceKind::OpenApi,
        description: Some(description),
        written: written.into(),
        base_url: base_url.map(str::to_owned),
        variables: BTreeMap::new(),
        headers: BTreeMap::from([("X-Token".into(), "canary-token".into())]),
        credentials: BTreeMap::new(),
        origins: Vec::new(),
        secret_headers: Vec::new(),
        account: None,
        scopes: None,
        rate: None,
        refresh: Duration::from_hours(1),
        depth: 2,
        max_functions: 20_000,
        exclude: Vec::new(),
        network: Arc::default(),
    };
    SourceConfig::new("shop", &settings, Arc::new(origins)).with_reader(read)
}

fn cache(folder: &Path) -> Arc<DescriptionCache> {
    Arc::new(DescriptionCache::new(folder.join("kept")))
}

type OpenedSource = (Arc<LiveSource>, watch::Receiver<Arc<dyn Source>>);

async fn opened(config: SourceConfig, folder: &Path) -> Result<OpenedSource, String> {
    LiveSource::open(config, cache(folder), Duration::from_mins(1)).await
}

fn names(source: &watch::Receiver<Arc<dyn Source>>) -> Vec<String> {
    let tools = source.borrow().tools(0);
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The text that the server returns, and, for each request, its `If-None-Match` and the presence of the entry's header.
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
    let config = config(DescriptionLocation::File(file.clone()), None);
    let (live, mut source) = opened(config, folder.path()).await.unwrap();
    assert_eq!(names(&source), ["a", "b"]);
    assert!(live.refresh().await.unwrap().is_same());
    fs::write(&file, "a otherwise\nc").unwrap();
    let found = live.refresh().await.unwrap();
    let expected = RefreshedSource {
        source: live.config.name.clone(),
        functions: 2,
        added: vec!["c".into()],
        removed: vec!["b".into()],
        changed: vec!["a".into()],
        ..RefreshedSource::default()
    };
    assert_eq!(found, expected);
    assert!(source.has_changed().unwrap());
    source.mark_unchanged();
    for broken in ["broken", ""] {
        match broken {
            "" => fs::remove_file(&file).unwrap(),
            text => fs::write(&file, text).unwrap(),
        }
        let problem = live.refresh().await.unwrap_err();
        assert_eq!(live.described().problem.as_ref(), Some(&problem));
        assert_eq!(names(&source), ["a", "c"]);
        assert!(!source.has_changed().unwrap());
    }
    fs::write(&file, "d").unwrap();
    live.refresh().await.unwrap();
    assert_eq!(
        (names(&source), live.described().problem),
        (vec!["d".to_owned()], None)
    );
    assert_eq!(live.described().fetched, None);
}

#[tokio::test]
async fn remote_description_is_fetched_once_and_then_revalidated() {
    let folder = tempfile::tempdir().unwrap();
    let page = DescriptionServer::default();
    page.set("a");
    let base = page.serve().await;
    let place = || {
        config(
            DescriptionLocation::Url(format!("{base}/api.json?key=s3cret")),
            None,
        )
    };
    let (_, source) = opened(place(), folder.path()).await.unwrap();
    assert_eq!(names(&source), ["a"]);
    drop(source);
    // From here on it is cached and fresh.
    let (live, source) = opened(place(), folder.path()).await.unwrap();
    assert_eq!(names(&source), ["a"]);
    assert_eq!(page.asked().len(), 1);
    assert!(live.refresh().await.unwrap().is_same());
    page.set("a\nb");
    assert_eq!(live.refresh().await.unwrap().added, ["b"]);
    let known = |etag: &str| (Some(etag.to_owned()), false);
    assert_eq!(
        page.asked(),
        [(None, false), known("\"1\""), known("\"1\"")]
    );
    // A broken description is not cached either.
    page.set("broken");
    assert!(live.refresh().await.is_err());
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
        config(
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
    let (live, source) = opened(place(), folder.path()).await.unwrap();
    assert_eq!(names(&source), ["a"]);
    assert!(live.refresh().await.is_err());
    let described = live.described();
    assert!(described.problem.unwrap().contains("HTTP 500"));
    assert!(described.fetched.is_some());
    assert!(
        LiveSource::unopened(&place(), &cache(folder.path()))
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
        fetched: SystemTime::now() - Duration::from_hours(2),
    };
    cache(folder.path()).keep("shop", &address, &kept);
    let config = config(DescriptionLocation::Url(address), None);
    let (_, mut source) = opened(config, folder.path()).await.unwrap();
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
        let config = config(
            DescriptionLocation::Url(format!("{base}/api")),
            base_url.as_deref(),
        );
        drop(opened(config, folder.path()).await.unwrap());
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
    let config = config(DescriptionLocation::File(file), None).with_reader(endless);
    let within = Duration::from_millis(20);
    let opened = LiveSource::open(config, cache(folder.path()), within).await;
    READ.store(true, std::sync::atomic::Ordering::Release);
    let problem = opened.unwrap_err();
    assert!(problem.contains("within 20ms (start_timeout)"), "{problem}");
}

/// The events that may happen to a description between two of its calls.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// `304`, whose validators the server chose.
    Same,
    /// `200`, from a private network or not, with the previous text or another.
    Answer { private: bool, text: AnsweredText },
    /// No answer, as after a redirect that is not followed.
    Unreachable,
    /// muxd starts again, perhaps without its cache.
    Restart { has_cache: bool },
}

#[derive(Clone, Copy, Debug)]
enum AnsweredText {
    AsBefore,
    Another,
    Broken,
}

const EVENTS: [Event; 10] = [
    Event::Same,
    Event::Answer {
        private: true,
        text: AnsweredText::AsBefore,
    },
    Event::Answer {
        private: true,
        text: AnsweredText::Another,
    },
    Event::Answer {
        private: true,
        text: AnsweredText::Broken,
    },
    Event::Answer {
        private: false,
        text: AnsweredText::AsBefore,
    },
    Event::Answer {
        private: false,
        text: AnsweredText::Another,
    },
    Event::Answer {
        private: false,
        text: AnsweredText::Broken,
    },
    Event::Unreachable,
    Event::Restart { has_cache: true },
    Event::Restart { has_cache: false },
];

/// Gives the outcome that the test has set.
#[derive(Default)]
struct Scripted(Mutex<Option<Result<FetchOutcome, String>>>);

impl Scripted {
    fn answers(&self, text: &str, private: bool) {
        *self.0.lock() = Some(Ok(FetchOutcome::New {
            text: text.to_owned(),
            version: HttpValidators::default(),
            private,
        }));
    }
}

impl description::FetchDescription for Scripted {
    fn fetch<'a>(
        &'a self,
        known: Option<&'a HttpValidators>,
    ) -> BoxFuture<'a, Result<FetchOutcome, String>> {
        let outcome = self.0.lock().clone().unwrap();
        let is_same = matches!(outcome, Ok(FetchOutcome::Same));
        assert!(known.is_some() || !is_same, "nothing is known");
        Box::pin(async move { outcome })
    }
}

/// A source with a description on the web, through restarts.
struct Watched {
    folder: tempfile::TempDir,
    fetch: Arc<Scripted>,
    text: String,
    live: Option<OpenedSource>,
}

impl Watched {
    async fn opened(private: bool) -> Self {
        let mut this = Self {
            folder: tempfile::tempdir().unwrap(),
            fetch: Arc::default(),
            text: "one".into(),
            live: None,
        };
        this.fetch.answers("one", private);
        this.open("x").await;
        this
    }

    async fn open(&mut self, written: &str) {
        self.live = None;
        let address = "http://evil.example/api.json";
        let origins = FirstSeenOrigins::new(self.folder.path().join("sources.json"));
        let location = DescriptionLocation::Url(address.into());
        let config = config_with(location, None, written, origins);
        let origin = DescriptionOrigin::Far(description::RemoteDescription {
            address: address.into(),
            base: None,
            fetch: Arc::clone(&self.fetch) as Arc<dyn description::FetchDescription>,
        });
        let live = LiveSource::opened(config, origin, cache(self.folder.path())).await;
        self.live = Some(live.unwrap());
    }

    fn names_private(&self) -> bool {
        self.live.as_ref().unwrap().0.config.names_private()
    }

    async fn pass(&mut self, event: Event) {
        match event {
            Event::Same => *self.fetch.0.lock() = Some(Ok(FetchOutcome::Same)),
            Event::Unreachable => *self.fetch.0.lock() = Some(Err("gone".into())),
            Event::Answer { private, text } => {
                let text = match text {
                    AnsweredText::AsBefore => self.text.clone(),
                    AnsweredText::Another => format!("{} more", self.text),
                    AnsweredText::Broken => "broken".into(),
                };
                self.fetch.answers(&text, private);
                if text != "broken" {
                    self.text = text;
                }
            }
            Event::Restart { has_cache } => {
                if !has_cache {
                    fs::remove_dir_all(self.folder.path().join("kept")).unwrap();
                    // The host has another address now.
                    self.fetch.answers(&self.text, true);
                }
                return self.open("x").await;
            }
        }
        let live = &self.live.as_ref().unwrap().0;
        drop(live.refresh().await);
    }
}

/// Only a line by the user extends the addresses that a description may name.
#[tokio::test]
async fn class_of_a_description_never_rises_whatever_changes() {
    for first in EVENTS {
        for second in EVENTS {
            for private in [false, true] {
                let mut watched = Watched::opened(private).await;
                assert_eq!(watched.names_private(), private);
                let mut highest = private;
                for event in [first, second] {
                    watched.pass(event).await;
                    let now = watched.names_private();
                    assert!(highest || !now, "{private}: {first:?} {second:?}");
                    highest = now;
                }
            }
        }
    }
}

#[tokio::test]
async fn class_of_a_description_is_that_of_its_text() {
    for (private, event, expected) in [
        (true, Event::Same, true),
        (true, Event::Unreachable, true),
        (true, Event::Restart { has_cache: true }, true),
        (
            true,
            Event::Answer {
                private: false,
                text: AnsweredText::AsBefore,
            },
            true,
        ),
        (
            true,
            Event::Answer {
                private: false,
                text: AnsweredText::Broken,
            },
            true,
        ),
        (
            true,
            Event::Answer {
                private: true,
                text: AnsweredText::Another,
            },
            true,
        ),
        (
            true,
            Event::Answer {
                private: false,
                text: AnsweredText::Another,
            },
            false,
        ),
        (false, Event::Same, false),
        (
            false,
            Event::Answer {
                private: true,
                text: AnsweredText::Another,
            },
            false,
        ),
    ] {
        let mut watched = Watched::opened(private).await;
        watched.pass(event).await;
        assert_eq!(watched.names_private(), expected, "{private} {event:?}");
    }
    // Another line by the user is another description.
    let mut watched = Watched::opened(false).await;
    fs::remove_dir_all(watched.folder.path().join("kept")).unwrap();
    watched.fetch.answers("one", true);
    watched.open("y").await;
    assert!(watched.names_private());
}

#[tokio::test]
async fn etag_that_is_no_entity_tag_is_not_sent_back() {
    for (etag, is_sent) in [
        ("\"a\"", true),
        ("W/\"a\"", true),
        ("*", false),
        ("a", false),
        ("\"a\", \"b\"", false),
        ("w/\"a\"", false),
        ("\"", false),
    ] {
        let asked = Arc::<Mutex<Vec<Option<String>>>>::default();
        let seen = Arc::clone(&asked);
        let router = Router::new().fallback(move |request: Request| {
            let known = request.headers().get("if-none-match");
            let known = known.map(|known| known.to_str().unwrap().to_owned());
            seen.lock().push(known);
            async move { ([("etag", etag)], "one") }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/api", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let folder = tempfile::tempdir().unwrap();
        let config = config(DescriptionLocation::Url(base), None);
        let (live, _receiver) = opened(config, folder.path()).await.unwrap();
        live.refresh().await.unwrap();
        let expected = is_sent.then(|| etag.to_owned());
        assert_eq!(*asked.lock(), [None, expected], "{etag}");
    }
}
