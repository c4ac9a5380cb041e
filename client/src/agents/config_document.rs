//! The parsed content of an agent's file, and edits of one entry.
//!
//! Invariant: an edited file parses to the same values as before, except for the one entry. Otherwise the edit fails.

use serde_json::Value;

use super::{config_document_error::ConfigDocumentError, json, line_endings, toml, yaml};

/// The byte order mark, which some programs on Windows write.
const BYTE_ORDER_MARK: &str = "\u{feff}";

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ConfigFormat {
    /// JSON with comments and trailing commas, whether the agent accepts them or not.
    Json,
    Toml,
    Yaml,
}

/// The content of a file, with its parsed values.
#[derive(Debug)]
pub(crate) struct ConfigDocument {
    bom: bool,
    text: String,
    format: ConfigFormat,
    values: Value,
}

impl ConfigDocument {
    /// Parses a file. An empty file has no servers.
    pub(crate) fn parse(bytes: &[u8], format: ConfigFormat) -> Result<Self, ConfigDocumentError> {
        let whole = std::str::from_utf8(bytes).map_err(|_| ConfigDocumentError::NotText)?;
        let text = whole.strip_prefix(BYTE_ORDER_MARK);
        let bom = text.is_some();
        let text = text.unwrap_or(whole).to_owned();
        let values = parse_values(&text, format)?;
        Ok(Self {
            bom,
            text,
            format,
            values,
        })
    }

    /// The whole content as it was read, including a byte order mark.
    pub(crate) fn text(&self) -> String {
        let bom = if self.bom { BYTE_ORDER_MARK } else { "" };
        format!("{bom}{}", self.text)
    }

    /// The values of the whole file.
    pub(crate) fn values(&self) -> &Value {
        &self.values
    }

    /// The value below these keys.
    pub(crate) fn find_value(&self, path: &[&str]) -> Option<&Value> {
        section_value(&self.values, path)
    }

    /// The entries of a section, in the order of the file.
    pub(crate) fn section_entries(&self, section: &[&str]) -> Vec<(&str, &Value)> {
        let entries = self
            .find_value(section)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        entries
            .map(|(name, entry)| (name.as_str(), entry))
            .collect()
    }

    pub(crate) fn find_section_entry(&self, section: &[&str], name: &str) -> Option<&Value> {
        let entries = self.section_entries(section);
        entries
            .into_iter()
            .find_map(|(known, entry)| (known == name).then_some(entry))
    }

    /// The content with this entry added. If an entry of this name exists, its other keys are kept.
    pub(crate) fn with_server_entry(
        &self,
        section: &[&str],
        name: &str,
        entry: &Value,
    ) -> Result<String, ConfigDocumentError> {
        let edited = match self.format {
            ConfigFormat::Json => json::put_json_entry(&self.text, section, name, entry)?,
            ConfigFormat::Toml => toml::put_toml_entry(&self.text, section, name, entry)?,
            ConfigFormat::Yaml => yaml::put_yaml_entry(&self.text, section, name, entry)?,
        };
        let mut expected = self.values.clone();
        let mut place = &mut expected;
        for key in section {
            place = &mut place[*key];
        }
        merge_values(&mut place[name], entry);
        self.verify_edit(edited, &expected)
    }

    /// The TOML content with the value at a path set. The first `headed` keys of the path are a table with a header. A
    /// comment after the value stays.
    pub(crate) fn with_value(
        &self,
        path: &[&str],
        headed: usize,
        value: &Value,
    ) -> Result<String, ConfigDocumentError> {
        let edited = toml::set_toml_value(&self.text, path, headed, value)?;
        let mut expected = self.values.clone();
        let mut place = &mut expected;
        for key in path {
            if !place.is_object() {
                return Err(ConfigDocumentError::Entangled);
            }
            place = &mut place[*key];
            if place.is_null() {
                *place = Value::Object(serde_json::Map::new());
            }
        }
        *place = value.clone();
        self.verify_edit(edited, &expected)
    }

    /// The TOML content with a table added to a list of tables, as its first item or as its last.
    pub(crate) fn with_list_item(
        &self,
        list: &str,
        item: &Value,
        is_last: bool,
    ) -> Result<String, ConfigDocumentError> {
        let edited = toml::add_toml_item(&self.text, list, item, is_last)?;
        let mut expected = self.values.clone();
        let items = &mut expected[list];
        if items.is_null() {
            *items = Value::Array(Vec::new());
        }
        if let Some(items) = items.as_array_mut() {
            let index = if is_last { items.len() } else { 0 };
            items.insert(index, item.clone());
        }
        self.verify_edit(edited, &expected)
    }

    /// The content with this entry removed.
    pub(crate) fn without_server_entry(
        &self,
        section: &[&str],
        name: &str,
    ) -> Result<String, ConfigDocumentError> {
        let edited = match self.format {
            ConfigFormat::Json => json::take_json_entry(&self.text, section, name)?,
            ConfigFormat::Toml => toml::take_toml_entry(&self.text, section, name)?,
            ConfigFormat::Yaml => yaml::take_yaml_entry(&self.text, section, name)?,
        };
        let mut expected = self.values.clone();
        remove_value(&mut expected, section, name);
        if self.format == ConfigFormat::Toml {
            // A TOML table exists only through its entries.
            for depth in (0..section.len()).rev() {
                let now = parse_values(&edited, self.format)?;
                if section_value(&now, &section[..=depth]).is_none() {
                    remove_value(&mut expected, &section[..depth], section[depth]);
                }
            }
        }
        self.verify_edit(edited, &expected)
    }

    fn verify_edit(&self, edited: String, expected: &Value) -> Result<String, ConfigDocumentError> {
        let edited = line_endings::keep_line_endings(&self.text, &edited);
        if parse_values(&edited, self.format)? != *expected {
            return Err(ConfigDocumentError::Entangled);
        }
        let bom = if self.bom { BYTE_ORDER_MARK } else { "" };
        Ok(format!("{bom}{edited}"))
    }
}

fn parse_values(text: &str, format: ConfigFormat) -> Result<Value, ConfigDocumentError> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match format {
        ConfigFormat::Json => json::read_json(text),
        ConfigFormat::Toml => toml::read_toml(text),
        ConfigFormat::Yaml => yaml::read_yaml(text),
    }
}

fn section_value<'a>(values: &'a Value, section: &[&str]) -> Option<&'a Value> {
    section.iter().try_fold(values, |value, key| value.get(key))
}

fn remove_value(values: &mut Value, section: &[&str], name: &str) {
    let found = section
        .iter()
        .try_fold(values, |value, key| value.get_mut(key));
    if let Some(Value::Object(entries)) = found {
        entries.shift_remove(name);
    }
}

fn merge_values(old: &mut Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                merge_values(old.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (old, new) => *old = new.clone(),
    }
}
