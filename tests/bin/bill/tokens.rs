//! The tokenizers.

use std::{cell::RefCell, collections::HashMap};

use tiktoken_rs::CoreBPE;

pub(crate) struct TokenCounter {
    name: &'static str,
    encoding: CoreBPE,
    /// The same definitions precede many conversations.
    counted: RefCell<HashMap<String, usize>>,
}

impl TokenCounter {
    /// OpenAI's `o200k_base`.
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self::of("o200k_base", tiktoken_rs::o200k_base()?))
    }

    /// The same, and its predecessor `cl100k_base`.
    pub(crate) fn both() -> anyhow::Result<[Self; 2]> {
        let older = Self::of("cl100k_base", tiktoken_rs::cl100k_base()?);
        Ok([Self::new()?, older])
    }

    fn of(name: &'static str, encoding: CoreBPE) -> Self {
        Self {
            name,
            encoding,
            counted: RefCell::default(),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        if let Some(count) = self.counted.borrow().get(text) {
            return *count;
        }
        let count = self.encoding.encode_ordinary(text).len();
        self.counted.borrow_mut().insert(text.to_owned(), count);
        count
    }
}
