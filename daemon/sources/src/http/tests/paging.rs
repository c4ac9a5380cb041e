//! Pages of every style: each item once, in order, whatever the API does at the end.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::json;

use super::*;

/// A list, and how an API pages it.
#[derive(Clone, Copy, Debug)]
struct Pages {
    style: Style,
    items: u64,
    size: u64,
}

/// How an API pages a list. The comments name APIs that do so.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Style {
    /// GitHub: no `Link` header on a single page, other links on the last page.
    Link,
    /// RFC 8288: no `Link` header on the last page.
    LinkOnlyNext,
    /// Okta: a cursor in the `Link` header only.
    LinkCursor,
    /// Pages are numbered from 1, and one beyond the end is empty.
    PageFromOne,
    /// The same, and the page before the first one is the first one, too.
    PageFromZero,
    /// A page beyond the end is the last page again.
    PageClamped,
    /// A page beyond the end is 404.
    PageNotFound,
    /// Django REST framework: `next` is a URL or null, a page beyond the end is 404.
    NextUrl,
    /// Spring: `number` from 0, `last`, `totalPages`.
    Spring,
    /// Laravel: `current_page` from 1, `last_page`.
    Laravel,
    /// `page`, `total_pages`; a page beyond the end is 500.
    TotalPages,
    /// GitLab: `X-Next-Page`, empty on the last page.
    NextPageHeader,
    /// WordPress: `X-WP-TotalPages`; a page beyond the end is 400.
    TotalPagesHeader,
    /// A number in `next_page`, which is 0 on the last page.
    NextPageNumber,
    Offset,
    /// The API returns at most two items, whatever `limit` says.
    OffsetClamped,
    /// Jira: `startAt`, `total`.
    OffsetTotal,
    /// SCIM: `startIndex` from 1.
    StartIndex,
    /// `next_offset`, null on the last page.
    NextOffset,
    /// Microsoft Graph: `@odata.nextLink`, which `$skip` does not replace.
    Odata,
    /// `_links.next.href`, relative, and no `_embedded` in an empty page.
    Hal,
    /// `links.next` of JSON:API.
    JsonApi,
    /// Slack: `response_metadata.next_cursor` is empty on the last page.
    Slack,
    /// Notion: `next_cursor` is null and `has_more` false.
    Notion,
    /// Google: `nextPageToken` is absent on the last page, and pages may be empty.
    Google,
    /// AWS: `NextToken` in the body of a POST.
    Aws,
    /// The API always returns a cursor; `has_more` says when to stop.
    EndlessCursor,
    /// Stripe: `starting_after` and `has_more`.
    After,
    /// `starting_after` without `has_more`.
    AfterUntilEmpty,
    /// Kubernetes: `metadata.continue`.
    Continue,
}

const STYLES: [Style; 30] = [
    Style::Link,
    Style::LinkOnlyNext,
    Style::LinkCursor,
    Style::PageFromOne,
    Style::PageFromZero,
    Style::PageClamped,
    Style::PageNotFound,
    Style::NextUrl,
    Style::Spring,
    Style::Laravel,
    Style::TotalPages,
    Style::NextPageHeader,
    Style::TotalPagesHeader,
    Style::NextPageNumber,
    Style::Offset,
    Style::OffsetClamped,
    Style::OffsetTotal,
    Style::StartIndex,
    Style::NextOffset,
    Style::Odata,
    Style::Hal,
    Style::JsonApi,
    Style::Slack,
    Style::Notion,
    Style::Google,
    Style::Aws,
    Style::EndlessCursor,
    Style::After,
    Style::AfterUntilEmpty,
    Style::Continue,
];

