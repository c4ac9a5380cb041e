//! Failed requests, retries and redirects.

use std::num::NonZeroU32;

use axum::http::StatusCode;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::mpsc,
    time::Instant,
};

use super::*;
use crate::call_progress::CallLimits;
use mux_caller::PausableClock;
use mux_settings::{NetworkVariable, RequestRate};

/// A server that answers every request with `says` and closes the connection. The receiver gets a message for each
/// request.
async fn hangs_up(says: &'static [u8]) -> (String, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 4096];
            if stream.read(&mut asked).await.unwrap_or(0) > 0 {
                tell.send(()).unwrap();
                stream.write_all(says).await.unwrap();
            }
        }
    });
    (url, received)
}

#[tokio::test]
async fn unanswered_request_is_lost_and_not_sent_again() {
    for says in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
    ] {
        let (base, mut received) = hangs_up(says).await;
        let failure = api(&base).call(&get("/"), &telling()).await.unwrap_err();
        assert!(matches!(failure, CallFailure::Lost(_)), "{failure:?}");
        assert!(received.recv().await.is_some());
        assert!(received.try_recv().is_err(), "it was sent again");
    }
}

#[tokio::test]
async fn unreachable_server_means_that_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let api = api(&base);
    let failure = api.call(&get("/"), &telling()).await.unwrap_err();
    assert!(matches!(failure, CallFailure::Declined(_)), "{failure:?}");
    assert!(
        failure.to_string().contains("check `base_url`"),
        "{failure}"
    );
    // The attempt is repeated once, on a new connection.
    assert_eq!(api.requests(), 2);
}

#[tokio::test]
async fn request_that_was_not_accepted_is_retried_three_times() {
    for (method, status, said, sent) in [
        (Method::GET, 429, Some("0"), 4),
        (Method::POST, 429, Some("0"), 4),
        (Method::POST, 429, Some("Sun, 06 Nov 1994 08:49:37 GMT"), 4),
        (Method::GET, 429, Some("3600"), 1),
        (Method::GET, 503, Some("0"), 4),
        (Method::POST, 503, Some("0"), 1),
        (Method::GET, 503, None, 1),
        (Method::GET, 500, Some("0"), 1),
        (Method::GET, 502, None, 1),
    ] {
        let (base, log) = serve(move |_, _| {
            let status = StatusCode::from_u16(status).unwrap();
            match said {
                Some(said) => (status, [("retry-after", said)]).into_response(),
                None => status.into_response(),
            }
        })
        .await;
        let asked = request(method.clone(), "/x");
        let result = api(&base).call(&asked, &telling()).await.unwrap();
        let (message, details) = refusal(&result);
        assert_eq!(details["status"], status);
        assert_eq!(
            log.lock().unwrap().len(),
            sent,
            "{method} {status} {said:?}"
        );
        if said == Some("3600") {
            assert!(message.contains("3600s"), "{message}");
        }
    }
}

#[tokio::test]
async fn successful_retry_gives_the_result() {
    let (base, log) = serve(|_, number| match number {
        1 => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "0")], "no").into_response(),
        _ => "yes".into_response(),
    })
    .await;
    let result = api(&base)
        .call(&request(Method::POST, "/x"), &telling())
        .await
        .unwrap();
    assert_eq!(result["content"][0]["text"], "yes");
    assert_eq!(log.lock().unwrap().len(), 2);
}

/// Sends a message when it is dropped.
struct DropSignal(mpsc::UnboundedSender<()>);

impl Drop for DropSignal {
    fn drop(&mut self) {
        // The receiver may be gone.
        _ = self.0.send(());
    }
}

#[tokio::test]
async fn cancelled_call_closes_its_connection() {
    let (tell, mut received) = mpsc::unbounded_channel();
    let (came, mut comes) = mpsc::unbounded_channel();
    let router = Router::new().fallback(move || {
        let guard = DropSignal(tell.clone());
        let came = came.clone();
        async move {
            let _guard = guard;
            came.send(()).unwrap();
            std::future::pending::<&str>().await
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let call = tokio::spawn(async move { api(&base).call(&get("/"), &telling()).await });
    comes.recv().await.unwrap();
    call.abort();
    let closed = tokio::time::timeout(Duration::from_secs(20), received.recv()).await;
    assert!(closed.unwrap().is_some());
}

#[tokio::test]
async fn clock_is_paused_while_a_call_waits_for_the_rate() {
    let (base, log) = serve(|_, _| "ok").await;
    let mut source = settings();
    source.rate = Some(RequestRate {
        count: NonZeroU32::new(2).unwrap(),
        per: Duration::from_hours(1),
    });
    let api = api_with(&base, &source, &[]);
    api.call(&get("/"), &telling()).await.unwrap();
    let clock = Arc::new(PausableClock::default());
    let limits = CallLimits {
        clock: Arc::clone(&clock),
        begun: Instant::now(),
        within: Duration::from_mins(1),
        whole: Duration::from_mins(1),
        trace: None,
    };
    let (tell, mut received) = mpsc::unbounded_channel();
    let telling = CallProgress::new(limits, move |_, _, note| {
        tell.send(note.to_owned()).unwrap();
    });
    let second = tokio::spawn(async move { api.call(&get("/"), &telling).await });
    assert!(received.recv().await.unwrap().contains("rate = \"2/h\""));
    let before = clock.paused_for();
    tokio::task::yield_now().await;
    assert!(clock.paused_for() > before);
    assert_eq!(log.lock().unwrap().len(), 1);
    second.abort();
}

#[tokio::test]
async fn redirect_is_followed_only_within_the_origin() {
    let (elsewhere, strangers) = serve(|_, _| "got you").await;
    let target = format!("{elsewhere}/x?secret=1");
    let (base, log) = serve(move |seen, _| match seen.target.as_str() {
        "/near" => (StatusCode::FOUND, [("location", "/here".to_owned())]).into_response(),
        "/far" => (
            StatusCode::TEMPORARY_REDIRECT,
            [("location", target.clone())],
        )
            .into_response(),
        _ => "here".into_response(),
    })
    .await;
    let mut source = settings();
    source.credentials = BTreeMap::from([("token".into(), text("canary-t0ken"))]);
    let api = api_with(&base, &source, &[("token", SecurityScheme::Bearer)]);
    let asked = |path| ApiRequest {
        security: vec![vec!["token".into()]],
        ..get(path)
    };
    let near = api.call(&asked("/near"), &telling()).await.unwrap();
    assert_eq!(near["content"][0]["text"], "here");
    let far = api.call(&asked("/far"), &telling()).await.unwrap();
    let (message, details) = refusal(&far);
    assert!(
        message.contains("not followed") && message.contains("/x,"),
        "{message}"
    );
    assert!(!message.contains("secret=1"), "{message}");
    assert_eq!(details["status"], 307);
    assert!(
        details["headers"]["location"]
            .as_str()
            .unwrap()
            .contains("secret=***")
    );
    assert!(strangers.lock().unwrap().is_empty());
    assert_eq!(log.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn configured_proxy_is_used() {
    let (proxy, log) = serve(|_, _| "by proxy").await;
    let mut source = settings();
    source.network = Arc::new(mux_settings::NetworkSettings {
        http_proxy: Some(NetworkVariable {
            name: "http_proxy".into(),
            value: proxy.into(),
        }),
        ..Default::default()
    });
    let api = api_with("http://api.invalid/v1", &source, &[]);
    let result = api.call(&get("/x"), &telling()).await.unwrap();
    assert_eq!(result["content"][0]["text"], "by proxy");
    assert_eq!(log.lock().unwrap()[0].header("host"), Some("api.invalid"));
}
