//! The calls that a run had made when it failed, which matter before the run is repeated.
//!
//! Invariant: the call whose failure ended the run is not counted.

use mux_proto::Error;
use serde::Serialize;

/// A call that has ended.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EndedCall {
    pub(crate) path: String,
    pub(crate) ms: f64,
    /// The length of the result as JSON.
    pub(crate) bytes: usize,
    pub(crate) error: Option<Error>,
}

/// Describes the calls other than the one that caused `failure`. `None` if there were none.
pub(crate) fn describe_prior_calls(calls: &[EndedCall], failure: &Error) -> Option<String> {
    let is_failure = |call: &EndedCall| {
        let same =
            |error: &Error| (&error.kind, &error.message) == (&failure.kind, &failure.message);
        failure.path.as_ref() == Some(&call.path) && call.error.as_ref().is_some_and(same)
    };
    let failing = calls.iter().rposition(is_failure);
    let others = calls.iter().enumerate();
    let others = others.filter(|(index, _)| Some(*index) != failing);
    let mut ended = 0_usize;
    let mut failed = 0_usize;
    for (_, call) in others {
        ended += 1;
        failed += usize::from(call.error.is_some());
    }
    let ended = match ended {
        0 => return None,
        1 => "1 other call ended".to_owned(),
        ended => format!("{ended} other calls ended"),
    };
    Some(match failed {
        0 => ended,
        failed => format!("{ended}, {failed} of them with an error"),
    })
}

#[cfg(test)]
mod tests {
    use mux_proto::Kind;

    use super::*;

    fn call(path: &str, error: Option<&str>) -> EndedCall {
        EndedCall {
            path: path.into(),
            ms: 1.0,
            bytes: 0,
            error: error.map(|message| Error::new(Kind::Tool, message)),
        }
    }

    #[test]
    fn failing_call_is_not_counted_among_other_calls() {
        let failure = |path: Option<&str>| Error {
            path: path.map(str::to_owned),
            ..Error::new(Kind::Tool, "no such file")
        };
        let failing = || call("a.read", Some("no such file"));
        for (calls, failure, words) in [
            (vec![], failure(None), None),
            (vec![failing()], failure(Some("a.read")), None),
            (
                vec![call("a.list", None), failing()],
                failure(Some("a.read")),
                Some("1 other call ended"),
            ),
            (
                vec![call("a.list", None), failing(), failing()],
                failure(Some("a.read")),
                Some("2 other calls ended, 1 of them with an error"),
            ),
            // The program itself threw an error.
            (
                vec![failing()],
                failure(None),
                Some("1 other call ended, 1 of them with an error"),
            ),
        ] {
            assert_eq!(
                describe_prior_calls(&calls, &failure).as_deref(),
                words,
                "{calls:?}"
            );
        }
    }
}
