//! Masks secrets in a URL for display.

use crate::{MASK, shape::looks_generated};

/// The URL without its user and fragment, with query values and generated parts of the path masked. A reference
/// (`${NAME}`) is kept.
pub fn shown(written: &str) -> String {
    let (address, query) = match written.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (written, None),
    };
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let parts = path
        .split('/')
        .map(|part| if looks_generated(part) { MASK } else { part });
    let path = parts.collect::<Vec<_>>().join("/");
    let mut shown = format!("{scheme}://{host}{path}");
    let query = query.map(|query| query.split('#').next().unwrap_or(query));
    for (index, pair) in query.iter().flat_map(|query| query.split('&')).enumerate() {
        shown.push(if index == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((_, value)) if value.starts_with("${") && value.ends_with('}') => {
                shown.push_str(pair);
            }
            Some((name, _)) => {
                shown.push_str(name);
                shown.push('=');
                shown.push_str(MASK);
            }
            None => shown.push_str(MASK),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn possible_secrets_in_urls_are_hidden() {
        for (written, expected) in [
            ("https://x.example/mcp", "https://x.example/mcp"),
            ("https://me:pa@ss@x.example/mcp", "https://x.example/mcp"),
            (
                "https://x/a@b?k=v&flag&l=${TOKEN}#f",
                "https://x/a@b?k=***&***&l=${TOKEN}",
            ),
            ("https://x?k=${A}b", "https://x?k=***"),
            ("https://x/s/aZ81kQ0p2Lm4Xn7Wq/mcp", "https://x/s/***/mcp"),
            ("https://${HOST}/mcp", "https://${HOST}/mcp"),
        ] {
            assert_eq!(shown(written), expected);
        }
    }
}
