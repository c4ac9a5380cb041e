//! The tokenizers.

use tiktoken_rs::CoreBPE;

pub(crate) struct Tokens {
    name: &'static str,
    encoding: CoreBPE,
}

impl Tokens {
    /// OpenAI's `o200k_base`.
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            name: "o200k_base",
            encoding: tiktoken_rs::o200k_base()?,
        })
    }

    /// The same, and its predecessor `cl100k_base`.
    pub(crate) fn both() -> anyhow::Result<[Self; 2]> {
        let older = Self {
            name: "cl100k_base",
            encoding: tiktoken_rs::cl100k_base()?,
        };
        Ok([Self::new()?, older])
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        self.encoding.encode_ordinary(text).len()
    }
}
