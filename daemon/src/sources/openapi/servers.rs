//! Where an API is called.
//!
//! Invariant: what the entry says of the address counts more than what the description says.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;

use super::document::{items, members, text};

/// What of an entry changes how a description is read.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// In place of all addresses of the description.
    pub base_url: Option<String>,
    /// Of those addresses.
    pub variables: BTreeMap<String, String>,
    /// Where the description comes from, if it is an address.
    pub at: Option<Url>,
}

/// The address of the first server of a list, without a slash at its end. An error tells a person what to do.
pub(super) fn address(owner: &Value, entry: &Entry) -> Result<String, String> {
    if let Some(base) = &entry.base_url {
        return Ok(base.trim_end_matches('/').to_owned());
    }
    let server = items(owner, "servers").next();
    let url = match server {
        Some(server) => filled(server, entry)?,
        None => "/".to_owned(),
    };
    let found = match (Url::parse(&url), &entry.at) {
        (Ok(found), _) => Some(found),
        (Err(_), Some(at)) => at.join(&url).ok(),
        (Err(_), None) if url.starts_with("//") => Url::parse(&format!("https:{url}")).ok(),
        (Err(_), None) => None,
    };
    let usable = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    match found.filter(usable) {
        Some(found) => Ok(found.as_str().trim_end_matches('/').to_owned()),
        None => Err(match server {
            Some(_) => format!(
                "the description gives {url:?} as the address of the API, which leads nowhere from here: write \
                 `base_url = \"https://…\"`"
            ),
            None => "the description names no address of the API: write `base_url = \"https://…\"`"
                .into(),
        }),
    }
}

/// The names of all variables of a description's servers.
pub(super) fn variables(root: &Value) -> impl Iterator<Item = &str> {
    let servers = items(root, "servers");
    servers.flat_map(|server| members(server, "variables").map(|(name, _)| name.as_str()))
}

fn filled(server: &Value, entry: &Entry) -> Result<String, String> {
    let mut url = text(server, "url").unwrap_or("/").to_owned();
    for (name, variable) in members(server, "variables") {
        let allowed: Vec<&str> = items(variable, "enum").filter_map(Value::as_str).collect();
        let value = match entry.variables.get(name) {
            Some(given) if allowed.is_empty() || allowed.contains(&given.as_str()) => given,
            // The value is not repeated: it may be a secret.
            Some(_) => {
                return Err(format!(
                    "`variables.{name}` is not one of those that the description knows: {}",
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_made_of_description_and_entry() {
        let variables = json!({
            "region": { "default": "eu", "enum": ["eu", "us"] },
            "tenant": { "description": "yours" },
        });
        let at = Url::parse("https://docs.example/v3/api.json").ok();
        let us = || BTreeMap::from([("region".to_owned(), "us".to_owned())]);
        let with = |variables| Entry {
            variables,
            ..Entry::default()
        };
        let remote = || Entry {
            at: at.clone(),
            ..Entry::default()
        };
        for (url, entry, expected) in [
            ("https://h/v1/", Entry::default(), Ok("https://h/v1")),
            ("https://{region}.h", Entry::default(), Ok("https://eu.h")),
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
                Entry::default(),
                Ok("https://other.example"),
            ),
            ("/v2", Entry::default(), Err("base_url")),
            ("ftp://h", Entry::default(), Err("base_url")),
            (
                "/v2",
                Entry {
                    base_url: Some("http://mine/".into()),
                    ..Entry::default()
                },
                Ok("http://mine"),
            ),
        ] {
            let root = json!({ "servers": [{ "url": url, "variables": variables }] });
            match (address(&root, &entry), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{url}"),
                (Err(problem), Err(part)) => assert!(problem.contains(part), "{problem}"),
                other => panic!("{url}: {other:?}"),
            }
        }
        assert!(address(&json!({}), &Entry::default()).is_err());
        assert_eq!(
            address(&json!({}), &remote()).unwrap(),
            "https://docs.example"
        );
    }
}
