//! Decides which network addresses muxd contacts when a third party named them: the metadata of an authorization server
//! or the description of an API.
//!
//! Addresses have classes (public, private, loopback, link-local). A party may name public addresses and addresses of
//! its own class. Other classes are allowed only if the user's configuration names them. The class of a party behind a
//! host name is that of the addresses from which it answered: a lookup alone proves nothing, and after an answer from
//! another class, no later answer raises the class.
//!
//! Invariant: a string from a third party cannot make muxd call this machine, its network, or a cloud metadata service.
//! Host names are judged by the addresses to which the connection is made, so a changed DNS answer does not bypass the
//! policy.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use parking_lot::Mutex;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Cloud services that hand out a machine's credentials or configuration, at addresses that are not link-local.
const METADATA_ADDRESSES_V4: [Ipv4Addr; 3] = [
    // Alibaba Cloud.
    Ipv4Addr::new(100, 100, 100, 200),
    // Azure.
    Ipv4Addr::new(168, 63, 129, 16),
    // Oracle Cloud.
    Ipv4Addr::new(192, 0, 0, 192),
];
/// The AWS metadata service.
const METADATA_ADDRESS_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The addresses that one party may name. Clones share the knowledge about the party's network.
#[derive(Clone, Debug)]
pub struct AddressPolicy {
    loopback: bool,
    private: bool,
    /// The party's own host, if its answers tell in which network it is.
    own_host: Option<Arc<str>>,
    network: Arc<Mutex<PartyNetwork>>,
    /// True if `http` is allowed where `https` is expected.
    plain: bool,
    /// Origins that the user's configuration names: any class but [`AddressClass::Never`].
    named: BTreeSet<String>,
    /// The user's proxies: a request through a proxy resolves the proxy's host name only.
    proxies: Arc<[String]>,
}

/// The network of a party behind a host name, as far as its answers have shown it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PartyNetwork {
    /// The party has not answered yet.
    Unknown,
    /// All that the party said came from a private network.
    Private,
    /// Something that the party said came from elsewhere, or through a proxy, which hides where it came from.
    #[default]
    Elsewhere,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AddressClass {
    Public,
    Loopback,
    Private,
    /// Link-local, multicast, reserved, and the metadata services of clouds: never contacted.
    Never,
}

/// Why an address is not contacted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AddressRefusal {
    NotHttps,
    NoHost,
    /// The user may allow it by naming the origin.
    Class(AddressClass),
    /// The user's configuration names another port or scheme of this host.
    OtherOrigin,
}

impl AddressPolicy {
    /// An MCP server may name public addresses and addresses in the class of the server. `network` counts for servers
    /// with a host name.
    pub fn of_server(server: &Url, proxies: &Arc<[String]>, network: PartyNetwork) -> Self {
        let class = class_of_url(server).unwrap_or(AddressClass::Public);
        let own_host = server
            .host_str()
            .filter(|_| class == AddressClass::Public && has_host_name(server));
        Self {
            loopback: class == AddressClass::Loopback,
            private: class == AddressClass::Private,
            network: Arc::new(Mutex::new(match own_host {
                Some(_) => network,
                None => PartyNetwork::Elsewhere,
            })),
            own_host: own_host.map(Arc::from),
            plain: server.scheme() == "http",
            named: BTreeSet::new(),
            proxies: Arc::clone(proxies),
        }
    }

    /// Public addresses only, over `http` too.
    pub fn public(proxies: Arc<[String]>) -> Self {
        Self {
            loopback: false,
            private: false,
            own_host: None,
            network: Arc::default(),
            plain: true,
            named: BTreeSet::new(),
            proxies,
        }
    }

    /// Allows the class of an address as written: `localhost` and IP addresses have one, other names are public until a
    /// connection shows otherwise.
    pub fn allow_class_of(&mut self, url: &Url) {
        match class_of_url(url) {
            Some(AddressClass::Loopback) => self.loopback = true,
            Some(AddressClass::Private) => self.private = true,
            Some(AddressClass::Public | AddressClass::Never) | None => {}
        }
    }

