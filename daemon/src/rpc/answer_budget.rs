//! The length limit of one answer.
//!
//! Invariant: an answer that is composed of parts is shorter than a frame, however long the servers' lists are. A
//! longer answer would end the connection, and with it everything that it had started.

use mux_proto as wire;
use mux_wire::{Fault, FaultKind};
use serde::Serialize;

use mux_text::json_length;

/// The maximum length of all parts. The rest of a frame is for the errors of the parts that did not fit.
const MAX_ANSWER_BYTES: usize = 12 << 20;

/// The bytes left for one answer.
#[derive(Clone, Copy)]
pub(super) struct AnswerBudget(usize);

impl AnswerBudget {
    pub(super) fn new() -> Self {
        Self(MAX_ANSWER_BYTES)
    }

    /// Subtracts the length of a part, and returns the part. Fails if it does not fit.
    pub(super) fn take<T: Serialize>(&mut self, part: T) -> Result<T, Fault> {
        // And the comma after it.
        let length = json_length::of(&part, self.0.saturating_sub(1));
        let Some(length) = length else {
            let message =
                format!("it does not fit into one answer, which holds {MAX_ANSWER_BYTES} bytes");
            return Err(Fault::new(FaultKind::Limit, message).hint("request less at once"));
        };
        self.0 -= length + 1;
        Ok(part)
    }

    /// The entry for a server that is missing from the answer, with the reason. A reason that does not fit is left out.
    pub(super) fn missing(&mut self, server: &str, why: Fault) -> wire::MissingServer {
        let missing = wire::MissingServer {
            server: server.to_owned(),
            error: why.into(),
        };
        match self.take(&missing) {
            Ok(_) => missing,
            Err(fault) => wire::MissingServer {
                error: wire::Error {
                    message: format!("the error is too long for this answer: {}", fault.message),
                    ..wire::Error::new(missing.error.kind, "")
                },
                ..missing
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fit_until_the_answer_is_full() {
        let mut budget = AnswerBudget::new();
        let part = "x".repeat(MAX_ANSWER_BYTES / 3 - 3);
        for _ in 0..3 {
            budget.take(&part).unwrap();
        }
        let before = budget.0;
        let fault = budget.take(&"x").unwrap_err();
        assert_eq!((fault.kind, budget.0), (FaultKind::Limit, before));
    }

    #[test]
    fn reason_that_does_not_fit_is_left_out() {
        let mut budget = AnswerBudget::new();
        let long = || Fault::new(FaultKind::Tool, "x".repeat(MAX_ANSWER_BYTES / 2));
        assert_eq!(
            budget.missing("a", long()).error.message.len(),
            MAX_ANSWER_BYTES / 2
        );
        let missing = budget.missing("b", long());
        assert_eq!(
            (missing.server.as_str(), missing.error.kind.known()),
            ("b", Some(wire::Kind::Tool))
        );
        assert!(missing.error.message.len() < 200);
    }
}
