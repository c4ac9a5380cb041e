//! `account`: the name of a login.
//!
//! Invariant: an account is one login of a URL. Entries that share it agree on the client and its issuer.

use std::collections::BTreeMap;

use super::{EntryError, RemoteServer, ServerEndpoint, ServerSettings};
use mux_config::LineIndex;

/// Disables entries that name the account of an earlier entry with the same URL, and another client or issuer.
pub(super) fn refuse_contradictions(
    servers: &mut BTreeMap<String, ServerSettings>,
    lines: &LineIndex,
) {
    let mut names: Vec<String> = servers.keys().cloned().collect();
    names.sort_by_key(|name| lines.at(&["servers", name]));
    for (index, name) in names.iter().enumerate() {
        let contradicted = names[..index].iter().find_map(|earlier| {
            let key = contradiction(remote(&servers[earlier])?, remote(&servers[name])?)?;
            Some((earlier.clone(), key))
        });
        let Some((earlier, key)) = contradicted else {
            continue;
        };
        let definition = servers.get_mut(name).map(|server| &mut server.definition);
        if let Some(Ok(known)) = definition.as_deref() {
            let account = known.endpoint.account().unwrap_or_default().to_owned();
            let problem = format!(
                "account = {account:?} of this `url` is in [servers.{earlier}] with another {key}: name another account, or \
                 write the same `oauth`"
            );
            if let Some(definition) = definition {
                *definition = Err(EntryError::from(problem));
            }
        }
    }
}

fn remote(server: &ServerSettings) -> Option<&RemoteServer> {
    match &server.definition.as_ref().ok()?.endpoint {
        ServerEndpoint::Remote(remote) => Some(remote),
        ServerEndpoint::Process(_) | ServerEndpoint::Source(_) => None,
    }
}

/// The key of `oauth` on which two entries of one account disagree.
fn contradiction(one: &RemoteServer, other: &RemoteServer) -> Option<&'static str> {
    let is_one_account = one.account.is_some() && one.account == other.account;
    let is_one_login = is_one_account && one.url == other.url;
    let own = one.oauth.as_ref().filter(|_| is_one_login)?;
    own.disagreement(other.oauth.as_ref()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Settings;
    use mux_config::{Config, environment::Environment};

    /// The errors of entries, by name.
    fn problems(text: &str) -> Vec<(String, String)> {
        let config = Config::parse(text, "c").unwrap();
        let settings = Settings::resolve(config, &Environment::default(), Path::new("/"));
        let problems = settings.servers.into_values().filter_map(|server| {
            let problem = server.definition.err()?.to_string();
            Some((server.name, problem))
        });
        problems.collect()
    }

    #[test]
    fn account_that_is_no_name_or_has_no_login_is_an_error() {
        let long = format!("account = {:?}", "a".repeat(65));
        for (keys, part) in [
            ("account = \"\"", "not a name"),
            ("account = \"a b\"", "not a name"),
            ("account = \"../a\"", "not a name"),
            ("account = \"a\\nb\"", "\\n"),
            ("account = \"w\u{f6}rk\"", "not a name"),
            ("account = \"${USER}\"", "not a name"),
            (&long, "63 more"),
            ("account = \"a\"\noauth = false", "no login"),
            ("account = \"a\"\nsocket = \"/s\"", "no login"),
            (
                "account = \"a\"\nheaders = { authorization = \"x\" }",
                "no login",
            ),
        ] {
            let problems = problems(&format!("[servers.a]\nurl = \"https://h\"\n{keys}\n"));
            assert!(problems[0].1.contains(part), "{keys}: {problems:?}");
        }
        for text in [
            "[servers.a]\nurl = \"https://h\"\naccount = \"ada+x@example.com\"\n",
            "[sources.a]\nopenapi = \"x\"\naccount = \"work\"\n",
        ] {
            assert_eq!(problems(text), [], "{text}");
        }
        let local = problems("[servers.a]\ncommand = \"x\"\naccount = \"work\"\n");
        assert!(local[0].1.contains("`account` requires `url`"), "{local:?}");
    }

    #[test]
    fn entries_of_one_account_agree_on_its_client() {
        let entry = |name: &str, url: &str, keys: &str| {
            format!("[servers.{name}]\nurl = \"https://{url}\"\n{keys}\n")
        };
        let own = |id: &str, issuer: &str| {
            format!("account = \"work\"\noauth = {{ client_id = \"{id}\"{issuer} }}")
        };
        let one = ", issuer = \"https://one\"";
        let two = ", issuer = \"https://two\"";
        let sent = |auth: &str| own("x", &format!(", client_secret = \"s\"{auth}"));
        let basic = sent(", auth = \"basic\"");
        let post = sent(", auth = \"post\"");
        for (first, second, key) in [
            (own("x", one), own("x", two), Some("issuer")),
            (own("x", one), own("y", one), Some("client_id")),
            (basic, post.clone(), Some("auth")),
            (own("x", one), own("x", ""), None),
            (post, sent(""), None),
            (own("x", one), own("x", one), None),
        ] {
            // The later entry in the file is refused, regardless of its name.
            let text = entry("b", "h/mcp", &first) + &entry("a", "h/mcp", &second);
            let found = problems(&text);
            match key {
                None => assert_eq!(found, [], "{text}"),
                Some(key) => {
                    assert_eq!(found[0].0, "a", "{found:?}");
                    assert!(
                        found[0].1.contains(&format!("another oauth.{key}")),
                        "{found:?}"
                    );
                    assert!(found[0].1.contains("[servers.b]"), "{found:?}");
                }
            }
            let elsewhere = entry("b", "h/mcp", &first) + &entry("a", "i/mcp", &second);
            assert_eq!(problems(&elsewhere), []);
        }
    }
}
