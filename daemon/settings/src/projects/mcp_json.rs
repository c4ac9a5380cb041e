//! Parses `.mcp.json`, the project file of Claude Code. No I/O.
//!
//! Invariant: a string means the same as in Claude Code, which expands only `${NAME}` and `${NAME:-default}`: no
//! file written for it runs a command by `${cmd:…}`.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value};

use mux_config::{OauthClient, Ranged, RemoteTransport, ServerEntry, SwitchOrTable, parse_errors};

type ServerEntries = BTreeMap<String, Result<ServerEntry, String>>;

#[derive(Deserialize)]
struct McpJsonDocument {
    #[serde(rename = "mcpServers")]
    servers: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpJsonEntry {
    r#type: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    oauth: Option<McpJsonOauth>,
    /// The timeout of one call, in milliseconds.
    timeout: Option<u64>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpJsonOauth {
    client_id: Option<String>,
    callback_port: Option<u16>,
    scopes: Option<String>,
}

/// Parses a file. The second value has a note for each ignored key.
pub(super) fn read_mcp_json(text: &str) -> Result<(ServerEntries, Vec<String>), String> {
    let document: McpJsonDocument =
        serde_json::from_str(text).map_err(|error| parse_errors::in_json(&error))?;
    let mut notes = Vec::new();
    let mut servers = ServerEntries::new();
    for (name, value) in document.servers {
        let entry = McpJsonEntry::deserialize(&value);
        let entry = entry.map_err(|error| parse_errors::in_entry::<McpJsonEntry>(&value, &error));
        let entry = entry.and_then(|entry: McpJsonEntry| {
            for key in entry.more.keys() {
                notes.push(format!(
                    "`{key}` of `{name}` is ignored: muxd does not support it"
                ));
            }
            to_server_entry(entry)
        });
        servers.insert(name, entry);
    }
    Ok((servers, notes))
}

fn to_server_entry(entry: McpJsonEntry) -> Result<ServerEntry, String> {
    let transport = match (entry.r#type.as_deref(), &entry.url) {
        (None | Some("stdio"), None) => None,
        (None, Some(_)) => None,
        (Some("http" | "streamable-http" | "streamableHttp"), _) => {
            Some(RemoteTransport::StreamableHttp)
        }
        (Some("sse"), _) => Some(RemoteTransport::Sse),
        (Some(_), _) => return Err("`type` must be one of stdio, http, sse".into()),
    };
    let all = |pairs: BTreeMap<String, String>| {
        let pairs = pairs.into_iter();
        pairs
            .map(|(name, text)| (name, to_mux_syntax(&text)))
            .collect()
    };
    let oauth = entry.oauth.map(|own| {
        let scopes = own.scopes.unwrap_or_default();
        SwitchOrTable::Table(OauthClient {
            client_id: own.client_id.as_deref().map(to_mux_syntax),
            scopes: scopes.split_whitespace().map(Into::into).collect(),
            port: own.callback_port,
            ..OauthClient::default()
        })
    });
    Ok(ServerEntry {
        command: entry.command.as_deref().map(to_mux_syntax),
        args: entry.args.iter().map(|arg| to_mux_syntax(arg)).collect(),
        env: all(entry.env),
        url: entry.url.as_deref().map(to_mux_syntax),
        headers: all(entry.headers),
        transport,
        oauth,
        call_timeout: entry
            .timeout
            .map_or_else(Ranged::default, |ms| Ranged(Duration::from_millis(ms))),
        ..ServerEntry::default()
    })
}

/// Translates a string to the syntax of config.toml: keeps references, and escapes every other dollar sign.
fn to_mux_syntax(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (piece, length) = match leading_reference(rest) {
            Some(reference) => (reference, reference.len()),
            None => ("$$", 1),
        };
        out.push_str(piece);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// `${NAME}` or `${NAME:-default}` at the beginning of a string.
fn leading_reference(text: &str) -> Option<&str> {
    let end = text.find('}')?;
    let inside = text[..end].strip_prefix("${")?;
    let name = inside.split_once(":-").map_or(inside, |(name, _)| name);
    // `${cmd:…}` and `${keyring:…}` are syntax of config.toml only.
    let is_command = inside.starts_with("cmd:") || inside.starts_with("keyring:");
    let is_name = !name.is_empty()
        && !is_command
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(&text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_config::environment::Environment;

    #[test]
    fn entries_are_read_as_claude_code_reads_them() {
        let (servers, notes) = read_mcp_json(
            r#"{
              "mcpServers": {
                "db": {
                  "command": "npx",
                  "args": ["-y", "@acme/db", "${DB_URL:-postgres://localhost/dev}"],
                  "env": {"TOKEN": "${DB_TOKEN}", "PRICE": "$5", "RUN": "${cmd:id}"},
                  "alwaysLoad": true
                },
                "docs": {
                  "type": "http",
                  "url": "${DOCS:-https://docs.example.com}/mcp",
                  "headers": {"Authorization": "Bearer ${KEY}"},
                  "oauth": {"clientId": "abc", "callbackPort": 8123, "scopes": "read write"},
                  "timeout": 30000
                },
                "old": {"type": "sse", "url": "https://old.example.com/sse"},
                "odd": {"type": "carrier-pigeon", "url": "https://x"},
                "bad": {"command": 3}
              },
              "other": 1
            }"#,
        )
        .unwrap();
        let entry = |name: &str| servers[name].as_ref().unwrap();
        let environment = Environment::of([("DB_TOKEN".into(), "t".into())]);
        let expand = |text: &str| environment.expand(text).unwrap();
        let db = entry("db");
        assert_eq!(expand(&db.args[2]), "postgres://localhost/dev");
        assert_eq!(expand(&db.env["TOKEN"]), "t");
        assert_eq!(expand(&db.env["PRICE"]), "$5");
        assert_eq!(expand(&db.env["RUN"]), "${cmd:id}");
        assert!(db.commands().is_empty());
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("`alwaysLoad` of `db`"));
        let docs = entry("docs");
        assert_eq!(docs.transport, Some(RemoteTransport::StreamableHttp));
        assert_eq!(docs.call_timeout.0, Duration::from_secs(30));
        assert_eq!(docs.headers["Authorization"], "Bearer ${KEY}");
        assert!(matches!(&docs.oauth, Some(SwitchOrTable::Table(own)) if own.port == Some(8123)));
        assert_eq!(entry("old").transport, Some(RemoteTransport::Sse));
        assert!(servers["odd"].as_ref().unwrap_err().contains("`type`"));
        let bad = servers["bad"].as_ref().unwrap_err();
        assert!(bad.contains("string in `command`"), "{bad}");
        assert!(read_mcp_json("{}").is_err() && read_mcp_json("{\"mcpServers\": []}").is_err());
    }

    #[test]
    fn errors_do_not_repeat_secrets() {
        let text = r#"{"mcpServers": {
            "a": {"command": "x", "args": "sk-live-7"}, "b": {"type": "sk-live-7"}}}"#;
        let (servers, _) = read_mcp_json(text).unwrap();
        for (name, key) in [("a", "`args`"), ("b", "`type`")] {
            let error = servers[name].as_ref().unwrap_err();
            assert!(error.contains(key) && !error.contains("sk-live"), "{error}");
        }
        for text in [
            r#"{"mcpServers": "sk-live-7"}"#,
            r#"{"mcpServers": sk-live-7}"#,
        ] {
            let error = read_mcp_json(text).unwrap_err();
            assert!(
                error.contains("line 1") && !error.contains("sk-live"),
                "{error}"
            );
        }
    }

    #[test]
    fn dollar_signs_outside_references_are_literal() {
        let environment = Environment::of([("A".into(), "1".into())]);
        for (theirs, value) in [
            ("${A}", "1"),
            ("$A $$ ${", "$A $$ ${"),
            ("$${A}", "$1"),
            ("${A-b} ${1}", "${A-b} ${1}"),
            ("${B:-$x}", "$x"),
            ("${cmd:-x}", "${cmd:-x}"),
        ] {
            assert_eq!(
                environment.expand(&to_mux_syntax(theirs)).unwrap(),
                value,
                "{theirs}"
            );
        }
    }
}
