//! The HTTP port that serves metrics to Prometheus: off by default, only on the loopback interface, and only with the
//! token.
//!
//! Invariant: failures are reported in `problem` and retried, and affect nothing else. A web page from another site
//! cannot read the metrics, not even by DNS rebinding.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response, StatusCode, header, uri::Authority};
use http_body_util::Full;
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinSet, spawn_blocking},
    time::{sleep, timeout},
};
use tracing::{debug, info, warn};

use super::metrics_token;

const METRICS_PATH: &str = "/metrics";
/// The timeout of one request, from its first byte to the last byte of the response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of open connections. Further connections are closed.
const MAX_CONNECTIONS: usize = 16;
/// The interval between attempts to bind a port that is in use.
const BIND_RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// The first attempts follow each other quickly, and their failures are not reported.
const QUICK_BIND_ATTEMPTS: u32 = 8;
const QUICK_BIND_RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// Renders the metrics for an `Accept` header.
type PageWriter = Arc<dyn Fn(&str) -> BoxFuture<'static, MetricsPage> + Send + Sync>;

/// The metrics in a format.
pub struct MetricsPage {
    pub content_type: &'static str,
    pub text: String,
}

#[derive(Debug)]
pub struct MetricsPort {
    token: PathBuf,
    wanted: watch::Sender<Option<SocketAddr>>,
    /// Why metrics are not served.
    problem: Mutex<Option<String>>,
}

impl MetricsPort {
    pub(super) fn new(token: PathBuf) -> Self {
        Self {
            token,
            wanted: watch::Sender::new(None),
            problem: Mutex::default(),
        }
    }

    /// Sets the address. `None` switches the port off. An unchanged address has no effect.
    pub fn listen(&self, address: Option<SocketAddr>) {
        self.wanted.send_if_modified(|wanted| {
            let differs = *wanted != address;
            *wanted = address;
            differs
        });
    }

    pub fn problem(&self) -> Option<String> {
        self.locked().clone()
    }

    /// Serves the configured address, and follows its changes, as long as it is polled.
    pub async fn serve(&self, writer: PageWriter) {
        let mut wanted = self.wanted.subscribe();
        loop {
            let address = *wanted.borrow_and_update();
            let Some(address) = address else {
                self.tells(None);
                // The sender lives as long as `self`.
                _ = wanted.changed().await;
                continue;
            };
            tokio::select! {
                _ = wanted.changed() => {}
                never = self.hold(address, &writer) => match never {},
            }
        }
    }

    async fn hold(&self, address: SocketAddr, writer: &PageWriter) -> Infallible {
        let mut tries = 0;
        loop {
            match self.open(address).await {
                Ok(listener) => {
                    self.tells(None);
                    info!(%address, "serving metrics");
                    return self.accept(&listener, writer).await;
                }
                // The previous daemon may still have the port for a moment.
                Err(_) if tries < QUICK_BIND_ATTEMPTS => {
                    tries += 1;
                    sleep(QUICK_BIND_RETRY_INTERVAL).await;
                }
                Err(problem) => {
                    self.tells(Some(problem));
                    sleep(BIND_RETRY_INTERVAL).await;
                }
            }
        }
    }

    async fn open(&self, address: SocketAddr) -> Result<TcpListener, String> {
        // Creates the token before the first reader needs it.
        self.token().await?;
        let listener = TcpListener::bind(address).await;
        listener.map_err(|error| {
            format!(
                "metrics are not served: cannot listen on {address} ({error}); free it, or set another in [metrics] listen"
            )
        })
    }

    async fn accept(&self, listener: &TcpListener, writer: &PageWriter) -> Infallible {
        let mut visitors = JoinSet::new();
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = visitors.join_next() => continue,
            };
            match stream {
                Ok(_) if visitors.len() >= MAX_CONNECTIONS => {
                    debug!("too many connections to the metrics port");
                }
                Ok((stream, _)) => {
                    let visit = visit(stream, self.token.clone(), Arc::clone(writer));
                    visitors.spawn(async move { drop(timeout(REQUEST_TIMEOUT, visit).await) });
                }
                // Out of file descriptors, for example.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    async fn token(&self) -> Result<String, String> {
        let token = token_of(&self.token).await;
        token.map_err(|problem| format!("metrics are not served: {problem}"))
    }

    fn tells(&self, problem: Option<String>) {
        let mut known_problem = self.locked();
        if let Some(problem) = &problem
            && known_problem.as_ref() != Some(problem)
        {
            warn!(problem, "metrics port unavailable");
        }
        *known_problem = problem;
    }

    fn locked(&self) -> parking_lot::MutexGuard<'_, Option<String>> {
        self.problem.lock()
    }
}

/// The token that is in the file now. Creates the file if it is missing.
async fn token_of(path: &Path) -> Result<String, String> {
    let path = path.to_owned();
    let read = spawn_blocking(move || metrics_token::read_or_make(&path)).await;
    read.unwrap_or_else(|_| Err("the daemon is ending".into()))
}

