//! Pages of every style: each item once, in order, regardless of the API's behavior at the end.

mod paged_api;

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::json;

use self::paged_api::{Pages, STYLES, Style, members, number};
use super::*;
use crate::http::pagination::page_url;

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

/// Pages of three items, with numbers from 0. The path chooses the failure on the third page.
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
    // A page that names an already read page is the last.
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
    let limits = crate::call_progress::CallLimits {
        clock: Arc::default(),
        begun: tokio::time::Instant::now(),
        within: Duration::from_mins(1),
        whole: Duration::from_mins(1),
        trace: None,
    };
    let heard = Arc::clone(&reported);
    let telling = CallProgress::new(limits, move |done, total, note| {
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
        let url = page_url(&current, next).map(String::from);
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

/// Joins the pages that `respond` makes from the page parameter, or of the number of the request if there is none.
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
            // Pages count from 1, despite the description.
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
    // An unknown page is the first page again.
    let respond = |page: Option<u64>, _| {
        let page = page.filter(|page| *page <= 2).unwrap_or(1);
        json!([{ "id": page }])
    };
    let all = joined(&plan(Some(1)), &get("/"), respond).await;
    assert_eq!((ids(&all), warning(&all)), (vec![1, 2], None));
    // Equal items on pages that responses name do not count as repetition.
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
