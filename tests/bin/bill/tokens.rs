//! The tokenizer.

use tiktoken_rs::CoreBPE;

/// OpenAI's `o200k_base`.
pub(crate) struct Tokens(CoreBPE);

impl Tokens {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self(tiktoken_rs::o200k_base()?))
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        self.0.encode_ordinary(text).len()
    }
}
