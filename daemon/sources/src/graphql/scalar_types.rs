//! The JSON types of scalars.
//!
//! Invariant: a custom scalar counts as a string or a number only if its name means that in every API. Otherwise its
//! type is unknown.

use serde_json::{Value, json};

/// Custom scalars that are strings in every API.
const TEXT_SCALARS: &[&str] = &[
    "Base64",
    "Base64String",
    "CountryCode",
    "Cuid",
    "Currency",
    "Email",
    "EmailAddress",
    "FormattedString",
    "GUID",
    "GitObjectID",
    "GitRefname",
    "GitSSHRemote",
    "HTML",
    "HexColorCode",
    "Hostname",
    "IBAN",
    "IPv4",
    "IPv6",
    "ISO8601Duration",
    "JWT",
    "LocalDate",
    "LocalDateTime",
    "LocalTime",
    "Locale",
    "MAC",
    "Markdown",
    "NonEmptyString",
    "ObjectID",
    "PhoneNumber",
    "PostalCode",
    "SemVer",
    "TimeZone",
    "ULID",
    "UtcOffset",
    "X509Certificate",
];

/// Custom scalars that are strings with a JSON Schema `format`.
const FORMATTED_SCALARS: &[(&str, &str)] = &[
    ("Date", "date"),
    ("DateTime", "date-time"),
    ("DateTimeISO", "date-time"),
    ("GitTimestamp", "date-time"),
    ("ISO8601Date", "date"),
    ("ISO8601DateTime", "date-time"),
    ("PreciseDateTime", "date-time"),
    ("Time", "time"),
    ("URI", "uri"),
    ("URL", "uri"),
    ("UUID", "uuid"),
];

const INTEGER_SCALARS: &[&str] = &[
    "Byte",
    "Int16",
    "Int32",
    "NegativeInt",
    "NonNegativeInt",
    "NonPositiveInt",
    "Port",
    "PositiveInt",
    "Short",
    "UnsignedInt",
];

const NUMBER_SCALARS: &[&str] = &[
    "Double",
    "Latitude",
    "Longitude",
    "NegativeFloat",
    "NonNegativeFloat",
    "NonPositiveFloat",
    "PositiveFloat",
    "UnsignedFloat",
];

/// Numbers that may exceed JSON's. Some servers send them as strings.
const LARGE_NUMBER_SCALARS: &[&str] = &[
    "BigDecimal",
    "BigInt",
    "BigInteger",
    "BigNumber",
    "Decimal",
    "Int64",
    "Long",
    "SafeInt",
    "UInt64",
];

/// The direction of a value: an argument or a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ValueDirection {
    In,
    Out,
}

/// The JSON Schema of a scalar, without null.
pub(super) fn schema(name: &str, way: ValueDirection) -> Value {
    let format = FORMATTED_SCALARS.iter().find(|(scalar, _)| *scalar == name);
    match name {
        "String" => json!({ "type": "string" }),
        // An integer is accepted as an ID argument. In a result an ID is always a string.
        "ID" if way == ValueDirection::In => json!({ "type": ["string", "integer"] }),
        "ID" => json!({ "type": "string" }),
        "Int" => json!({ "type": "integer" }),
        "Float" => json!({ "type": "number" }),
        "Boolean" => json!({ "type": "boolean" }),
        _ if TEXT_SCALARS.contains(&name) => json!({ "type": "string", "title": name }),
        _ if INTEGER_SCALARS.contains(&name) => json!({ "type": "integer", "title": name }),
        _ if NUMBER_SCALARS.contains(&name) => json!({ "type": "number", "title": name }),
        _ if LARGE_NUMBER_SCALARS.contains(&name) => {
            json!({ "type": ["string", "number"], "title": name })
        }
        _ => match format {
            Some((_, format)) => json!({ "type": "string", "format": format }),
            None => json!({ "title": name }),
        },
    }
}
