//! The reader thread: reads do not queue behind writes.
//!
//! Invariant: it drops its reference to the store before it waits.

use std::{sync::Arc, time::Instant};

use super::{
    CacheSpace, DigestKey, envelope,
    shared_state::{CachePhase, PendingRead, SharedCache},
    store::{Store, StoreError},
};

/// Serves reads until the cache is closed or is in memory only.
pub(super) fn run_reader(shared: &SharedCache) {
    let mut state = shared.state();
    loop {
        if state.closed || matches!(state.phase, CachePhase::Memory(_)) {
            return;
        }
        let Some(PendingRead { space, key, answer }) = state.reads.pop_front() else {
            state = shared.wait_for_read(state);
            continue;
        };
        let CachePhase::Disk(store) = &state.phase else {
            // The dropped sender makes it a miss.
            continue;
        };
        if answer.is_closed() {
            continue;
        }
        let store = Arc::clone(store);
        let epoch = state.epoch;
        state.reading = Some(Instant::now());
        drop(state);
        let found = store.run_fenced(|store| read_value(store, space, &key));
        drop(store);
        state = shared.state();
        state.reading = None;
        match found {
            // The caller may have timed out.
            Ok(found) => drop(answer.send(found)),
            Err(error) => {
                drop(state);
                shared.failed(epoch, error);
                drop(answer.send(None));
                state = shared.state();
            }
        }
    }
}

fn read_value(
    store: &dyn Store,
    space: CacheSpace,
    key: &DigestKey,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(sealed) = store.get(space, key)? else {
        return Ok(None);
    };
    let value = envelope::unseal(space, key, &sealed);
    if value.is_none() {
        store.remove(space, key)?;
    }
    Ok(value)
}
