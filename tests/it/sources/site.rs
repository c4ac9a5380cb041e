//! HTTP servers of the tests, each on its own thread, and the requests that they received.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use axum::{Router, extract::Request, response::Response};
use mux_tests::web::Web;

/// The parts of a request that tests look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) target: String,
    /// The header `If-None-Match`.
    pub(super) known: Option<String>,
    /// The header `X-Key`.
    pub(super) key: Option<String>,
    /// The header `X-Tenant`.
    pub(super) tenant: Option<String>,
}

pub(super) struct Site {
    pub(super) url: String,
    _web: Web,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    pub(super) fn open(
        answer: impl Fn(&Asked) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let log = Arc::<Mutex<Vec<Asked>>>::default();
        let seen = Arc::clone(&log);
        let routes = Router::new().fallback(move |request: Request| {
            let header = |name: &str| {
                let value = request.headers().get(name)?;
                Some(value.to_str().unwrap().to_owned())
            };
            let asked = Asked {
                target: request.uri().to_string(),
                known: header("if-none-match"),
                key: header("x-key"),
                tenant: header("x-tenant"),
            };
            seen.lock().unwrap().push(asked.clone());
            let answer = answer(&asked);
            async move { answer }
        });
        let web = Web::open(routes);
        Self {
            url: web.url.clone(),
            _web: web,
            log,
        }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }
}

/// Starts a server that reads each request, sends `says` and closes the connection, before or within the response.
/// Returns its URL and the number of requests. The server's thread ends with the process.
pub(super) fn hangs_up(says: &'static [u8]) -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::<Mutex<usize>>::default();
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            if stream.read(&mut request).unwrap_or(0) > 0 {
                *counted.lock().unwrap() += 1;
                // The client may have disconnected.
                drop(stream.write_all(says));
            }
        }
    });
    (url, count)
}

/// Starts a server that takes one request and never answers it. Returns its URL and a channel, which gets `asked` for
/// the request and `closed` when the client closes the connection.
pub(super) fn keeps_silent() -> (String, std::sync::mpsc::Receiver<&'static str>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, output) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        assert!(read > 0);
        tell.send("asked").unwrap();
        while stream.read(&mut request).is_ok_and(|read| read > 0) {}
        tell.send("closed").unwrap();
    });
    (url, output)
}
