//! A file of calls with the decisions that are expected of the policy.

use std::path::PathBuf;

use mux_proto::{Error, Kind, PolicyAction};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::agents::{ConfigDocument, ConfigFormat};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    case: Vec<PolicyCase>,
}

/// A `[[case]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyCase {
    /// SERVER.TOOL
    pub(super) call: String,
    pub(super) expect: PolicyAction,
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
    pub(super) agent: Option<String>,
    pub(super) client: Option<String>,
    pub(super) workspace: Option<PathBuf>,
}

pub(super) fn parse_cases(text: &str, file: &str) -> Result<Vec<PolicyCase>, Error> {
    let invalid = |message: String| {
        Error::new(Kind::Validation, format!("{file}: {message}"))
            .hint("a case is [[case]] with call = \"SERVER.TOOL\" and expect = \"allow\", \"ask\" or \"deny\"")
    };
    let document = ConfigDocument::parse(text.as_bytes(), ConfigFormat::Toml)
        .map_err(|error| invalid(error.to_string()))?;
    let cases: CaseFile = serde_json::from_value(document.values().clone())
        .map_err(|error| invalid(error.to_string()))?;
    Ok(cases.case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_and_mistakes_are_named() {
        let cases = parse_cases(
            "[[case]]\ncall = \"files.read\"\nexpect = \"allow\"\n\
             [[case]]\ncall = \"files.write\"\narguments = { path = \"/etc/x\", n = 3 }\nagent = \"small\"\nexpect = \"deny\"\n",
            "cases.toml",
        )
        .unwrap();
        assert_eq!(cases.len(), 2);
        assert_eq!(
            (cases[1].expect, cases[1].agent.as_deref()),
            (PolicyAction::Deny, Some("small"))
        );
        assert_eq!(cases[1].arguments["n"], 3);
        for (text, expected) in [
            ("[[case]\n", "cases.toml: line 1"),
            ("[[case]]\ncall = \"a.b\"\n", "missing field `expect`"),
            (
                "[[case]]\ncall = \"a.b\"\nexpect = \"no\"\n",
                "unknown variant `no`",
            ),
            (
                "[[case]]\ncall = \"a.b\"\nexpct = \"ask\"\n",
                "unknown field `expct`",
            ),
            ("", "missing field `case`"),
        ] {
            let error = parse_cases(text, "cases.toml").unwrap_err();
            assert!(error.message.contains(expected), "{text}: {error:?}");
        }
    }
}
