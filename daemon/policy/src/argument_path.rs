//! Paths into the arguments of a call: `path`, `body.kind`, `tags[0]`, `files[*].name`, `a["odd.key"]`.

use serde_json::Value;

/// A parsed path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ArgumentPath(Vec<PathStep>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum PathStep {
    Member(String),
    Index(usize),
    /// Every element of a list. Any other value counts as its own only element.
    Each,
}

impl ArgumentPath {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a path into the arguments, such as a.b, tags[0], tags[*] or a[\"odd.key\"]"
            )
        };
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = if let Some(inner) = rest.strip_prefix('[') {
                let (step, after) = bracket(inner).ok_or_else(wrong)?;
                steps.push(step);
                after
            } else {
                let name = if steps.is_empty() {
                    rest
                } else {
                    rest.strip_prefix('.').ok_or_else(wrong)?
                };
                let end = name.find(['.', '[']).unwrap_or(name.len());
                if end == 0 {
                    return Err(wrong());
                }
                steps.push(PathStep::Member(name[..end].to_owned()));
                &name[end..]
            };
        }
        if steps.is_empty() {
            Err(wrong())
        } else {
            Ok(Self(steps))
        }
    }

    /// Returns true if the object has the member with which the path begins.
    pub(super) fn begins_in(&self, object: &Value) -> bool {
        match self.0.first() {
            Some(PathStep::Member(name)) => object.get(name).is_some(),
            _ => false,
        }
    }

    /// The targets of the path, one for each combination of elements. Missing values are included, because a condition
    /// on every element must see them.
    pub(super) fn found<'a>(&self, arguments: &'a Value) -> Vec<PathTarget<'a>> {
        let mut found = vec![PathTarget::of(arguments)];
        for step in &self.0 {
            found = found
                .into_iter()
                .flat_map(|found| match (step, found) {
                    (PathStep::Each, PathTarget::Value(Value::Array(items)))
                        if !items.is_empty() =>
                    {
                        items.iter().map(PathTarget::of).collect()
                    }
                    // An empty list has no element to test.
                    (PathStep::Each, PathTarget::Value(Value::Array(_))) => {
                        vec![PathTarget::Nothing]
                    }
                    (PathStep::Each, found) => vec![found],
                    (PathStep::Member(name), PathTarget::Value(Value::Object(members))) => {
                        vec![
                            members
                                .get(name)
                                .map_or(PathTarget::Nothing, PathTarget::of),
                        ]
                    }
                    (PathStep::Index(index), PathTarget::Value(Value::Array(items))) => {
                        vec![
                            items
                                .get(*index)
                                .map_or(PathTarget::Nothing, PathTarget::of),
                        ]
                    }
                    (PathStep::Member(_) | PathStep::Index(_), PathTarget::Value(_)) => {
                        vec![PathTarget::Astray]
                    }
                    (_, nowhere) => vec![nowhere],
                })
                .collect::<Vec<_>>();
        }
        found
    }
}

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PathTarget<'a> {
    Value(&'a Value),
    /// The value is missing, or null.
    Nothing,
    /// A value on the way is of another type, such as a string where a member was expected.
    Astray,
}

impl<'a> PathTarget<'a> {
    fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            value => Self::Value(value),
        }
    }

    pub(super) fn value(self) -> Option<&'a Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Nothing | Self::Astray => None,
        }
    }
}

/// Parses the step after a `[`. Returns the step with the rest after the `]`.
fn bracket(inner: &str) -> Option<(PathStep, &str)> {
    if inner.starts_with('"') {
        let mut texts = serde_json::Deserializer::from_str(inner).into_iter::<String>();
        let name = texts.next()?.ok()?;
        let after = inner[texts.byte_offset()..].strip_prefix(']')?;
        return Some((PathStep::Member(name), after));
    }
    let (index, after) = inner.split_once(']')?;
    let step = match index {
        "*" => PathStep::Each,
        number => PathStep::Index(number.parse().ok()?),
    };
    Some((step, after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn path_finds_values_missing_members_and_wrong_types() {
        let arguments = json!({
            "path": "/etc", "body": { "kind": "a", "n": null }, "tags": ["x", "y"],
            "files": [{ "name": "1" }, { "other": 2 }, { "name": "3" }], "odd.key": { "b\"c": 7 }, "one": "z",
            "deep": [{ "list": [{ "x": 1 }, {}] }, { "list": [] }, { "list": "y" }, 3],
        });
        for (place, values) in [
            ("path", json!(["/etc"])),
            ("body.kind", json!(["a"])),
            ("body.n", json!([null])),
            ("body.m.k", json!([null])),
            ("tags[1]", json!(["y"])),
            ("tags[2]", json!([null])),
            ("tags[*]", json!(["x", "y"])),
            ("one[*]", json!(["z"])),
            ("files[*].name", json!(["1", null, "3"])),
            ("files[*].name.first", json!(["astray", null, "astray"])),
            ("files[1].name", json!([null])),
            ("files.name", json!(["astray"])),
            ("tags[*].name", json!(["astray", "astray"])),
            ("none[*].name", json!([null])),
            (
                "deep[*].list[*].x",
                json!([1, null, null, "astray", "astray"]),
            ),
            ("[\"odd.key\"][\"b\\\"c\"]", json!([7])),
        ] {
            let parsed = ArgumentPath::parse(place).unwrap();
            let found = parsed.found(&arguments).into_iter();
            let found: Vec<Value> = found
                .map(|found| match found {
                    PathTarget::Value(value) => value.clone(),
                    PathTarget::Nothing => Value::Null,
                    PathTarget::Astray => json!("astray"),
                })
                .collect();
            assert_eq!(json!(found), values, "{place}");
        }
        assert_eq!(
            ArgumentPath::parse("l[*]")
                .unwrap()
                .found(&json!({ "l": [] })),
            [PathTarget::Nothing]
        );
    }

    #[test]
    fn malformed_path_is_rejected() {
        for text in [
            "", ".a", "a.", "a..b", "a[", "a[x]", "a[-1]", "a[0]b", "a[\"b]",
        ] {
            let error = ArgumentPath::parse(text).unwrap_err();
            assert!(error.contains("not a path"), "{text}: {error}");
        }
    }
}
