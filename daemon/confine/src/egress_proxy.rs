//! The daemon's end of a sandbox with a list of hosts: an HTTP proxy on a Unix socket, which is the only thing that the
//! sandbox's network reaches.
//!
//! Invariant: nothing is resolved or connected before its host and port are found in the list, and a listed name leads
//! to no service of this machine. A proxy listens as long as a session holds its [`EgressLease`].

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{
    collections::{BTreeSet, HashMap},
    fs, io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    header::{self, HeaderValue},
    service::service_fn,
    upgrade::OnUpgrade,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use mux_http::address_policy::{AddressClass, class_of};
use mux_settings::HostPattern;
use parking_lot::Mutex;
use tokio::{
    io::copy_bidirectional,
    net::{TcpStream, lookup_host},
    sync::Semaphore,
    task::JoinHandle,
    time::timeout,
};
use tracing::debug;

#[cfg(unix)]
use self::unix::{EgressListener, EgressStream, SocketIdentity, socket_identity};
#[cfg(windows)]
use self::windows::{EgressListener, EgressStream, SocketIdentity, socket_identity};
use super::{
    activity_stream::ActivityStream,
    denial_counts::{Denial, DenialCounts},
    plan::{EGRESS_SOCKET, MAX_EGRESS_CONNECTIONS, MAX_EGRESS_REFUSALS},
};

/// How long a connection may be open without a byte in either direction. Long enough for an answer that is computed
/// for minutes.
const EGRESS_IDLE_TIMEOUT: Duration = Duration::from_mins(15);
/// The timeout of resolving a name and connecting to it.
const EGRESS_CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The timeout of the head of a request.
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest name that DNS allows.
const MAX_HOST_NAME_BYTES: usize = 253;
/// The timeout of a connection over the limit, which gets an error response.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of targets that are remembered for an observed server.
const MAX_OBSERVED_TARGETS: usize = 256;

type ProxyBody = BoxBody<Bytes, hyper::Error>;
/// Called with the reason for each refused target, the first time, if [`DenialCounts`] remembers it.
type RefusalReport = Arc<dyn Fn(&str) + Send + Sync>;

/// The proxies of a daemon. Cheap to clone.
#[derive(Clone, Default)]
pub struct EgressProxies(Arc<Mutex<KnownProxies>>);

#[derive(Default)]
struct KnownProxies {
    /// The proxies that listen, by their folders.
    listening: HashMap<PathBuf, Weak<EgressProxy>>,
    /// The latest folder of each server and its rules. The rules outlive the proxy, because they know what was refused.
    latest: HashMap<String, (PathBuf, Arc<EgressRules>)>,
}

/// Keeps the proxy of a server listening. Dropping the last lease removes the proxy's folder.
#[derive(Debug)]
pub struct EgressLease(Arc<EgressProxy>);

struct EgressProxy {
    proxies: EgressProxies,
    folder: PathBuf,
    rules: Arc<EgressRules>,
    listener: Mutex<ListeningSocket>,
    /// The next daemon listens in the folder.
    is_handed_over: AtomicBool,
}

struct ListeningSocket {
    task: JoinHandle<()>,
    /// Distinguishes the socket from a socket that another daemon bound at the same path.
    identity: SocketIdentity,
}

/// The hosts that a server may reach through its proxy.
enum EgressHosts {
    Listed(Vec<HostPattern>),
    /// All hosts. The targets are recorded, because the server is observed.
    Observed,
}

struct EgressRules {
    hosts: EgressHosts,
    /// The targets that an observed server requested.
    asked_for: Mutex<BTreeSet<String>>,
    report: RefusalReport,
    refused: DenialCounts<String>,
    /// The log says that there are too many connections.
    was_full: AtomicBool,
}

impl EgressProxies {
    /// Serves `server` at the socket in `folder` until the last lease is dropped. A daemon that takes over listens at
    /// the same path: the sandbox sees the folder, not the socket itself.
    pub fn listen(
        &self,
        server: &str,
        folder: &Path,
        hosts: Vec<HostPattern>,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<EgressLease> {
        self.lease(folder, |known| match known.latest.get(server) {
            Some((latest, rules)) if latest == folder => Arc::clone(rules),
            _ => {
                let rules = EgressRules::new(EgressHosts::Listed(hosts), Arc::new(report));
                let latest = (folder.to_owned(), Arc::clone(&rules));
                known.latest.insert(server.to_owned(), latest);
                rules
            }
        })
    }

    /// Lets everything through the socket in `folder` and records it ([`EgressLease::targets`]) until the last lease
    /// is dropped.
    pub fn observe(&self, folder: &Path) -> io::Result<EgressLease> {
        self.lease(folder, |_| {
            EgressRules::new(EgressHosts::Observed, Arc::new(|_: &str| {}))
        })
    }

    /// A lease of the proxy in `folder`, which starts with these rules if it does not listen.
    fn lease(
        &self,
        folder: &Path,
        rules: impl FnOnce(&mut KnownProxies) -> Arc<EgressRules>,
    ) -> io::Result<EgressLease> {
        // Dropped after the lock is released, because dropping the last lease takes the lock.
        let found;
        let mut known = self.0.lock();
        found = known.listening.get(folder).and_then(Weak::upgrade);
        if let Some(proxy) = &found {
            if !folder.join(EGRESS_SOCKET).exists() {
                *proxy.listener.lock() = ListeningSocket::bind(folder, &proxy.rules)?;
            }
            return Ok(EgressLease(Arc::clone(proxy)));
        }
        let rules = rules(&mut known);
        let proxy = Arc::new(EgressProxy {
            proxies: self.clone(),
            folder: folder.to_owned(),
            listener: Mutex::new(ListeningSocket::bind(folder, &rules)?),
            rules,
            is_handed_over: AtomicBool::new(false),
        });
        let listening = Arc::downgrade(&proxy);
        known.listening.insert(folder.to_owned(), listening);
        Ok(EgressLease(proxy))
    }

    /// The connections refused to a server since it has its present host list.
    pub fn refused(&self, server: &str) -> Vec<Denial<String>> {
        let known = self.0.lock();
        let of_server = known.latest.get(server);
        of_server.map_or_else(Vec::new, |(_, rules)| rules.refused.list())
    }

    /// Forgets what was refused to a server that is no longer configured.
    pub fn forget(&self, server: &str) {
        self.0.lock().latest.remove(server);
    }
}

impl EgressLease {
    /// Leaves the folder to the next daemon, which listens there for the same sandbox.
    pub fn hand_over(self) {
        self.0.is_handed_over.store(true, Ordering::Relaxed);
    }

    /// The hosts, with ports, that an observed server has requested.
    pub fn targets(&self) -> Vec<String> {
        self.0.rules.asked_for.lock().iter().cloned().collect()
    }
}

impl ListeningSocket {
    fn bind(folder: &Path, rules: &Arc<EgressRules>) -> io::Result<Self> {
        let socket = folder.join(EGRESS_SOCKET);
        fs::create_dir_all(folder)?;
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = EgressListener::bind(&socket)?;
        Ok(Self {
            identity: socket_identity(&socket)?,
            task: tokio::spawn(serve(listener, Arc::clone(rules))),
        })
    }
}

impl Drop for ListeningSocket {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        let mut known = self.proxies.0.lock();
        let is_current = known
            .listening
            .get(&self.folder)
            .is_some_and(|current| std::ptr::eq(current.as_ptr(), self));
        if !is_current {
            return;
        }
        known.listening.remove(&self.folder);
        if self.is_handed_over.load(Ordering::Relaxed) {
            return;
        }
        let socket = self.folder.join(EGRESS_SOCKET);
        let found = socket_identity(&socket);
        if found.is_ok_and(|found| found == self.listener.lock().identity) {
            fs::remove_file(&socket).ok();
            fs::remove_dir(&self.folder).ok();
        }
    }
}

impl std::fmt::Debug for EgressProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EgressProxy")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for EgressProxies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EgressProxies").finish_non_exhaustive()
    }
}

