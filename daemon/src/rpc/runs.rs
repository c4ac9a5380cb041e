//! The list of runs.
//!
//! Invariant: an answer fits into a frame, whatever the clients call themselves.

use mux_proto as wire;

use super::convert;
use crate::runs::{Run, Runs};

/// Runs that are listed when nobody says how many.
const SHOWN: usize = 20;
/// About how long a list gets at most; a frame has room for more.
const LONGEST: usize = 4 << 20;

pub(super) fn list(runs: &Runs, request: &wire::RunsRequest) -> wire::RunList {
    let mut runs = runs.list();
    runs.retain(|run| !(request.running && run.has_ended()));
    let mut room = LONGEST;
    let shown = runs
        .iter()
        .take(request.limit.unwrap_or(SHOWN))
        .map(|run: &std::sync::Arc<Run>| convert::run(run.view()))
        .take_while(|info| {
            let length = serde_json::to_vec(info).map_or(0, |text| text.len());
            let fits = length <= room;
            room = room.saturating_sub(length);
            fits
        });
    wire::RunList {
        runs: shown.collect(),
        total: runs.len(),
    }
}
