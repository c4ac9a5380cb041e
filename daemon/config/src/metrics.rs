//! `[metrics]`, as the user wrote it.

use std::net::{Ipv4Addr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::parse_errors::wrong_value;

/// `[metrics]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsEntry {
    /// Address for a Prometheus scraper: a loopback address (`127.0.0.1:PORT`, `[::1]:PORT`, `localhost:PORT`) with a
    /// port other than 0.
    #[serde(deserialize_with = "listen_address")]
    #[schemars(with = "Option<String>", extend("x-default" = "no port"))]
    pub listen: Option<SocketAddr>,
}

fn listen_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let address = parse_listen_address(&text);
    address
        .map(Some)
        .map_err(|why| wrong_value(format!("{text:?}"), why))
}

fn parse_listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    let local = text.strip_prefix("localhost:").and_then(|port| {
        let port = port.parse().ok()?;
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    });
    let Some(address) = local.or_else(|| text.parse().ok()) else {
        return Err("is not an address such as \"127.0.0.1:9464\"");
    };
    if !address.ip().is_loopback() {
        return Err(
            "is not a loopback address, so other machines could reach it: write \"127.0.0.1:PORT\", and put a \
             proxy in front of it if they should",
        );
    }
    match address.port() {
        0 => Err("has no port: write \"127.0.0.1:9464\""),
        _ => Ok(address),
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    #[test]
    fn only_loopback_addresses_with_a_port_are_accepted() {
        let of = |text: &str| {
            let config = Config::parse(&format!("[metrics]\nlisten = {text:?}\n"), "c").unwrap();
            let message = config.problems.first().map(ToString::to_string);
            (config.metrics.listen, message.unwrap_or_default())
        };
        for (text, address) in [
            ("127.0.0.1:9464", "127.0.0.1:9464"),
            ("localhost:9464", "127.0.0.1:9464"),
            ("[::1]:1", "[::1]:1"),
        ] {
            let expected = (Some(address.parse().unwrap()), String::new());
            assert_eq!(of(text), expected, "{text}");
        }
        for (text, part) in [
            ("0.0.0.0:9464", "127.0.0.1:PORT"),
            ("[::]:9464", "127.0.0.1:PORT"),
            ("192.168.1.7:9464", "127.0.0.1:PORT"),
            ("9464", "not an address"),
            ("localhost", "not an address"),
            ("127.0.0.1:0", "has no port"),
        ] {
            let (address, problem) = of(text);
            assert!(
                address.is_none() && problem.contains(part),
                "{text}: {problem}"
            );
        }
    }
}