fn members(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn number(seen: &RecordedRequest, name: &str) -> Option<u64> {
    let url = url::Url::parse(&format!("http://h{}", seen.target)).unwrap();
    let mut pairs = url.query_pairs();
    let found = pairs.find(|(key, _)| key == name)?.1.into_owned();
    Some(found.trim_start_matches("c=").parse().unwrap())
}

fn cursor(at: u64) -> String {
    format!("c={at}")
}

impl Pages {
    fn page_count(self) -> u64 {
        self.items.div_ceil(self.size).max(1)
    }

    fn slice(self, from: u64, size: u64) -> Vec<Value> {
        (from..self.items.min(from + size))
            .map(|id| json!({ "id": id }))
            .collect()
    }

    /// The page with this number from 0.
    fn page(self, number: u64) -> Vec<Value> {
        self.slice(number.saturating_mul(self.size), self.size)
    }

    fn plan(self) -> PaginationPlan {
        let counting = |name: &str, first| {
            Some(CountingParameter {
                name: name.into(),
                first,
            })
        };
        let query = |name: &str| Some(CursorParameter::Query(name.into()));
        let by_page = PaginationPlan {
            page: counting("page", None),
            ..PaginationPlan::default()
        };
        let by_offset = PaginationPlan {
            offset: counting("offset", None),
            ..PaginationPlan::default()
        };
        let by_cursor = |name| PaginationPlan {
            cursor: query(name),
            declares_next: true,
            ..PaginationPlan::default()
        };
        match self.style {
            Style::Link => PaginationPlan {
                declares_next: true,
                ..by_page
            },
            Style::LinkOnlyNext
            | Style::PageFromOne
            | Style::PageFromZero
            | Style::PageClamped
            | Style::PageNotFound
            | Style::NextUrl
            | Style::Spring
            | Style::Laravel
            | Style::TotalPages
            | Style::NextPageHeader
            | Style::TotalPagesHeader
            | Style::NextPageNumber
            | Style::JsonApi => by_page,
            Style::Hal => PaginationPlan {
                items: Some(members(&["_embedded", "orders"])),
                declares_next: true,
                ..by_page
            },
            Style::LinkCursor => PaginationPlan {
                cursor: query("after"),
                ..PaginationPlan::default()
            },
            Style::Offset | Style::OffsetClamped | Style::NextOffset => by_offset,
            Style::OffsetTotal => PaginationPlan {
                offset: counting("startAt", Some(0)),
                ..PaginationPlan::default()
            },
            Style::StartIndex => PaginationPlan {
                offset: counting("startIndex", None),
                ..PaginationPlan::default()
            },
            Style::Odata => PaginationPlan {
                offset: counting("$skip", None),
                declares_next: true,
                ..PaginationPlan::default()
            },
            Style::Slack | Style::EndlessCursor => by_cursor("cursor"),
            Style::Notion => by_cursor("start_cursor"),
            Style::Google => by_cursor("pageToken"),
            Style::Aws => PaginationPlan {
                cursor: Some(CursorParameter::Body("NextToken".into())),
                ..by_cursor("")
            },
            Style::After | Style::AfterUntilEmpty => PaginationPlan {
                after: Some("starting_after".into()),
                ..PaginationPlan::default()
            },
            Style::Continue => by_cursor("continue"),
        }
    }

    fn request(self) -> ApiRequest {
        match self.style {
            Style::Aws => ApiRequest {
                body: Some(RequestBody::Json(json!({ "Filter": "x" }))),
                ..request(Method::POST, "/list")
            },
            _ => get("/list"),
        }
    }

    fn respond(self, seen: &RecordedRequest) -> Response {
        let body = |value: Value| axum::Json(value).into_response();
        let list = |items: Vec<Value>| axum::Json(Value::from(items));
        let refused =
            |status: StatusCode| (status, "{\"message\":\"no such page\"}").into_response();
        let (size, pages) = (self.size, self.page_count());
        // The number of the page, from 0, of an API that numbers pages from 1.
        let page = number(seen, "page").unwrap_or(1).saturating_sub(1);
        let has_next = page + 1 < pages;
        let next_page = (has_next).then_some(page + 2);
        let next_url = next_page.map(|next| format!("/list?page={next}"));
        let at = |name: &str| number(seen, name).unwrap_or(0);
        let next_cursor = |from: u64| (from + size < self.items).then(|| cursor(from + size));
        match self.style {
            Style::Link => match next_url {
                Some(next) => {
                    let link =
                        format!("<{next}>; rel=\"next\", </list?page={pages}>; rel=\"last\"");
                    ([("link", link)], list(self.page(page))).into_response()
                }
                None if page > 0 => {
                    let link = "</list?page=1>; rel=\"first\"".to_owned();
                    ([("link", link)], list(self.page(page))).into_response()
                }
                None => list(self.page(page)).into_response(),
            },
            Style::LinkOnlyNext => match next_url {
                Some(next) => (
                    [("link", format!("<{next}>; rel=next"))],
                    list(self.page(page)),
                )
                    .into_response(),
                None => list(self.page(page)).into_response(),
            },
            Style::LinkCursor => {
                let from = at("after");
                let items = list(self.slice(from, size));
                match next_cursor(from) {
                    Some(next) => {
                        let link =
                            format!("</list?after={}>; rel=\"next\"", next.replace('=', "%3D"));
                        ([("link", link)], items).into_response()
                    }
                    None => items.into_response(),
                }
            }
            Style::PageFromOne => list(self.page(page)).into_response(),
            Style::PageFromZero => list(self.page(at("page"))).into_response(),
            Style::PageClamped => list(self.page(page.min(pages - 1))).into_response(),
            Style::PageNotFound if page >= pages => refused(StatusCode::NOT_FOUND),
            Style::PageNotFound => body(json!({ "results": self.page(page) })),
            Style::NextUrl if page >= pages => refused(StatusCode::NOT_FOUND),
            Style::NextUrl => body(json!({
                "count": self.items, "next": next_url, "results": self.page(page),
            })),
            Style::Spring => {
                let page = at("page");
                body(json!({
                    "content": self.page(page), "number": page, "totalPages": pages,
                    "last": page + 1 >= pages, "size": size,
                }))
            }
            Style::Laravel => body(json!({
                "data": self.page(page),
                "meta": { "current_page": page + 1, "last_page": pages, "total": self.items },
            })),
            Style::TotalPages if page >= pages => refused(StatusCode::INTERNAL_SERVER_ERROR),
            Style::TotalPages => body(json!({
                "items": self.page(page), "page": page + 1, "total_pages": pages,
            })),
            Style::NextPageHeader => {
                let next = next_page.map_or_else(String::new, |next| next.to_string());
                ([("x-next-page", next)], list(self.page(page))).into_response()
            }
            Style::TotalPagesHeader if page >= pages => refused(StatusCode::BAD_REQUEST),
            Style::TotalPagesHeader => (
                [("x-wp-totalpages", pages.to_string())],
                list(self.page(page)),
            )
                .into_response(),
            Style::NextPageNumber => body(json!({
                "items": self.page(page), "next_page": next_page.unwrap_or(0),
            })),
            Style::Offset => list(self.slice(at("offset"), size)).into_response(),
            Style::OffsetClamped => body(json!({
                "data": self.slice(at("offset"), size.min(2)), "limit": size,
            })),
            Style::OffsetTotal => {
                let from = at("startAt");
                body(json!({
                    "startAt": from, "maxResults": size, "total": self.items,
                    "issues": self.slice(from, size),
                }))
            }
            Style::StartIndex => {
                let from = number(seen, "startIndex").unwrap_or(1);
                let items = self.slice(from.saturating_sub(1), size);
                body(json!({
                    "totalResults": self.items, "startIndex": from, "itemsPerPage": items.len(),
                    "Resources": items,
                }))
            }
            Style::NextOffset => {
                let from = at("offset");
                let next = (from + size < self.items).then_some(from + size);
                body(json!({ "records": self.slice(from, size), "next_offset": next }))
            }
            Style::Odata if seen.target.contains("skip=") => refused(StatusCode::BAD_REQUEST),
            Style::Odata => {
                let from = at("$skiptoken");
                let mut page = json!({ "value": self.slice(from, size) });
                if let Some(next) = next_cursor(from) {
                    let host = seen.header("host").unwrap();
                    page["@odata.nextLink"] =
                        format!("http://{host}/list?$skiptoken={}", next.replace('=', "%3D"))
                            .into();
                }
                body(page)
            }
            Style::Hal => {
                let mut answer = json!({ "_links": { "self": { "href": "/list" } } });
                if let Some(next) = next_url {
                    answer["_links"]["next"] = json!({ "href": next });
                }
                let items = self.page(page);
                if !items.is_empty() {
                    answer["_embedded"] = json!({ "orders": items });
                }
                body(answer)
            }
            Style::JsonApi => body(json!({
                "data": self.page(page),
                "links": { "self": "/list", "next": next_url, "last": format!("/list?page={pages}") },
            })),
            Style::Slack => {
                let from = at("cursor");
                let next = next_cursor(from).unwrap_or_default();
                body(json!({
                    "ok": true, "channels": self.slice(from, size),
                    "response_metadata": { "next_cursor": next },
                }))
            }
            Style::Notion => {
                let from = at("start_cursor");
                let next = next_cursor(from);
                body(json!({
                    "object": "list", "results": self.slice(from, size),
                    "has_more": next.is_some(), "next_cursor": next,
                }))
            }
            Style::Google => {
                // Every other page is empty.
                let from = at("pageToken");
                let (start, is_empty) = (from / 2 * size, from % 2 == 1);
                let items = if is_empty {
                    Vec::new()
                } else {
                    self.slice(start, size)
                };
                let mut page = json!({ "files": items });
                if start + size < self.items {
                    page["nextPageToken"] = cursor(from + 1).into();
                }
                body(page)
            }
            Style::Aws => {
                let sent: Value = serde_json::from_slice(&seen.body).unwrap();
                assert_eq!(sent["Filter"], "x");
                let from = sent["NextToken"]
                    .as_str()
                    .map_or(0, |token| token.trim_start_matches("c=").parse().unwrap());
                let mut page = json!({ "Items": self.slice(from, size) });
                if let Some(next) = next_cursor(from) {
                    page["NextToken"] = next.into();
                }
                body(page)
            }
            Style::EndlessCursor => {
                let from = at("cursor");
                body(json!({
                    "entries": self.slice(from, size), "next_cursor": cursor(from + size),
                    "has_more": from + size < self.items,
                }))
            }
            Style::After | Style::AfterUntilEmpty => {
                let from = number(seen, "starting_after").map_or(0, |id| id + 1);
                let mut page = json!({ "data": self.slice(from, size) });
                if self.style == Style::After {
                    page["has_more"] = (from + size < self.items).into();
                }
                body(page)
            }
            Style::Continue => {
                let from = at("continue");
                body(json!({
                    "items": self.slice(from, size),
                    "metadata": { "continue": next_cursor(from).unwrap_or_default() },
                }))
            }
        }
    }
}

/// The only list in a result.
fn ids(result: &Value) -> Vec<u64> {
    fn list(value: &Value) -> Option<&Vec<Value>> {
        match value {
            Value::Array(items) => Some(items),
            Value::Object(members) => members.values().find_map(list),
            _ => None,
        }
    }
    let items = list(&result["structuredContent"]).into_iter().flatten();
    items.map(|item| item["id"].as_u64().unwrap()).collect()
}

fn warning(result: &Value) -> Option<&str> {
    result["_meta"].get(crate::SOURCE_WARNING)?.as_str()
}

async fn read(pages: Pages, most: usize) -> Value {
    let (base, _) = serve(move |seen, _| pages.respond(seen)).await;
    let api = api(&base);
    api.pages(&pages.request(), &pages.plan(), most, &telling())
        .await
        .unwrap()
}

#[test]
fn every_item_of_every_style_is_joined_once_and_in_order() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::with_cases(240), random);
    let style = proptest::sample::select(&STYLES[..]);
    let pages =
        (style, 0..12_u64, 1..5_u64).prop_map(|(style, items, size)| Pages { style, items, size });
    let tested = AtomicUsize::new(0);
    let outcome = runner.run(&(pages, 1..6_usize), |(pages, few)| {
        tested.fetch_add(1, Ordering::Relaxed);
        let all = runtime.block_on(read(pages, MAX_PAGES));
        let found = (ids(&all), &all["_meta"]["more"], warning(&all));
        let expected = ((0..pages.items).collect(), &json!(false), None);
        prop_assert_eq!(found, expected);
        // Fewer pages are the beginning of all.
        let first = runtime.block_on(read(pages, few));
        let found = ids(&first);
        prop_assert_eq!(&found[..], &ids(&all)[..found.len()]);
        prop_assert_eq!(warning(&first), None);
        let is_all = found.len() as u64 == pages.items;
        prop_assert!(is_all || first["_meta"]["more"] == true, "{first}");
        Ok(())
    });
    outcome.unwrap();
    assert!(tested.into_inner() >= 240);
}

