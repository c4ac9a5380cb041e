//! For whom a value is kept.

use std::sync::Arc;

use mux_caller::ClientOrigin;

/// A client program with its agent. What an earlier muxd left has the default: it is not known for whom that was kept.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct ValueOwner(Arc<(String, Option<String>)>);

impl ValueOwner {
    pub(super) fn of(origin: &ClientOrigin) -> Self {
        Self(Arc::new((origin.client.clone(), origin.agent.clone())))
    }
}
