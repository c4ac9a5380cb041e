//! The owner of a stored value.

use std::sync::Arc;

use mux_caller::ClientOrigin;

/// A client program with its agent. Values of a previous daemon process have the default, because their owner is
/// unknown.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct ValueOwner(Arc<(String, Option<String>)>);

impl ValueOwner {
    pub(super) fn of(origin: &ClientOrigin) -> Self {
        Self(Arc::new((origin.client.clone(), origin.agent.clone())))
    }
}
