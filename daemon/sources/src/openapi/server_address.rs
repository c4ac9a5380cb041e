//! Determines the address of an API.
//!
//! Invariant: the entry takes precedence over the description.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;

use super::openapi_document::{items, members, text};

/// The parts of a description that an entry overrides.
#[derive(Clone, Debug, Default)]
pub struct ServerOverrides {
    /// Replaces all addresses of the description.
    pub base_url: Option<String>,
    /// Values for variables in those addresses.
    pub variables: BTreeMap<String, String>,
    /// The URL of the description, if it has one.
    pub at: Option<Url>,
}

/// An address at which functions are called.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ServerAddress {
    /// Without a trailing slash.
    pub(super) url: String,
    /// The address in the description, with variable names in braces instead of values from the entry, which may be
    /// secrets. `None` if the entry gives the whole address.
    pub(super) template: Option<String>,
}

impl ServerAddress {
    /// The origin of `told`.
    pub(super) fn origin(&self) -> Option<&str> {
        let template = self.template.as_deref()?;
        let host = template.find("://").map_or(0, |at| at + 3);
        let end = template[host..]
            .find('/')
            .map_or(template.len(), |at| host + at);
        Some(&template[..end])
    }
}

/// The address of the first server in `owner`. An error tells the user what to do.
pub(super) fn address(owner: &Value, entry: &ServerOverrides) -> Result<ServerAddress, String> {
    if let Some(base) = &entry.base_url {
        return Ok(ServerAddress {
            url: base.trim_end_matches('/').to_owned(),
            template: None,
        });
    }
    let server = items(owner, "servers").next();
    let url = match server {
        Some(server) => filled(server, entry)?,
        None => "/".to_owned(),
    };
    match placed(&url, entry) {
        Some(found) => Ok(ServerAddress {
            url: found.as_str().trim_end_matches('/').to_owned(),
            template: Some(address_template(found, server, entry)),
        }),
        None => Err(match server {
            Some(_) => format!(
                "the description gives {url:?} as the address of the API, which is not an http or https URL: write \
                 `base_url = \"https://…\"`"
            ),
            None => "the description names no address of the API: write `base_url = \"https://…\"`"
                .into(),
        }),
    }
}

/// The names of the variables of all servers.
pub(super) fn variables(root: &Value) -> impl Iterator<Item = &str> {
    let servers = items(root, "servers");
    servers.flat_map(|server| members(server, "variables").map(|(name, _)| name.as_str()))
}

