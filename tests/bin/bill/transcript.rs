//! The texts of a conversation with a model, and their cost.
//!
//! A request sends the whole context: the text before the first request, and every text since. The model's answer
//! becomes part of the next request's context.

use super::tokens::TokenCounter;

/// The cost of a token, relative to one token of uncached input.
#[derive(Clone, Copy)]
pub(crate) struct TokenPrices {
    pub(crate) cached: f64,
    pub(crate) output: f64,
    /// True if an earlier conversation has put the constant texts into the cache.
    pub(crate) warm: bool,
}

/// Output costs five times as much as input, and input from a cache a tenth.
const OUTPUT: f64 = 5.0;
const CACHED: f64 = 0.1;

impl TokenPrices {
    pub(crate) const UNCACHED: Self = Self {
        cached: 1.0,
        output: OUTPUT,
        warm: false,
    };
    pub(crate) const CACHED: Self = Self {
        cached: CACHED,
        output: OUTPUT,
        warm: false,
    };
    pub(crate) const WARM: Self = Self {
        cached: CACHED,
        output: OUTPUT,
        warm: true,
    };
}

#[derive(Clone, Default)]
struct ModelRequest {
    /// The new text that the model reads.
    heard: Vec<String>,
    /// The text that the model writes.
    said: Vec<String>,
}

#[derive(Clone, Default)]
pub(crate) struct ConversationTranscript {
    standing: Vec<String>,
    requests: Vec<ModelRequest>,
    /// For the next request.
    heard: Vec<String>,
}

impl ConversationTranscript {
    /// A conversation with these texts before its first request, such as the definitions of tools.
    pub(crate) fn new(standing: Vec<String>) -> Self {
        Self {
            standing,
            ..Self::default()
        }
    }

    /// A text for the model, such as a result of a tool.
    pub(crate) fn hear(&mut self, text: impl Into<String>) {
        self.heard.push(text.into());
    }

    /// A request that the model answers with tool calls.
    pub(crate) fn say(&mut self, calls: Vec<String>) {
        self.requests.push(ModelRequest {
            heard: std::mem::take(&mut self.heard),
            said: calls,
        });
    }

    /// A request that the model answers for its user. Its answer is the same in every conversation and is not
    /// counted.
    pub(crate) fn answer(&mut self) {
        self.say(Vec::new());
    }

    pub(crate) fn count(&self, tokens: &TokenCounter) -> TokenCounts {
        let all = |texts: &[String]| texts.iter().map(|text| tokens.count(text)).sum();
        TokenCounts {
            standing: all(&self.standing),
            requests: self
                .requests
                .iter()
                .map(|request| (all(&request.heard), all(&request.said)))
                .collect(),
        }
    }
}

/// The tokens of a conversation.
pub(crate) struct TokenCounts {
    pub(crate) standing: usize,
    /// The additions of each request: the tokens that the model reads, and the tokens that it then writes.
    requests: Vec<(usize, usize)>,
}

impl TokenCounts {
    /// How many requests the model gets.
    pub(crate) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Calls and results, each once.
    pub(crate) fn calls(&self) -> usize {
        let requests = self.requests.iter();
        requests.map(|(heard, said)| heard + said).sum()
    }

    /// The context at the end.
    pub(crate) fn context(&self) -> usize {
        self.standing + self.calls()
    }

    /// The tokens that the model writes.
    pub(crate) fn written(&self) -> usize {
        self.requests.iter().map(|(_, said)| said).sum()
    }

    /// The tokens that the model reads in all requests.
    pub(crate) fn read(&self) -> usize {
        self.inputs().map(|(known, new)| known + new).sum()
    }

    /// The cost of the conversation, in tokens of uncached input.
    pub(crate) fn cost(&self, prices: TokenPrices) -> f64 {
        let input: f64 = self
            .inputs()
            .enumerate()
            .map(|(number, (known, new))| {
                let standing = if number == 0 && prices.warm {
                    self.standing
                } else {
                    0
                };
                (known + standing) as f64 * prices.cached + (new - standing) as f64
            })
            .sum();
        input + self.written() as f64 * prices.output
    }

    /// The input of each request: the part that the request before had sent, and the rest.
    fn inputs(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut known = 0;
        let mut new = self.standing;
        self.requests.iter().map(move |(heard, said)| {
            let input = (known, new + heard);
            known += new + heard;
            new = *said;
            input
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenCounts, TokenPrices};

    #[test]
    fn every_request_reads_the_whole_context_and_only_its_beginning_is_cached() {
        let counted = TokenCounts {
            standing: 1000,
            requests: vec![(10, 20), (300, 0)],
        };
        assert_eq!(counted.context(), 1330);
        assert_eq!(counted.read(), 1010 + 1330);
        let cost = |prices| counted.cost(prices).round() as i64;
        assert_eq!(cost(TokenPrices::UNCACHED), 1010 + 1330 + 20 * 5);
        assert_eq!(cost(TokenPrices::CACHED), 1010 + (101 + 20 + 300) + 20 * 5);
        assert_eq!(
            cost(TokenPrices::WARM),
            100 + 10 + (101 + 20 + 300) + 20 * 5
        );
    }
}
