//! `[metrics]`: the address of the metrics port.

use std::net::{Ipv4Addr, SocketAddr};

use mux_config::{ConfigProblem, MetricsEntry};

/// Invalid values leave the port off.
pub(super) fn resolve(
    entry: &MetricsEntry,
    problems: &mut Vec<ConfigProblem>,
) -> Option<SocketAddr> {
    let text = entry.listen.as_deref()?;
    match parse_listen_address(text) {
        Ok(address) => Some(address),
        Err(problem) => {
            let message = format!("metrics.listen = {text:?} {problem}; it stays off");
            problems.push(ConfigProblem::at(&["metrics", "listen"], message));
            None
        }
    }
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
    use super::*;

    #[test]
    fn only_loopback_addresses_with_a_port_are_accepted() {
        let of = |text: &str| {
            let entry = MetricsEntry {
                listen: Some(text.to_owned()),
            };
            let mut problems = Vec::new();
            let address = resolve(&entry, &mut problems);
            let message = problems.first().map(ToString::to_string);
            (address, message.unwrap_or_default())
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
