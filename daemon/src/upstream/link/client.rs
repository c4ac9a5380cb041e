//! The HTTP client of one session: whom it trusts, which proxy it goes through, which redirect it
//! follows.
//!
//! Invariant: nothing is read from the daemon's own environment, and no request leaves for another
//! origin than the one in the entry.

use std::{fs, path::Path, sync::Once, time::Duration};

use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy, redirect};
use url::Url;

use crate::environment::Environment;

/// Until a connection stands, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// Shorter than the 5 s after which Node and uvicorn close a connection: a request that meets its
/// closing is lost, and nobody can say whether it was taken.
const IDLE: Duration = Duration::from_secs(4);
const MOST_REDIRECTS: usize = 5;

/// A client for everything that is asked of one server. With a `socket` it connects to that, whatever
/// the host.
pub(crate) fn client(environment: &Environment, socket: Option<&Path>) -> Result<Client, String> {
    builder(environment, socket)?
        .build()
        .map_err(|error| format!("the HTTP client cannot be made: {}", error.without_url()))
}

/// The same before it is made, for those who want something else of it.
pub fn builder(environment: &Environment, socket: Option<&Path>) -> Result<ClientBuilder, String> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Somebody else may have installed one.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
    let mut builder = Client::builder()
        .user_agent(concat!("muxd/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
        .referer(false)
        .redirect(redirect::Policy::custom(same_place))
        // Without this the daemon's own environment would be read.
        .no_proxy();
    builder = trust(builder, environment)?;
    match socket {
        Some(socket) => Ok(builder.unix_socket(socket)),
        None => proxies(builder, environment),
    }
}

/// Only from one path to another of the same origin, and only so that the request stays what it is.
fn same_place(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
    let from = attempt.previous().first().map(Url::origin);
    let stays = from.as_ref() == Some(&attempt.url().origin());
    match keeps_method && stays && attempt.previous().len() <= MOST_REDIRECTS {
        true => attempt.follow(),
        false => attempt.stop(),
    }
}

/// What the system trusts, and `SSL_CERT_FILE`.
fn trust(builder: ClientBuilder, environment: &Environment) -> Result<ClientBuilder, String> {
    let Some(file) = environment.get("SSL_CERT_FILE") else {
        return Ok(builder);
    };
    let read = fs::read(file).map_err(|error| error.to_string());
    let certificates =
        read.and_then(|pem| Certificate::from_pem_bundle(&pem).map_err(|error| error.to_string()));
    match certificates {
        Ok(certificates) => Ok(builder.tls_certs_merge(certificates)),
        Err(problem) => Err(format!("SSL_CERT_FILE = {file} cannot be used: {problem}")),
    }
}

fn proxies(mut builder: ClientBuilder, environment: &Environment) -> Result<ClientBuilder, String> {
    let none = either(environment, "NO_PROXY").and_then(|(_, hosts)| NoProxy::from_string(hosts));
    let kinds: [(&str, fn(&str) -> reqwest::Result<Proxy>); 3] = [
        ("HTTP_PROXY", |url| Proxy::http(url)),
        ("HTTPS_PROXY", |url| Proxy::https(url)),
        ("ALL_PROXY", |url| Proxy::all(url)),
    ];
    for (name, make) in kinds {
        let Some((name, url)) = either(environment, name) else {
            continue;
        };
        // Its text is not repeated: it may hold a password.
        let proxy = make(url).map_err(|_| format!("{name} is no address of a proxy"))?;
        builder = builder.proxy(proxy.no_proxy(none.clone()));
    }
    Ok(builder)
}

/// What may stand in a proxy's address and must not stand elsewhere.
pub(super) fn proxy_secrets(environment: &Environment) -> Vec<String> {
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
        .into_iter()
        .filter_map(|name| either(environment, name))
        .filter_map(|(_, url)| Url::parse(url).ok()?.password().map(str::to_owned))
        .collect()
}

/// A variable in its small spelling, which wins, or in its large one. An empty one is not set.
fn either<'a>(environment: &'a Environment, name: &str) -> Option<(String, &'a str)> {
    [name.to_ascii_lowercase(), name.to_owned()]
        .into_iter()
        .find_map(|name| {
            let value = environment.get(&name)?;
            (!value.trim().is_empty()).then_some((name, value))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let pairs = pairs.iter();
        Environment::of(pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn what_cannot_be_used_is_named_without_its_secret() {
        let proxy = environment(&[("https_proxy", "http://me:s3cret@[")]);
        let error = client(&proxy, None).unwrap_err();
        assert_eq!(error, "https_proxy is no address of a proxy");
        let trusted = environment(&[("SSL_CERT_FILE", "/nonexistent/ca.pem")]);
        let error = client(&trusted, None).unwrap_err();
        assert!(error.contains("SSL_CERT_FILE = /nonexistent"), "{error}");
        assert!(client(&environment(&[("HTTP_PROXY", "")]), None).is_ok());
    }

    #[test]
    fn the_small_spelling_wins() {
        let both = environment(&[("HTTP_PROXY", "http://a:1"), ("http_proxy", "http://b:2")]);
        let found = either(&both, "HTTP_PROXY").unwrap();
        assert_eq!((found.0.as_str(), found.1), ("http_proxy", "http://b:2"));
        let secret = environment(&[("ALL_PROXY", "http://me:pa%20ss@p:1")]);
        assert_eq!(proxy_secrets(&secret), ["pa%20ss"]);
    }
}
