//! A minimal browser that follows redirects, and a person who also keeps cookies and submits forms.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
};

use url::{Url, form_urlencoded};

/// A response. `status` is 0 if the connection was refused.
#[derive(Clone, Debug)]
pub struct Page {
    pub status: u16,
    pub text: String,
    /// The target of a redirect.
    pub location: Option<String>,
    /// `name=value` of each cookie that the response sets.
    cookies: Vec<String>,
}

/// Opens a URL and follows redirects to a page. Also returns every URL on the way.
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

/// Opens a URL like a person who signs in and allows everything: submits the first form of every page with the values
/// that it has. Returns every URL on the way, and the page without a form at the end.
pub fn allow_everything(url: &str) -> (Vec<String>, Page) {
    let mut cookies = BTreeMap::new();
    let mut way = vec![url.to_owned()];
    let mut form: Option<String> = None;
    loop {
        let at = Url::parse(way.last().unwrap()).unwrap();
        let all: Vec<String> = cookies
            .iter()
            .map(|(name, value): (&String, &String)| format!("{name}={value}"))
            .collect();
        let all = all.join("; ");
        let mut headers = vec![("Content-Type", "application/x-www-form-urlencoded")];
        if !all.is_empty() {
            headers.push(("Cookie", &all));
        }
        let page = match form.take() {
            Some(form) => send("POST", at.as_str(), &headers, &form),
            None => send("GET", at.as_str(), &headers, ""),
        };
        for cookie in &page.cookies {
            let (name, value) = cookie.split_once('=').unwrap_or((cookie, ""));
            match value {
                "" => cookies.remove(name),
                value => cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        let next = match &page.location {
            Some(location) => Some(location.clone()),
            None => filled_form(&page.text).map(|(action, values)| {
                form = Some(values);
                action
            }),
        };
        match next {
            Some(next) if way.len() < 20 => way.push(at.join(&next).unwrap().into()),
            _ => return (way, page),
        }
    }
}

/// The target of a page's first form and its values, encoded.
fn filled_form(page: &str) -> Option<(String, String)> {
    let form = page.split_once("<form")?.1;
    let form = form.split_once("</form>").map_or(form, |(form, _)| form);
    let values = form.split("<input").skip(1);
    let values = values.filter_map(|input| {
        Some((
            attribute(input, "name")?,
            attribute(input, "value").unwrap_or_default(),
        ))
    });
    let values = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(values)
        .finish();
    Some((attribute(form, "action").unwrap_or_default(), values))
}

/// The value of a quoted attribute of the tag that begins here.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let tag = tag.split_once('>').map_or(tag, |(tag, _)| tag);
    let value = tag.split_once(&format!("{name}=\""))?.1;
    Some(value.split_once('"')?.0.replace("&amp;", "&"))
}

/// Sends one request without following redirects.
pub fn visit(method: &str, url: &str) -> Page {
    send(method, url, &[], "")
}

/// Posts a body like a client that is not a browser.
pub fn post(url: &str, headers: &[(&str, &str)], body: &str) -> Page {
    send("POST", url, headers, body)
}

fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Page {
    let url = Url::parse(url).unwrap();
    let host = url.host_str().unwrap();
    let port = url.port_or_known_default().unwrap();
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let Ok(mut stream) = TcpStream::connect((host, port)) else {
        return Page {
            status: 0,
            text: "nobody is there".to_owned(),
            location: None,
            cookies: Vec::new(),
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
    let values = |wanted: &str| -> Vec<String> {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.trim().to_owned())
            .collect()
    };
    let cookies = values("set-cookie");
    Page {
        status: status.unwrap_or_default(),
        text: text.to_owned(),
        location: values("location").pop(),
        cookies: cookies
            .iter()
            .map(|cookie| cookie.split(';').next().unwrap_or_default().to_owned())
            .collect(),
    }
}