/// Accepts every connection: an unaccepted connection would wait without a limit and without an error.
async fn serve(listener: EgressListener, rules: Arc<EgressRules>) {
    let permits = Arc::new(Semaphore::new(MAX_EGRESS_CONNECTIONS as usize));
    let refusals = Arc::new(Semaphore::new(MAX_EGRESS_REFUSALS as usize));
    loop {
        let connection = match listener.accept().await {
            Ok((connection, _)) => connection,
            Err(error) => {
                debug!(%error, "cannot accept a connection of a sandbox");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let rules = Arc::clone(&rules);
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            tokio::spawn(async move {
                serve_connection(connection, rules).await;
                drop(permit);
            });
            continue;
        }
        rules.report_full();
        // Without a permit for the answer, the connection is closed.
        if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
            tokio::spawn(async move {
                refuse_connection(connection).await;
                drop(permit);
            });
        }
    }
}

/// Answers one request of a connection over the limit.
async fn refuse_connection(connection: EgressStream) {
    let service = service_fn(|_| async {
        let text = format!("muxd: sandbox: {}", too_many_connections());
        Ok::<_, std::convert::Infallible>(reply(StatusCode::SERVICE_UNAVAILABLE, text))
    });
    let served = hyper::server::conn::http1::Builder::new()
        .keep_alive(false)
        .serve_connection(TokioIo::new(connection), service);
    match timeout(REFUSAL_TIMEOUT, served).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(%error, "a refused connection of a sandbox ended"),
        Err(_) => debug!("a refused connection of a sandbox sent no request"),
    }
}

