//! Checks the proxies and certificates that the environment names.

use std::path::{Path, PathBuf};

use url::Url;

use super::CheckGroup;

/// Variables that name a proxy. Lowercase ones take precedence.
const PROXY_VARIABLES: &[&str] = &[
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
];
/// Files with certificates, for us and for servers.
const CERTIFICATE_FILE_VARIABLES: &[&str] = &["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];
const CERTIFICATE_DIR_VARIABLE: &str = "SSL_CERT_DIR";

/// `variable` reads the environment. Variables that are not set are not reported.
pub(super) fn check_network(group: &mut CheckGroup, variable: impl Fn(&str) -> Option<PathBuf>) {
    for name in PROXY_VARIABLES {
        let Some(value) = variable(name) else {
            continue;
        };
        // The value may contain a password.
        if value.to_str().is_some_and(is_proxy_address) {
            group.ok(format!("requests use the proxy in {name}"));
        } else {
            group.fail(
                format!("{name} is not a proxy address, so servers with a URL cannot be reached"),
                format!("set {name}=http://host:port or unset it, then run `mux restart`"),
            );
        }
    }
    for name in CERTIFICATE_FILE_VARIABLES {
        if let Some(file) = variable(name) {
            check_certificate_file(group, name, &file);
        }
    }
    if let Some(folder) = variable(CERTIFICATE_DIR_VARIABLE) {
        let mut folders = std::env::split_paths(&folder);
        let missing = folders.find(|folder| !folder.is_dir());
        match missing {
            Some(missing) => group.fail(
                format!(
                    "{CERTIFICATE_DIR_VARIABLE} names {}, which is not a directory",
                    missing.display()
                ),
                format!("fix or unset {CERTIFICATE_DIR_VARIABLE}, then run `mux restart`"),
            ),
            None => group.ok(format!("certificates come from {}", folder.display())),
        }
    }
}

fn is_proxy_address(value: &str) -> bool {
    // Without a scheme it is an HTTP proxy, as in most programs.
    let whole = if value.contains("://") {
        value.to_owned()
    } else {
        format!("http://{value}")
    };
    let known = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];
    Url::parse(&whole).is_ok_and(|url| known.contains(&url.scheme()) && url.host_str().is_some())
}

fn check_certificate_file(group: &mut CheckGroup, name: &str, file: &Path) {
    let shown = file.display();
    let fix = format!("set {name} to a PEM file or unset it, then run `mux restart`");
    match std::fs::read(file) {
        Err(error) => group.fail(
            format!("{name} names {shown}, which cannot be read: {error}"),
            fix,
        ),
        Ok(bytes) if !contains_certificate(&bytes) => {
            group.fail(
                format!("{name} names {shown}, which contains no certificate"),
                fix,
            );
        }
        Ok(_) => group.ok(format!("{name} adds the certificates of {shown}")),
    }
}

fn contains_certificate(bytes: &[u8]) -> bool {
    let begin = b"-----BEGIN ";
    bytes.windows(begin.len()).any(|window| window == begin)
}

#[cfg(test)]
mod tests {
    use super::{super::CheckVerdict, *};

    #[test]
    fn broken_proxies_and_certificates_are_reported_without_passwords() {
        assert!(
            CheckGroup::filled(|group| check_network(group, |_| None))
                .checks
                .is_empty()
        );
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("empty.pem");
        std::fs::write(&empty, "nothing").unwrap();
        let variable = |name: &str| match name {
            "HTTPS_PROXY" => Some("http://me:s3cret@[".into()),
            "http_proxy" => Some("proxy.example:3128".into()),
            "SSL_CERT_FILE" => Some(empty.clone()),
            "NODE_EXTRA_CA_CERTS" => Some("/no/such.pem".into()),
            "SSL_CERT_DIR" => Some(dir.path().to_owned()),
            _ => None,
        };
        let group = CheckGroup::filled(|group| check_network(group, variable));
        let checks: Vec<_> = group
            .checks
            .iter()
            .map(|c| (c.verdict, c.message.as_str()))
            .collect();
        let verdicts: Vec<_> = checks.iter().map(|(verdict, _)| *verdict).collect();
        let failure = CheckVerdict::Failure;
        let ok = CheckVerdict::Ok;
        assert_eq!(verdicts, [failure, ok, failure, failure, ok], "{checks:#?}");
        assert!(
            checks
                .iter()
                .all(|(_, message)| !message.contains("s3cret")),
            "{checks:#?}"
        );
    }
}
