//! Encodes parameter values by RFC 6570, as OpenAPI uses it.
//!
//! Invariant: a value stays in its position. It does not end a path segment, a query pair or a header.

use std::fmt::Write as _;

use serde_json::Value;

/// The location in which a parameter is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub(super) enum ParameterLocation {
    Path,
    Query,
    Header,
    Cookie,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, strum::EnumString)]
#[strum(serialize_all = "camelCase")]
pub(super) enum ParameterStyle {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// The characters that are not percent-encoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AllowedCharacters {
    /// Only unreserved characters.
    Unreserved,
    /// Also reserved characters, except characters that end a value.
    Reserved,
    /// Also reserved characters, except brackets and characters that end a value or a path segment.
    ReservedInSegment,
    /// Also `/`.
    Segments,
    /// All characters: the value is not part of a URL, or is encoded later.
    Any,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ParameterEncoding {
    pub(super) style: ParameterStyle,
    pub(super) explode: bool,
    pub(super) letters: AllowedCharacters,
}

/// A name with its value, both encoded.
pub(super) type EncodedPair = (String, String);

impl ParameterStyle {
    /// The default style of a location.
    pub(super) fn usual(location: ParameterLocation) -> Self {
        match location {
            ParameterLocation::Path | ParameterLocation::Header => Self::Simple,
            ParameterLocation::Query | ParameterLocation::Cookie => Self::Form,
        }
    }
}

impl ParameterEncoding {
    /// Encodes a path segment or a header value.
    pub(super) fn segment(self, name: &str, value: &Value) -> String {
        let (prefix, between) = match (self.style, self.explode) {
            (ParameterStyle::Label, true) => (".", "."),
            (ParameterStyle::Label, false) => (".", ","),
            (ParameterStyle::Matrix, true) => (";", ";"),
            (ParameterStyle::Matrix, false) => (";", ","),
            _ => ("", ","),
        };
        let name = self.encoded(name);
        let named = |text: String| match (self.style, text.is_empty()) {
            (ParameterStyle::Matrix, true) => name.clone(),
            (ParameterStyle::Matrix, false) => format!("{name}={text}"),
            _ => text,
        };
        let text = match value {
            Value::Array(items) if self.explode => {
                let items = items.iter().map(|item| named(self.scalar(item)));
                items.collect::<Vec<_>>().join(between)
            }
            Value::Array(items) => named(self.list(items.iter()).join(between)),
            Value::Object(fields) if self.explode => {
                let fields = fields.iter().filter(|(_, value)| !value.is_null());
                let fields = fields.map(|(key, value)| {
                    format!("{}={}", self.encoded_name(key), self.scalar(value))
                });
                fields.collect::<Vec<_>>().join(between)
            }
            Value::Object(fields) => named(self.flat(fields).join(between)),
            one => named(self.scalar(one)),
        };
        format!("{prefix}{text}")
    }

    /// Encodes pairs of a query, a form or cookies. Null is omitted.
    pub(super) fn pairs(self, name: &str, value: &Value) -> Vec<EncodedPair> {
        let own = self.encoded_name(name);
        let between = match (self.style, self.letters) {
            (ParameterStyle::SpaceDelimited, AllowedCharacters::Any) => " ",
            (ParameterStyle::SpaceDelimited, _) => "%20",
            (ParameterStyle::PipeDelimited, AllowedCharacters::Any) => "|",
            (ParameterStyle::PipeDelimited, _) => "%7C",
            _ => ",",
        };
        match value {
            Value::Null => Vec::new(),
            Value::Array(_) | Value::Object(_) if self.style == ParameterStyle::DeepObject => {
                self.exploded_pairs(name, value)
            }
            Value::Array(items) if self.explode => {
                let items = self.list(items.iter());
                items.into_iter().map(|item| (own.clone(), item)).collect()
            }
            Value::Array(items) if items.is_empty() => Vec::new(),
            Value::Array(items) => vec![(own, self.list(items.iter()).join(between))],
            Value::Object(_) if self.explode => self.exploded_pairs(name, value),
            Value::Object(fields) if fields.is_empty() => Vec::new(),
            Value::Object(fields) => vec![(own, self.flat(fields).join(between))],
            one => vec![(own, self.scalar(one))],
        }
    }

    /// The names and values of members that are sent under their own name, not encoded.
    pub(super) fn exploded_members<'a>(
        self,
        name: &str,
        value: &'a Value,
    ) -> Vec<(String, &'a Value)> {
        let mut members = Vec::new();
        match value {
            Value::Array(_) | Value::Object(_) if self.style == ParameterStyle::DeepObject => {
                deep_members(name, value, &mut members);
            }
            Value::Object(fields) if self.explode => {
                let fields = fields.iter().filter(|(_, value)| !value.is_null());
                members.extend(fields.map(|(key, value)| (key.clone(), value)));
            }
            _ => {}
        }
        members
    }

    fn exploded_pairs(self, name: &str, value: &Value) -> Vec<EncodedPair> {
        let members = self.exploded_members(name, value).into_iter();
        members
            .map(|(name, value)| (self.encoded_name(&name), self.scalar(value)))
            .collect()
    }

    fn flat(self, fields: &serde_json::Map<String, Value>) -> Vec<String> {
        let fields = fields.iter().filter(|(_, value)| !value.is_null());
        fields
            .flat_map(|(key, value)| [self.encoded(key), self.scalar(value)])
            .collect()
    }