fn too_many_connections() -> String {
    format!(
        "{MAX_EGRESS_CONNECTIONS} connections are open; close one, or wait until an idle one ends after {} minutes",
        EGRESS_IDLE_TIMEOUT.as_secs() / 60
    )
}

async fn serve_connection(connection: EgressStream, rules: Arc<EgressRules>) {
    let opened = OpenedTunnel::default();
    let service = service_fn(|request| async {
        Ok::<_, std::convert::Infallible>(rules.answer(request, &opened).await)
    });
    let (connection, last_byte) = ActivityStream::new(connection);
    let serving = async {
        let served = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(connection), service)
            .with_upgrades()
            .await;
        if let Err(error) = served {
            debug!(%error, "a connection of a sandbox ended");
        }
        let opened = opened.lock().take();
        if let Some((inside, mut upstream)) = opened
            && let Ok(inside) = inside.await
        {
            // Either end may close it at any time.
            drop(copy_bidirectional(&mut TokioIo::new(inside), &mut upstream).await);
        }
    };
    tokio::select! {
        () = serving => {}
        () = last_byte.wait_until_idle(EGRESS_IDLE_TIMEOUT) => {
            debug!(limit = ?EGRESS_IDLE_TIMEOUT, "closed an idle connection of a sandbox");
        }
    }
}

/// The tunnel that a connection becomes after the answer to its request: the end inside the sandbox, and the host.
type OpenedTunnel = Mutex<Option<(OnUpgrade, TcpStream)>>;

impl EgressRules {
    fn new(hosts: EgressHosts, report: RefusalReport) -> Arc<Self> {
        Arc::new(Self {
            hosts,
            asked_for: Mutex::default(),
            report,
            refused: DenialCounts::default(),
            was_full: AtomicBool::new(false),
        })
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        opened: &OpenedTunnel,
    ) -> Response<ProxyBody> {
        let is_tunnel = request.method() == Method::CONNECT;
        let scheme = request.uri().scheme_str();
        if !is_tunnel && let Some(scheme) = scheme.filter(|scheme| *scheme != "http") {
            // The request would leave in clear text, while the program believes that it is encrypted.
            let text = format!(
                "muxd: this proxy forwards only http://; for {scheme}://, open a tunnel with CONNECT, as clients with \
                 HTTPS_PROXY do"
            );
            return reply(StatusCode::BAD_REQUEST, text);
        }
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
                    "its name resolves to this machine; list the address",
                );
            }
            Err(error) => {
                return reply(
                    StatusCode::BAD_GATEWAY,
                    format!("muxd: cannot connect to {host}:{port}: {error}"),
                );
            }
        };
        if is_tunnel {
            *opened.lock() = Some((hyper::upgrade::on(request), upstream));
            reply(StatusCode::OK, String::new())
        } else {
            forward(request, upstream).await.unwrap_or_else(|error| {
                reply(
                    StatusCode::BAD_GATEWAY,
                    format!("muxd: {host}:{port}: {error}"),
                )
            })
        }
    }

    fn refuse(&self, host: &str, port: u16, why: &str) -> Response<ProxyBody> {
        let target = format!("{host}:{port}");
        let text = format!("refused a connection to {target}: {why}");
        if self.refused.record(target) {
            (self.report)(&text);
        }
        reply(StatusCode::FORBIDDEN, format!("muxd: sandbox: {text}"))
    }

    fn record_asked_for(&self, host: &str, port: u16) {
        let mut asked_for = self.asked_for.lock();
        if asked_for.len() < MAX_OBSERVED_TARGETS {
            asked_for.insert(if host.contains(':') {
                format!("[{host}]:{port}")
            } else {
                format!("{}:{port}", host.to_ascii_lowercase())
            });
        }
    }

    /// Reports, the first time, that there are too many connections.
    fn report_full(&self) {
        if !self.was_full.swap(true, Ordering::Relaxed) {
            (self.report)(&format!("refused a connection: {}", too_many_connections()));
        }
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
    (host.len() <= MAX_HOST_NAME_BYTES).then(|| (host.to_owned(), port))
}

