//! The security schemes of a description, and the schemes that its operations need.
//!
//! Invariant: a credential is sent only to operations for which the description requires it. If the description
//! requires none anywhere, the credential is sent to every operation that does not exclude it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::openapi_document::{HTTP_VERBS, OpenApiDocument, items, members, text};
use crate::http::{SecurityScheme, allowed_origins};

#[derive(Debug)]
pub(super) struct SecurityRequirements {
    pub(super) schemes: BTreeMap<String, SecurityScheme>,
    /// The requirements of an operation without its own.
    usual: Vec<Vec<String>>,
    /// The names in queries and cookies under which credentials are sent.
    pub(super) sent_names: Arc<[String]>,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
}

impl SecurityRequirements {
    pub(super) fn read(document: &OpenApiDocument) -> Self {
        let root = document.root();
        let components = root.get("components").unwrap_or(&Value::Null);
        let mut schemes = BTreeMap::new();
        let mut notes = Vec::new();
        for (name, scheme) in members(components, "securitySchemes") {
            let Ok(scheme) = document.resolve(scheme) else {
                continue;
            };
            match read(scheme, &scopes(root, name)) {
                Some(scheme) => drop(schemes.insert(name.clone(), scheme)),
                None => notes.push(format!(
                    "the security scheme `{name}` has an unsupported type: set its credentials in `headers`"
                )),
            }
        }
        let sent_names = schemes.values().filter_map(|scheme| match scheme {
            SecurityScheme::Query(name) | SecurityScheme::Cookie(name) => Some(name.clone()),
            _ => None,
        });
        let mut this = Self {
            sent_names: sent_names.collect(),
            schemes,
            usual: Vec::new(),
            notes,
        };
        this.usual = if asks(root) {
            this.alternatives(root)
        } else {
            let each = this.schemes.keys().map(|name| vec![name.clone()]);
            let all: Vec<Vec<String>> = each.chain([Vec::new()]).collect();
            if all.len() > 1 { all } else { Vec::new() }
        };
        this
    }

    /// The alternatives of an operation, each a list of schemes that are needed together.
    pub(super) fn of(&self, operation: &Value) -> Vec<Vec<String>> {
        match operation.get("security") {
            Some(_) => self.alternatives(operation),
            None => self.usual.clone(),
        }
    }

    /// The way in which each scheme's credential is sent, and the origin of its tokens. Part of a function's pin.
    pub(super) fn to_json(&self, needs: &[Vec<String>]) -> Map<String, Value> {
        let names: BTreeSet<&String> = needs.iter().flatten().collect();
        let credential = |name: &String| {
            let how = match self.schemes.get(name)? {
                SecurityScheme::Header(header) => format!("header {header}"),
                SecurityScheme::Query(key) => format!("query {key}"),
                SecurityScheme::Cookie(cookie) => format!("cookie {cookie}"),
                SecurityScheme::Basic => "basic".into(),
                SecurityScheme::Bearer => "bearer".into(),
                SecurityScheme::ClientCredentials { token_url, .. } => {
                    let origin = allowed_origins::of(token_url);
                    let origin = origin.as_deref().unwrap_or("its own address");
                    format!("token from {origin}")
                }
            };
            Some((name.clone(), how.into()))
        };
        names.into_iter().filter_map(credential).collect()
    }

    /// The origins, other than the API's own, to which a client secret is sent for a token.
    pub(super) fn token_origins(&self) -> BTreeSet<String> {
        let schemes = self.schemes.values();
        let urls = schemes.filter_map(|scheme| match scheme {
            SecurityScheme::ClientCredentials { token_url, .. } => Some(token_url),
            _ => None,
        });
        urls.filter_map(|url| allowed_origins::of(url)).collect()
    }

    /// The alternatives in `security`. Unsupported schemes are omitted.
    fn alternatives(&self, owner: &Value) -> Vec<Vec<String>> {
        let requirements = items(owner, "security").filter_map(Value::as_object);
        let mut alternatives: Vec<Vec<String>> = requirements
            .map(|requirement| {
                let names = requirement.keys();
                names
                    .filter(|name| self.schemes.contains_key(*name))
                    .cloned()
                    .collect()
            })
            .collect();
        alternatives.dedup();
        if alternatives.iter().all(Vec::is_empty) {
            Vec::new()
        } else {
            alternatives
        }
    }
}

fn read(scheme: &Value, scopes: &[String]) -> Option<SecurityScheme> {
    let name = || text(scheme, "name").map(str::to_owned);
    Some(match text(scheme, "type")? {
        "apiKey" => match text(scheme, "in")? {
            "header" => SecurityScheme::Header(name()?),
            "query" => SecurityScheme::Query(name()?),
            "cookie" => SecurityScheme::Cookie(name()?),
            _ => return None,
        },
        "http" => match text(scheme, "scheme")?.to_ascii_lowercase().as_str() {
            "basic" => SecurityScheme::Basic,
            "bearer" => SecurityScheme::Bearer,
            // For other schemes the user writes the whole header.
            _ => SecurityScheme::Header("Authorization".into()),
        },
        "oauth2" => {
            let flow = scheme
                .get("flows")
                .and_then(|it| it.get("clientCredentials"));
            match flow.and_then(|flow| text(flow, "tokenUrl")) {
                Some(token_url) => SecurityScheme::ClientCredentials {
                    token_url: token_url.to_owned(),
                    scopes: scopes.to_vec(),
                },
                None => SecurityScheme::Bearer,
            }
        }
        "openIdConnect" => SecurityScheme::Bearer,
        _ => return None,
    })
}

