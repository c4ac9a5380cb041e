//! The profile of macOS's `sandbox-exec` for a server's plan. Pure; never run so far.
//!
//! Invariant: the profile denies by default, and every path in it is quoted.

use std::fmt::Write as _;

use std::path::{Path, PathBuf};

use mux_settings::SandboxNetwork;

pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The base that every program needs: the system's own files, and services without the user's data.
const BASE: &str = "(version 1)
(deny default)
(import \"system.sb\")
(allow process-fork process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (subpath \"/usr\") (subpath \"/bin\") (subpath \"/sbin\") (subpath \"/System\") (subpath \"/Library\") (subpath \"/opt\") (subpath \"/private/etc/ssl\") (literal \"/private/etc/resolv.conf\") (literal \"/private/etc/hosts\") (literal \"/private/etc/passwd\") (literal \"/\"))
(allow file-write* (literal \"/dev/null\"))
(allow file-read* (literal \"/dev/null\") (literal \"/dev/random\") (literal \"/dev/urandom\") (literal \"/dev/zero\"))
";

pub(super) fn profile(read: &[PathBuf], write: &[PathBuf], network: &SandboxNetwork) -> String {
    let mut text = BASE.to_owned();
    for path in read {
        _ = writeln!(text, "(allow file-read* (subpath {}))", quoted(path));
    }
    for path in write {
        _ = writeln!(
            text,
            "(allow file-read* file-write* (subpath {}))",
            quoted(path)
        );
    }
    if *network == SandboxNetwork::Any {
        text += "(allow network*)\n(allow system-socket)\n(allow mach-lookup (global-name \"com.apple.SystemConfiguration.DNSConfiguration\"))\n(deny network-outbound (subpath \"/\"))\n(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n";
    }
    text
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_denies_by_default_and_quotes_paths() {
        let text = profile(
            &["/Users/me/no\"tes".into()],
            &["/Users/me/out".into()],
            &SandboxNetwork::Any,
        );
        let own = text.strip_prefix(BASE).unwrap();
        assert_eq!(
            own,
            "(allow file-read* (subpath \"/Users/me/no\\\"tes\"))\n\
             (allow file-read* file-write* (subpath \"/Users/me/out\"))\n\
             (allow network*)\n(allow system-socket)\n\
             (allow mach-lookup (global-name \"com.apple.SystemConfiguration.DNSConfiguration\"))\n\
             (deny network-outbound (subpath \"/\"))\n\
             (allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n"
        );
        assert!(!profile(&[], &[], &SandboxNetwork::None).contains("network"));
    }

    /// Operations and filters of the profile language that the profile may use.
    const OPERATIONS: &[&str] = &[
        "default",
        "file-read*",
        "file-read-metadata",
        "file-write*",
        "mach-lookup",
        "network*",
        "network-outbound",
        "process-exec",
        "process-fork",
        "process-info*",
        "signal",
        "sysctl-read",
        "system-socket",
    ];
    const FILTERS: &[&str] = &["global-name", "literal", "subpath", "target"];

    /// Reads a profile as the language's S-expressions, and returns the paths of all `subpath` filters.
    fn check_syntax(profile: &str) -> Vec<String> {
        let mut paths = Vec::new();
        let mut forms = lexpr::Parser::from_str(profile);
        let mut heads = Vec::new();
        while let Some(form) = forms.next_value().unwrap() {
            let form = form.to_vec().unwrap();
            let (head, rest) = form.split_first().unwrap();
            let head = head.as_symbol().unwrap();
            heads.push(head.to_owned());
            match head {
                "version" => assert_eq!(rest, [lexpr::Value::from(1)]),
                "import" => assert_eq!(rest[0].as_str(), Some("system.sb")),
                "allow" | "deny" => {
                    assert!(rest[0].is_symbol(), "{rest:?}");
                    for part in rest {
                        if let Some(operation) = part.as_symbol() {
                            assert!(OPERATIONS.contains(&operation), "{operation}");
                            continue;
                        }
                        let filter = part.to_vec().unwrap();
                        let name = filter[0].as_symbol().unwrap();
                        assert!(FILTERS.contains(&name) && filter.len() == 2, "{part}");
                        if name == "subpath" {
                            paths.push(filter[1].as_str().unwrap().to_owned());
                        }
                    }
                }
                _ => panic!("{head} is no form of a profile"),
            }
        }
        assert_eq!(heads[..2], ["version", "deny"]);
        paths
    }

    #[test]
    fn profile_is_valid_whatever_a_path_is_called() {
        let hostile = [
            "/Users/me/a) (allow default) (b",
            "/Users/me/\" (allow default) \"",
            "/Users/me/\\",
            "/Users/me/\\\")(allow default)",
            "/Users/me/; comment",
            "/Users/me/line\nbreak",
            "/Users/me/#|x|#",
        ];
        for network in [SandboxNetwork::None, SandboxNetwork::Any] {
            for path in hostile {
                let text = profile(&[path.into()], &["/Users/me/out".into()], &network);
                let paths = check_syntax(&text);
                assert!(paths.iter().any(|found| found == path), "{path:?}: {text}");
                assert!(paths.iter().any(|found| found == "/Users/me/out"));
                let plain = profile(&["/Users/me/x".into()], &["/Users/me/out".into()], &network);
                assert_eq!(paths.len(), check_syntax(&plain).len(), "{path:?}");
            }
        }
    }
}
