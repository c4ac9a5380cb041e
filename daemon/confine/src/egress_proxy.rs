//! The daemon's end of a sandbox with a list of hosts: an HTTP proxy on a Unix socket, which is the only thing that the
//! sandbox's network reaches.
//!
//! Invariant: nothing is resolved or connected before its host and port are found in the list, and a name that is in
//! the list leads to no service of this machine.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, btree_map::Entry},
    fs, io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    header::{self, HeaderValue},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use mux_http::address_policy::{AddressClass, class_of};
use mux_settings::HostPattern;
use parking_lot::Mutex;
use tokio::{
    io::copy_bidirectional,
    net::{TcpStream, UnixListener, UnixStream, lookup_host},
    sync::Semaphore,
    task::JoinHandle,
    time::timeout,
};
use tracing::debug;

use super::plan::EGRESS_SOCKET;

/// The maximum number of connections of one server. More wait.
const MAX_EGRESS_CONNECTIONS: usize = 64;
/// The timeout of resolving a name and connecting to it.
const EGRESS_CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The timeout of the head of a request.
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of refused targets that are remembered of one server.
const MAX_REFUSED_TARGETS: usize = 32;

/// The number of targets that are remembered of an observed server.
const MAX_OBSERVED_TARGETS: usize = 256;

type ProxyBody = BoxBody<Bytes, hyper::Error>;
/// Called with the reason for each refused target, the first time and for the first [`MAX_REFUSED_TARGETS`].
type RefusalReport = Arc<dyn Fn(&str) + Send + Sync>;

/// The proxies of a daemon, by their folders; cheap to clone.
#[derive(Clone, Default)]
pub struct EgressProxies(Arc<Mutex<HashMap<PathBuf, EgressProxy>>>);

struct EgressProxy {
    server: String,
    rules: Arc<EgressRules>,
    listening: JoinHandle<()>,
}

/// Which hosts a server may reach through its proxy.
#[derive(Clone, Debug)]
pub enum EgressHosts {
    Listed(Vec<HostPattern>),
    /// All of them; they are recorded, because the server is observed.
    Observed,
}

struct EgressRules {
    hosts: EgressHosts,
    /// The targets that an observed server asked for.
    asked_for: Mutex<BTreeSet<String>>,
    report: RefusalReport,
    refused: Mutex<BTreeMap<String, u64>>,
}

/// What a server wanted to reach and could not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RefusedConnection {
    pub target: String,
    pub count: u64,
}

impl EgressProxies {
    /// Serves `server` at the socket in `folder`, unless that is done already. A daemon that takes over listens at the
    /// same place: the sandbox sees the folder, and not the socket itself.
    pub fn listen(
        &self,
        (server, folder): (&str, &Path),
        hosts: EgressHosts,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<()> {
        let socket = folder.join(EGRESS_SOCKET);
        let mut proxies = self.0.lock();
        if proxies.contains_key(folder) && socket.exists() {
            return Ok(());
        }
        fs::create_dir_all(folder)?;
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&socket)?;
        let rules = Arc::new(EgressRules {
            hosts,
            asked_for: Mutex::default(),
            report: Arc::new(report),
            refused: Mutex::default(),
        });
        let listening = tokio::spawn(serve(listener, Arc::clone(&rules)));
        let proxy = EgressProxy {
            server: server.to_owned(),
            rules,
            listening,
        };
        proxies.insert(folder.to_owned(), proxy);
        Ok(())
    }

    /// Ends the proxy in `folder`, which served an observed server, and returns the targets that it asked for.
    pub fn stop_observing(&self, folder: &Path) -> Vec<String> {
        let Some(proxy) = self.0.lock().remove(folder) else {
            return Vec::new();
        };
        fs::remove_file(folder.join(EGRESS_SOCKET)).ok();
        let asked_for = proxy.rules.asked_for.lock();
        asked_for.iter().cloned().collect()
    }

    /// The connections of a server that were refused since this daemon started.
    pub fn refused(&self, server: &str) -> Vec<RefusedConnection> {
        let proxies = self.0.lock();
        let own = proxies.values().filter(|proxy| proxy.server == server);
        own.flat_map(|proxy| {
            let refused = proxy.rules.refused.lock();
            let refused = refused.iter().map(|(target, count)| RefusedConnection {
                target: target.clone(),
                count: *count,
            });
            refused.collect::<Vec<_>>()
        })
        .collect()
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl std::fmt::Debug for EgressProxies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EgressProxies").finish_non_exhaustive()
    }
}