/// True if anything in the description has `security`.
fn asks(root: &Value) -> bool {
    root.get("security").is_some() || operations(root).any(|it| it.get("security").is_some())
}

/// The scopes that operations need for a scheme.
fn scopes(root: &Value, scheme: &str) -> Vec<String> {
    let owners = operations(root).chain([root]);
    let requirements = owners.flat_map(|owner| items(owner, "security"));
    let scopes = requirements.flat_map(|requirement| items(requirement, scheme));
    let scopes: BTreeSet<&str> = scopes.filter_map(Value::as_str).collect();
    scopes.into_iter().map(str::to_owned).collect()
}

fn operations(root: &Value) -> impl Iterator<Item = &Value> {
    let paths = members(root, "paths").map(|(_, item)| item);
    paths.flat_map(|item| HTTP_VERBS.iter().filter_map(|method| item.get(*method)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn security(root: Value) -> SecurityRequirements {
        let mut text = root;
        text["openapi"] = "3.1.0".into();
        let document = OpenApiDocument::read(&text.to_string()).unwrap();
        SecurityRequirements::read(&document)
    }

    #[test]
    fn security_schemes_of_each_type_are_read() {
        let flow = json!({ "tokenUrl": "/token", "scopes": { "a": "", "b": "" } });
        let security = security(json!({
            "components": { "securitySchemes": {
                "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
                "query": { "type": "apiKey", "in": "query", "name": "k" },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "c" },
                "basic": { "type": "http", "scheme": "Basic" },
                "bearer": { "type": "http", "scheme": "bearer" },
                "digest": { "type": "http", "scheme": "digest" },
                "machine": { "type": "oauth2", "flows": { "clientCredentials": flow } },
                "person": { "type": "oauth2", "flows": { "authorizationCode": flow } },
                "open": { "type": "openIdConnect", "openIdConnectUrl": "https://h" },
                "tls": { "type": "mutualTLS" },
            } },
            "paths": { "/a": { "get": { "security": [{ "machine": ["b"], "tls": [] }] } } },
        }));
        let expected = [
            ("basic", SecurityScheme::Basic),
            ("bearer", SecurityScheme::Bearer),
            ("cookie", SecurityScheme::Cookie("c".into())),
            ("digest", SecurityScheme::Header("Authorization".into())),
            ("key", SecurityScheme::Header("X-Key".into())),
            (
                "machine",
                SecurityScheme::ClientCredentials {
                    token_url: "/token".into(),
                    scopes: vec!["b".into()],
                },
            ),
            ("open", SecurityScheme::Bearer),
            ("person", SecurityScheme::Bearer),
            ("query", SecurityScheme::Query("k".into())),
        ];
        let expected = expected.map(|(name, scheme)| (name.to_owned(), scheme));
        assert_eq!(security.schemes, BTreeMap::from(expected));
        assert_eq!(security.notes.len(), 1, "{:?}", security.notes);
        let needs = json!({ "security": [{ "machine": ["b"], "tls": [] }, {}] });
        assert_eq!(security.of(&needs), [vec!["machine".to_owned()], vec![]]);
    }

    #[test]
    fn credential_placement_and_token_origins_are_reported() {
        let flow = |url: &str| json!({ "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": url } } });
        let security = security(json!({ "components": { "securitySchemes": {
            "key": { "type": "apiKey", "in": "query", "name": "k" },
            "far": flow("https://login.example:443/t?x=1"),
            "near": flow("/token"),
            "unused": { "type": "http", "scheme": "basic" },
        } } }));
        let needs = [
            vec!["far".to_owned(), "key".to_owned()],
            vec!["near".to_owned()],
            vec![],
        ];
        let expected = json!({
            "far": "token from https://login.example", "key": "query k", "near": "token from its own address",
        });
        assert_eq!(Value::Object(security.to_json(&needs)), expected);
        assert_eq!(
            security.token_origins(),
            ["https://login.example".to_owned()].into()
        );
    }

    #[test]
    fn schemes_are_optional_if_the_description_requires_none() {
        let schemes = json!({ "a": { "type": "http", "scheme": "bearer" } });
        let components = json!({ "securitySchemes": schemes });
        let silent = security(json!({ "components": components }));
        assert_eq!(silent.of(&json!({})), [vec!["a".to_owned()], vec![]]);
        let asks = security(json!({ "components": components, "security": [{ "a": [] }] }));
        assert_eq!(asks.of(&json!({})), [vec!["a".to_owned()]]);
        assert!(asks.of(&json!({ "security": [] })).is_empty());
        assert!(asks.of(&json!({ "security": [{}] })).is_empty());
    }
}
