//! Builds the HTTP client of one session: root certificates, proxies, redirects.
//!
//! Invariant: the daemon's own environment is not read, and no request goes to another origin than the entry's.

use std::{fs, path::Path, sync::Once, time::Duration};

use reqwest::{Certificate, Client, ClientBuilder, redirect};
use url::Url;

use mux_settings::{NetworkSettings, NetworkVariable};

use crate::proxies::add_proxies;

/// For establishing a connection, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter than the 5 s after which Node and uvicorn close idle connections: a request that races with the close is
/// lost, and its outcome is unknown.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
const MAX_REDIRECTS: usize = 5;

/// Builds the client for all requests to one server. With a `socket`, the client connects to that Unix socket,
/// regardless of the host.
pub fn build_client(network: &NetworkSettings, socket: Option<&Path>) -> Result<Client, String> {
    client_builder(network, socket)?
        .build()
        .map_err(|error| format!("the HTTP client cannot be made: {}", error.without_url()))
}

/// The builder of [`build_client`], for callers that need other options.
pub fn client_builder(
    network: &NetworkSettings,
    socket: Option<&Path>,
) -> Result<ClientBuilder, String> {
    static INSTALL_CRYPTO_PROVIDER: Once = Once::new();
    INSTALL_CRYPTO_PROVIDER.call_once(|| {
        // An error means that a provider is already installed.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
    let mut builder = Client::builder()
        .user_agent(concat!("muxd/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .tcp_nodelay(true)
        .referer(false)
        .redirect(redirect::Policy::custom(follow_same_origin))
        // Without this the daemon's own environment would be read.
        .no_proxy();
    builder = add_root_certificates(builder, network)?;
    match socket {
        Some(socket) => over_socket(builder, socket),
        None => add_proxies(builder, network),
    }
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems have no such sockets"
)]
fn over_socket(builder: ClientBuilder, socket: &Path) -> Result<ClientBuilder, String> {
    Ok(builder.unix_socket(socket))
}

#[cfg(not(unix))]
fn over_socket(_builder: ClientBuilder, socket: &Path) -> Result<ClientBuilder, String> {
    Err(format!(
        "the socket {} cannot be used: muxd has no Unix sockets on this system; have the server listen on \
         127.0.0.1, and set its url",
        socket.display()
    ))
}

/// Follows only redirects within the same origin that keep the method (307 and 308).
fn follow_same_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
    let from = attempt.previous().first().map(Url::origin);
    let stays = from.as_ref() == Some(&attempt.url().origin());
    if keeps_method && stays && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Trusts the certificates of `SSL_CERT_FILE` in addition to the system's.
fn add_root_certificates(
    builder: ClientBuilder,
    network: &NetworkSettings,
) -> Result<ClientBuilder, String> {
    let Some(NetworkVariable { name, value: file }) = &network.certificates else {
        return Ok(builder);
    };
    let file = file.expose();
    let read = fs::read(file).map_err(|error| error.to_string());
    let certificates =
        read.and_then(|pem| Certificate::from_pem_bundle(&pem).map_err(|error| error.to_string()));
    match certificates {
        Ok(certificates) => Ok(builder.tls_certs_merge(certificates)),
        Err(problem) => Err(format!("{name} = {file} cannot be used: {problem}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "a variable that is set")]
    fn variable(name: &str, value: &str) -> Option<NetworkVariable> {
        Some(NetworkVariable {
            name: name.into(),
            value: value.into(),
        })
    }

    #[test]
    fn unusable_network_variable_is_named_without_its_secret() {
        let mut network = NetworkSettings {
            https_proxy: variable("https_proxy", "http://me:s3cret@["),
            ..NetworkSettings::default()
        };
        let error = build_client(&network, None).unwrap_err();
        assert_eq!(error, "https_proxy is not a proxy URL");
        network.https_proxy = variable("https_proxy", "http://me:pa%20ss@p:1");
        assert!(build_client(&network, None).is_ok());
        let known = network.known_secrets();
        assert!(known.iter().any(|secret| secret.expose() == "pa%20ss"));
        assert!(!format!("{network:?}").contains("pa%20ss"));
        network.certificates = variable("SSL_CERT_FILE", "/dev/null/ca.pem");
        let error = build_client(&network, None).unwrap_err();
        assert!(error.contains("SSL_CERT_FILE = /dev/null"), "{error}");
    }
}
