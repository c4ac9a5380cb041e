//! A forward proxy for plain HTTP.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A forward proxy that records the heads of requests, and answers with `refuse` if it is set.
pub struct Proxy {
    pub port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub fn start(refuse: Option<&'static str>) -> Self {
        Self::open(refuse, str::to_owned)
    }

    /// Starts a proxy that connects to `route(host)` for requests to a host. Both are `host:port`.
    pub fn routed(route: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self::open(None, route)
    }

    fn open(
        refuse: Option<&'static str>,
        route: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        let route = Arc::new(route);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&heads);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                let route = Arc::clone(&route);
                // A client that disconnects ends its own thread.
                thread::spawn(move || forward(client, &noted, refuse, &*route));
            }
        });
        Self { port, heads }
    }

    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Forwards one request; then copies bytes both ways until one side ends.
fn forward(
    client: TcpStream,
    noted: &Mutex<Vec<String>>,
    refuse: Option<&str>,
    route: &dyn Fn(&str) -> String,
) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    noted.lock().unwrap().push(head.clone());
    let mut client = client;
    if let Some(answer) = refuse {
        client.write_all(answer.as_bytes()).ok()?;
        return None;
    }
    // `POST http://host:port/path HTTP/1.1`
    let target = head.split_whitespace().nth(1)?;
    let rest = target.strip_prefix("http://")?;
    let (host, path) = rest.split_once('/')?;
    let mut server = TcpStream::connect(route(host)).ok()?;
    let head = head.replacen(target, &format!("/{path}"), 1);
    let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    server.write_all(head.as_bytes()).ok()?;
    let mut up = server.try_clone().ok()?;
    thread::spawn(move || std::io::copy(&mut reader, &mut up));
    let mut buffer = [0; 4096];
    loop {
        match server.read(&mut buffer).ok()? {
            0 => return client.shutdown(std::net::Shutdown::Both).ok(),
            count => client.write_all(&buffer[..count]).ok()?,
        }
    }
}