    /// Allows this machine and private networks.
    pub fn allow_local(&mut self) {
        (self.loopback, self.private) = (true, true);
    }

    /// Allows an origin of any class but [`AddressClass::Never`].
    pub fn allow_origin(&mut self, url: &Url) {
        self.named.insert(url.origin().ascii_serialization());
    }

    /// Records whether the party's message came from a private network, which allows private addresses. Applies to all
    /// clones.
    pub fn set_seen_private(&self, private: bool) {
        *self.network.lock() = if private {
            PartyNetwork::Private
        } else {
            PartyNetwork::Elsewhere
        };
    }

    /// Records an answer of a request to `url`, from this peer unless a proxy hides it: the first answer from the
    /// party's own host shows its network, and a later answer only that it is elsewhere. Applies to all clones.
    pub fn note_answer(&self, url: &Url, peer: Option<IpAddr>) {
        let is_own = self
            .own_host
            .as_deref()
            .is_some_and(|own| url.host_str() == Some(own));
        if !is_own {
            return;
        }
        let is_private = peer.is_some_and(|peer| class_of(peer) == AddressClass::Private);
        let mut network = self.network.lock();
        *network = match (*network, is_private) {
            (PartyNetwork::Unknown | PartyNetwork::Private, true) => PartyNetwork::Private,
            (PartyNetwork::Elsewhere, _) | (_, false) => PartyNetwork::Elsewhere,
        };
    }

    /// The party's network, as far as its answers have shown it.
    pub fn party_network(&self) -> PartyNetwork {
        *self.network.lock()
    }

    /// True if all that the party said came from a private network.
    pub fn is_seen_private(&self) -> bool {
        self.party_network() == PartyNetwork::Private
    }

    pub fn allows_private(&self) -> bool {
        self.private || self.is_seen_private()
    }

    /// Checks a URL as written. [`Resolve`] checks the addresses of a host name again.
    pub fn check(&self, url: &Url) -> Result<(), AddressRefusal> {
        match url.scheme() {
            "https" => {}
            "http" if self.plain => {}
            _ => return Err(AddressRefusal::NotHttps),
        }
        let class = class_of_url(url).ok_or(AddressRefusal::NoHost)?;
        if class != AddressClass::Never && self.named.contains(&url.origin().ascii_serialization())
        {
            return Ok(());
        }
        let is_name = has_host_name(url);
        match self.admits(class) {
            // The resolver does not know the port.
            true if is_name && self.names_host(url.host_str().unwrap_or_default()) => {
                Err(AddressRefusal::OtherOrigin)
            }
            true => Ok(()),
            false => Err(AddressRefusal::Class(class)),
        }
    }

    fn admits(&self, class: AddressClass) -> bool {
        match class {
            AddressClass::Public => true,
            AddressClass::Loopback => self.loopback,
            AddressClass::Private => self.allows_private(),
            AddressClass::Never => false,
        }
    }

    fn names_host(&self, name: &str) -> bool {
        let host = |origin: &String| Some(Url::parse(origin).ok()?.host_str()?.to_owned());
        let mut hosts = self.named.iter().filter_map(host);
        hosts.any(|host| host.eq_ignore_ascii_case(name))
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

impl AddressPolicy {
    /// The addresses of a host name that may be contacted.
    fn admitted(
        &self,
        name: &str,
        found: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, RefusedHostName> {
        let proxy = self.is_proxy(name);
        let named = self.names_host(name);
        let is_private = |address: &SocketAddr| class_of(address.ip()) == AddressClass::Private;
        // The server may be asked wherever it is: its words count by the address from which it answers.
        let is_asked = self.party_network() == PartyNetwork::Unknown
            && self
                .own_host
                .as_deref()
                .is_some_and(|own| own.eq_ignore_ascii_case(name))
            && found.iter().all(is_private);
        let fit = |address: &SocketAddr| {
            let class = class_of(address.ip());
            proxy || is_asked || (named && class != AddressClass::Never) || self.admits(class)
        };
        let first = found.first().map(|address| class_of(address.ip()));
        let admitted: Vec<SocketAddr> = found.into_iter().filter(fit).collect();
        match first {
            Some(class) if admitted.is_empty() => Err(RefusedHostName {
                name: name.to_owned(),
                why: AddressRefusal::Class(class),
            }),
            _ => Ok(admitted),
        }
    }
}

impl Resolve for AddressPolicy {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let name = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
            let admitted = this.admitted(name, found)?;
            if admitted.is_empty() {
                Err(format!("{name} has no address").into())
            } else {
                Ok(Box::new(admitted.into_iter()) as Addrs)
            }
        })
    }
}

