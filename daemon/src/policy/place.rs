//! Where in the arguments of a call a condition looks: `path`, `body.kind`, `tags[0]`, `files[*].name`, `a["odd.key"]`.

use serde_json::Value;

/// A place, taken apart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Place(Vec<Step>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Step {
    Member(String),
    Index(usize),
    /// Every element of a list; of what is no list, that itself.
    Each,
}

impl Place {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no place in the arguments, such as a.b, tags[0], tags[*] or a[\"odd.key\"]"
            )
        };
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = match rest.strip_prefix('[') {
                Some(inner) => {
                    let (step, after) = bracket(inner).ok_or_else(wrong)?;
                    steps.push(step);
                    after
                }
                None => {
                    let name = match steps.is_empty() {
                        true => rest,
                        false => rest.strip_prefix('.').ok_or_else(wrong)?,
                    };
                    let end = name.find(['.', '[']).unwrap_or(name.len());
                    if end == 0 {
                        return Err(wrong());
                    }
                    steps.push(Step::Member(name[..end].to_owned()));
                    &name[end..]
                }
            };
        }
        match steps.is_empty() {
            true => Err(wrong()),
            false => Ok(Self(steps)),
        }
    }

    /// What stands there; several where the place names each of a list. `None` is a value that is not there,
    /// or null.
    pub(super) fn values<'a>(&self, arguments: &'a Value) -> Vec<Option<&'a Value>> {
        let mut found = vec![arguments];
        for step in &self.0 {
            found = found
                .into_iter()
                .flat_map(|value| match step {
                    Step::Member(name) => value.get(name).into_iter().collect(),
                    Step::Index(index) => value.get(index).into_iter().collect(),
                    Step::Each => match value {
                        Value::Array(items) => items.iter().collect(),
                        other => vec![other],
                    },
                })
                .collect::<Vec<_>>();
        }
        match found.is_empty() {
            true => vec![None],
            false => found
                .into_iter()
                .map(|value| Some(value).filter(|value| !value.is_null()))
                .collect(),
        }
    }
}

/// What stands behind a `[`, and what comes behind its `]`.
fn bracket(inner: &str) -> Option<(Step, &str)> {
    if inner.starts_with('"') {
        let mut texts = serde_json::Deserializer::from_str(inner).into_iter::<String>();
        let name = texts.next()?.ok()?;
        let after = inner[texts.byte_offset()..].strip_prefix(']')?;
        return Some((Step::Member(name), after));
    }
    let (index, after) = inner.split_once(']')?;
    let step = match index {
        "*" => Step::Each,
        number => Step::Index(number.parse().ok()?),
    };
    Some((step, after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_leads_to_what_stands_there() {
        let arguments = json!({
            "path": "/etc", "body": { "kind": "a", "n": null }, "tags": ["x", "y"],
            "files": [{ "name": "1" }, { "other": 2 }, { "name": "3" }], "odd.key": { "b\"c": 7 }, "one": "z",
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
            ("files[*].name", json!(["1", "3"])),
            ("[\"odd.key\"][\"b\\\"c\"]", json!([7])),
        ] {
            let parsed = Place::parse(place).unwrap();
            assert_eq!(json!(parsed.values(&arguments)), values, "{place}");
        }
        assert_eq!(
            Place::parse("l[*]").unwrap().values(&json!({ "l": [] })),
            [None]
        );
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in [
            "", ".a", "a.", "a..b", "a[", "a[x]", "a[-1]", "a[0]b", "a[\"b]",
        ] {
            let error = Place::parse(text).unwrap_err();
            assert!(error.contains("no place"), "{text}: {error}");
        }
    }
}
