//! A condition on the arguments of a call: a place, and what must hold there.

use serde_json::Value;

use super::{
    argument_path::{ArgumentPath, PathTarget},
    argument_test::{ArgumentTest, TestResult},
};

#[derive(Clone, Debug)]
pub(super) struct ArgumentCondition {
    /// As it was written.
    text: String,
    place: ArgumentPath,
    test: ArgumentTest,
}

impl ArgumentCondition {
    pub(super) fn read(
        place: &str,
        test: &toml::Value,
        largest_regex: usize,
    ) -> Result<Self, String> {
        let test = ArgumentTest::read(test, largest_regex)
            .map_err(|mistake| format!("{place}: {mistake}"))?;
        Ok(Self {
            place: ArgumentPath::parse(place)?,
            text: place.to_owned(),
            test,
        })
    }

    pub(super) fn place(&self) -> &str {
        &self.text
    }

    /// Where the place names each element of a list, one is enough, unless `every` is wanted: a rule that allows
    /// must not be met by the one harmless file among many, nor by what it cannot look into, nor by what may be
    /// something else for the server. Every other rule is met by what may be what it is about.
    pub(super) fn holds(&self, arguments: &Value, every: bool) -> bool {
        let mut found = self.place.found(arguments).into_iter();
        let met = |found: PathTarget<'_>| self.test.met(found.value());
        match every {
            true => found.all(|found| found != PathTarget::Astray && met(found) == TestResult::Yes),
            false => found.any(|found| met(found) != TestResult::No),
        }
    }

    /// It holds of nothing for sure, but cannot be ruled out.
    pub(super) fn is_in_doubt(&self, arguments: &Value) -> bool {
        let found = self.place.found(arguments).into_iter();
        let best = found.map(|found| self.test.met(found.value())).max();
        best == Some(TestResult::Maybe)
    }

    /// What stands there, for an explanation.
    pub(super) fn found(&self, arguments: &Value) -> Vec<Option<Value>> {
        let found = self.place.found(arguments).into_iter();
        found.map(|found| found.value().cloned()).collect()
    }
}