/// True if the name of a server leads into a private network and nowhere else now. Only an answer proves that it is there.
pub async fn may_be_private(server: &Url) -> bool {
    let Some(Host::Domain(name)) = server.host() else {
        return false;
    };
    let found = tokio::net::lookup_host((name, 0)).await;
    let mut found = found.into_iter().flatten().peekable();
    found.peek().is_some() && found.all(|found| class_of(found.ip()) == AddressClass::Private)
}

fn has_host_name(url: &Url) -> bool {
    matches!(url.host(), Some(Host::Domain(_)))
}

/// A host name that is refused because of its current addresses.
#[derive(Debug, thiserror::Error)]
#[error("{name} {why}")]
struct RefusedHostName {
    name: String,
    why: AddressRefusal,
}

/// The reason, if the resolver refused the request.
pub fn refusal_in(error: &(dyn std::error::Error + 'static)) -> Option<AddressRefusal> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(refused) = error.downcast_ref::<RefusedHostName>() {
            return Some(refused.why);
        }
        next = error.source();
    }
    None
}

impl std::fmt::Display for AddressRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotHttps => "is not https",
            Self::NoHost => "has no host",
            Self::Class(AddressClass::Loopback) => {
                "leads to this machine, but was named by a remote party"
            }
            Self::Class(AddressClass::Private) => {
                "leads into a private network, but was named from outside of it"
            }
            Self::Class(AddressClass::Public | AddressClass::Never) => {
                "leads to a link-local or reserved address, which muxd never contacts"
            }
            Self::OtherOrigin => "is another port of a host that the entry names",
        })
    }
}

/// The class of a URL's host as written, or `None` if it has no host.
pub fn class_of_url(url: &Url) -> Option<AddressClass> {
    Some(match url.host()? {
        Host::Ipv4(address) => class_of(address.into()),
        Host::Ipv6(address) => class_of(address.into()),
        Host::Domain(name) if is_localhost_name(name) => AddressClass::Loopback,
        Host::Domain(_) => AddressClass::Public,
    })
}

/// The URL without user info, query and fragment, which may contain secrets.
pub fn url_without_secrets(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}"));
    let port = port.unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

fn is_localhost_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

pub fn class_of(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => match embedded_ipv4(address) {
            Some(address) => class_v4(address),
            None => class_v6(address),
        },
    }
}

fn class_v4(address: Ipv4Addr) -> AddressClass {
    let [a, b, ..] = address.octets();
    if METADATA_ADDRESSES_V4.contains(&address) {
        AddressClass::Never
    } else if address.is_loopback() || address.is_unspecified() {
        // Connecting to 0.0.0.0 connects to this machine.
        AddressClass::Loopback
    } else if address.is_private()
        || (a == 100 && (64..128).contains(&b))
        // The benchmark range. Local proxies answer with it instead of public addresses.
        || (a == 198 && matches!(b, 18 | 19))
    {
        AddressClass::Private
    } else if address.is_link_local() || a == 0 || a >= 224 {
        AddressClass::Never
    } else {
        AddressClass::Public
    }
}

fn class_v6(address: Ipv6Addr) -> AddressClass {
    let [first, second, third, ..] = address.segments();
    if address == METADATA_ADDRESS_V6 {
        AddressClass::Never
    } else if address.is_loopback() || address.is_unspecified() {
        AddressClass::Loopback
    } else if first & 0xfe00 == 0xfc00 {
        AddressClass::Private
    } else if address.is_multicast()
        || first & 0xffc0 == 0xfe80
        || (first, second) == (0x2001, 0)
        || (first, second, third) == (0x64, 0xff9b, 1)
    {
        AddressClass::Never
    } else {
        AddressClass::Public
    }
}