/// Connects to an address of the host. `Ok(None)` if all its addresses are this machine's, which a name may reach only
/// if `may_be_local`.
async fn connect(host: &str, port: u16, may_be_local: bool) -> io::Result<Option<TcpStream>> {
    let connecting = async {
        let addresses = lookup_host((host, port)).await?;
        connect_to_one(addresses, may_be_local).await
    };
    match timeout(EGRESS_CONNECT_TIMEOUT, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn connect_to_one(
    addresses: impl Iterator<Item = SocketAddr>,
    may_be_local: bool,
) -> io::Result<Option<TcpStream>> {
    let usable = addresses.filter(|address| may_be_local || !is_of_this_machine(address.ip()));
    let mut last = None;
    for address in usable {
        match TcpStream::connect(address).await {
            Ok(stream) if may_be_local || !leads_to_itself(&stream)? => return Ok(Some(stream)),
            // The connection is closed before a byte was sent.
            Ok(_) => {}
            Err(error) => last = Some(error),
        }
    }
    last.map_or(Ok(None), Err)
}

/// True if a connection leads to an address of this machine, such as its network card's: only then are both ends the
/// same.
fn leads_to_itself(stream: &TcpStream) -> io::Result<bool> {
    Ok(stream.peer_addr()?.ip() == stream.local_addr()?.ip())
}

/// True if an address leads to this machine or to the metadata of its cloud.
fn is_of_this_machine(address: IpAddr) -> bool {
    match class_of(address) {
        AddressClass::Loopback | AddressClass::Never => true,
        AddressClass::Private | AddressClass::Public => false,
    }
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
    Ok(response.map(http_body_util::BodyExt::boxed))
}

fn reply(status: StatusCode, text: String) -> Response<ProxyBody> {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {});
    let mut response = Response::new(body.boxed());
    *response.status_mut() = status;
    response
}

#[cfg(all(test, unix))]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, UnixStream},
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
        let _lease = proxies.listen("files", dir.path(), hosts, report).unwrap();
        let socket = dir.path().join(EGRESS_SOCKET);

        let plain = format!(
            "GET http://127.0.0.1:{port}/a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        );
        let answer = ask(&socket, &plain, None).await;
        assert!(answer.ends_with("GET /a HTTP/1.1"), "{answer}");

        // Not in clear text, although the host is listed.
        let encrypted = plain.replace("http://", "https://");
        let answer = ask(&socket, &encrypted, None).await;
        assert!(
            answer.starts_with("HTTP/1.1 400") && answer.contains("CONNECT"),
            "{answer}"
        );

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

    /// A server that accepts connections and never closes or answers one.
    async fn silent_origin() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((connection, _)) = listener.accept().await {
                open.push(connection);
            }
        });
        port
    }

    /// Sends the head of a request and returns the head of the answer.
    async fn ask_head(connection: &mut UnixStream, request: &str) -> String {
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 512];
        let count = connection.read(&mut head).await.unwrap();
        String::from_utf8_lossy(&head[..count]).into_owned()
    }

    #[tokio::test]
    async fn observed_server_reaches_everything_and_each_observation_has_its_own_targets() {
        let dir = tempfile::tempdir().unwrap();
        let port = origin().await;
        let proxies = EgressProxies::default();
        let socket = dir.path().join(EGRESS_SOCKET);
        let first = proxies.observe(dir.path()).unwrap();
        // The server started again.
        let again = proxies.observe(dir.path()).unwrap();
        let plain = format!(
            "GET http://127.0.0.1:{port}/a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        );
        let answer = ask(&socket, &plain, None).await;
        assert!(answer.ends_with("GET /a HTTP/1.1"), "{answer}");
        assert_eq!(first.targets(), [format!("127.0.0.1:{port}")]);
        assert_eq!(again.targets(), first.targets());
        drop((first, again));
        assert!(!socket.exists());
        assert!(proxies.observe(dir.path()).unwrap().targets().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn connection_above_the_limit_is_answered_and_idle_tunnels_make_room() {
        let dir = tempfile::tempdir().unwrap();
        let port = silent_origin().await;
        let proxies = EgressProxies::default();
        let reported = Arc::new(Mutex::new(Vec::new()));
        let reports = Arc::clone(&reported);
        let hosts = vec![format!("127.0.0.1:{port}").parse().unwrap()];
        let report = move |text: &str| reports.lock().push(text.to_owned());
        let _lease = proxies.listen("files", dir.path(), hosts, report).unwrap();
        let socket = dir.path().join(EGRESS_SOCKET);
        let connect = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nhost: x\r\n\r\n");
        let mut tunnels = Vec::new();
        for _ in 0..MAX_EGRESS_CONNECTIONS {
            let mut tunnel = UnixStream::connect(&socket).await.unwrap();
            let head = ask_head(&mut tunnel, &connect).await;
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            tunnels.push(tunnel);
        }
        for _ in 0..2 {
            let answer = timeout(EGRESS_IDLE_TIMEOUT / 2, ask(&socket, &connect, None)).await;
            let answer = answer.unwrap();
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
            assert!(answer.contains("64 connections are open"), "{answer}");
        }
        assert_eq!(reported.lock().len(), 1);
        // One tunnel is used meanwhile. The others are not.
        tokio::time::sleep(EGRESS_IDLE_TIMEOUT / 2).await;
        let mut used = tunnels.pop().unwrap();
        used.write_all(b"x").await.unwrap();
        for mut tunnel in tunnels {
            let ended = timeout(EGRESS_IDLE_TIMEOUT, tunnel.read(&mut [0; 8])).await;
            assert_eq!(ended.unwrap().unwrap(), 0);
        }
        let still_open = timeout(Duration::from_secs(1), used.read(&mut [0; 8])).await;
        assert!(still_open.is_err(), "{still_open:?}");
        let mut next = UnixStream::connect(&socket).await.unwrap();
        let head = ask_head(&mut next, &connect).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    }

    #[tokio::test]
    async fn proxy_ends_with_its_last_lease_and_only_the_present_list_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("old");
        let new = dir.path().join("new");
        let proxies = EgressProxies::default();
        let listen = |folder: &Path| {
            let hosts = vec!["a.example".parse().unwrap()];
            proxies.listen("files", folder, hosts, |_| {}).unwrap()
        };
        let request = "GET http://evil.example/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        let leases = [listen(&old), listen(&old)];
        ask(&old.join(EGRESS_SOCKET), request, None).await;
        assert_eq!(proxies.refused("files").len(), 1);

        let present = listen(&new);
        assert_eq!(proxies.refused("files"), []);
        // A session of the old list is still open.
        let [first, second] = leases;
        drop(first);
        let answer = ask(&old.join(EGRESS_SOCKET), request, None).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        drop(second);
        assert!(!old.exists());
        assert_eq!(proxies.refused("files"), []);

        // The refusals are known after the server has ended, and counting continues when it starts again.
        ask(&new.join(EGRESS_SOCKET), request, None).await;
        drop(present);
        assert!(!new.exists());
        let again = listen(&new);
        ask(&new.join(EGRESS_SOCKET), request, None).await;
        assert_eq!(proxies.refused("files")[0].count, 2);
        proxies.forget("files");
        assert_eq!(proxies.refused("files"), []);

        // The next daemon listens in the same folder.
        again.hand_over();
        assert!(new.exists());
        let next_daemon = EgressProxies::default();
        let hosts = vec!["a.example".parse().unwrap()];
        let kept = next_daemon.listen("files", &new, hosts, |_| {}).unwrap();
        let late = listen(&new);
        drop(kept);
        let answer = ask(&new.join(EGRESS_SOCKET), request, None).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        drop(late);
    }

    #[tokio::test]
    async fn name_does_not_lead_to_the_network_address_of_this_machine() {
        // The address of the network card that leads outside. Nothing is sent.
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        let own = match socket.connect("192.0.2.1:9") {
            Ok(()) => socket.local_addr().unwrap().ip(),
            // A machine without a network has no such address.
            Err(_) => return,
        };
        let listener = TcpListener::bind((own, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        assert!(!is_of_this_machine(own), "{own}");
        let by_name = connect_to_one([address].into_iter(), false).await;
        assert!(by_name.unwrap().is_none());
        let by_address = connect_to_one([address].into_iter(), true).await;
        assert!(by_address.unwrap().is_some());
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
