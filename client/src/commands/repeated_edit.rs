//! Repeats an edit of a file, from its read on, if another program changed the file before it was replaced.

use super::CommandFailure;

/// Of several commands that write at the same time, one succeeds each time.
const MAX_EDIT_ATTEMPTS: usize = 64;

pub(super) async fn repeat_edit<T>(
    mut edit: impl AsyncFnMut() -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    for _ in 1..MAX_EDIT_ATTEMPTS {
        match edit().await {
            Err(failure) if failure.is_edit_conflict => {}
            done => return done,
        }
    }
    edit().await
}

/// Like [`repeat_edit`], for an edit that does not wait.
pub(super) fn repeat_blocking_edit<T>(
    mut edit: impl FnMut() -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    for _ in 1..MAX_EDIT_ATTEMPTS {
        match edit() {
            Err(failure) if failure.is_edit_conflict => {}
            done => return done,
        }
    }
    edit()
}
