//! A minimal browser that follows redirects.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use url::Url;

/// A response; `status` is 0 if the connection was refused.
#[derive(Clone, Debug)]
pub struct Page {
    pub status: u16,
    pub text: String,
    /// The target of a redirect.
    pub location: Option<String>,
}

/// Opens a URL and follows redirects to a page. Returns every URL on the way, too.
pub fn browse(url: &str) -> (Vec<String>, Page) {
    let mut way = vec![url.to_owned()];
    loop {
        let page = visit("GET", way.last().unwrap());
        match page.location.clone() {
            Some(next) if way.len() < 10 => way.push(next),
            _ => return (way, page),
        }
    }
}

/// Sends one request without following redirects.
pub fn visit(method: &str, url: &str) -> Page {
    send(method, url, &[], "")
}

/// Posts a body as a client does that is no browser.
pub fn post(url: &str, headers: &[(&str, &str)], body: &str) -> Page {
    send("POST", url, headers, body)
}

fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Page {
    let url = Url::parse(url).unwrap();
    let (host, port) = (
        url.host_str().unwrap(),
        url.port_or_known_default().unwrap(),
    );
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let Ok(mut stream) = TcpStream::connect((host, port)) else {
        let (text, location) = ("nobody is there".to_owned(), None);
        return Page {
            status: 0,
            text,
            location,
        };
    };
    let headers = headers.iter();
    let headers: String = headers
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: {host}:{port}\r\n{headers}Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location")
            .then(|| value.trim().to_owned())
    });
    Page {
        status: status.unwrap_or_default(),
        text: text.to_owned(),
        location,
    }
}