async fn serve(listener: UnixListener, rules: Arc<EgressRules>) {
    let permits = Arc::new(Semaphore::new(MAX_EGRESS_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let connection = match listener.accept().await {
            Ok((connection, _)) => connection,
            Err(error) => {
                debug!(%error, "cannot accept a connection of a sandbox");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let rules = Arc::clone(&rules);
        tokio::spawn(async move {
            serve_connection(connection, rules).await;
            drop(permit);
        });
    }
}

async fn serve_connection(connection: UnixStream, rules: Arc<EgressRules>) {
    let (done, finished) = tokio::sync::oneshot::channel::<()>();
    let done = Arc::new(Mutex::new(Some(done)));
    let service = service_fn(move |request| {
        let (rules, done) = (Arc::clone(&rules), Arc::clone(&done));
        async move { Ok::<_, std::convert::Infallible>(rules.answer(request, done).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(connection), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        debug!(%error, "a connection of a sandbox ended");
    }
    // A tunnel outlives the connection that was upgraded. Without one, the sender is dropped with the service.
    finished.await.ok();
}

/// Kept by a tunnel as long as it lasts.
type TunnelMark = Arc<Mutex<Option<tokio::sync::oneshot::Sender<()>>>>;

impl EgressRules {
    async fn answer(&self, request: Request<Incoming>, mark: TunnelMark) -> Response<ProxyBody> {
        let is_tunnel = request.method() == Method::CONNECT;
        let Some((host, port)) = target(request.uri(), is_tunnel) else {
            return reply(StatusCode::BAD_REQUEST, "muxd: this is a proxy".into());
        };
        let may_be_local = match &self.hosts {
            EgressHosts::Observed => {
                self.record_asked_for(&host, port);
                true
            }
            EgressHosts::Listed(hosts) => match hosts.iter().find(|it| it.matches(&host, port)) {
                Some(pattern) => pattern.is_address_or_local(),
                None => return self.refuse(&host, port, "sandbox.network does not list it"),
            },
        };
        let upstream = match connect(&host, port, may_be_local).await {
            Ok(Some(upstream)) => upstream,
            Ok(None) => {
                return self.refuse(
                    &host,
                    port,
                    "its name leads to this machine; list the address",
                );
            }
            Err(error) => {
                return reply(
                    StatusCode::BAD_GATEWAY,
                    format!("muxd: cannot connect to {host}:{port}: {error}"),
                );
            }
        };
        match is_tunnel {
            true => tunnel(request, upstream, mark),
            false => forward(request, upstream).await.unwrap_or_else(|error| {
                reply(
                    StatusCode::BAD_GATEWAY,
                    format!("muxd: {host}:{port}: {error}"),
                )
            }),
        }
    }

    fn refuse(&self, host: &str, port: u16, why: &str) -> Response<ProxyBody> {
        let target = format!("{host}:{port}");
        let text = format!("refused a connection to {target}: {why}");
        if self.count_refused(target) {
            (self.report)(&text);
        }
        reply(StatusCode::FORBIDDEN, format!("muxd: sandbox: {text}"))
    }

    fn record_asked_for(&self, host: &str, port: u16) {
        let mut asked_for = self.asked_for.lock();
        if asked_for.len() < MAX_OBSERVED_TARGETS {
            asked_for.insert(match host.contains(':') {
                true => format!("[{host}]:{port}"),
                false => format!("{}:{port}", host.to_ascii_lowercase()),
            });
        }
    }

    /// Returns whether the target is remembered now and was not before.
    fn count_refused(&self, target: String) -> bool {
        let mut refused = self.refused.lock();
        let has_room = refused.len() < MAX_REFUSED_TARGETS;
        match refused.entry(target) {
            Entry::Occupied(mut known) => *known.get_mut() += 1,
            Entry::Vacant(new) if has_room => {
                new.insert(1);
                return true;
            }
            Entry::Vacant(_) => {}
        }
        false
    }
}

/// The host and the port that a request names.
fn target(uri: &Uri, is_tunnel: bool) -> Option<(String, u16)> {
    let authority = uri.authority()?;
    let port = match (authority.port_u16(), is_tunnel) {
        (Some(port), _) => port,
        (None, false) if uri.scheme_str() == Some("http") => 80,
        (None, _) => return None,
    };
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    Some((host.to_owned(), port))
}

/// Connects to an address of the host. `Ok(None)` if it has only addresses of this machine, which a name does not reach
/// unless `may_be_local`.
async fn connect(host: &str, port: u16, may_be_local: bool) -> io::Result<Option<TcpStream>> {
    let connecting = async {
        let addresses: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
        let usable = addresses
            .into_iter()
            .filter(|address| may_be_local || !is_of_this_machine(address.ip()));
        let mut last = None;
        for address in usable {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(Some(stream)),
                Err(error) => last = Some(error),
            }
        }
        last.map_or(Ok(None), Err)
    };
    match timeout(EGRESS_CONNECT_TIMEOUT, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Whether an address leads to this machine or to the metadata of its cloud.
fn is_of_this_machine(address: IpAddr) -> bool {
    match class_of(address) {
        AddressClass::Loopback | AddressClass::Never => true,
        AddressClass::Private | AddressClass::Public => false,
    }
}

fn tunnel(
    request: Request<Incoming>,
    mut upstream: TcpStream,
    mark: TunnelMark,
) -> Response<ProxyBody> {
    let mark = mark.lock().take();
    tokio::spawn(async move {
        if let Ok(inside) = hyper::upgrade::on(request).await {
            // Either end may close it at any time.
            drop(copy_bidirectional(&mut TokioIo::new(inside), &mut upstream).await);
        }
        drop(mark);
    });
    reply(StatusCode::OK, String::new())
}

async fn forward(
    mut request: Request<Incoming>,
    upstream: TcpStream,
) -> Result<Response<ProxyBody>, hyper::Error> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(upstream)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            debug!(%error, "a forwarded connection of a sandbox ended");
        }
    });
    // The host that was checked is the host that is asked.
    if let Some(authority) = request.uri().authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(header::HOST, host);
    }
    for name in ["proxy-connection", "proxy-authorization"] {
        request.headers_mut().remove(name);
    }
    let path = request.uri().path_and_query();
    let path = path.map_or("/", |path| path.as_str()).to_owned();
    *request.uri_mut() = path.parse().unwrap_or_default();
    let response = sender.send_request(request).await?;
    Ok(response.map(|body| body.boxed()))
}

fn reply(status: StatusCode, text: String) -> Response<ProxyBody> {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {});
    let mut response = Response::new(body.boxed());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    /// A server that answers every request with the first line of it.
    async fn origin() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut request = [0; 1024];
                let count = connection.read(&mut request).await.unwrap();
                let text = String::from_utf8_lossy(&request[..count]).into_owned();
                let line = text.lines().next().unwrap_or_default();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{line}",
                    line.len()
                );
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        port
    }

    async fn ask(socket: &Path, text: &str, after: Option<&str>) -> String {
        let mut connection = UnixStream::connect(socket).await.unwrap();
        connection.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        if let Some(after) = after {
            let mut head = [0; 512];
            let count = connection.read(&mut head).await.unwrap();
            answer.extend_from_slice(&head[..count]);
            connection.write_all(after.as_bytes()).await.unwrap();
        }
        connection.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    }

    #[tokio::test]
    async fn listed_hosts_are_reached_and_others_refused_and_reported() {
        let dir = tempfile::tempdir().unwrap();
        let port = origin().await;
        let proxies = EgressProxies::default();
        let reported = Arc::new(Mutex::new(Vec::new()));
        let reports = Arc::clone(&reported);
        let hosts = vec![format!("127.0.0.1:{port}").parse().unwrap()];
        let report = move |text: &str| reports.lock().push(text.to_owned());
        proxies
            .listen(("files", dir.path()), EgressHosts::Listed(hosts), report)
            .unwrap();
        let socket = dir.path().join(EGRESS_SOCKET);

        let plain = format!(
            "GET http://127.0.0.1:{port}/a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        );
        let answer = ask(&socket, &plain, None).await;
        assert!(answer.ends_with("GET /a HTTP/1.1"), "{answer}");

        let connect = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nhost: x\r\n\r\n");
        let inner = "GET /inside HTTP/1.1\r\n\r\n";
        let answer = ask(&socket, &connect, Some(inner)).await;
        assert!(answer.ends_with("GET /inside HTTP/1.1"), "{answer}");

        for _ in 0..2 {
            let other = "CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
            let answer = ask(&socket, other, None).await;
            assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        }
        let other = format!(
            "GET http://127.0.0.1:{}/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
            port ^ 1
        );
        assert!(ask(&socket, &other, None).await.starts_with("HTTP/1.1 403"));
        let refused = proxies.refused("files");
        assert_eq!((refused.len(), refused[1].count), (2, 2), "{refused:?}");
        assert_eq!(refused[1].target, "evil.example:443");
        assert_eq!(reported.lock().len(), 2);
    }

    #[test]
    fn names_do_not_lead_to_this_machine() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("0.0.0.0", true),
            ("169.254.169.254", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("fe80::1", true),
            ("100.100.100.200", true),
            ("64:ff9b::7f00:1", true),
            ("fd00:ec2::254", true),
            ("10.0.0.1", false),
            ("93.184.215.14", false),
        ] {
            assert_eq!(
                is_of_this_machine(address.parse().unwrap()),
                expected,
                "{address}"
            );
        }
    }
}
