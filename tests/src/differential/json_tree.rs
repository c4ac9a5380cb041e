//! JSON that can be invalid: repeated members, `NaN`, halves of surrogate pairs.
//!
//! Invariant: numbers, strings and member names are the exact text that is sent.

use serde_json::Value;

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A string, a number, or anything else without children.
    Raw(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    /// With its quotes.
    pub(super) name: String,
    pub(super) value: Node,
}

impl Member {
    pub(super) fn new(name: &str, value: Node) -> Self {
        Self {
            name: Value::from(name).to_string(),
            value,
        }
    }
}

impl Node {
    pub(super) fn raw(text: &str) -> Self {
        Self::Raw(text.to_owned())
    }

    /// The text to send.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Raw(text) => text.clone(),
            Self::Array(elements) => {
                let texts: Vec<String> = elements.iter().map(Self::text).collect();
                format!("[{}]", texts.join(","))
            }
            Self::Object(members) => {
                let texts = members
                    .iter()
                    .map(|m| format!("{}:{}", m.name, m.value.text()));
                format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// The positions of everything below this node, each a list of indexes.
    pub(super) fn positions(&self) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        for index in 0..self.len() {
            found.push(vec![index]);
            for below in self.child(index).positions() {
                found.push([vec![index], below].concat());
            }
        }
        found
    }

    /// The node at a position.
    pub(super) fn at_mut(&mut self, position: &[usize]) -> &mut Self {
        match position.split_first() {
            None => self,
            Some((first, rest)) => self.child_mut(*first).at_mut(rest),
        }
    }

    /// The names and indexes on the way to a position, for people.
    pub(super) fn path(&self, position: &[usize]) -> String {
        let Some((first, rest)) = position.split_first() else {
            return String::new();
        };
        let step = match self {
            Self::Object(members) => members[*first].name.trim_matches('"').to_owned(),
            _ => first.to_string(),
        };
        match self.child(*first).path(rest) {
            below if below.is_empty() => step,
            below => format!("{step}.{below}"),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Raw(_) => 0,
            Self::Array(elements) => elements.len(),
            Self::Object(members) => members.len(),
        }
    }

    fn child(&self, index: usize) -> &Self {
        match self {
            Self::Raw(_) => self,
            Self::Array(elements) => &elements[index],
            Self::Object(members) => &members[index].value,
        }
    }

    fn child_mut(&mut self, index: usize) -> &mut Self {
        match self {
            Self::Raw(_) => self,
            Self::Array(elements) => &mut elements[index],
            Self::Object(members) => &mut members[index].value,
        }
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        match value {
            Value::Array(elements) => Self::Array(elements.iter().map(Self::from).collect()),
            Value::Object(members) => Self::Object(
                members
                    .iter()
                    .map(|(name, value)| Member::new(name, Self::from(value)))
                    .collect(),
            ),
            // The id of a request is whatever the client sent.
            Value::String(text) if text == "$id" => Self::raw("$id"),
            other => Self::Raw(other.to_string()),
        }
    }
}
