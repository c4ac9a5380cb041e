//! A fingerprint of how an entry reaches its server. Approvals are bound to the fingerprint, and therefore apply to no
//! other server.
//!
//! Invariant: the fingerprint is computed from the strings in the file, before expansion. A new value of a referenced
//! variable does not change the fingerprint, but a different address, variable, header or directory does.

use mux_config::{ServerEntry, SourceEntry};
use mux_text::{canonical_json, digest::DigestKey};
use serde_json::{Value, json};

/// The fingerprint of an entry. Any two compare equal. Otherwise, rewording an entry without changing its definition
/// would close its sessions.
#[derive(Clone, Copy, Debug)]
pub struct EntryFingerprint(DigestKey);

impl PartialEq for EntryFingerprint {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl EntryFingerprint {
    /// Covers which server it is, where it runs, its arguments, variables and headers, and its roots.
    pub(super) fn of_server(entry: &ServerEntry) -> Self {
        Self(digest_of(json!({
            "command": entry.command,
            "args": entry.args,
            "env": entry.env,
            "cwd": entry.cwd,
            "url": entry.url,
            "headers": entry.headers,
            "transport": entry.transport,
            "socket": entry.socket,
            "roots": entry.roots,
            "oauth": entry.oauth,
            "account": entry.account,
        })))
    }

    /// Covers which API it is, its address, variables, headers and credentials.
    pub(super) fn of_source(entry: &SourceEntry) -> Self {
        Self(digest_of(json!({
            "openapi": entry.openapi,
            "graphql": entry.graphql,
            "schema": entry.schema,
            "base_url": entry.base_url,
            "variables": entry.variables,
            "headers": entry.headers,
            "auth": entry.auth,
            "account": entry.account,
        })))
    }

    pub fn key(&self) -> &DigestKey {
        &self.0
    }
}

fn digest_of(entry: Value) -> DigestKey {
    canonical_json::digest(&without_unset_keys(entry))
}

/// Keys that are not set do not count, so a key that a later muxd adds changes no fingerprint.
fn without_unset_keys(value: Value) -> Value {
    let Value::Object(keys) = value else {
        return value;
    };
    let set = keys.into_iter().filter(|(_, value)| !value.is_null());
    set.map(|(key, value)| (key, without_unset_keys(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_config::Config;

    fn key(entry: &str) -> DigestKey {
        let config = Config::parse(entry, "c").unwrap();
        match (config.servers.get("a"), config.sources.get("a")) {
            (Some(server), _) => EntryFingerprint::of_server(server.as_ref().unwrap()).0,
            (_, Some(source)) => EntryFingerprint::of_source(source.as_ref().unwrap()).0,
            (None, None) => panic!("{entry}"),
        }
    }

    #[test]
    fn keys_that_identify_the_server_change_the_fingerprint() {
        for (entry, changes) in [
            (
                "[servers.a]\ncommand = \"x\"\n",
                &[
                    "args = [\"y\"]",
                    "env = { A = \"1\" }",
                    "env = { A = \"${A}\" }",
                    "cwd = \"d\"",
                    "roots = [\"/d\"]",
                ][..],
            ),
            (
                "[servers.a]\nurl = \"https://h\"\n",
                &[
                    "headers = { A = \"1\" }",
                    "transport = \"sse\"",
                    "socket = \"/s\"",
                    "oauth = false",
                    "oauth = { client_id = \"c\" }",
                    "oauth = { client_id = \"c\", issuer = \"https://i\" }",
                    "oauth = { client_id = \"c\", client_secret = \"s\", auth = \"post\" }",
                    "oauth = { client_id = \"c\", share = true }",
                    "account = \"work\"",
                ],
            ),
            (
                "[sources.a]\nopenapi = \"x\"\n",
                &[
                    "base_url = \"https://h\"",
                    "variables = { region = \"eu\" }",
                    "headers = { A = \"1\" }",
                    "auth = { k = \"v\" }",
                    "auth = { k = { username = \"v\", password = \"w\" } }",
                    "account = \"work\"",
                ],
            ),
        ] {
            let mut all = vec![key(entry)];
            all.extend(
                changes
                    .iter()
                    .map(|change| key(&format!("{entry}{change}\n"))),
            );
            for (index, one) in all.iter().enumerate() {
                assert!(!all[..index].contains(one), "{entry}: {index}");
            }
            let same = "call_timeout = \"3s\"\ntools = { exclude = [\"x\"] }\npins = \"warn\"\n";
            assert_eq!(key(&format!("{entry}{same}")), all[0], "{entry}");
        }
    }
}