/// Each style with sizes at which an end is easily missed.
#[tokio::test]
async fn every_style_ends_where_the_list_ends() {
    for style in STYLES {
        for (items, size) in [(0, 2), (1, 1), (2, 2), (3, 2), (4, 2), (7, 3)] {
            let pages = Pages { style, items, size };
            let all = read(pages, MAX_PAGES).await;
            assert_eq!(ids(&all), (0..items).collect::<Vec<_>>(), "{pages:?}");
            assert_eq!(all["_meta"]["more"], false, "{pages:?}");
            assert_eq!(warning(&all), None, "{pages:?}");
        }
    }
}

#[tokio::test]
async fn pages_begin_at_the_requested_one() {
    for (style, name, value, expected) in [
        (Style::PageFromOne, "page", "2", vec![2, 3, 4]),
        (Style::PageFromZero, "page", "1", vec![2, 3, 4]),
        (Style::TotalPages, "page", "2", vec![2, 3, 4]),
        (Style::OffsetTotal, "startAt", "3", vec![3, 4]),
        (Style::Notion, "start_cursor", "c%3D4", vec![4]),
        (Style::After, "starting_after", "0", vec![1, 2, 3, 4]),
    ] {
        let pages = Pages {
            style,
            items: 5,
            size: 2,
        };
        let (base, _) = serve(move |seen, _| pages.respond(seen)).await;
        let mut request = pages.request();
        request.query.push((name.into(), value.into()));
        let api = api(&base);
        let joined = api
            .pages(&request, &pages.plan(), MAX_PAGES, &telling())
            .await
            .unwrap();
        assert_eq!(ids(&joined), expected, "{style:?}");
    }
}

