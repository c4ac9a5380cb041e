//! A condition on the arguments of a call: a path into them and the test that its values must pass.

use serde_json::Value;

use super::{
    argument_path::{ArgumentPath, PathTarget},
    argument_test::{ArgumentTest, TestResult},
};

#[derive(Clone, Debug)]
pub(super) struct ArgumentCondition {
    /// The path as written in the rule.
    text: String,
    path: ArgumentPath,
    test: ArgumentTest,
}

impl ArgumentCondition {
    pub(super) fn read(
        path: &str,
        test: &toml::Value,
        largest_regex: usize,
    ) -> Result<Self, String> {
        let test = ArgumentTest::read(test, largest_regex)
            .map_err(|mistake| format!("{path}: {mistake}"))?;
        Ok(Self {
            path: ArgumentPath::parse(path)?,
            text: path.to_owned(),
            test,
        })
    }

    pub(super) fn path(&self) -> &str {
        &self.text
    }

    /// For a path with `[*]`, one matching element is enough, unless `every` is set: an allow rule must not be met by
    /// one harmless file among many, by an opaque value, or by a value that the server may read differently. All other
    /// rules are met by any value that may match.
    pub(super) fn holds(&self, arguments: &Value, every: bool) -> bool {
        let mut found = self.path.found(arguments).into_iter();
        let met = |found: PathTarget<'_>| self.test.met(found.value());
        if every {
            found.all(|found| found != PathTarget::Astray && met(found) == TestResult::Yes)
        } else {
            found.any(|found| met(found) != TestResult::No)
        }
    }

    /// Returns true if one of these objects has the argument, and a value of it may match.
    pub(super) fn is_met_by_any(&self, objects: &[Value]) -> bool {
        let mut objects = objects.iter();
        objects.any(|object| self.path.begins_in(object) && self.holds(object, false))
    }

    /// No value meets the test for certain, but a match cannot be ruled out.
    pub(super) fn is_in_doubt(&self, arguments: &Value) -> bool {
        let found = self.path.found(arguments).into_iter();
        let best = found.map(|found| self.test.met(found.value())).max();
        best == Some(TestResult::Maybe)
    }

    /// The values at the path, for an explanation.
    pub(super) fn found(&self, arguments: &Value) -> Vec<Option<Value>> {
        let found = self.path.found(arguments).into_iter();
        found.map(|found| found.value().cloned()).collect()
    }
}
