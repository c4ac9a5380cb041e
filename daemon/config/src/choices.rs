//! Values of the file that are one of several words.
//!
//! Invariant: the words of a key are the variants of its type. The check, its message and the schema come from there.

use std::{borrow::Cow, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::parse_errors::wrong_value;

/// The treatment of programs with type errors.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum CheckMode {
    /// The program does not run.
    #[default]
    Error,
    /// The program runs, and the errors are reported as warnings.
    Warn,
    /// Types are not checked.
    Off,
}

/// The profile by which `mux mcp` adapts its output to an agent.
///
/// The names are those of `client/src/mcp/profiles.toml`, which defines the profiles. A test compares them.
#[derive(Clone, Copy, Debug, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AgentProfile {
    Careful,
    Whole,
    ClaudeCode,
    Codex,
    GeminiCli,
    Opencode,
    CopilotCli,
    QwenCode,
}

/// The reaction to a tool definition that has changed since it was first trusted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum OnChange {
    /// Calls of the tool are refused until the user accepts the change.
    #[default]
    Refuse,
    /// The changed tool is offered, and the change is reported with its server until the user accepts it.
    Warn,
    /// Definitions are neither recorded nor compared.
    Off,
}

/// The handling of results that seem to contain a secret.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum SecretSearch {
    /// The secret is masked before anyone reads the result.
    Mask,
    /// The result is passed on, and reported with its server.
    #[default]
    Warn,
    /// Results are not searched.
    Off,
}

/// The sandbox mode of servers whose entry has no `sandbox`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum SandboxMode {
    /// These servers run in a sandbox that grants no access to the user's files.
    Enforce,
    /// These servers run without a sandbox, and are reported.
    #[default]
    Warn,
    /// These servers run without a sandbox.
    Off,
}

/// Where tokens and secrets are stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum KeyringUse {
    /// In the system's keyring, if there is one.
    Auto,
    /// In a file.
    Never,
}

/// When a session is opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum StartMode {
    /// By a call. If the server was called lately, also in the background: when the daemon starts, or after its process
    /// has ended.
    #[default]
    Auto,
    /// By a call only.
    Lazy,
    /// When the daemon starts, and whenever it has ended.
    Eager,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum RemoteTransport {
    StreamableHttp,
    Sse,
}

/// How a client's secret is sent to the token endpoint: methods of RFC 7591.
#[derive(Clone, Copy, Debug, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum ClientAuthentication {
    /// `client_secret_basic`
    Basic,
    /// `client_secret_post`
    Post,
}

/// A generation of the MCP protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
pub enum ProtocolEra {
    /// From 2026-07-28 on: requests are independent of each other, and the server sends none.
    #[strum(serialize = "2026-07-28")]
    Modern,
    /// Up to 2025-11-25: a session begins with `initialize`, and the server may send requests.
    #[strum(serialize = "2025-11-25")]
    Legacy,
}

impl ProtocolEra {
    /// The value of the key `era` for this era.
    pub fn revision(self) -> &'static str {
        self.into()
    }
}

/// Which callers share one session.
#[derive(
    Clone,
    Copy,
    Debug,
    Eq,
    Hash,
    Ord,
    PartialEq,
    PartialOrd,
    strum::Display,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum ShareMode {
    User,
    Workspace,
    Client,
    Run,
}

/// Which calls may be retried if their outcome is unknown.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum RetryPolicy {
    #[default]
    Never,
    /// Calls of tools annotated as read-only.
    ReadOnly,
    /// Calls of tools annotated as read-only or idempotent.
    Idempotent,
}

/// The handling of results that do not match the tool's output schema.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum ResultCheck {
    /// The call fails: the protocol requires results to match the declared schema.
    #[default]
    Error,
    /// The result is passed on, with a warning in the log and in the server's status.
    Warn,
    /// Results are not checked.
    Off,
}

/// Reads and describes each of these types by its variants.
macro_rules! choices {
    ($($choice:ident),+ $(,)?) => {$(
        impl<'de> Deserialize<'de> for $choice {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                parse_word(&String::deserialize(deserializer)?, Self::VARIANTS)
            }
        }

        impl Serialize for $choice {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str((*self).into())
            }
        }

        impl JsonSchema for $choice {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($choice).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": Self::VARIANTS })
            }
        }
    )+};
}

choices!(
    CheckMode,
    AgentProfile,
    OnChange,
    SecretSearch,
    SandboxMode,
    KeyringUse,
    StartMode,
    RemoteTransport,
    ClientAuthentication,
    ProtocolEra,
    ShareMode,
    RetryPolicy,
    ResultCheck,
);

/// Reads a word of `T`, or `auto`, which is `None`.
pub(super) fn or_auto<'de, D: Deserializer<'de>, T: FromStr + VariantNames>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text == "auto" {
        return Ok(None);
    }
    parse_word(&text, &with_auto::<T>()).map(Some)
}

pub(super) fn or_auto_schema<T: VariantNames>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": with_auto::<T>() })
}

fn with_auto<T: VariantNames>() -> Vec<&'static str> {
    [&["auto"], T::VARIANTS].concat()
}

fn parse_word<T: FromStr, E: de::Error>(text: &str, words: &[&str]) -> Result<T, E> {
    text.parse().map_err(|_| {
        let why = format!("is none of {}", words.join(", "));
        wrong_value(format!("{text:?}"), why)
    })
}
