//! The results of responses.

use axum::http::StatusCode;
use serde_json::json;

use super::*;
use mux_catalog::{Catalog, value_of};
use mux_settings::{ResultCheck, ToolOverrides};

/// The value or the error of a call, for a tool without an output schema.
async fn value(result: Value) -> Result<Value, mux_wire::Fault> {
    let described = mux_catalog::ToolDescription {
        name: "t".into(),
        input_schema: json!({}).into(),
        ..Default::default()
    };
    let set = mux_catalog::ToolSet::new("shop", vec![described], &[], &ToolOverrides::default());
    let catalog = Catalog::new();
    let learned = catalog.learned();
    value_of(set.find("t").unwrap(), result, ResultCheck::Error, learned).await
}

#[tokio::test]
async fn each_kind_of_body_becomes_a_value() {
    let (base, _) = serve(|seen, _| match seen.target.as_str() {
        "/v1/object" => media("application/json; charset=utf-8", r#"{"a":[1,2]}"#),
        "/v1/list" => media("application/vnd.api+json", "[1]"),
        "/v1/number" => media("application/json", " 5 "),
        "/v1/word" => media("application/json", r#""12""#),
        "/v1/broken" => media("application/json", "{not"),
        "/v1/text" => media("text/plain", "hello"),
        "/v1/latin" => media("text/plain; charset=ISO-8859-1", b"caf\xe9".to_vec()),
        "/v1/xml" => media("image/svg+xml", "<svg/>"),
        "/v1/png" => media("image/png", vec![1, 2]),
        "/v1/wav" => media("audio/wav", vec![3]),
        "/v1/zip" => media("application/zip", vec![0, 255]),
        "/v1/unsaid" => axum::body::Body::from("{\"b\":1}").into_response(),
        "/v1/empty" => StatusCode::NO_CONTENT.into_response(),
        other => panic!("{other}"),
    })
    .await;
    let api = api(&format!("{base}/v1/"));
    let zip = json!({ "type": "resource", "resource":
        { "uri": format!("{base}/v1/zip"), "mimeType": "application/zip", "blob": "AP8=" } });
    for (path, expected) in [
        ("/object", json!({ "a": [1, 2] })),
        ("/list", json!([1])),
        ("/number", json!(5)),
        ("/word", json!("12")),
        ("/broken", json!("{not")),
        ("/text", json!("hello")),
        ("/latin", json!("café")),
        ("/xml", json!("<svg/>")),
        (
            "/png",
            json!({ "type": "image", "data": "AQI=", "mimeType": "image/png" }),
        ),
        (
            "/wav",
            json!({ "type": "audio", "data": "Aw==", "mimeType": "audio/wav" }),
        ),
        ("/zip", zip),
        ("/unsaid", json!({ "b": 1 })),
        ("/empty", Value::Null),
    ] {
        let result = api.call(&get(path), &telling()).await.unwrap();
        assert!(result["_meta"]["status"].is_u64(), "{result}");
        assert_eq!(value(result).await.unwrap(), expected, "{path}");
    }
    assert_eq!(api.requests(), 13);
}

#[tokio::test]
async fn error_result_has_status_body_and_reason() {
    let (base, _) = serve(|seen, _| match seen.target.as_str() {
        "/gone?q=1" => (
            StatusCode::NOT_FOUND,
            [
                ("etag", "\"7\""),
                ("x-ratelimit-remaining", "3"),
                ("server", "x"),
            ],
            axum::Json(json!({ "message": "no such pet" })),
        )
            .into_response(),
        "/page" => (
            StatusCode::BAD_GATEWAY,
            media("text/html", "<title>Bad</title>"),
        )
            .into_response(),
        _ => (StatusCode::IM_A_TEAPOT, vec![0_u8; 400 << 10]).into_response(),
    })
    .await;
    let api = api(&base);
    let mut gone = get("/gone");
    gone.query = pairs(&[("q", "1")]);
    let fault = value(api.call(&gone, &telling()).await.unwrap())
        .await
        .unwrap_err();
    assert_eq!(
        fault.message,
        "GET /gone answered HTTP 404 Not Found: no such pet"
    );
    let details: Value = serde_json::from_str(&fault.details.unwrap()).unwrap();
    assert_eq!(details["status"], 404);
    assert_eq!(details["body"], json!({ "message": "no such pet" }));
    assert_eq!(details["headers"]["etag"], "\"7\"");
    assert_eq!(details["headers"]["x-ratelimit-remaining"], "3");
    assert_eq!(details["headers"].get("server"), None);
    let page = api.call(&get("/page"), &telling()).await.unwrap();
    assert_eq!(
        refusal(&page).0,
        "GET /page answered HTTP 502 Bad Gateway: Bad"
    );
    let long = api.call(&get("/long"), &telling()).await.unwrap();
    assert!(
        refusal(&long).1["note"]
            .as_str()
            .unwrap()
            .contains("409600"),
        "{long}"
    );
}

#[tokio::test]
async fn too_long_response_is_an_error_with_the_limit() {
    let (base, log) = serve(|_, _| media("text/plain", vec![b'x'; (16 << 20) + 1])).await;
    let failure = api(&base).call(&get("/"), &telling()).await.unwrap_err();
    assert!(matches!(failure, CallFailure::TooMuch(_)), "{failure:?}");
    assert!(failure.to_string().contains("16 MiB"), "{failure}");
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn response_with_too_many_json_values_is_not_parsed() {
    let ones = || format!("[{}1]", "1,".repeat(1_000_000));
    let (base, _) = serve(move |seen, _| match seen.target.as_str() {
        "/json" => media("application/json", ones()),
        "/unsaid" => axum::body::Body::from(ones()).into_response(),
        "/text" => media("text/plain", ones()),
        "/objects" => media("application/json", format!("[{}0]", "{},".repeat(250_000))),
        "/broken" => media("text/plain", ones()[..2_000_000].to_owned()),
        "/lines" => media("application/x-ndjson", "{\"a\":[1,2]}\n".repeat(200_000)),
        "/words" => media(
            "application/json",
            format!("[\"{}\"]", ",[{".repeat(500_000)),
        ),
        other => panic!("{other}"),
    })
    .await;
    let api = api(&base);
    for path in ["/json", "/unsaid", "/text", "/objects", "/broken"] {
        let failure = api.call(&get(path), &telling()).await.unwrap_err();
        assert!(
            matches!(failure, CallFailure::TooMuch(_)),
            "{path}: {failure:?}"
        );
        assert!(failure.to_string().contains("1000000"), "{failure}");
    }
    for path in ["/lines", "/words"] {
        let result = api.call(&get(path), &telling()).await.unwrap();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() > 1_000_000, "{path}");
    }
}

#[tokio::test]
async fn request_is_sent_as_it_is_written() {
    let (base, log) = serve(|_, _| "ok").await;
    let mut source = settings();
    source.headers = BTreeMap::from([("X-Own".into(), "mine".into())]);
    let api = api_with(&format!("{base}/v2?fixed=1"), &source, &[]);
    let mut asked = request(Method::POST, "/a%2Fb/c");
    asked.query = pairs(&[("q", "1%202"), ("q", "3")]);
    asked.headers = pairs(&[
        ("x-own", "theirs"),
        ("accept", "text/csv"),
        ("x-other", "o"),
    ]);
    asked.cookies = pairs(&[("a", "1"), ("b", "2")]);
    asked.body = Some(RequestBody::Json(json!({ "n": [1] })));
    api.call(&asked, &telling()).await.unwrap();
    asked.body = Some(RequestBody::Bytes {
        media: "application/octet-stream".into(),
        bytes: vec![0, 159],
    });
    api.call(&asked, &telling()).await.unwrap();
    let log = log.lock().unwrap();
    let first = &log[0];
    assert_eq!(
        (first.method.as_str(), first.target.as_str()),
        ("POST", "/v2/a%2Fb/c?fixed=1&q=1%202&q=3")
    );
    assert_eq!(first.header("x-own"), Some("mine"));
    assert_eq!(first.header("x-other"), Some("o"));
    assert_eq!(first.header("accept"), Some("text/csv"));
    assert_eq!(first.header("cookie"), Some("a=1; b=2"));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(&first.body[..], b"{\"n\":[1]}");
    assert_eq!(&log[1].body[..], [0, 159]);
    assert_eq!(
        log[1].header("content-type"),
        Some("application/octet-stream")
    );
}

#[tokio::test]
async fn path_that_leads_to_another_function_is_refused() {
    let (base, log) = serve(|_, _| "ok").await;
    let api = api(&format!("{base}/v1"));
    for path in [
        "/pets/..",
        "/pets/%2e%2e",
        "/pets/%2e%2e%2fadmin",
        "/pets/.",
        "/../v2",
        "/pets?x=1",
        "/pets#x",
    ] {
        let failure = api.call(&get(path), &telling()).await.unwrap_err();
        assert!(
            matches!(failure, CallFailure::Unfit(_)),
            "{path}: {failure:?}"
        );
    }
    for path in ["/pets/...", "/pets/a..b", "/pets/src%2Fmain.rs", "/"] {
        api.call(&get(path), &telling()).await.unwrap();
    }
    assert_eq!(log.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn encoded_response_is_decoded_or_refused_by_name() {
    use std::io::Write as _;
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let bomb = gzip(&vec![b' '; 17 << 20]);
    let plain = gzip(b"{\"ok\":true}");
    let (base, _) = serve(move |seen, _| {
        let (encoding, body) = match seen.target.as_str() {
            "/gzip" => ("gzip", plain.clone()),
            "/x-gzip" => ("X-GZIP", plain.clone()),
            "/bomb" => ("gzip", bomb.clone()),
            "/x-bomb" => ("x-gzip", bomb.clone()),
            "/none" => ("identity", b"{\"ok\":true}".to_vec()),
            // A character set is not an encoding.
            "/utf-8" => ("UTF-8", b"{\"ok\":true}".to_vec()),
            "/compress" => ("compress", vec![0x1f, 0x9d, 0xff]),
            other => panic!("{other}"),
        };
        (
            [
                ("content-type", "application/json"),
                ("content-encoding", encoding),
            ],
            body,
        )
            .into_response()
    })
    .await;
    let api = api(&base);
    for path in ["/gzip", "/x-gzip", "/none", "/utf-8"] {
        let result = api.call(&get(path), &telling()).await.unwrap();
        assert_eq!(result["structuredContent"], json!({ "ok": true }), "{path}");
    }
    for path in ["/bomb", "/x-bomb"] {
        let failure = api.call(&get(path), &telling()).await.unwrap_err();
        assert!(
            matches!(failure, CallFailure::TooMuch(_)),
            "{path}: {failure:?}"
        );
    }
    let failure = api.call(&get("/compress"), &telling()).await.unwrap_err();
    assert!(
        failure
            .to_string()
            .contains("\"compress\" (Content-Encoding)"),
        "{failure}"
    );
}