fn placed(url: &str, entry: &ServerOverrides) -> Option<Url> {
    let found = match (Url::parse(url), &entry.at) {
        (Ok(found), _) => Some(found),
        (Err(_), Some(at)) => at.join(url).ok(),
        (Err(_), None) if url.starts_with("//") => Url::parse(&format!("https:{url}")).ok(),
        (Err(_), None) => None,
    };
    found.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// The address for [`ServerAddress::told`], without user, password and query. Placeholders replace the entry's values
/// before the URL is parsed by the rules for the URL that is called, because no text in a description may look like
/// another address.
fn address_template(found: Url, server: Option<&Value>, entry: &ServerOverrides) -> String {
    let written = server.map_or_else(String::new, |server| server.to_string().to_lowercase());
    let unused = (0..).map(|number: u32| format!("mux{number}x"));
    let mut unused = unused.filter(|word| !written.contains(word.as_str()));
    let words: BTreeMap<String, String> = entry
        .variables
        .keys()
        .filter_map(|name| Some((name.clone(), unused.next()?)))
        .collect();
    let veiled = ServerOverrides {
        variables: words.clone(),
        at: entry.at.clone(),
        base_url: None,
    };
    let veiled_url = server.and_then(|server| {
        let url = put_in(server, &veiled, |_, _| true).ok()?;
        placed(&url, &veiled)
    });
    let mut url = veiled_url.unwrap_or(found);
    url.set_query(None);
    url.set_fragment(None);
    // Fails only for an address without a host.
    _ = url.set_username("");
    _ = url.set_password(None);
    let template = url.as_str().trim_end_matches('/').to_owned();
    let named = words.iter();
    named.fold(template, |template, (name, word)| {
        template.replace(word, &format!("{{{name}}}"))
    })
}

fn filled(server: &Value, entry: &ServerOverrides) -> Result<String, String> {
    let url = put_in(server, entry, |given, allowed| {
        allowed.is_empty() || allowed.contains(&given)
    })?;
    match url
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
    {
        Some((name, _)) => Err(format!(
            "the address of the API has a variable without a value: write `variables = {{ {name} = \"…\" }}`, or \
             the whole `base_url`"
        )),
        None => Ok(url),
    }
}

/// Replaces variables that have a value. `fits` checks a value against its variable's `enum`.
fn put_in(
    server: &Value,
    entry: &ServerOverrides,
    fits: impl Fn(&str, &[&str]) -> bool,
) -> Result<String, String> {
    let mut url = text(server, "url").unwrap_or("/").to_owned();
    for (name, variable) in members(server, "variables") {
        let allowed: Vec<&str> = items(variable, "enum").filter_map(Value::as_str).collect();
        let value = match entry.variables.get(name) {
            Some(given) if fits(given, &allowed) => given,
            // The value is not repeated, because it may be a secret.
            Some(_) => {
                return Err(format!(
                    "`variables.{name}` must be one of the values in the description: {}",
                    allowed.join(", ")
                ));
            }
            None => match text(variable, "default").or(allowed.first().copied()) {
                Some(default) => default,
                None => continue,
            },
        };
        url = url.replace(&format!("{{{name}}}"), value);
    }
    for (name, value) in &entry.variables {
        url = url.replace(&format!("{{{name}}}"), value);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn address_combines_description_and_entry() {
        let variables = json!({
            "region": { "default": "eu", "enum": ["eu", "us"] },
            "tenant": { "description": "yours" },
        });
        let at = Url::parse("https://docs.example/v3/api.json").ok();
        let us = || BTreeMap::from([("region".to_owned(), "us".to_owned())]);
        let with = |variables| ServerOverrides {
            variables,
            ..ServerOverrides::default()
        };
        let remote = || ServerOverrides {
            at: at.clone(),
            ..ServerOverrides::default()
        };
        for (url, entry, expected) in [
            (
                "https://h/v1/",
                ServerOverrides::default(),
                Ok("https://h/v1"),
            ),
            (
                "https://{region}.h",
                ServerOverrides::default(),
                Ok("https://eu.h"),
            ),
            ("https://{region}.h", with(us()), Ok("https://us.h")),
            ("https://{tenant}.h", with(us()), Err("tenant = ")),
            (
                "https://{region}.h",
                with([("region".to_owned(), "x".to_owned())].into()),
                Err("eu, us"),
            ),
            ("/v2", remote(), Ok("https://docs.example/v2")),
            ("v2", remote(), Ok("https://docs.example/v3/v2")),
            ("//other.example", remote(), Ok("https://other.example")),
            (
                "//other.example",
                ServerOverrides::default(),
                Ok("https://other.example"),
            ),
            ("/v2", ServerOverrides::default(), Err("base_url")),
            ("ftp://h", ServerOverrides::default(), Err("base_url")),
            (
                "/v2",
                ServerOverrides {
                    base_url: Some("http://mine/".into()),
                    ..ServerOverrides::default()
                },
                Ok("http://mine"),
            ),
        ] {
            let root = json!({ "servers": [{ "url": url, "variables": variables }] });
            match (address(&root, &entry), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.url, expected, "{url}"),
                (Err(problem), Err(part)) => assert!(problem.contains(part), "{problem}"),
                other => panic!("{url}: {other:?}"),
            }
        }
        assert!(address(&json!({}), &ServerOverrides::default()).is_err());
        assert_eq!(
            address(&json!({}), &remote()).unwrap().url,
            "https://docs.example"
        );
    }

    #[test]
    fn values_of_the_entry_are_replaced_by_their_names() {
        let variables = json!({ "region": { "default": "eu", "enum": ["eu", "us"] }, "host": { "default": "a.h" } });
        let entry = ServerOverrides {
            variables: [("region", "us"), ("tenant", "s3cret")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            at: Url::parse("https://docs.example/v3/api.json").ok(),
            ..ServerOverrides::default()
        };
        for (url, template, origin) in [
            ("https://h:443/v1/", "https://h/v1", "https://h"),
            (
                "https://{region}.{host}/{tenant}/v1?k=1",
                "https://{region}.a.h/{tenant}/v1",
                "https://{region}.a.h",
            ),
            (
                "https://u:p@{host}/v1?key=x",
                "https://a.h/v1",
                "https://a.h",
            ),
            (
                "https://u:p@{region}.h",
                "https://{region}.h",
                "https://{region}.h",
            ),
            ("/v2", "https://docs.example/v2", "https://docs.example"),
            (
                "https://evil.h\\@good.h/{region}",
                "https://evil.h/@good.h/{region}",
                "https://evil.h",
            ),
            (
                "https://mux0x.h/{region}",
                "https://mux0x.h/{region}",
                "https://mux0x.h",
            ),
            (
                "//{host}\t.evil.h/{region}",
                "https://a.h.evil.h/{region}",
                "https://a.h.evil.h",
            ),
        ] {
            let root = json!({ "servers": [{ "url": url, "variables": variables }] });
            let found = address(&root, &entry).unwrap();
            assert_eq!(found.template.as_deref(), Some(template), "{url}");
            assert_eq!(found.origin(), Some(origin), "{url}");
        }
        let given = ServerOverrides {
            base_url: Some("https://mine/v1".into()),
            ..entry
        };
        let found = address(&json!({}), &given).unwrap();
        assert_eq!((found.origin(), found.template.as_deref()), (None, None));
    }
}
