//! Which addresses a browser may be sent to.

use url::Url;

/// The URL, if it is http or https.
pub(crate) fn parse_web_url(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_https_urls_are_opened() {
        for (address, openable) in [
            ("https://issuer.test/authorize?x=1", true),
            ("http://127.0.0.1:1/authorize", true),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("-flag", false),
            ("vscode://x", false),
            ("https://", false),
        ] {
            assert_eq!(parse_web_url(address).is_some(), openable, "{address}");
        }
    }
}