/// The IPv4 address embedded in a mapped or translated IPv6 address.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => of(high, low),
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => of(high, low),
        [0x2002, high, low, ..] => of(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_server(server: &str, network: PartyNetwork) -> AddressPolicy {
        AddressPolicy::of_server(&Url::parse(server).unwrap(), &Arc::from([]), network)
    }

    fn verdict(server: &str, named: &str) -> bool {
        let policy = of_server(server, PartyNetwork::Unknown);
        policy.check(&Url::parse(named).unwrap()).is_ok()
    }

    #[test]
    fn server_metadata_may_name_public_addresses_and_its_own_class() {
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
            ("https://10.0.0.1/mcp", "https://100.100.100.200/x", false),
            ("https://10.0.0.1/mcp", "https://[fd00:ec2::254]/x", false),
            ("https://93.184.216.34/mcp", "https://168.63.129.16/", false),
            ("https://93.184.216.34/mcp", "https://0.0.0.0/", false),
            ("http://127.0.0.1:1/mcp", "http://0.0.0.0:2/token", true),
            ("https://93.184.216.34/mcp", "https://198.18.0.1/", false),
        ] {
            assert_eq!(verdict(server, named), admitted, "{server} {named}");
        }
    }

    #[tokio::test]
    async fn host_name_is_judged_by_its_resolved_addresses() {
        let public = Url::parse("https://93.184.216.34/").unwrap();
        let policy = AddressPolicy::of_server(&public, &Arc::from([]), PartyNetwork::Unknown);
        let name = || "localhost".parse::<Name>().unwrap();
        assert!(policy.resolve(name()).await.is_err());
        let proxies: Arc<[String]> = Arc::new(["http://localhost:3128".to_owned()]);
        let policy = AddressPolicy::of_server(&public, &proxies, PartyNetwork::Unknown);
        assert!(policy.resolve(name()).await.is_ok());
        let local = Url::parse("http://localhost:1/").unwrap();
        let policy = AddressPolicy::of_server(&local, &Arc::from([]), PartyNetwork::Unknown);
        assert!(policy.resolve(name()).await.is_ok());
    }

    #[tokio::test]
    async fn configured_origin_is_allowed_but_no_other_port_of_its_host() {
        let url = |text: &str| Url::parse(text).unwrap();
        let mut policy = AddressPolicy::public(Arc::from([]));
        for named in [
            "http://10.0.0.1:8080",
            "http://api.corp",
            "http://localhost:80",
            "http://169.254.169.254",
        ] {
            policy.allow_origin(&url(named));
        }
        for (address, verdict) in [
            ("http://10.0.0.1:8080/x", Ok(())),
            (
                "http://10.0.0.1/x",
                Err(AddressRefusal::Class(AddressClass::Private)),
            ),
            ("http://api.corp/x", Ok(())),
            ("https://api.corp/x", Err(AddressRefusal::OtherOrigin)),
            ("http://localhost/x", Ok(())),
            (
                "http://localhost:81/x",
                Err(AddressRefusal::Class(AddressClass::Loopback)),
            ),
            (
                "http://169.254.169.254/x",
                Err(AddressRefusal::Class(AddressClass::Never)),
            ),
            ("http://elsewhere.example/x", Ok(())),
            ("ftp://elsewhere.example/x", Err(AddressRefusal::NotHttps)),
        ] {
            assert_eq!(policy.check(&url(address)), verdict, "{address}");
        }
        let name = || "localhost".parse::<Name>().unwrap();
        assert!(policy.resolve(name()).await.is_ok());
        let strangers = AddressPolicy::public(Arc::from([]));
        assert!(strangers.resolve(name()).await.is_err());
    }

    #[test]
    fn seen_private_applies_to_all_clones() {
        let url = Url::parse("http://10.0.0.1/").unwrap();
        let policy = AddressPolicy::public(Arc::from([]));
        let clone = policy.clone();
        assert!(clone.check(&url).is_err());
        policy.set_seen_private(true);
        assert!(clone.check(&url).is_ok());
    }

    /// The addresses of a host name that a policy lets through.
    fn let_through(policy: &AddressPolicy, name: &str, found: &[&str]) -> Vec<String> {
        let found = found
            .iter()
            .map(|ip| SocketAddr::new(ip.parse().unwrap(), 0));
        let admitted = policy.admitted(name, found.collect()).unwrap_or_default();
        admitted
            .iter()
            .map(|address| address.ip().to_string())
            .collect()
    }

    #[test]
    fn network_of_a_server_is_told_by_its_answers_and_never_rises() {
        let inside = Some("10.9.9.9");
        let outside = Some("93.184.216.34");
        let internal = Url::parse("http://10.1.1.1/register").unwrap();
        for (before, answers, expected) in [
            (PartyNetwork::Unknown, &[][..], PartyNetwork::Unknown),
            (PartyNetwork::Unknown, &[inside], PartyNetwork::Private),
            (
                PartyNetwork::Unknown,
                &[inside, inside],
                PartyNetwork::Private,
            ),
            (PartyNetwork::Unknown, &[outside], PartyNetwork::Elsewhere),
            // A proxy hides the peer.
            (PartyNetwork::Unknown, &[None], PartyNetwork::Elsewhere),
            (
                PartyNetwork::Unknown,
                &[Some("127.0.0.1")],
                PartyNetwork::Elsewhere,
            ),
            (
                PartyNetwork::Unknown,
                &[outside, inside],
                PartyNetwork::Elsewhere,
            ),
            (
                PartyNetwork::Unknown,
                &[inside, outside],
                PartyNetwork::Elsewhere,
            ),
            (
                PartyNetwork::Unknown,
                &[inside, outside, inside],
                PartyNetwork::Elsewhere,
            ),
            (PartyNetwork::Private, &[], PartyNetwork::Private),
            (
                PartyNetwork::Private,
                &[outside, inside],
                PartyNetwork::Elsewhere,
            ),
            (PartyNetwork::Elsewhere, &[inside], PartyNetwork::Elsewhere),
        ] {
            let policy = of_server("http://mcp.example/mcp", before);
            let server = Url::parse("http://mcp.example/.well-known/x").unwrap();
            for peer in answers {
                policy.note_answer(&server, peer.map(|peer| peer.parse().unwrap()));
                // Other hosts say nothing about this one.
                let other = Url::parse("http://other.example/").unwrap();
                policy.note_answer(&other, Some("10.9.9.9".parse().unwrap()));
            }
            assert_eq!(policy.party_network(), expected, "{before:?} {answers:?}");
            let is_private = expected == PartyNetwork::Private;
            assert_eq!(policy.check(&internal).is_ok(), is_private, "{answers:?}");
        }
    }

    #[test]
    fn lookup_alone_lets_no_name_lead_into_a_private_network_but_that_of_the_server() {
        for (network, name, found, expected) in [
            (
                PartyNetwork::Unknown,
                "mcp.example",
                &["10.9.9.9"][..],
                &["10.9.9.9"][..],
            ),
            (
                PartyNetwork::Unknown,
                "mcp.example",
                &["10.9.9.9", "93.184.216.34"],
                &["93.184.216.34"],
            ),
            (PartyNetwork::Unknown, "mcp.example", &["127.0.0.1"], &[]),
            (
                PartyNetwork::Unknown,
                "mcp.example",
                &["169.254.169.254"],
                &[],
            ),
            (PartyNetwork::Unknown, "other.example", &["10.9.9.9"], &[]),
            (
                PartyNetwork::Private,
                "other.example",
                &["10.9.9.9"],
                &["10.9.9.9"],
            ),
            (PartyNetwork::Elsewhere, "mcp.example", &["10.9.9.9"], &[]),
            (
                PartyNetwork::Elsewhere,
                "mcp.example",
                &["93.184.216.34"],
                &["93.184.216.34"],
            ),
        ] {
            let policy = of_server("http://mcp.example/mcp", network);
            assert_eq!(
                let_through(&policy, name, found),
                expected,
                "{network:?} {name} {found:?}"
            );
        }
    }
}
