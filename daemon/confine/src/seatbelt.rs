//! The profile of macOS's `sandbox-exec` for what a server gets. Pure; never run so far.
//!
//! Invariant: the profile denies by default, and every path in it is quoted.

use std::path::{Path, PathBuf};

use mux_settings::SandboxNetwork;

pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What every program needs: the system's own files, and services without the user's data.
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
        text += &format!("(allow file-read* (subpath {}))\n", quoted(path));
    }
    for path in write {
        text += &format!(
            "(allow file-read* file-write* (subpath {}))\n",
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
        // Every parenthesis is closed.
        let depth = text.chars().fold(0_i32, |depth, c| match c {
            '(' => depth + 1,
            ')' => depth - 1,
            _ => depth,
        });
        assert_eq!(depth, 0);
    }
}
