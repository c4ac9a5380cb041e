//! Random schemas for the tests with hostile schemas: some valid, some not schemas at all.
//!
//! Invariant: a seed gives the same schemas on every machine.

use serde_json::{Map, Value, json};

/// xorshift64: the same schemas on every machine and in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).expect("below a usize")
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn scalar(&mut self) -> Value {
        let n = self.below(40) as f64 - 20.0;
        let word = self.pick(&[
            "a",
            "b-c",
            "LEAK()",
            "*/ LEAK()",
            "\"",
            "\u{202e}x",
            "",
            "new",
            "1",
        ]);
        [
            json!(null),
            json!(true),
            json!(n),
            json!(n / 8.0),
            json!(word),
        ][self.below(5)]
        .clone()
    }

    fn list(&mut self, levels: usize) -> Value {
        (0..self.below(4)).map(|_| self.schema(levels)).collect()
    }

    fn map(&mut self, levels: usize) -> Value {
        let names = [
            "a",
            "b",
            "new",
            "get",
            "b-c",
            "*/",
            "constructor",
            "__proto__",
            "readonly",
        ];
        (0..self.below(4))
            .map(|_| (self.pick(&names).to_owned(), self.schema(levels)))
            .collect()
    }

    pub(crate) fn schema(&mut self, levels: usize) -> Value {
        const TYPES: &[&str] = &[
            "string", "number", "integer", "boolean", "null", "object", "array", "file",
        ];
        if levels == 0 || self.below(12) == 0 {
            return self.scalar();
        }
        let mut schema = Map::new();
        if self.below(4) > 0 {
            schema.insert("type".into(), json!(self.pick(TYPES)));
        }
        for _ in 0..self.below(5) {
            let key = self.pick(&[
                "properties",
                "items",
                "anyOf",
                "oneOf",
                "allOf",
                "prefixItems",
                "enum",
                "const",
                "required",
                "additionalProperties",
                "patternProperties",
                "$ref",
                "$defs",
                "description",
                "title",
                "type",
                "nullable",
                "minItems",
                "default",
                "format",
                "properties",
                "additionalItems",
            ]);
            let value = match key {
                "properties" | "patternProperties" | "$defs" => self.map(levels - 1),
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => self.list(levels - 1),
                "enum" | "required" => (0..self.below(4)).map(|_| self.scalar()).collect(),
                "$ref" => json!(self.pick(&[
                    "#",
                    "#/$defs/a",
                    "#/$defs/b",
                    "#/properties/a",
                    "#/items",
                    "x",
                    "#/anyOf/0"
                ])),
                "type" => (0..self.below(3))
                    .map(|_| json!(self.pick(TYPES)))
                    .collect(),
                "nullable" => json!(true),
                "minItems" => json!(self.below(3)),
                "items" | "additionalProperties" | "additionalItems" => self.schema(levels - 1),
                _ => self.scalar(),
            };
            schema.insert(key.into(), value);
        }
        Value::Object(schema)
    }
}
