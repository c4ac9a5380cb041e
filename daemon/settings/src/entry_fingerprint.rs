//! A fingerprint of how an entry reaches its server. Approvals are bound to the fingerprint, and therefore apply to no
//! other server.
//!
//! Invariant: the fingerprint is computed from the strings in the file, before expansion. A new value of a referenced
//! variable does not change the fingerprint, but a different address, variable, header or directory does.

use std::collections::BTreeMap;

use mux_config::{CredentialEntry, RootsEntry, ServerEntry, SourceEntry, SwitchOrTable};
use mux_text::digest::{Digest, DigestKey};

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
        Self(of_server(entry))
    }

    /// Covers which API it is, its address, variables, headers and credentials.
    pub(super) fn of_source(entry: &SourceEntry) -> Self {
        Self(of_source(entry))
    }

    pub fn key(&self) -> &DigestKey {
        &self.0
    }
}

fn of_server(entry: &ServerEntry) -> DigestKey {
    let digest = Digest::new()
        .text("server")
        .optional_text(entry.command.as_deref())
        .optional_text(entry.cwd.as_deref())
        .optional_text(entry.url.as_deref())
        .optional_text(entry.transport.map(Into::into))
        .optional_text(entry.socket.as_deref());
    let digest = texts(digest, &entry.args);
    let digest = pairs(pairs(digest, &entry.env), &entry.headers);
    let digest = match &entry.roots {
        None => digest.text("no roots"),
        Some(RootsEntry::Workspace) => digest.text("roots").text("workspace"),
        Some(RootsEntry::Off) => digest.text("roots").text("none"),
        Some(RootsEntry::Directories(all)) => texts(digest.text("roots in"), all),
    };
    let digest = match &entry.oauth {
        None => digest.text("no oauth"),
        Some(SwitchOrTable::Switch(on)) => digest.text("oauth").bytes(&[u8::from(*on)]),
        Some(SwitchOrTable::Table(own)) => {
            let digest = digest
                .text("client")
                .optional_text(own.client_id.as_deref())
                .optional_text(own.client_secret.as_deref())
                .optional_text(own.port.map(|port| port.to_string()).as_deref());
            let digest = texts(digest, &own.scopes);
            // Without these keys, the same fingerprint as before they existed: approvals stay valid.
            let digest = match &own.issuer {
                Some(issuer) => digest.text("issuer").text(issuer),
                None => digest,
            };
            let digest = match own.auth {
                Some(auth) => digest.text("auth").text(auth.into()),
                None => digest,
            };
            if own.share {
                digest.text("share")
            } else {
                digest
            }
        }
    };
    with_account(digest, entry.account.as_deref()).key()
}

/// An entry without an account has the same fingerprint as before this key existed: approvals stay valid.
fn with_account(digest: Digest, account: Option<&str>) -> Digest {
    match account {
        Some(account) => digest.text("account").text(account),
        None => digest,
    }
}

fn of_source(entry: &SourceEntry) -> DigestKey {
    let digest = Digest::new()
        .text("source")
        .optional_text(entry.openapi.as_deref())
        .optional_text(entry.graphql.as_deref())
        .optional_text(entry.schema.as_deref())
        .optional_text(entry.base_url.as_deref());
    let digest = pairs(pairs(digest, &entry.variables), &entry.headers);
    let count = digest.bytes(&entry.auth.len().to_le_bytes());
    let credentials = entry.auth.iter();
    let digest = credentials.fold(count, |digest, (scheme, credential)| {
        let digest = digest.text(scheme);
        match credential {
            CredentialEntry::Text(text) => digest.text("text").text(text),
            CredentialEntry::Basic(basic) => {
                let digest = digest.text("basic").text(&basic.username);
                digest.text(&basic.password)
            }
        }
    });
    with_account(digest, entry.account.as_deref()).key()
}

fn texts(digest: Digest, all: &[String]) -> Digest {
    let count = digest.bytes(&all.len().to_le_bytes());
    all.iter().fold(count, |digest, text| digest.text(text))
}

fn pairs(digest: Digest, all: &BTreeMap<String, String>) -> Digest {
    let count = digest.bytes(&all.len().to_le_bytes());
    all.iter()
        .fold(count, |digest, (name, value)| digest.text(name).text(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_config::Config;

    fn key(entry: &str) -> DigestKey {
        let config = Config::parse(entry, "c").unwrap();
        match (config.servers.get("a"), config.sources.get("a")) {
            (Some(server), _) => of_server(server.as_ref().unwrap()),
            (_, Some(source)) => of_source(source.as_ref().unwrap()),
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