    fn list<'a>(self, items: impl Iterator<Item = &'a Value>) -> Vec<String> {
        let items = items.filter(|item| !item.is_null());
        items.map(|item| self.scalar(item)).collect()
    }

    fn scalar(self, value: &Value) -> String {
        self.encoded(&plain(value))
    }

    /// A name that a caller chose, in which nothing ends the name or its pair.
    fn encoded_name(self, name: &str) -> String {
        let encoded = self.encoded(name);
        match self.letters {
            AllowedCharacters::Any => encoded,
            _ => encoded.replace('=', "%3D").replace(';', "%3B"),
        }
    }

    pub(super) fn encoded(self, text: &str) -> String {
        encoded(text, self.letters)
    }
}

/// The members of `name[a][0][b]`, as deeply as the value is nested.
fn deep_members<'a>(name: &str, value: &'a Value, members: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                deep_members(&format!("{name}[{key}]"), value, members);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                deep_members(&format!("{name}[{place}]"), item, members);
            }
        }
        one => members.push((name.to_owned(), one)),
    }
}

/// A scalar as a string without quotes, or a list or an object as JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Percent-encodes a string. `#`, `&` and `+` are always encoded, because a value must not leave its position.
pub(super) fn encoded(text: &str, letters: AllowedCharacters) -> String {
    const RESERVED: &[u8] = b":/?[]@!$'()*,;=";
    const RESERVED_IN_SEGMENT: &[u8] = b":@!$'()*,;=";
    if letters == AllowedCharacters::Any {
        return text.to_owned();
    }
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        let stands = byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || match letters {
                AllowedCharacters::Reserved => RESERVED.contains(&byte),
                AllowedCharacters::ReservedInSegment => RESERVED_IN_SEGMENT.contains(&byte),
                AllowedCharacters::Segments => byte == b'/',
                AllowedCharacters::Unreserved | AllowedCharacters::Any => false,
            };
        if stands {
            written.push(char::from(byte));
        } else {
            _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The table in the OpenAPI specification.
    #[test]
    fn styles_are_encoded_as_in_the_specification() {
        let list = json!(["blue", "black", "brown"]);
        let object = json!({ "R": 100, "G": 200, "B": 150 });
        for (style, explode, of_list, of_object) in [
            (
                ParameterStyle::Matrix,
                false,
                ";color=blue,black,brown",
                ";color=R,100,G,200,B,150",
            ),
            (
                ParameterStyle::Matrix,
                true,
                ";color=blue;color=black;color=brown",
                ";R=100;G=200;B=150",
            ),
            (
                ParameterStyle::Label,
                false,
                ".blue,black,brown",
                ".R,100,G,200,B,150",
            ),
            (
                ParameterStyle::Label,
                true,
                ".blue.black.brown",
                ".R=100.G=200.B=150",
            ),
            (
                ParameterStyle::Simple,
                false,
                "blue,black,brown",
                "R,100,G,200,B,150",
            ),
            (
                ParameterStyle::Simple,
                true,
                "blue,black,brown",
                "R=100,G=200,B=150",
            ),
        ] {
            let writing = ParameterEncoding {
                style,
                explode,
                letters: AllowedCharacters::Unreserved,
            };
            assert_eq!(writing.segment("color", &list), of_list);
            assert_eq!(writing.segment("color", &object), of_object);
        }
        for (style, explode, of_list, of_object) in [
            (
                ParameterStyle::Form,
                false,
                "color=blue,black,brown",
                "color=R,100,G,200,B,150",
            ),
            (
                ParameterStyle::Form,
                true,
                "color=blue&color=black&color=brown",
                "R=100&G=200&B=150",
            ),
            (
                ParameterStyle::SpaceDelimited,
                false,
                "color=blue%20black%20brown",
                "color=R%20100%20G%20200%20B%20150",
            ),
            (
                ParameterStyle::PipeDelimited,
                false,
                "color=blue%7Cblack%7Cbrown",
                "color=R%7C100%7CG%7C200%7CB%7C150",
            ),
            (
                ParameterStyle::DeepObject,
                true,
                "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown",
                "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
            ),
        ] {
            let writing = ParameterEncoding {
                style,
                explode,
                letters: AllowedCharacters::Unreserved,
            };
            let query = |value: &Value| {
                let pairs = writing.pairs("color", value);
                let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
                pairs.collect::<Vec<_>>().join("&")
            };
            assert_eq!(query(&list), of_list, "{style:?}");
            assert_eq!(query(&object), of_object, "{style:?}");
        }
    }

    #[test]
    fn value_cannot_end_its_place() {
        let of = |letters| ParameterEncoding {
            style: ParameterStyle::Form,
            explode: true,
            letters,
        };
        let value = json!("a b/c?d&e=f#g+ü");
        assert_eq!(
            of(AllowedCharacters::Unreserved).pairs("q", &value)[0].1,
            "a%20b%2Fc%3Fd%26e%3Df%23g%2B%C3%BC"
        );
        assert_eq!(
            of(AllowedCharacters::Reserved).pairs("q", &value)[0].1,
            "a%20b/c?d%26e=f%23g%2B%C3%BC"
        );
        assert_eq!(
            of(AllowedCharacters::Reserved).pairs("q", &json!({ "a=b": "c=d" })),
            [("a%3Db".to_owned(), "c=d".to_owned())]
        );
        let nested = json!({ "a": [{ "b": 1 }, null], "c": null });
        let deep = ParameterEncoding {
            style: ParameterStyle::DeepObject,
            ..of(AllowedCharacters::Any)
        };
        assert_eq!(
            deep.pairs("x", &nested),
            [("x[a][0][b]".to_owned(), "1".to_owned())]
        );
        assert_eq!(
            of(AllowedCharacters::Unreserved).pairs("q", &Value::Null),
            []
        );
        assert_eq!(of(AllowedCharacters::Unreserved).pairs("q", &json!([])), []);
    }
}
