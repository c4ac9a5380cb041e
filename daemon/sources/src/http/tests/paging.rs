//! Pages of every style.

use axum::http::StatusCode;
use serde_json::json;

use super::*;

/// Seven items, three on a page.
const ITEMS: u64 = 7;

fn number(seen: &RecordedRequest, name: &str) -> Option<u64> {
    let url = url::Url::parse(&format!("http://h{}", seen.target)).unwrap();
    let mut pairs = url.query_pairs();
    let found = pairs.find(|(key, _)| key == name)?.1.into_owned();
    Some(found.trim_start_matches('c').parse().unwrap())
}

fn items(from: u64, size: u64) -> Vec<Value> {
    (from..ITEMS.min(from + size))
        .map(|id| json!({ "id": id }))
        .collect()
}

fn ids(list: &Value) -> Vec<u64> {
    let list = list.as_array().unwrap().iter();
    list.map(|item| item["id"].as_u64().unwrap()).collect()
}

fn size(name: &str, default: Option<u64>) -> Option<PageSize> {
    Some(PageSize {
        parameter: name.into(),
        default,
    })
}

fn members(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The responses of one server; the path chooses the style of its pages.
fn answer(seen: &RecordedRequest, _: usize) -> Response {
    let body = |value: Value| axum::Json(value).into_response();
    let path = seen.target.split('?').next().unwrap();
    match path {
        "/link" => {
            let page = number(seen, "page").unwrap_or(1);
            let next = format!("</link?page={}>; rel=\"next\"", page + 1);
            let list = axum::Json(Value::from(items((page - 1) * 3, 3)));
            match page < 3 {
                true => ([("link", next)], list).into_response(),
                false => ([("link", "</link?page=1>; rel=\"first\"")], list).into_response(),
            }
        }
        "/page" => body(items(number(seen, "page").unwrap_or(0) * 3, 3).into()),
        "/offset" => {
            let limit = number(seen, "limit").unwrap_or(3);
            body(json!({ "data": items(number(seen, "offset").unwrap_or(0), limit) }))
        }
        "/cursor" => {
            let from = number(seen, "cursor").unwrap_or(0);
            let next = (from + 3 < ITEMS).then(|| format!("c{}", from + 3));
            body(json!({ "list": { "items": items(from, 3) }, "meta": { "next": next } }))
        }
        "/after" => {
            let from = number(seen, "starting_after").map_or(0, |id| id + 1);
            body(json!({ "data": items(from, 3), "has_more": from + 3 < ITEMS }))
        }
        "/broken" => match number(seen, "page").unwrap_or(0) {
            2 => (StatusCode::INTERNAL_SERVER_ERROR, "oh").into_response(),
            page => body(items(page * 3, 3).into()),
        },
        "/elsewhere" => (
            [("link", "<https://evil.example/x>; rel=next")],
            axum::Json(json!([1])),
        )
            .into_response(),
        "/circle" => ([("link", "</circle>; rel=next")], axum::Json(json!([1]))).into_response(),
        "/long" => {
            let page = number(seen, "page").unwrap_or(0);
            body(json!([{ "id": page, "text": "x".repeat(6 << 20) }]))
        }
        other => panic!("{other}"),
    }
}

fn paged(by: PaginationStyle, items: &[&str]) -> PaginationPlan {
    PaginationPlan {
        by,
        items: members(items),
    }
}

fn by_page() -> PaginationPlan {
    let by = PaginationStyle::Page {
        parameter: "page".into(),
        first: 0,
        size: size("per_page", Some(3)),
    };
    paged(by, &[])
}

#[tokio::test]
async fn pages_of_every_style_are_joined() {
    let offset = PaginationStyle::Offset {
        parameter: "offset".into(),
        size: size("limit", None),
    };
    let cursor = PaginationStyle::Cursor {
        parameter: "cursor".into(),
        field: members(&["meta", "next"]),
    };
    let after = PaginationStyle::After {
        parameter: "starting_after".into(),
        id: "id".into(),
        more: Some(members(&["has_more"])),
    };
    for (path, how, requests) in [
        ("/link", paged(PaginationStyle::Link, &[]), 3),
        ("/page", by_page(), 3),
        // The size of a full page is not known, so there is one more request, for an empty page.
        ("/offset", paged(offset, &["data"]), 4),
        ("/cursor", paged(cursor, &["list", "items"]), 3),
        ("/after", paged(after, &["data"]), 3),
    ] {
        let (base, log) = serve(answer).await;
        let result = api(&base)
            .pages(&get(path), &how, 10, &telling())
            .await
            .unwrap();
        let list = how
            .items
            .iter()
            .fold(&result["structuredContent"], |value, name| &value[name]);
        assert_eq!(ids(list), (0..ITEMS).collect::<Vec<_>>(), "{path}");
        assert_eq!(result["_meta"]["more"], false, "{path}");
        assert_eq!(log.lock().unwrap().len(), requests, "{path}: {log:?}");
        let (base, log) = serve(answer).await;
        let result = api(&base)
            .pages(&get(path), &how, 2, &telling())
            .await
            .unwrap();
        let list = how
            .items
            .iter()
            .fold(&result["structuredContent"], |value, name| &value[name]);
        assert_eq!(ids(list), (0..6).collect::<Vec<_>>(), "{path}");
        assert_eq!(
            (&result["_meta"]["more"], &result["_meta"]["pages"]),
            (&json!(true), &json!(2))
        );
        assert_eq!(log.lock().unwrap().len(), 2, "{path}");
    }
}

#[tokio::test]
async fn other_members_are_of_the_last_page_and_each_page_reports_progress() {
    let (base, _) = serve(answer).await;
    let after = PaginationStyle::After {
        parameter: "starting_after".into(),
        id: "id".into(),
        more: Some(members(&["has_more"])),
    };
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
    let how = paged(after, &["data"]);
    let result = api(&base)
        .pages(&get("/after"), &how, 5, &telling)
        .await
        .unwrap();
    assert_eq!(result["structuredContent"]["has_more"], false);
    let reported = reported.lock().unwrap();
    assert_eq!(reported.len(), 3);
    assert_eq!(reported[1], (2.0, Some(5.0), "page 2".to_owned()));
}

#[tokio::test]
async fn failed_page_fails_the_call() {
    let (base, _) = serve(answer).await;
    let api = api(&base);
    let broken = api
        .pages(&get("/broken"), &by_page(), 9, &telling())
        .await
        .unwrap();
    let (message, details) = refusal(&broken);
    assert!(
        message.starts_with("page 3: GET /broken answered HTTP 500"),
        "{message}"
    );
    assert_eq!(
        (&details["status"], &details["page"]),
        (&json!(500), &json!(3))
    );
    for (path, how, part) in [
        (
            "/elsewhere",
            paged(PaginationStyle::Link, &[]),
            "evil.example",
        ),
        ("/circle", paged(PaginationStyle::Link, &[]), "names itself"),
    ] {
        let failure = api
            .pages(&get(path), &how, 9, &telling())
            .await
            .unwrap_err();
        assert!(failure.to_string().contains(part), "{path}: {failure}");
    }
    let numbered = PaginationStyle::Page {
        parameter: "page".into(),
        first: 0,
        size: None,
    };
    let how = paged(numbered, &[]);
    let failure = api
        .pages(&get("/long"), &how, 9, &telling())
        .await
        .unwrap_err();
    assert!(matches!(failure, CallFailure::TooMuch(_)), "{failure:?}");
    assert!(failure.to_string().contains("$pages"), "{failure}");
}

#[tokio::test]
async fn response_that_is_not_a_list_is_returned_unchanged() {
    let (base, _) = serve(|_, _| axum::Json(json!({ "one": 1 }))).await;
    let result = api(&base)
        .pages(&get("/"), &by_page(), 3, &telling())
        .await
        .unwrap();
    assert_eq!(result["structuredContent"], json!({ "one": 1 }));
    assert_eq!(result["_meta"].get("pages"), None);
}
