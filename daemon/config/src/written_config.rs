//! The values of the configuration file as they are written.

use std::fmt;

use toml::{Table, Value};

/// `Debug` shows none of the values: some are secrets.
#[derive(Clone, Default)]
pub struct WrittenConfig(pub(super) Table);

impl WrittenConfig {
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        let (last, above) = keys.split_last()?;
        let table = above
            .iter()
            .try_fold(&self.0, |table, key| table.get(*key)?.as_table());
        table?.get(*last)
    }

    /// The members of a section. Empty if the section does not exist.
    pub fn members(&self, section: &str) -> impl Iterator<Item = (&str, &Value)> {
        let table = self.0.get(section).and_then(Value::as_table);
        let members = table.into_iter().flatten();
        members.map(|(key, value)| (key.as_str(), value))
    }
}

impl fmt::Debug for WrittenConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WrittenConfig")
    }
}
