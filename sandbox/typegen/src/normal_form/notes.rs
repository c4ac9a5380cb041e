//! Notes about the parts of a schema that the normal form leaves out, for the users of a server.

use std::fmt;

use serde_json::{Map, Value};

use super::{losses::mark_lost, references::dotted};
use crate::sanitize::sanitize_line;

/// The maximum number of notes on one schema.
const MAX_NOTES: usize = 20;

/// A deviation and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaNote {
    /// A JSON pointer into the schema as the server wrote it.
    pub pointer: String,
    pub deviation: Deviation,
}

/// How a schema deviates from JSON Schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Neither an object nor a boolean: every value is allowed.
    Unreadable,
    /// Nested too deeply: every value is allowed.
    TooDeep,
    /// Too many schemas in one document: every value is allowed.
    TooLarge,
    /// A keyword whose value cannot be read.
    Ignored { keyword: String },
    /// A type name that JSON Schema lacks, read as another.
    TypeAlias { name: String, read_as: &'static str },
    /// An unknown type name.
    UnknownType { name: String },
    /// A type name instead of a schema.
    ShortType,
    /// Values of `enum` or `const` that are not of the schema's `type`.
    EnumTypes,
    /// A reference without a target.
    DanglingReference { reference: String },
    /// A reference to another document, which is not fetched.
    ForeignReference { reference: String },
    /// A reference whose target depends on the path that leads to it, or that leads to itself.
    UnsettledReference { reference: String },
    /// A pattern that the matcher does not understand.
    UnsupportedPattern { pattern: String },
}

impl Deviation {
    pub(super) fn ignored(keyword: &str) -> Self {
        Self::Ignored {
            keyword: keyword.to_owned(),
        }
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("this is not a schema; every value is allowed"),
            Self::TooDeep => f.write_str("nested deeper than 64 levels; every value is allowed"),
            Self::TooLarge => {
                f.write_str("the schema is too large to be read; every value is allowed")
            }
            Self::Ignored { keyword } => {
                write!(
                    f,
                    "`{}` cannot be read and is ignored",
                    sanitize_line(keyword)
                )
            }
            Self::TypeAlias { name, read_as } => {
                write!(f, "type `{}` is read as `{read_as}`", sanitize_line(name))
            }
            Self::UnknownType { name } => {
                write!(
                    f,
                    "there is no type `{}`; it is ignored",
                    sanitize_line(name)
                )
            }
            Self::ShortType => f.write_str("a type name in place of a schema"),
            Self::EnumTypes => f.write_str(
                "the listed values are not of the declared type; both forms are accepted",
            ),
            Self::DanglingReference { reference } => {
                write!(
                    f,
                    "`{}` refers to nothing and is ignored",
                    sanitize_line(reference)
                )
            }
            Self::ForeignReference { reference } => write!(
                f,
                "`{}` refers to another document, which is not fetched",
                sanitize_line(reference)
            ),
            Self::UnsettledReference { reference } => write!(
                f,
                "`{}` has no fixed target and is ignored",
                sanitize_line(reference)
            ),
            Self::UnsupportedPattern { pattern } => write!(
                f,
                "the pattern `{}` is not supported and is ignored",
                sanitize_line(pattern)
            ),
        }
    }
}

impl SchemaNote {
    pub fn new(pointer: &str, deviation: Deviation) -> Self {
        Self {
            pointer: pointer.to_owned(),
            deviation,
        }
    }
}

/// ``properties.ttl: type `float` is read as `number` ``
impl fmt::Display for SchemaNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "{}: ", sanitize_line(&dotted(&self.pointer)))?;
        }
        self.deviation.fmt(f)
    }
}

/// A bounded list of notes without repetitions.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<SchemaNote>);

impl Notes {
    pub(super) fn add(&mut self, pointer: &str, deviation: Deviation) {
        if self.0.len() < MAX_NOTES {
            let note = SchemaNote::new(pointer, deviation);
            if !self.0.contains(&note) {
                self.0.push(note);
            }
        }
    }

    /// Notes that the schema at `pointer` allows more than was written.
    pub(super) fn lose(
        &mut self,
        pointer: &str,
        deviation: Deviation,
        schema: &mut Map<String, Value>,
    ) {
        self.add(pointer, deviation);
        mark_lost(schema);
    }

    pub(super) fn into_list(self) -> Vec<SchemaNote> {
        self.0
    }
}
