//! How the value of a parameter is written: RFC 6570 as OpenAPI uses it.
//!
//! Invariant: whatever a value holds, it stays within its place: it ends no segment of a path, no pair of a query and no
//! header.

use serde_json::Value;

/// Where a parameter goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
    Cookie,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    Space,
    Pipe,
    Deep,
}

/// Which letters stand for themselves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Letters {
    /// Only those that mean nothing anywhere.
    Unreserved,
    /// Also those that mean something elsewhere in an address.
    Reserved,
    /// Also what divides the segments of a path.
    Segments,
    /// All: the value is no part of an address, or is encoded later.
    Any,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Writing {
    pub(super) style: Style,
    pub(super) explode: bool,
    pub(super) letters: Letters,
}

/// A name with its value, both encoded.
pub(super) type Pair = (String, String);

impl Style {
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "simple" => Self::Simple,
            "label" => Self::Label,
            "matrix" => Self::Matrix,
            "form" => Self::Form,
            "spaceDelimited" => Self::Space,
            "pipeDelimited" => Self::Pipe,
            "deepObject" => Self::Deep,
            _ => return None,
        })
    }

    /// What a place has where nothing is said.
    pub(super) fn usual(place: Place) -> Self {
        match place {
            Place::Path | Place::Header => Self::Simple,
            Place::Query | Place::Cookie => Self::Form,
        }
    }
}

impl Writing {
    /// As a segment of a path, or the value of a header.
    pub(super) fn segment(self, name: &str, value: &Value) -> String {
        let (prefix, between) = match (self.style, self.explode) {
            (Style::Label, true) => (".", "."),
            (Style::Label, false) => (".", ","),
            (Style::Matrix, true) => (";", ";"),
            (Style::Matrix, false) => (";", ","),
            _ => ("", ","),
        };
        let name = self.encoded(name);
        let named = |text: String| match (self.style, text.is_empty()) {
            (Style::Matrix, true) => name.clone(),
            (Style::Matrix, false) => format!("{name}={text}"),
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
                let fields = fields
                    .map(|(key, value)| format!("{}={}", self.encoded(key), self.scalar(value)));
                fields.collect::<Vec<_>>().join(between)
            }
            Value::Object(fields) => named(self.flat(fields).join(between)),
            one => named(self.scalar(one)),
        };
        format!("{prefix}{text}")
    }

    /// As pairs of a query, a form or cookies. Null is not sent.
    pub(super) fn pairs(self, name: &str, value: &Value) -> Vec<Pair> {
        let own = self.encoded(name);
        let between = match (self.style, self.letters) {
            (Style::Space, Letters::Any) => " ",
            (Style::Space, _) => "%20",
            (Style::Pipe, Letters::Any) => "|",
            (Style::Pipe, _) => "%7C",
            _ => ",",
        };
        match value {
            Value::Null => Vec::new(),
            Value::Array(_) | Value::Object(_) if self.style == Style::Deep => {
                let mut pairs = Vec::new();
                self.deep(name, value, &mut pairs);
                pairs
            }
            Value::Array(items) if self.explode => {
                let items = self.list(items.iter());
                items.into_iter().map(|item| (own.clone(), item)).collect()
            }
            Value::Array(items) if items.is_empty() => Vec::new(),
            Value::Array(items) => vec![(own, self.list(items.iter()).join(between))],
            Value::Object(fields) if self.explode => {
                let fields = fields.iter().filter(|(_, value)| !value.is_null());
                fields
                    .map(|(key, value)| (self.encoded(key), self.scalar(value)))
                    .collect()
            }
            Value::Object(fields) if fields.is_empty() => Vec::new(),
            Value::Object(fields) => vec![(own, self.flat(fields).join(between))],
            one => vec![(own, self.scalar(one))],
        }
    }

    /// `name[a][0][b]=…`, as deep as the value is.
    fn deep(self, name: &str, value: &Value, pairs: &mut Vec<Pair>) {
        match value {
            Value::Null => {}
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.deep(&format!("{name}[{key}]"), value, pairs);
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.deep(&format!("{name}[{place}]"), item, pairs);
                }
            }
            one => pairs.push((self.encoded(name), self.scalar(one))),
        }
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

    pub(super) fn encoded(self, text: &str) -> String {
        encoded(text, self.letters)
    }
}

