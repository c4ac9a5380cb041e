//! The lists that the clients of a slot last received.
//!
//! Invariant: a list counts as changed only if clients know a different list.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use parking_lot::Mutex;
use serde_json::Value;

use crate::listing::ListKind;

/// Digests of the lists that clients last received, from any session.
#[derive(Debug, Default)]
pub(super) struct AnnouncedListDigests(Mutex<HashMap<ListKind, Option<u64>>>);

impl AnnouncedListDigests {
    /// Records a list. Returns true if clients know a different list. `None` stands for an unavailable list.
    pub(super) fn record_and_compare(&self, kind: ListKind, list: Option<&[Value]>) -> bool {
        let digest = list.map(|list| {
            let mut hasher = DefaultHasher::new();
            for item in list {
                item.to_string().hash(&mut hasher);
            }
            hasher.finish()
        });
        let mut announced = self.0.lock();
        announced
            .insert(kind, digest)
            .is_some_and(|before| before != digest)
    }

    /// Forgets a list after clients were notified of its change.
    pub(crate) fn forget(&self, kind: ListKind) {
        let mut announced = self.0.lock();
        announced.remove(&kind);
    }

    /// The kinds that clients have requested.
    pub(super) fn kinds(&self) -> Vec<ListKind> {
        let announced = self.0.lock();
        announced.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn list_counts_as_changed_only_if_clients_know_a_different_one() {
        let announced = AnnouncedListDigests::default();
        let one = [json!({ "uri": "a" })];
        let two = [json!({ "uri": "b" })];
        let differs =
            |list: Option<&[Value]>| announced.record_and_compare(ListKind::Resources, list);
        assert!(!differs(None));
        assert!(differs(Some(&one)));
        assert!(!differs(Some(&one)));
        assert!(differs(Some(&two)));
        announced.forget(ListKind::Resources);
        assert!(!differs(Some(&one)));
        assert!(!announced.record_and_compare(ListKind::Prompts, Some(&one)));
        assert_eq!(announced.kinds().len(), 2);
    }
}
