//! The callers that share a session, and the state that they share beside it: its scope, the lists that they know, and
//! the resources that they follow.

mod announced_lists;
mod resource_subscribers;
mod session_key;
mod session_scope;
mod session_sharing;
mod slot_shared;

pub use self::session_key::CallerIdentity;
pub(crate) use self::{
    session_key::SessionKey,
    session_scope::{RootsObserver, SessionScope},
    session_sharing::SessionSharing,
    slot_shared::{SlotClientState, SlotShared},
};