/// A value as text; what has no text of its own as JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Percent-encoded. `#`, `&` and `+` never stand for themselves: a value must not end its place.
pub(super) fn encoded(text: &str, letters: Letters) -> String {
    const RESERVED: &[u8] = b":/?[]@!$'()*,;=";
    if letters == Letters::Any {
        return text.to_owned();
    }
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        let stands = byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || match letters {
                Letters::Reserved => RESERVED.contains(&byte),
                Letters::Segments => byte == b'/',
                Letters::Unreserved | Letters::Any => false,
            };
        match stands {
            true => written.push(char::from(byte)),
            false => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The table of the specification.
    #[test]
    fn every_style_is_written_as_the_specification_shows() {
        let (list, object) = (
            json!(["blue", "black", "brown"]),
            json!({ "R": 100, "G": 200, "B": 150 }),
        );
        for (style, explode, of_list, of_object) in [
            (
                Style::Matrix,
                false,
                ";color=blue,black,brown",
                ";color=R,100,G,200,B,150",
            ),
            (
                Style::Matrix,
                true,
                ";color=blue;color=black;color=brown",
                ";R=100;G=200;B=150",
            ),
            (
                Style::Label,
                false,
                ".blue,black,brown",
                ".R,100,G,200,B,150",
            ),
            (
                Style::Label,
                true,
                ".blue.black.brown",
                ".R=100.G=200.B=150",
            ),
            (
                Style::Simple,
                false,
                "blue,black,brown",
                "R,100,G,200,B,150",
            ),
            (Style::Simple, true, "blue,black,brown", "R=100,G=200,B=150"),
        ] {
            let writing = Writing {
                style,
                explode,
                letters: Letters::Unreserved,
            };
            assert_eq!(writing.segment("color", &list), of_list);
            assert_eq!(writing.segment("color", &object), of_object);
        }
        for (style, explode, of_list, of_object) in [
            (
                Style::Form,
                false,
                "color=blue,black,brown",
                "color=R,100,G,200,B,150",
            ),
            (
                Style::Form,
                true,
                "color=blue&color=black&color=brown",
                "R=100&G=200&B=150",
            ),
            (
                Style::Space,
                false,
                "color=blue%20black%20brown",
                "color=R%20100%20G%20200%20B%20150",
            ),
            (
                Style::Pipe,
                false,
                "color=blue%7Cblack%7Cbrown",
                "color=R%7C100%7CG%7C200%7CB%7C150",
            ),
            (
                Style::Deep,
                true,
                "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown",
                "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
            ),
        ] {
            let writing = Writing {
                style,
                explode,
                letters: Letters::Unreserved,
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
    fn a_value_stays_in_its_place() {
        let of = |letters| Writing {
            style: Style::Form,
            explode: true,
            letters,
        };
        let value = json!("a b/c?d&e=f#g+ü");
        assert_eq!(
            of(Letters::Unreserved).pairs("q", &value)[0].1,
            "a%20b%2Fc%3Fd%26e%3Df%23g%2B%C3%BC"
        );
        assert_eq!(
            of(Letters::Reserved).pairs("q", &value)[0].1,
            "a%20b/c?d%26e=f%23g%2B%C3%BC"
        );
        let nested = json!({ "a": [{ "b": 1 }, null], "c": null });
        let deep = Writing {
            style: Style::Deep,
            ..of(Letters::Any)
        };
        assert_eq!(
            deep.pairs("x", &nested),
            [("x[a][0][b]".to_owned(), "1".to_owned())]
        );
        assert_eq!(of(Letters::Unreserved).pairs("q", &Value::Null), []);
        assert_eq!(of(Letters::Unreserved).pairs("q", &json!([])), []);
    }
}