/// Serves one connection, which has one request.
async fn visit(stream: TcpStream, token: PathBuf, writer: PageWriter) {
    let service = service_fn(|request: Request<Incoming>| {
        let token = token.clone();
        let writer = Arc::clone(&writer);
        async move { Ok::<_, Infallible>(answer(&request, &token, &writer).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        debug!(%error, "metrics connection failed");
    }
}

type PageResponse = Response<Full<Bytes>>;

async fn answer<B>(request: &Request<B>, token: &Path, writer: &PageWriter) -> PageResponse {
    if !is_for_us(request) {
        return refusal(
            StatusCode::MISDIRECTED_REQUEST,
            "Metrics are served only under a loopback address.\n",
        );
    }
    match token_of(token).await {
        Ok(token) if bearer(request).is_some_and(|given| metrics_token::is_same(given, &token)) => {
        }
        Ok(_) => {
            let mut page = refusal(
                StatusCode::UNAUTHORIZED,
                "The token is missing or wrong: mux metrics --token\n",
            );
            let scheme = HeaderValue::from_static("Bearer realm=\"muxd\"");
            page.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            return page;
        }
        Err(problem) => {
            warn!(problem, "cannot read the metrics token");
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, "See mux logs.\n");
        }
    }
    if request.uri().path() != METRICS_PATH {
        return refusal(StatusCode::NOT_FOUND, "Metrics are at /metrics.\n");
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut page = refusal(StatusCode::METHOD_NOT_ALLOWED, "Use GET.\n");
        let methods = HeaderValue::from_static("GET, HEAD");
        page.headers_mut().insert(header::ALLOW, methods);
        return page;
    }
    let accept = request.headers().get(header::ACCEPT);
    let accept = accept.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let metrics = writer(accept).await;
    page(StatusCode::OK, metrics.content_type, metrics.text)
}

fn refusal(status: StatusCode, text: &str) -> PageResponse {
    page(status, "text/plain; charset=utf-8", text.to_owned())
}

fn page(status: StatusCode, kind: &'static str, text: String) -> PageResponse {
    let mut page = Response::new(Full::new(Bytes::from(text)));
    *page.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        page.headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    page
}

/// Returns true if the request's only `Host` is a loopback name. The port is not checked, because the request may
/// come through a tunnel.
fn is_for_us<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let host = host.to_str().ok().and_then(|host| host.parse().ok());
    let named = |host: &Authority| is_loopback(host.host());
    host.as_ref().is_some_and(named) && request.uri().authority().is_none_or(named)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

fn bearer<B>(request: &Request<B>) -> Option<&str> {
    let header = request
        .headers()
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start())
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn writer() -> PageWriter {
        Arc::new(|_| {
            let page = MetricsPage {
                content_type: "text/plain",
                text: "a 1\n".to_owned(),
            };
            async { page }.boxed()
        })
    }

    #[tokio::test]
    async fn metrics_require_token_and_loopback_host() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let token = metrics_token::read_or_make(&file).unwrap();
        let good = format!("Bearer {token}");
        let asked = async |method: &str, uri: &str, host: &str, word: &str| {
            let request = Request::builder().method(method).uri(uri);
            let request = request.header("host", host).header("authorization", word);
            let page = answer(&request.body(()).unwrap(), &file, &writer()).await;
            page.status().as_u16()
        };
        for (method, uri, host, word, status) in [
            ("GET", "/metrics", "127.0.0.1:9464", &*good, 200),
            (
                "HEAD",
                "/metrics?x=1",
                "localhost",
                &good.replace("Bearer", "bearer"),
                200,
            ),
            ("GET", "/metrics", "[::1]:9464", &good, 200),
            ("GET", "/metrics", "evil.test:9464", &good, 421),
            ("GET", "/metrics", "localhost.evil.test", &good, 421),
            ("GET", "http://evil.test/metrics", "127.0.0.1", &good, 421),
            ("GET", "/metrics", "", &good, 421),
            ("GET", "/metrics", "127.0.0.1", "", 401),
            ("GET", "/metrics", "127.0.0.1", &good[..20], 401),
            ("GET", "/metrics", "127.0.0.1", &token, 401),
            (
                "GET",
                "/metrics",
                "127.0.0.1",
                &good.replace("Bearer", "Basic"),
                401,
            ),
            ("GET", "/", "127.0.0.1", &good, 404),
            ("POST", "/metrics", "127.0.0.1", &good, 405),
        ] {
            assert_eq!(
                asked(method, uri, host, word).await,
                status,
                "{method} {uri} {host} {word}"
            );
        }
        // Removing the file replaces the token.
        std::fs::remove_file(&file).unwrap();
        assert_eq!(asked("GET", "/metrics", "localhost", &good).await, 401);
    }

    #[tokio::test]
    async fn port_in_use_is_reported_and_next_address_is_tried() {
        let folder = tempfile::tempdir().unwrap();
        let port = Arc::new(MetricsPort::new(folder.path().join("token")));
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        port.listen(taken.local_addr().ok());
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let serving = port.serve(writer());
        tokio::pin!(serving);
        let announced = async {
            while port.problem().is_none() {
                tokio::task::yield_now().await;
            }
            let problem = port.problem().unwrap();
            assert!(problem.contains("[metrics] listen"), "{problem}");
            port.listen(Some(address));
            while TcpStream::connect(address).await.is_err() {
                tokio::task::yield_now().await;
            }
            assert_eq!(port.problem(), None);
            port.listen(None);
            while TcpStream::connect(address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = &mut serving => {}
            () = announced => {}
        }
    }
}
