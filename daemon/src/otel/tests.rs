//! The exporter against a minimal collector.

use std::time::SystemTime;

use axum::{Router, body::Bytes, http::StatusCode, routing::post};
use mux_telemetry::trace::{SpanKind, Tracer};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;

use super::*;

/// Answers each request in turn, and all later ones with the last answer, and passes the requests on.
async fn collector(answers: &'static [u16]) -> (CollectorEndpoint, mpsc::UnboundedReceiver<Bytes>) {
    let (sender, requests) = mpsc::unbounded_channel();
    let answered = Arc::new(Mutex::new(0));
    let take = move |body: Bytes| {
        let sender = sender.clone();
        let answered = Arc::clone(&answered);
        async move {
            sender.send(body).unwrap();
            let mut answered = answered.lock();
            *answered += 1;
            let answer = answers[(*answered - 1).min(answers.len() - 1)];
            StatusCode::from_u16(answer).unwrap()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().route("/v1/traces", post(take));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (destination(port), requests)
}

fn destination(port: u16) -> CollectorEndpoint {
    drop(rustls::crypto::ring::default_provider().install_default());
    CollectorEndpoint {
        url: format!("http://127.0.0.1:{port}/v1/traces"),
        shown: String::new(),
        headers: vec![("x-key".into(), "k".into())],
        resource: vec![("service.name".into(), "muxd".into())],
        client: reqwest::Client::builder().no_proxy().build().unwrap(),
    }
}

fn tracer(to: CollectorEndpoint) -> Tracer {
    let tracer = Tracer::new(Some(START));
    tracer.send_to(Some(Ok(to)));
    tracer
}

#[tokio::test]
async fn spans_arrive_with_their_attributes() {
    let (to, mut requests) = collector(&[200]).await;
    let tracer = tracer(to);
    let before = SystemTime::now();
    let mut span = tracer.begin_trace(None, SpanKind::Client, || "call".into());
    span.set("a", || Some("b"));
    span.set("n", || Some(7));
    span.end_with(|| Some("timeout".into()));
    tracer.close().await;
    let request = ExportTraceServiceRequest::decode(requests.recv().await.unwrap()).unwrap();
    let of_resource = &request.resource_spans[0];
    let service = &of_resource.resource.as_ref().unwrap().attributes[0];
    assert_eq!(service.key, "service.name");
    let span = &of_resource.scope_spans[0].spans[0];
    assert_eq!((span.name.as_str(), span.kind, span.flags), ("call", 3, 1));
    assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
    assert_eq!(span.status.as_ref().unwrap().code, 2);
    let keys: Vec<&str> = span.attributes.iter().map(|a| a.key.as_str()).collect();
    assert_eq!(keys, ["a", "n", "error.type"]);
    let since = before.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(u128::from(span.start_time_unix_nano) >= since.as_nanos());
    assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
    let counts = tracer.status();
    assert_eq!((counts.sent, counts.lost, counts.problem), (1, 0, None));
}

#[tokio::test]
async fn only_retryable_refusals_are_retried() {
    for (answers, sent, requests_made) in [(&[503, 200][..], 1, 2), (&[401][..], 0, 1)] {
        let (to, mut requests) = collector(answers).await;
        let tracer = tracer(to);
        tracer
            .begin_trace(None, SpanKind::Internal, || "x".into())
            .end_with(|| None);
        for _ in 0..requests_made {
            requests.recv().await.unwrap();
        }
        tracer.close().await;
        let counts = tracer.status();
        assert_eq!((counts.sent, counts.lost), (sent, 1 - sent), "{answers:?}");
        assert_eq!(counts.problem.is_some(), sent == 0, "{counts:?}");
        assert!(requests.try_recv().is_err());
    }
}

#[tokio::test]
async fn unreachable_collector_loses_spans_and_blocks_nothing() {
    // A port on which nothing listens.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let tracer = tracer(destination(port));
    for _ in 0..3 * MAX_QUEUED_SPANS {
        tracer
            .begin_trace(None, SpanKind::Internal, || "x".into())
            .end_with(|| None);
    }
    // This thread alone runs the tasks, so spans that did not fit were lost immediately.
    assert_eq!(tracer.status().lost, 2 * MAX_QUEUED_SPANS as u64);
    tracer.close().await;
    let counts = tracer.status();
    assert_eq!(counts.sent, 0);
    assert!(counts.problem.is_some(), "{counts:?}");
}

#[tokio::test]
async fn headers_that_cannot_be_sent_are_named() {
    let mut to = destination(1);
    to.headers = vec![("a b".into(), "x".into())];
    let tracer = tracer(to);
    assert!(tracer.status().problem.unwrap().contains("a b"));
}
