//! The names under which this server lists tools, prompts and resources of servers.
//!
//! Tools and prompts are `server__name`. If only one server is shown, its tools are `name`. Model APIs allow at most 64
//! letters, digits, `_` and `-` in a tool name. Resources are `mux://server/` followed by their own uri.
//!
//! Invariant: a name is resolved by a table, never by parsing, and to exactly one item.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

/// The maximum length of a tool's name in model APIs.
const MAX_TOOL_NAME_LEN: usize = 64;
const MUX_URI_PREFIX: &str = "mux://";

/// The assigned names, with the items that they stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct ListedNames(HashMap<String, ServerItem>);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerItem {
    pub(super) server: String,
    /// The server's own name of the item.
    pub(super) name: String,
}

impl ListedNames {
    /// Assigns a unique name to a server's tool or prompt.
    pub(super) fn assign_name(&mut self, server: &str, name: &str) -> String {
        self.assign_wanted_name(&format!("{server}__{name}"), server, name)
    }

    /// Assigns names to the tools of the only server: their own ones, where those are valid for models.
    pub(super) fn assign_own_names(&mut self, server: &str, names: &[&str]) -> Vec<String> {
        for name in names.iter().filter(|name| is_valid_name(name)) {
            self.assign_wanted_name(name, server, name);
        }
        let each = names
            .iter()
            .map(|name| self.assign_wanted_name(name, server, name));
        each.collect()
    }

    fn assign_wanted_name(&mut self, wanted: &str, server: &str, name: &str) -> String {
        let plain: String = wanted
            .chars()
            .map(|c| if is_name_char(c) { c } else { '_' })
            .collect();
        let taken = |given: &str| {
            self.0
                .get(given)
                .is_some_and(|named| named.server != server || named.name != name)
        };
        let given = if plain.len() > MAX_TOOL_NAME_LEN || taken(&plain) {
            digest_name(&plain, server, name)
        } else {
            plain
        };
        let named = ServerItem {
            server: server.to_owned(),
            name: name.to_owned(),
        };
        self.0.insert(given.clone(), named);
        given
    }

    pub(super) fn find(&self, given: &str) -> Option<&ServerItem> {
        self.0.get(given)
    }

    pub(super) fn assigned_names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn is_valid_name(name: &str) -> bool {
    name.len() <= MAX_TOOL_NAME_LEN && name.chars().all(is_name_char)
}

/// A name that is truncated and ends with a digest of server and name, which makes it unique.
fn digest_name(plain: &str, server: &str, name: &str) -> String {
    let digest = Sha256::digest(format!("{server}\0{name}"));
    let mark: Vec<_> = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
    let mark = mark.concat();
    let kept = plain.len().min(MAX_TOOL_NAME_LEN - mark.len() - 1);
    format!("{}_{mark}", &plain[..kept])
}

/// The uri under which a server's resource is listed.
pub(super) fn listed_uri(server: &str, own: &str) -> String {
    format!("{MUX_URI_PREFIX}{server}/{own}")
}

/// Splits a listed uri into the server and the resource's own uri.
pub(super) fn split_listed_uri(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix(MUX_URI_PREFIX)?.split_once('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_for_models_unique_and_resolvable() {
        let mut names = ListedNames::default();
        let long = "a".repeat(100);
        let given: Vec<String> = [
            ("files", "read_file"),
            ("a", "b.c"),
            ("a", "b_c"),
            ("a_", "b"),
            ("a", "_b"),
            ("s", &long),
            ("s", "ä"),
        ]
        .iter()
        .map(|(server, name)| {
            let given = names.assign_name(server, name);
            assert_eq!(names.assign_name(server, name), given);
            let found = names.find(&given).unwrap();
            assert_eq!(
                (found.server.as_str(), found.name.as_str()),
                (*server, *name)
            );
            given
        })
        .collect();
        assert_eq!(given[0], "files__read_file");
        assert_eq!(given[1], "a__b_c");
        for name in &given {
            assert!(name.len() <= MAX_TOOL_NAME_LEN, "{name}");
            let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            assert!(name.bytes().all(fits), "{name}");
        }
        let mut all = given.clone();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), given.len(), "{given:?}");
    }

    #[test]
    fn valid_names_of_the_only_server_are_kept() {
        let mut names = ListedNames::default();
        let long = "a".repeat(100);
        let own = ["pet.get", "pet_get", "get-thing", long.as_str(), "a.b"];
        let given = names.assign_own_names("s", &own);
        assert_eq!(given[1..3], ["pet_get", "get-thing"]);
        assert_eq!(given[4], "a_b");
        assert!(given[0].starts_with("pet_get_"), "{given:?}");
        for (given, name) in given.iter().zip(own) {
            assert!(is_valid_name(given), "{given}");
            assert_eq!(names.find(given).unwrap().name, name);
        }
    }

    #[test]
    fn uri_contains_the_own_uri_of_the_resource() {
        for own in ["file:///a/b.txt", "test://x/{id}", "a", ""] {
            let given = listed_uri("my-server", own);
            assert_eq!(
                split_listed_uri(&given),
                Some(("my-server", own)),
                "{given}"
            );
        }
        assert_eq!(split_listed_uri("file:///a"), None);
        assert_eq!(split_listed_uri("mux://guide"), None);
    }
}
