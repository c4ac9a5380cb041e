//! Values of the file that have one of two TOML types.

use std::{fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A word, or a list of strings.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a string or a list of strings")]
pub(super) enum WordOrList {
    Word(String),
    List(Vec<String>),
}

/// `true`, `false`, or a table with more.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SwitchOrTable<T> {
    Switch(bool),
    Table(T),
}

// Not derived, so that an error in the table names its key.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for SwitchOrTable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SwitchOrTableVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for SwitchOrTable<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SwitchOrTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [{ "type": "boolean" }, table] })
    }
}

struct SwitchOrTableVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SwitchOrTableVisitor<T> {
    type Value = SwitchOrTable<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a table")
    }

    fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<Self::Value, E> {
        Ok(SwitchOrTable::Switch(is_on))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(table)).map(SwitchOrTable::Table)
    }
}
