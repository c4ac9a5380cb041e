//! Which addresses an authorization server may have.
//!
//! Invariant: what a server's metadata names is contacted only if it lies in public, or where the server
//! itself lies: it must not make us ask our own machine, or the neighbours, on its behalf.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Where one server's authorization server may lie.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    loopback: bool,
    pub(super) private: bool,
    /// Without encryption, as the server itself.
    plain: bool,
    /// Their names are resolved in place of those that are asked through them.
    proxies: Arc<[String]>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Class {
    Public,
    Loopback,
    Private,
    /// Of the link, of nobody, of many; a cloud's metadata too.
    Never,
}

impl Reach {
    /// A name that leads into a private network alone makes that admissible, as an address of it does.
    pub(super) async fn of(server: &Url, proxies: &Arc<[String]>) -> Self {
        let class = match server.host() {
            Some(Host::Ipv4(address)) => class(address.into()),
            Some(Host::Ipv6(address)) => class(address.into()),
            Some(Host::Domain(name)) if is_local(name) => Class::Loopback,
            Some(Host::Domain(name)) => {
                let found = tokio::net::lookup_host((name, 0)).await;
                let mut found = found.into_iter().flatten().peekable();
                let some = found.peek().is_some();
                match some && found.all(|address| class(address.ip()) == Class::Private) {
                    true => Class::Private,
                    false => Class::Public,
                }
            }
            None => Class::Public,
        };
        Self {
            loopback: class == Class::Loopback,
            private: class == Class::Private,
            plain: server.scheme() == "http",
            proxies: Arc::clone(proxies),
        }
    }

    /// Says why an address of the metadata is not used.
    pub(super) fn check(&self, what: &str, url: &Url) -> Result<(), String> {
        let refused = |why: &str| Err(format!("its {what} {} {why}", shown(url)));
        match url.scheme() {
            "https" => {}
            "http" if self.plain => {}
            _ => return refused("is not https"),
        }
        let class = match url.host() {
            Some(Host::Ipv4(address)) => class(address.into()),
            Some(Host::Ipv6(address)) => class(address.into()),
            Some(Host::Domain(name)) if is_local(name) => Class::Loopback,
            // Its addresses are looked at when it is resolved.
            Some(Host::Domain(_)) => Class::Public,
            None => return refused("names no host"),
        };
        match self.admits(class) {
            true => Ok(()),
            false => refused("lies in a private network, and the server does not"),
        }
    }

    fn admits(&self, class: Class) -> bool {
        match class {
            Class::Public => true,
            Class::Loopback => self.loopback,
            Class::Private => self.private,
            Class::Never => false,
        }
    }

    fn is_proxy(&self, name: &str) -> bool {
        let host = |proxy: &String| {
            let url = Url::parse(proxy).or_else(|_| Url::parse(&format!("http://{proxy}")));
            url.ok()?.host_str().map(str::to_owned)
        };
        let mut hosts = self.proxies.iter().filter_map(host);
        hosts.any(|host| host.eq_ignore_ascii_case(name))
    }
}

impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let name = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
            let any = this.is_proxy(name);
            let fit = |address: &SocketAddr| any || this.admits(class(address.ip()));
            let admitted: Vec<SocketAddr> = found.into_iter().filter(fit).collect();
            if admitted.is_empty() {
                let why = format!("{name} lies in a private network, and the server does not");
                return Err(why.into());
            }
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

/// An address without what may be secret in it.
pub(super) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}"));
    let port = port.unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

fn is_local(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

fn class(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(address) => class_v4(address),
            None => class_v6(address),
        },
    }
}

fn class_v4(address: Ipv4Addr) -> Class {
    let [a, b, ..] = address.octets();
    if address.is_loopback() {
        Class::Loopback
    } else if address.is_private() || (a == 100 && (64..128).contains(&b)) {
        Class::Private
    } else if address.is_link_local() || a == 0 || a >= 224 || (a == 198 && matches!(b, 18 | 19)) {
        Class::Never
    } else {
        Class::Public
    }
}

fn class_v6(address: Ipv6Addr) -> Class {
    let [first, second, third, ..] = address.segments();
    if address.is_loopback() {
        Class::Loopback
    } else if first & 0xfe00 == 0xfc00 {
        Class::Private
    } else if address.is_unspecified()
        || address.is_multicast()
        || first & 0xffc0 == 0xfe80
        || (first, second) == (0x2001, 0)
        || (first, second, third) == (0x64, 0xff9b, 1)
    {
        Class::Never
    } else {
        Class::Public
    }
}

/// The address of the older kind within one that was mapped or translated.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let of = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => of(g, h),
        [0, 0, 0, 0, 0, 0] if (g, h) > (0, 1) => of(g, h),
        [0x2002, ..] => of(b, c),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn verdict(server: &str, named: &str) -> bool {
        let reach = Reach::of(&Url::parse(server).unwrap(), &Arc::from([])).await;
        reach
            .check("token endpoint", &Url::parse(named).unwrap())
            .is_ok()
    }

    #[tokio::test]
    async fn what_metadata_names_lies_in_public_or_where_the_server_does() {
        for (server, named, admitted) in [
            (
                "https://93.184.216.34/mcp",
                "https://93.184.216.35/token",
                true,
            ),
            (
                "https://93.184.216.34/mcp",
                "http://93.184.216.35/token",
                false,
            ),
            ("https://93.184.216.34/mcp", "https://10.0.0.1/token", false),
            (
                "https://93.184.216.34/mcp",
                "https://127.0.0.1/token",
                false,
            ),
            (
                "https://93.184.216.34/mcp",
                "https://localhost/token",
                false,
            ),
            (
                "https://93.184.216.34/mcp",
                "https://a.localhost./token",
                false,
            ),
            ("https://93.184.216.34/mcp", "https://[::1]/token", false),
            (
                "https://93.184.216.34/mcp",
                "https://[::ffff:10.0.0.1]/token",
                false,
            ),
            (
                "https://93.184.216.34/mcp",
                "https://[64:ff9b::a00:1]/token",
                false,
            ),
            (
                "https://93.184.216.34/mcp",
                "https://169.254.169.254/token",
                false,
            ),
            ("https://93.184.216.34/mcp", "file:///etc/passwd", false),
            ("http://127.0.0.1:1/mcp", "http://localhost:2/token", true),
            ("http://127.0.0.1:1/mcp", "http://10.0.0.1/token", false),
            (
                "http://127.0.0.1:1/mcp",
                "http://169.254.169.254/token",
                false,
            ),
            ("https://10.0.0.1/mcp", "https://192.168.0.1/token", true),
            ("https://10.0.0.1/mcp", "https://127.0.0.1/token", false),
        ] {
            assert_eq!(verdict(server, named).await, admitted, "{server} {named}");
        }
    }

    #[tokio::test]
    async fn a_name_is_judged_by_where_it_leads() {
        let public = Url::parse("https://93.184.216.34/").unwrap();
        let reach = Reach::of(&public, &Arc::from([])).await;
        let name = || "localhost".parse::<Name>().unwrap();
        assert!(reach.resolve(name()).await.is_err());
        let proxies: Arc<[String]> = Arc::new(["http://localhost:3128".to_owned()]);
        let reach = Reach::of(&public, &proxies).await;
        assert!(reach.resolve(name()).await.is_ok());
        let local = Url::parse("http://localhost:1/").unwrap();
        let reach = Reach::of(&local, &Arc::from([])).await;
        assert!(reach.resolve(name()).await.is_ok());
    }
}
