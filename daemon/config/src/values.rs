//! Durations, sizes and numbers of the file, each with its range and its default.
//!
//! Invariant: a key's range and default are parameters of its type. The check, its message, the schema and the reference
//! all come from there.

use std::{borrow::Cow, fmt, time::Duration};

use bytesize::ByteSize;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, IntoDeserializer as _, Visitor},
};

use super::{
    parse_errors::wrong_value,
    units::{duration_text, size_text},
};

/// As a maximum: no maximum. As a default: the key has no constant default.
const NONE: u64 = u64::MAX;

/// A value between `LEAST` and `MOST`, in the unit of `T`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ranged<T, const LEAST: u64, const MOST: u64, const DEFAULT: u64>(pub T);

/// A duration. The parameters are in seconds.
pub type Seconds<const LEAST: u64 = 0, const MOST: u64 = NONE, const DEFAULT: u64 = NONE> =
    Ranged<Duration, LEAST, MOST, DEFAULT>;

/// A size: a number of bytes, or a string such as `"64MiB"`.
pub type Bytes<const LEAST: u64, const MOST: u64, const DEFAULT: u64 = NONE> =
    Ranged<ByteSize, LEAST, MOST, DEFAULT>;

/// A whole number.
pub type Count<const LEAST: u64, const MOST: u64, const DEFAULT: u64 = NONE> =
    Ranged<u64, LEAST, MOST, DEFAULT>;

/// `"never"`, which is `None`, or a duration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OrNever<T>(pub Option<T>);

/// A type of values that have an order.
pub trait RangedValue: Copy + PartialOrd {
    fn of(number: u64) -> Self;

    /// Reads a value of any size.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// The value as it is written in the file.
    fn text(self) -> String;

    fn schema(least: u64, most: u64) -> Schema;
}

impl RangedValue for Duration {
    fn of(number: u64) -> Self {
        Self::from_secs(number)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map_err(|error| {
            let why = format!("is not a duration such as \"30s\" ({error})");
            wrong_value(format!("{text:?}"), why)
        })
    }

    fn text(self) -> String {
        duration_text(self)
    }

    fn schema(_: u64, _: u64) -> Schema {
        json_schema!({ "type": "string", "x-type": "duration", "examples": ["30s", "5m", "1h 30m"] })
    }
}

impl RangedValue for ByteSize {
    fn of(number: u64) -> Self {
        Self(number)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }

    fn text(self) -> String {
        size_text(self.0)
    }

    fn schema(_: u64, _: u64) -> Schema {
        json_schema!({
            "type": ["string", "integer"], "minimum": 0, "x-type": "size",
            "examples": ["64KiB", "64MiB", 65536]
        })
    }
}

impl RangedValue for u64 {
    fn of(number: u64) -> Self {
        number
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        Self::try_from(number).map_err(|_| wrong_value(number, "is less than 0"))
    }

    fn text(self) -> String {
        self.to_string()
    }

    fn schema(least: u64, most: u64) -> Schema {
        json_schema!({ "type": "integer", "minimum": least, "maximum": most })
    }
}

impl<T: RangedValue, const LEAST: u64, const MOST: u64, const DEFAULT: u64> Default
    for Ranged<T, LEAST, MOST, DEFAULT>
{
    fn default() -> Self {
        Self(T::of(DEFAULT))
    }
}

impl<'de, T: RangedValue, const LEAST: u64, const MOST: u64, const DEFAULT: u64> Deserialize<'de>
    for Ranged<T, LEAST, MOST, DEFAULT>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = T::read(deserializer)?;
        if (T::of(LEAST)..=T::of(MOST)).contains(&value) {
            return Ok(Self(value));
        }
        let least = T::of(LEAST).text();
        let why = if MOST == NONE {
            format!("is less than {least}")
        } else {
            format!("is not between {least} and {}", T::of(MOST).text())
        };
        Err(wrong_value(value.text(), why))
    }
}

impl<T: RangedValue, const LEAST: u64, const MOST: u64, const DEFAULT: u64> JsonSchema
    for Ranged<T, LEAST, MOST, DEFAULT>
{
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Ranged".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = |number| T::of(number).text();
        let mut schema = T::schema(LEAST, MOST);
        let is_number = schema.get("maximum").is_some();
        if !is_number && MOST != NONE {
            let range = format!("{} to {}", text(LEAST), text(MOST));
            schema.insert("x-range".into(), range.into());
        } else if !is_number && LEAST > 0 {
            let range = format!("at least {}", text(LEAST));
            schema.insert("x-range".into(), range.into());
        }
        if DEFAULT != NONE {
            let default = if is_number {
                DEFAULT.into()
            } else {
                text(DEFAULT).into()
            };
            schema.insert("default".into(), default);
        }
        schema
    }
}

impl<const LEAST: u64, const MOST: u64, const DEFAULT: u64> Bytes<LEAST, MOST, DEFAULT> {
    /// The size as a `u32`, for ranges below 4 GiB.
    pub fn as_u32(self) -> u32 {
        u32::try_from(self.0.0).unwrap_or(u32::MAX)
    }

    pub fn as_usize(self) -> usize {
        usize::try_from(self.0.0).unwrap_or(usize::MAX)
    }
}

impl<const LEAST: u64, const MOST: u64, const DEFAULT: u64> Count<LEAST, MOST, DEFAULT> {
    /// The number as a `u32`, for ranges below 4 billion.
    pub fn as_u32(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }

    pub fn as_usize(self) -> usize {
        self.as_u32() as usize
    }
}

impl<T: Default> Default for OrNever<T> {
    fn default() -> Self {
        Self(Some(T::default()))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrNever<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "never" {
            return Ok(Self(None));
        }
        T::deserialize(text.into_deserializer()).map(|value| Self(Some(value)))
    }
}

impl<T: JsonSchema> JsonSchema for OrNever<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OrNever".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.insert("x-type".into(), "duration or `\"never\"`".into());
        schema.insert("examples".into(), ["30m", "never"].as_slice().into());
        schema
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = ByteSize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as \"64MiB\" or 65536")
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<ByteSize, E> {
        let bytes_or_error = u64::try_from(bytes).map(ByteSize);
        bytes_or_error.map_err(|_| wrong_value(bytes, "is less than 0"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteSize, E> {
        let why = "is not a size such as \"64MiB\" or 65536";
        text.parse()
            .map_err(|_| wrong_value(format!("{text:?}"), why))
    }
}
