//! How the work of a request reaches the daemon, and the form that its result takes.

use super::{daemon_link::DaemonLink, fence::FenceRules, result_reader::ResultReader};

#[derive(Clone)]
pub(super) struct DaemonAccess {
    pub(super) link: DaemonLink,
    pub(super) fences: FenceRules,
    pub(super) reader: ResultReader,
}