/// Pages of three items, with numbers from 0. The path chooses what goes wrong on the third one.
fn respond_badly(seen: &RecordedRequest, _: usize) -> Response {
    let body = |value: Value| axum::Json(value).into_response();
    let page = number(seen, "page").unwrap_or(0);
    let items = |page: u64| json!([{ "id": 2 * page }, { "id": 2 * page + 1 }]);
    let path = seen.target.split('?').next().unwrap();
    match (path, page) {
        ("/elsewhere", 1) => (
            [("link", "<https://evil.example/x>; rel=next")],
            axum::Json(items(1)),
        )
            .into_response(),
        ("/circle", 1) => (
            [("link", "</circle?page=1>; rel=next")],
            axum::Json(items(1)),
        )
            .into_response(),
        ("/elsewhere" | "/circle", 0) => (
            [("link", format!("<{path}?page=1>; rel=next"))],
            axum::Json(items(0)),
        )
            .into_response(),
        ("/broken", 2) => (StatusCode::INTERNAL_SERVER_ERROR, "oh").into_response(),
        ("/stuck", _) => body(json!({ "data": items(page.min(1)), "has_more": true })),
        ("/text", 2) => media("text/plain", "no list"),
        ("/long", page) => body(json!([{ "id": page, "text": "x".repeat(6 << 20) }])),
        (_, page) => body(items(page)),
    }
}

