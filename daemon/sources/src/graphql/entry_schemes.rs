//! Credentials of an API whose schema says nothing of them: the entry's own words say how each is shown.
//!
//! `bearer = "…"` and `basic = { username, password }` are what they say; any other name is a header.
//! Invariant: all that the entry has goes with every request.

use std::collections::BTreeMap;

use reqwest::header::HeaderName;

use super::super::http::SecurityScheme;
use mux_settings::SourceCredential;

const BEARER_ENTRY: &str = "bearer";
const BASIC_ENTRY: &str = "basic";

/// How each is shown, by its name in `auth`.
pub(super) fn schemes(
    credentials: &BTreeMap<String, SourceCredential>,
) -> Result<BTreeMap<String, SecurityScheme>, String> {
    let mut schemes = BTreeMap::new();
    for (name, credential) in credentials {
        let scheme = match (name.as_str(), credential) {
            (BEARER_ENTRY, SourceCredential::Text(_)) => SecurityScheme::Bearer,
            (BASIC_ENTRY, SourceCredential::Basic { .. }) => SecurityScheme::Basic,
            (BEARER_ENTRY, _) => return Err("auth.bearer is a text: the token".into()),
            (BASIC_ENTRY, _) => {
                return Err("auth.basic is a table: { username = \"…\", password = \"…\" }".into());
            }
            (header, SourceCredential::Text(_)) if HeaderName::try_from(header).is_ok() => {
                SecurityScheme::Header(header.to_owned())
            }
            (header, SourceCredential::Text(_)) => {
                return Err(format!(
                    "auth.{header:?} is neither `bearer` nor `basic`, nor can a header be called so"
                ));
            }
            (header, _) => {
                return Err(format!(
                    "auth.{header} goes as a header and is a text; a name with a password is `basic`"
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
            "auth.{} would stand in the same header: keep one",
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
    fn the_name_of_an_entry_says_how_it_is_shown() {
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
