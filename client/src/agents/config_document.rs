//! The parsed content of an agent's file, and edits of one entry.
//!
//! Invariant: an edited file parses to the same values as before, except for the one entry. Otherwise the edit fails.

use std::path::{Path, PathBuf};

use mux_typegen::names::spell;
use serde_json::{Value, json};

use super::{
    config_document_error::{ConfigDocumentError, ConfigFileError},
    json, line_endings, toml, yaml,
};

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
#[derive(Clone, Debug)]
pub(crate) struct ConfigDocument {
    /// Empty for content that is in no file.
    file: PathBuf,
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
            file: PathBuf::new(),
            bom,
            text,
            format,
            values,
        })
    }

    /// Parses the content of a file, which all errors name.
    pub(super) fn parse_file(
        file: &Path,
        bytes: &[u8],
        format: ConfigFormat,
    ) -> Result<Self, ConfigFileError> {
        let file = file.to_owned();
        match Self::parse(bytes, format) {
            Ok(document) => Ok(Self { file, ..document }),
            Err(error) => Err(ConfigFileError { file, error }),
        }
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
    pub(crate) fn find_value(&self, path: &[impl AsRef<str>]) -> Option<&Value> {
        find_value(&self.values, path)
    }

    /// The entries of a section, in the order of the file.
    pub(crate) fn section_entries(&self, section: &[impl AsRef<str>]) -> Vec<(&str, &Value)> {
        let entries = self.find_value(section).and_then(Value::as_object);
        let entries = entries.into_iter().flatten();
        entries
            .map(|(name, entry)| (name.as_str(), entry))
            .collect()
    }

    pub(crate) fn find_section_entry(
        &self,
        section: &[impl AsRef<str>],
        name: &str,
    ) -> Option<&Value> {
        self.find_value(section)?.as_object()?.get(name)
    }

    /// The entry whose name programs spell like this one.
    pub(crate) fn find_spelled_entry(
        &self,
        section: &[impl AsRef<str>],
        name: &str,
    ) -> Option<(&str, &Value)> {
        let mut entries = self.section_entries(section).into_iter();
        entries.find(|(known, _)| spell(known) == spell(name))
    }

    /// The document with this entry added. If an entry of this name exists, its other keys are kept.
    pub(crate) fn with_server_entry(
        &self,
        section: &[impl AsRef<str>],
        name: &str,
        entry: &Value,
    ) -> Result<Self, ConfigFileError> {
        let section = &section.iter().map(AsRef::as_ref).collect::<Vec<_>>();
        let edited = match self.format {
            ConfigFormat::Json => json::put_json_entry(&self.source(), section, name, entry),
            ConfigFormat::Toml => toml::put_toml_entry(&self.source(), section, name, entry),
            ConfigFormat::Yaml => yaml::put_yaml_entry(&self.source(), section, name, entry),
        };
        let edited = edited.map_err(|error| self.failed(error))?;
        let mut expected = self.values.clone();
        let path = [section.as_slice(), &[name]].concat();
        if let Some(old) = value_at(&mut expected, &path) {
            merge_values(old, entry);
        }
        self.verify_edit(&edited, &expected)
    }

    /// The TOML document with the value at a path set. The first `headed` keys of the path are a table with a header. A
    /// comment after the value stays.
    pub(crate) fn with_value(
        &self,
        path: &[impl AsRef<str>],
        headed: usize,
        value: &Value,
    ) -> Result<Self, ConfigFileError> {
        let path = &path.iter().map(AsRef::as_ref).collect::<Vec<_>>();
        let edited = toml::set_toml_value(&self.source(), path, headed, value);
        let edited = edited.map_err(|error| self.failed(error))?;
        let mut expected = self.values.clone();
        if let Some(old) = value_at(&mut expected, path) {
            *old = value.clone();
        }
        self.verify_edit(&edited, &expected)
    }

    /// The TOML document with a table added to a list of tables, as its first item or as its last.
    pub(crate) fn with_list_item(
        &self,
        list: &str,
        item: &Value,
        is_last: bool,
    ) -> Result<Self, ConfigFileError> {
        let edited = toml::add_toml_item(&self.source(), list, item, is_last);
        let edited = edited.map_err(|error| self.failed(error))?;
        let mut expected = self.values.clone();
        let items = &mut expected[list];
        if items.is_null() {
            *items = json!([]);
        }
        if let Some(items) = items.as_array_mut() {
            let index = if is_last { items.len() } else { 0 };
            items.insert(index, item.clone());
        }
        self.verify_edit(&edited, &expected)
    }

    /// The document with this entry removed.
    pub(crate) fn without_server_entry(
        &self,
        section: &[impl AsRef<str>],
        name: &str,
    ) -> Result<Self, ConfigFileError> {
        let section = &section.iter().map(AsRef::as_ref).collect::<Vec<_>>();
        let edited = match self.format {
            ConfigFormat::Json => json::take_json_entry(&self.source(), section, name),
            ConfigFormat::Toml => toml::take_toml_entry(&self.source(), section, name),
            ConfigFormat::Yaml => yaml::take_yaml_entry(&self.source(), section, name),
        };
        let edited = edited.map_err(|error| self.failed(error))?;
        let mut expected = self.values.clone();
        remove_value(&mut expected, section, name);
        if self.format == ConfigFormat::Toml {
            // A TOML table exists only through its entries.
            let now = self.parse_edited(&edited)?;
            for (depth, key) in section.iter().enumerate().rev() {
                if find_value(&now, &section[..=depth]).is_none() {
                    remove_value(&mut expected, &section[..depth], key);
                }
            }
        }
        self.verify_edit(&edited, &expected)
    }

    /// The content for an edit. Some editors normalize line endings, and [`Self::verify_edit`] restores them.
    fn source(&self) -> String {
        self.text.replace("\r\n", "\n")
    }

    fn verify_edit(&self, edited: &str, expected: &Value) -> Result<Self, ConfigFileError> {
        let text = line_endings::keep_line_endings(&self.text, edited);
        let values = self.parse_edited(&text)?;
        if values != *expected {
            return Err(self.failed(ConfigDocumentError::Entangled));
        }
        Ok(Self {
            file: self.file.clone(),
            text,
            values,
            ..*self
        })
    }

    fn parse_edited(&self, text: &str) -> Result<Value, ConfigFileError> {
        parse_values(text, self.format).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: ConfigDocumentError) -> ConfigFileError {
        ConfigFileError {
            file: self.file.clone(),
            error,
        }
    }
}

/// A value below these keys, each the only key of an object.
pub(super) fn nested_value(path: &[&str], value: &Value) -> Value {
    let keys = path.iter().rev();
    keys.fold(value.clone(), |value, key| json!({ *key: value }))
}

fn parse_values(text: &str, format: ConfigFormat) -> Result<Value, ConfigDocumentError> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match format {
        ConfigFormat::Json => json::read_json(text),
        ConfigFormat::Toml => toml::read_toml(text),
        ConfigFormat::Yaml => yaml::read_yaml(text),
    }
}

fn find_value<'a>(values: &'a Value, path: &[impl AsRef<str>]) -> Option<&'a Value> {
    let mut path = path.iter();
    path.try_fold(values, |value, key| value.get(key.as_ref()))
}

/// The value at a path, with missing objects created. `None` if a key on the way has another value.
fn value_at<'a>(values: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(values, |value, key| {
        if value.is_null() {
            *value = json!({});
        }
        let fields = value.as_object_mut()?;
        Some(fields.entry(*key).or_insert(Value::Null))
    })
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
