//! Which requests go through a proxy of the user, and through which one.
//!
//! Invariant: requests to this machine, and with `NO_PROXY=*` all requests, go directly.

use std::fmt;

use hyper_util::client::proxy::matcher::Matcher;
use mux_settings::{NetworkSettings, NetworkVariable};
use reqwest::{ClientBuilder, NoProxy, Proxy};
use url::Url;

/// Hosts that no proxy reaches.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// The proxy of a request, as users know it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UsedProxy {
    /// The variable that names it.
    variable: String,
    /// The proxy's URL without a password.
    shown: String,
}

impl UsedProxy {
    /// The fix for a proxy that does not work.
    pub fn fix(&self) -> String {
        format!("correct {}, or add the host to NO_PROXY", self.variable)
    }
}

impl fmt::Display for UsedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy {} ({})", self.shown, self.variable)
    }
}

/// The proxy through which a request to `url` goes, or `None` if it goes directly.
pub fn used_proxy(network: &NetworkSettings, url: &Url) -> Option<UsedProxy> {
    let hosts = direct_hosts(network)?;
    let own = match url.scheme() {
        "https" => &network.https_proxy,
        _ => &network.http_proxy,
    };
    let NetworkVariable { name, value } = own.as_ref().or(network.all_proxy.as_ref())?;
    let matcher = Matcher::builder()
        .all(value.expose())
        .no(hosts.as_str())
        .build();
    let found = matcher.intercept(&url.as_str().parse().ok()?)?;
    Some(UsedProxy {
        variable: name.clone(),
        shown: mux_secrets::url::shown(&found.uri().to_string()),
    })
}

pub(crate) fn add_proxies(
    mut builder: ClientBuilder,
    network: &NetworkSettings,
) -> Result<ClientBuilder, String> {
    type MakeProxy = fn(&str) -> reqwest::Result<Proxy>;
    let direct = direct_hosts(network);
    let make: [(_, MakeProxy); 3] = [
        (&network.http_proxy, |url| Proxy::http(url)),
        (&network.https_proxy, |url| Proxy::https(url)),
        (&network.all_proxy, |url| Proxy::all(url)),
    ];
    for (variable, make) in make {
        let Some(NetworkVariable { name, value }) = variable else {
            continue;
        };
        // The error omits the value: it may contain a password.
        let proxy = make(value.expose()).map_err(|_| format!("{name} is not a proxy URL"))?;
        if let Some(hosts) = &direct {
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(hosts)));
        }
    }
    Ok(builder)
}

/// The hosts of `NO_PROXY` and this machine, as the library reads them, or `None` if no host is reached through a
/// proxy.
fn direct_hosts(network: &NetworkSettings) -> Option<String> {
    let written = network.no_proxy.as_ref();
    let written = written.map_or("", |variable| variable.value.expose());
    let mut hosts = vec![LOOPBACK];
    // curl also accepts spaces, and Go `*.example.com`.
    for host in written.split([',', ' ', '\t']) {
        match host {
            "" => {}
            "*" => return None,
            host => hosts.push(host.strip_prefix('*').unwrap_or(host)),
        }
    }
    Some(hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(pairs: &[(&str, &str)]) -> NetworkSettings {
        let variable = |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(name, value)| NetworkVariable {
                name: (*name).into(),
                value: (*value).into(),
            })
        };
        NetworkSettings {
            http_proxy: variable("http_proxy"),
            https_proxy: variable("HTTPS_PROXY"),
            all_proxy: variable("ALL_PROXY"),
            no_proxy: variable("NO_PROXY"),
            certificates: None,
        }
    }

    #[test]
    fn proxy_of_a_request_is_named_without_its_password() {
        let network = network(&[
            ("http_proxy", "http://me:s3cret@proxy.test:3128"),
            ("ALL_PROXY", "all.test:1080"),
        ]);
        let named = |url: &str| used_proxy(&network, &url.parse().unwrap()).map(|p| p.to_string());
        assert_eq!(
            named("http://a.test/x").as_deref(),
            Some("the proxy http://proxy.test:3128/ (http_proxy)")
        );
        assert_eq!(
            named("https://a.test/x").as_deref(),
            Some("the proxy http://all.test:1080/ (ALL_PROXY)")
        );
    }

    #[test]
    fn this_machine_and_the_hosts_of_no_proxy_are_reached_directly() {
        let proxies = [
            ("http_proxy", "http://p.test:1"),
            ("HTTPS_PROXY", "http://p.test:2"),
        ];
        let ours = [
            "http://127.0.0.1:80/",
            "http://127.8.9.10/",
            "https://[::1]:3/",
            "http://localhost:1/mcp",
            "http://api.localhost/",
        ];
        let listed = [
            "http://10.1.2.3/",
            "https://intra.test/",
            "https://a.b.wide.test/",
        ];
        let others = [
            "http://8.8.8.8/",
            "https://[2001:db8::1]/",
            "http://a.test/",
            "http://localhost.test/",
        ];
        let all = || ours.iter().chain(&listed).chain(&others);
        for (no_proxy, direct) in [
            ("", &ours[..]),
            (
                "10.0.0.0/8 intra.test,*.wide.test",
                &[&ours[..], &listed].concat(),
            ),
            ("a.invalid, *", &all().copied().collect::<Vec<_>>()),
        ] {
            let pairs = [&proxies[..], &[("NO_PROXY", no_proxy)]].concat();
            let network = network(&pairs);
            for url in all() {
                let used = used_proxy(&network, &url.parse().unwrap());
                assert_eq!(used.is_none(), direct.contains(url), "{no_proxy:?}: {url}");
            }
        }
    }
}
