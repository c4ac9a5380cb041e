//! A condition on the arguments of a call: a place, and what must hold there.

use serde_json::Value;

use super::{
    place::{Found, Place},
    test::Test,
};

#[derive(Clone, Debug)]
pub(super) struct Condition {
    /// As it was written.
    text: String,
    place: Place,
    test: Test,
}

impl Condition {
    pub(super) fn read(place: &str, test: &toml::Value) -> Result<Self, String> {
        let test = Test::read(test).map_err(|mistake| format!("{place}: {mistake}"))?;
        Ok(Self {
            place: Place::parse(place)?,
            text: place.to_owned(),
            test,
        })
    }

    pub(super) fn place(&self) -> &str {
        &self.text
    }

    /// Where the place names each element of a list, one is enough, unless `every` is wanted: a rule that allows
    /// must not be met by the one harmless file among many, nor by what it cannot look into.
    pub(super) fn holds(&self, arguments: &Value, every: bool) -> bool {
        let mut found = self.place.found(arguments).into_iter();
        match every {
            true => found.all(|found| found != Found::Astray && self.test.holds(found.value())),
            false => found.any(|found| self.test.holds(found.value())),
        }
    }

    /// What stands there, for an explanation.
    pub(super) fn found(&self, arguments: &Value) -> Vec<Option<Value>> {
        let found = self.place.found(arguments).into_iter();
        found.map(|found| found.value().cloned()).collect()
    }
}