#[tokio::test]
async fn pages_before_a_failure_are_kept_with_a_warning() {
    let plan = PaginationPlan {
        page: Some(CountingParameter {
            name: "page".into(),
            first: Some(0),
        }),
        ..PaginationPlan::default()
    };
    for (path, expected, part) in [
        (
            "/broken",
            vec![0, 1, 2, 3],
            "page 3: GET /broken answered HTTP 500",
        ),
        (
            "/broken",
            vec![0, 1, 2, 3],
            "holds the items of the 2 pages before it",
        ),
        (
            "/elsewhere",
            vec![0, 1, 2, 3],
            "page 3: the next page is at another origin, evil.example",
        ),
        ("/text", vec![0, 1, 2, 3], "page 3: the page is not a list"),
        (
            "/stuck",
            vec![0, 1, 2, 3],
            "page 3: the API repeats a page that was read",
        ),
        (
            "/long",
            vec![0, 1],
            "page 3: the pages are longer than 16 MiB together",
        ),
    ] {
        let (base, _) = serve(respond_badly).await;
        let joined = api(&base)
            .pages(&get(path), &plan, 9, &telling())
            .await
            .unwrap();
        assert_eq!(ids(&joined), expected, "{path}");
        assert_eq!(joined["_meta"]["more"], true, "{path}");
        let warning = warning(&joined).unwrap();
        assert!(warning.contains(part), "{path}: {warning}");
        assert_eq!(joined.get("isError"), None, "{path}");
    }
    // A page that names one which was read is the last one.
    let (base, log) = serve(respond_badly).await;
    let joined = api(&base)
        .pages(&get("/circle"), &plan, 9, &telling())
        .await
        .unwrap();
    assert_eq!((ids(&joined), warning(&joined)), (vec![0, 1, 2, 3], None));
    assert_eq!(log.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn lost_connection_keeps_the_pages_before_it() {
    let pages = Pages {
        style: Style::OffsetTotal,
        items: 6,
        size: 2,
    };
    let (base, _) = serve(
        move |seen: &RecordedRequest, _| match number(seen, "startAt") {
            Some(4) => {
                let broken =
                    futures::stream::iter([Err::<Bytes, _>(std::io::Error::other("broken"))]);
                axum::body::Body::from_stream(broken).into_response()
            }
            _ => pages.respond(seen),
        },
    )
    .await;
    let joined = api(&base)
        .pages(&pages.request(), &pages.plan(), 9, &telling())
        .await
        .unwrap();
    assert_eq!(ids(&joined), [0, 1, 2, 3]);
    assert!(
        warning(&joined)
            .unwrap()
            .starts_with("page 3: the connection to "),
        "{joined}"
    );
}

#[tokio::test]
async fn failed_first_page_fails_the_call() {
    let (base, _) = serve(|_, _| (StatusCode::INTERNAL_SERVER_ERROR, "oh")).await;
    let failed = api(&base)
        .pages(&get("/a"), &PaginationPlan::default(), 3, &telling())
        .await
        .unwrap();
    let (message, details) = refusal(&failed);
    assert!(message.starts_with("GET /a answered HTTP 500"), "{message}");
    assert_eq!(details["status"], 500);
    assert_eq!(warning(&failed), None);
}

#[tokio::test]
async fn other_members_are_of_the_last_page_and_each_page_reports_progress() {
    let pages = Pages {
        style: Style::After,
        items: 7,
        size: 3,
    };
    let (base, _) = serve(move |seen, _| pages.respond(seen)).await;
    let reported = Arc::new(Mutex::new(Vec::new()));
    let terms = crate::call_progress::CallLimits {
        clock: Arc::default(),
        begun: tokio::time::Instant::now(),
        within: Duration::from_secs(60),
        whole: Duration::from_secs(60),
        trace: None,
    };
    let heard = Arc::clone(&reported);
    let telling = CallProgress::new(terms, move |done, total, note| {
        heard.lock().unwrap().push((done, total, note.to_owned()));
    });
    let result = api(&base)
        .pages(&pages.request(), &pages.plan(), 5, &telling)
        .await
        .unwrap();
    assert_eq!(result["structuredContent"]["has_more"], false);
    let reported = reported.lock().unwrap();
    assert_eq!(reported.len(), 3);
    assert_eq!(reported[1], (2.0, Some(5.0), "page 2".to_owned()));
}

#[tokio::test]
async fn next_page_over_http_of_an_api_over_tls_stays_on_tls() {
    let api = api("https://api.example/v1");
    let current = url::Url::parse("https://api.example/v1/a?page=1").unwrap();
    for (next, expected) in [
        (
            "http://api.example/v1/a?page=2",
            Some("https://api.example/v1/a?page=2"),
        ),
        ("?page=2", Some("https://api.example/v1/a?page=2")),
        ("/v1/a?page=2", Some("https://api.example/v1/a?page=2")),
        ("http://api.example:8080/v1/a?page=2", None),
        ("https://other.example/a", None),
        ("https://[", None),
    ] {
        let url = api.page_url(&current, next).map(String::from);
        assert_eq!(url.ok().as_deref(), expected, "{next}");
    }
}

#[tokio::test]
async fn response_that_is_not_a_list_is_returned_unchanged_with_a_warning() {
    for body in [
        json!({ "one": 1 }),
        json!({ "a": [1], "b": [2] }),
        json!("text"),
    ] {
        let sent = body.clone();
        let (base, _) = serve(move |_, _| axum::Json(sent.clone())).await;
        let result = api(&base)
            .pages(&get("/"), &PaginationPlan::default(), 3, &telling())
            .await
            .unwrap();
        assert_eq!(result["structuredContent"], body);
        assert_eq!(result["_meta"].get("pages"), None);
        assert!(
            warning(&result).unwrap().contains("not one list"),
            "{result}"
        );
    }
}

fn plan(page: Option<u64>) -> PaginationPlan {
    PaginationPlan {
        page: Some(CountingParameter {
            name: "page".into(),
            first: page,
        }),
        ..PaginationPlan::default()
    }
}

fn by_cursor() -> PaginationPlan {
    PaginationPlan {
        cursor: Some(CursorParameter::Query("cursor".into())),
        ..PaginationPlan::default()
    }
}

/// Joins the pages that `respond` makes of the page parameter, or of the number of the request if there is none.
async fn joined(
    plan: &PaginationPlan,
    request: &ApiRequest,
    respond: impl Fn(Option<u64>, usize) -> Value + Clone + Send + Sync + 'static,
) -> Value {
    let (base, _) = serve(move |seen: &RecordedRequest, count| {
        axum::Json(respond(number(seen, "page"), count))
    })
    .await;
    api(&base)
        .pages(request, plan, 40, &telling())
        .await
        .unwrap()
}

#[tokio::test]
async fn first_page_is_found_whatever_the_description_and_the_response_say() {
    let list = |from: u64, shown: u64| json!({ "data": [{ "id": from }], "page": shown, "total_pages": 3 });
    for described in [None, Some(0), Some(1)] {
        for shift in [0, 1] {
            // Pages count from 0. Beside a response that counts from 1, the description has to say so.
            let first = if shift == 1 { Some(0) } else { described };
            let all = joined(
                &plan(first.filter(|it| *it == 0)),
                &get("/"),
                move |page, _| {
                    let page = page.unwrap_or(0);
                    match page {
                        0..3 => list(page, page + shift),
                        _ => json!({ "data": [] }),
                    }
                },
            )
            .await;
            assert_eq!(ids(&all), [0, 1, 2], "{first:?} {shift}");
            // Pages count from 1, whatever is said.
            let all = joined(&plan(described), &get("/"), move |page, _| {
                let page = page.unwrap_or(1).max(1) - 1;
                match page {
                    0..3 => list(page, page + shift),
                    _ => json!({ "data": [] }),
                }
            })
            .await;
            assert_eq!(ids(&all), [0, 1, 2], "{described:?} {shift}");
        }
    }
}

#[tokio::test]
async fn empty_pages_in_the_middle_are_passed() {
    // Filtered pages, with a cursor.
    let respond = |_, count: usize| match count {
        1 | 9 => json!({ "items": [{ "id": count }], "next_cursor": format!("c={count}") }),
        10 => json!({ "items": [{ "id": count }], "next_cursor": null }),
        _ => json!({ "items": [], "next_cursor": format!("c={count}") }),
    };
    let all = joined(&by_cursor(), &get("/"), respond).await;
    assert_eq!((ids(&all), warning(&all)), (vec![1, 9, 10], None));
    // Filtered pages, with a number.
    let respond = |page: Option<u64>, _| {
        let page = page.unwrap_or(1);
        let items = if page == 2 {
            json!([])
        } else {
            json!([{ "id": page }])
        };
        json!({ "items": items, "has_more": page < 3 })
    };
    let all = joined(&plan(Some(1)), &get("/"), respond).await;
    assert_eq!((ids(&all), warning(&all)), (vec![1, 3], None));
    // Without an end.
    let respond = |_, count: usize| json!({ "items": [], "next_cursor": format!("c={count}") });
    let all = joined(&by_cursor(), &get("/"), respond).await;
    assert_eq!(all["_meta"]["more"], true);
    assert!(
        warning(&all)
            .unwrap()
            .contains("too many pages in a row are empty"),
        "{all}"
    );
}

#[tokio::test]
async fn list_that_names_the_next_page_for_ever_ends_with_an_empty_page() {
    let respond = |page: Option<u64>, _| {
        let page = page.unwrap_or(1);
        let items = if page > 2 {
            json!([])
        } else {
            json!([{ "id": page }])
        };
        json!({ "items": items, "next_page": page + 1 })
    };
    let all = joined(&plan(None), &get("/"), respond).await;
    assert_eq!((ids(&all), warning(&all)), (vec![1, 2], None));
    assert_eq!(all["_meta"]["pages"], 3);
}

#[tokio::test]
async fn error_in_a_successful_response_ends_the_list_with_a_warning() {
    for error in [
        json!({ "ok": false, "error": "invalid_cursor" }),
        json!({ "success": false, "message": "invalid_cursor" }),
        json!({ "errors": [{ "message": "invalid_cursor" }] }),
    ] {
        let shown = error.clone();
        let respond = move |_, count| match count {
            1 => json!({ "channels": [{ "id": 1 }], "next_cursor": "c=1" }),
            _ => error.clone(),
        };
        let all = joined(&by_cursor(), &get("/"), respond).await;
        assert_eq!(ids(&all), [1], "{shown}");
        assert!(warning(&all).unwrap().contains("invalid_cursor"), "{all}");
        assert_eq!(all["_meta"]["more"], true);
    }
}

#[tokio::test]
async fn more_pages_count_more_than_totals() {
    let respond = |page: Option<u64>, _| {
        let page = page.unwrap_or(1);
        json!({ "data": [{ "id": page }, { "id": 10 * page }], "total": 3, "total_pages": 1, "has_more": page < 4 })
    };
    let all = joined(&plan(Some(1)), &get("/"), respond).await;
    assert_eq!(ids(&all), [1, 10, 2, 20, 3, 30, 4, 40]);
}

#[tokio::test]
async fn page_that_was_read_ends_the_list() {
    // An unknown page is the first one again.
    let respond = |page: Option<u64>, _| {
        let page = page.filter(|page| *page <= 2).unwrap_or(1);
        json!([{ "id": page }])
    };
    let all = joined(&plan(Some(1)), &get("/"), respond).await;
    assert_eq!((ids(&all), warning(&all)), (vec![1, 2], None));
    // Equal items of pages that responses name are no repetition.
    let respond = |_, count: usize| {
        let next = (count < 3).then(|| format!("c={count}"));
        json!({ "items": [{ "id": 0 }], "next_cursor": next })
    };
    let all = joined(&by_cursor(), &get("/"), respond).await;
    assert_eq!(ids(&all), [0, 0, 0]);
}

#[tokio::test]
async fn numbers_that_cannot_be_counted_end_the_list() {
    for value in ["eyJ4IjoxfQ", "18446744073709551615"] {
        let mut request = get("/");
        request.query.push(("page".into(), value.into()));
        let all = {
            let (base, _) = serve(|_, _| axum::Json(json!([{ "id": 1 }]))).await;
            api(&base)
                .pages(&request, &plan(None), 9, &telling())
                .await
                .unwrap()
        };
        assert_eq!((ids(&all), warning(&all)), (vec![1], None), "{value}");
    }
    let respond =
        |_, _| json!({ "items": [{ "id": 1 }], "next_offset": u64::MAX, "has_more": true });
    let offset = PaginationPlan {
        offset: plan(None).page,
        ..PaginationPlan::default()
    };
    assert_eq!(ids(&joined(&offset, &get("/"), respond).await)[0], 1);
}

#[tokio::test]
async fn cursor_of_a_post_is_added_to_its_body() {
    let plan = PaginationPlan {
        cursor: Some(CursorParameter::Body("start_cursor".into())),
        declares_next: true,
        ..PaginationPlan::default()
    };
    let respond = |seen: &RecordedRequest, _| {
        let sent: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let from = sent["start_cursor"].as_u64().unwrap_or(0);
        let next = (from < 3).then_some(from + 1);
        axum::Json(json!({ "results": [{ "id": from }], "next_cursor": next }))
    };
    let (base, _) = serve(respond).await;
    let api = api(&base);
    let without_body = request(Method::POST, "/search");
    let all = api
        .pages(&without_body, &plan, 9, &telling())
        .await
        .unwrap();
    assert_eq!((ids(&all), warning(&all)), (vec![0, 1, 2, 3], None));
    let bytes = ApiRequest {
        body: Some(RequestBody::Bytes {
            media: "application/yaml".into(),
            bytes: Vec::new(),
        }),
        ..without_body
    };
    let first = api.pages(&bytes, &plan, 9, &telling()).await.unwrap();
    assert_eq!(ids(&first), [0]);
    assert!(
        warning(&first)
            .unwrap()
            .contains("cannot be added to a body"),
        "{first}"
    );
}

#[tokio::test]
async fn described_list_is_not_replaced_by_another_one() {
    let plan = PaginationPlan {
        items: Some(members(&["items"])),
        ..by_cursor()
    };
    let respond = |_, count: usize| match count {
        1 => json!({ "unreachable": ["z"], "next_cursor": "c=1" }),
        2 => json!({ "items": [{ "id": 1 }], "next_cursor": "c=2" }),
        _ => json!({ "items": [{ "id": 2 }] }),
    };
    assert_eq!(ids(&joined(&plan, &get("/"), respond).await), [1, 2]);
}
