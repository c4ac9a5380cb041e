//! Security schemes of a GraphQL API. The schema does not describe them, so the names in the entry's `auth` choose
//! them.
//!
//! `bearer = "…"` and `basic = { username, password }` are the schemes of these names. Any other name is a header.
//!
//! Invariant: all credentials of the entry are sent with every request.

use std::collections::BTreeMap;

use reqwest::header::HeaderName;

use super::super::http::SecurityScheme;
use mux_settings::SourceCredential;

const BEARER_ENTRY: &str = "bearer";
const BASIC_ENTRY: &str = "basic";

/// The security scheme of each credential, by its name in `auth`.
pub(super) fn schemes(
    credentials: &BTreeMap<String, SourceCredential>,
) -> Result<BTreeMap<String, SecurityScheme>, String> {
    let mut schemes = BTreeMap::new();
    for (name, credential) in credentials {
        let scheme = match (name.as_str(), credential) {
            (BEARER_ENTRY, SourceCredential::Text(_)) => SecurityScheme::Bearer,
            (BASIC_ENTRY, SourceCredential::Basic { .. }) => SecurityScheme::Basic,
            (BEARER_ENTRY, _) => return Err("auth.bearer must be a string: the token".into()),
            (BASIC_ENTRY, _) => {
                return Err("auth.basic must be { username = \"…\", password = \"…\" }".into());
            }
            (header, SourceCredential::Text(_)) if HeaderName::try_from(header).is_ok() => {
                SecurityScheme::Header(header.to_owned())
            }
            (header, SourceCredential::Text(_)) => {
                return Err(format!(
                    "auth.{header:?} is neither `bearer` nor `basic`, nor a valid header name"
                ));
            }
            (header, _) => {
                return Err(format!(
                    "auth.{header} is sent as a header and must be a string; for a username and a password use `basic`"
                ));
            }
        };
        schemes.insert(name.clone(), scheme);
    }
    let signs_in = |scheme: &SecurityScheme| match scheme {
        SecurityScheme::Bearer | SecurityScheme::Basic => true,
        SecurityScheme::Header(name) => name.eq_ignore_ascii_case("authorization"),
        _ => false,
    };
    let several: Vec<&str> = schemes
        .iter()
        .filter(|(_, scheme)| signs_in(scheme))
        .map(|(name, _)| name.as_str())
        .collect();
    match several.len() {
        0 | 1 => Ok(schemes),
        _ => Err(format!(
            "auth.{} would use the same header: keep one",
            several.join(" and auth.")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &[(&str, bool)]) -> Result<Vec<SecurityScheme>, String> {
        let credentials = given.iter().map(|(name, is_text)| {
            let credential = match is_text {
                true => SourceCredential::Text("t".into()),
                false => SourceCredential::Basic {
                    username: "u".into(),
                    password: "p".into(),
                },
            };
            ((*name).to_owned(), credential)
        });
        schemes(&credentials.collect()).map(|schemes| schemes.into_values().collect())
    }

    #[test]
    fn credential_name_selects_the_security_scheme() {
        assert_eq!(read(&[]).unwrap(), []);
        assert_eq!(
            read(&[("bearer", true), ("X-Key", true)]).unwrap(),
            [
                SecurityScheme::Header("X-Key".into()),
                SecurityScheme::Bearer
            ]
        );
        assert_eq!(read(&[("basic", false)]).unwrap(), [SecurityScheme::Basic]);
        for (given, part) in [
            (&[("bearer", false)][..], "the token"),
            (&[("basic", true)], "username"),
            (&[("X-Key", false)], "`basic`"),
            (&[("X Key", true)], "header"),
            (&[("basic", false), ("bearer", true)], "keep one"),
            (&[("Authorization", true), ("bearer", true)], "keep one"),
        ] {
            let why = read(given).unwrap_err();
            assert!(why.contains(part), "{given:?}: {why}");
        }
    }
}
