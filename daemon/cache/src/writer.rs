//! The thread that opens the store, writes, and sets aside what is damaged.
//!
//! Invariant: it alone touches the directories, and one store after another.

use std::{sync::Arc, time::Instant};

use tokio::sync::oneshot;
use tracing::{info, warn};

use super::{
    Key, Space, envelope,
    place::{Opened, Place, PlaceError},
    queue::Write,
    shared::{Phase, Shared, State},
    sizes::{FLUSH_AFTER, MOST_KEPT},
    store::{Entries, InUse, Store, StoreError},
};

pub(super) struct Writer {
    shared: Arc<Shared>,
    place: Place,
    /// Bytes on the disk.
    most: u64,
    /// Since when something is written that may not be on the disk.
    unflushed: Option<Instant>,
    /// A store broke while it was used; the next one that does is the last.
    began_anew: bool,
}

/// Opens the store, tells so, and serves until the cache is closed or lives in memory.
pub(super) fn run(
    shared: Arc<Shared>,
    take: impl FnOnce() -> Result<Place, PlaceError>,
    most: u64,
    opened: oneshot::Sender<()>,
) {
    let began = Instant::now();
    let place = take().and_then(|mut place| {
        let opened = place.open()?;
        Ok((place, opened))
    });
    let (place, (store, why)): (Place, Opened) = match place {
        Ok(done) => done,
        Err(error) => {
            shared.forsake(error.to_string());
            return;
        }
    };
    let took = began.elapsed();
    shared.state().status.began_anew = why;
    let mut writer = Writer {
        shared,
        place,
        most,
        unflushed: None,
        began_anew: false,
    };
    writer.measure(&store);
    writer.shared.opened(store);
    info!(?took, "the cache is open");
    // Nobody may wait any more, after a slow start.
    let _ = opened.send(());
    writer.serve();
}

impl Writer {
    fn serve(&mut self) {
        loop {
            let shared = Arc::clone(&self.shared);
            let mut state = shared.state();
            if let Some(why) = state.broken.take() {
                drop(state);
                self.begin_anew(&why);
                continue;
            }
            let Phase::Disk(store) = &state.phase else {
                return;
            };
            let (store, epoch) = (Arc::clone(store), state.epoch);
            let due = self.unflushed.map(|since| since + FLUSH_AFTER);
            let due = due.map(|due| due.saturating_duration_since(Instant::now()));
            let done = if due.is_some_and(|left| left.is_zero()) {
                state.writing = Some(Instant::now());
                drop(state);
                self.flush(&store)
            } else if let Some(write) = state.queue.pop() {
                self.write(state, &store, write)
            } else if state.closed {
                // The reader lets go of it before it waits: the lock is held until all is on the disk.
                state.phase = Phase::Opening;
                drop(state);
                if let Some(store) = Arc::into_inner(store) {
                    store.close();
                }
                return;
            } else {
                drop(store);
                drop(shared.wait_for_write(state, due));
                continue;
            };
            shared.state().writing = None;
            drop(store);
            match done {
                Ok(()) => {}
                Err(StoreError::NoRoom(error)) => {
                    self.shared
                        .forsake(format!("it cannot be written: {error}"));
                }
                Err(error) => self.shared.broke(epoch, error.to_string()),
            }
        }
    }

    /// One thing from the line. The lock is given back before the store is asked.
    fn write(
        &mut self,
        mut state: std::sync::MutexGuard<'_, State>,
        store: &InUse,
        write: Write,
    ) -> Result<(), StoreError> {
        state.writing = Some(Instant::now());
        match write {
            Write::Entry(space, key, number) => {
                let Some(content) = state.queue.content(space, &key, number) else {
                    return Ok(());
                };
                drop(state);
                let done = store.ask(|store| match content {
                    Some(value) => store.put(space, &key, envelope::seal(space, &key, &value)),
                    None => store.remove(space, &key),
                });
                if matches!(done, Err(StoreError::NoRoom(_))) {
                    // It goes on to live in memory.
                    return done;
                }
                self.unflushed.get_or_insert_with(Instant::now);
                self.shared.state().queue.done(space, &key, number);
                done
            }
            Write::Clear(space, done) => {
                drop(state);
                store.ask(|store| store.clear(space))?;
                self.unflushed.get_or_insert_with(Instant::now);
                // Who has waited too long is not there any more, here and below.
                let _ = done.send(());
                Ok(())
            }
            Write::All(space, answer) => {
                drop(state);
                let entries = store.ask(|store| whole(store, space))?;
                drop(answer.send(entries));
                Ok(())
            }
            Write::Flush(done) => {
                drop(state);
                self.flush(store)?;
                let _ = done.send(());
                Ok(())
            }
        }
    }

    fn flush(&mut self, store: &InUse) -> Result<(), StoreError> {
        store.ask(|store| store.flush())?;
        self.unflushed = None;
        if self.measure(store) > self.most {
            self.shrink(store)?;
        }
        Ok(())
    }

    fn measure(&self, store: &InUse) -> u64 {
        // What cannot be measured is not too much.
        let bytes = store.ask(|store| store.bytes()).unwrap_or(0);
        self.shared.state().status.bytes_on_disk = bytes;
        bytes
    }

    /// Goes on with a store that holds only what took long to learn. Copying is the one way that
    /// surely gives room back.
    fn shrink(&mut self, store: &InUse) -> Result<(), StoreError> {
        info!("the cache is too long; it forgets types and verdicts");
        let smaller = match self.place.beside() {
            Ok(smaller) => smaller,
            Err(error) => {
                self.shared.forsake(error.to_string());
                return Ok(());
            }
        };
        let copied = smaller.ask(|smaller| {
            for space in [Space::Catalogs, Space::Shapes] {
                let mut left = MOST_KEPT;
                for (key, value) in store.ask(|store| whole(store, space))? {
                    if let Some(less) = left.checked_sub(value.len()) {
                        left = less;
                        smaller.put(space, &key, envelope::seal(space, &key, &value))?;
                    }
                }
            }
            smaller.flush()
        });
        if let Err(error) = copied {
            self.shared
                .forsake(format!("it cannot be made shorter: {error}"));
            return Ok(());
        }
        self.measure(&smaller);
        let mut state = self.shared.state();
        if let Phase::Disk(current) = &mut state.phase {
            *current = Arc::new(smaller);
            state.epoch += 1;
        }
        drop(state);
        self.place.tidy();
        Ok(())
    }

    fn begin_anew(&mut self, why: &str) {
        if self.began_anew {
            self.shared.forsake(format!("it broke twice: {why}"));
            return;
        }
        self.began_anew = true;
        self.unflushed = None;
        match self.place.begin_anew(why) {
            Ok(store) => {
                self.measure(&store);
                self.shared.state().status.began_anew = Some(why.to_owned());
                self.shared.opened(store);
            }
            Err(error) => {
                warn!(%error, "the cache cannot begin anew");
                self.shared.forsake(error.to_string());
            }
        }
    }
}

/// All that is whole in a space. What is not is removed.
fn whole(store: &dyn Store, space: Space) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
    let entries: Entries = store.all(space)?;
    let mut whole = Vec::with_capacity(entries.len());
    for (name, sealed) in entries {
        let key: Option<Key> = name.as_slice().try_into().ok();
        match key.and_then(|key| Some((key, envelope::unseal(space, &key, &sealed)?))) {
            Some(entry) => whole.push(entry),
            None => store.remove(space, &name)?,
        }
    }
    Ok(whole)
}
