//! The calls that a server gets at once, and the line of those that wait for one of these places.
//!
//! Invariant: a place that becomes free goes to the next in turn, and never to whoever asks at that
//! moment while others wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mux_sandbox::{Turn, fair::Line};
use tokio::sync::oneshot;

#[derive(Debug)]
pub(super) struct CallLimiter(Mutex<CallLimiterState>);

/// Guarded by `CallLimiter`.
#[derive(Debug)]
struct CallLimiterState {
    free: usize,
    line: Line<oneshot::Sender<CallPermit>>,
}

/// One of the places, until it is dropped.
#[derive(Debug)]
pub(super) struct CallPermit(Option<Arc<CallLimiter>>);

/// A place that a call may give up before it ends: while its server waits for the answer of a user, others
/// are served.
#[derive(Debug)]
pub(super) struct PermitSlot(Mutex<Option<CallPermit>>);

impl PermitSlot {
    pub(super) fn new(place: CallPermit) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(place))))
    }

    pub(super) fn release_early(&self) {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(place);
    }
}

impl CallLimiter {
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(CallLimiterState {
            free: count,
            line: Line::default(),
        })))
    }

    /// Waits for its turn. Cancel-safe: a place that nobody takes goes to the next.
    pub(super) async fn acquire_permit(self: &Arc<Self>, turn: &Turn) -> CallPermit {
        let promise = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return CallPermit(Some(Arc::clone(self)));
            }
            let (hand, promise) = oneshot::channel();
            state.line.push(turn, hand);
            promise
        };
        match promise.await {
            Ok(place) => place,
            // The line lives as long as `self`, and nobody is thrown out of it.
            Err(_) => CallPermit(None),
        }
    }

    /// Passes the place on.
    fn return_permit(self: Arc<Self>) {
        loop {
            let mut state = self.state();
            let Some(hand) = state.line.pop(|_| true) else {
                state.free += 1;
                return;
            };
            drop(state);
            match hand.send(CallPermit(Some(Arc::clone(&self)))) {
                Ok(()) => return,
                // That one has given up, and its place is still ours.
                Err(mut place) => place.0 = None,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, CallLimiterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        if let Some(places) = self.0.take() {
            places.return_permit();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn turn(owner: &str) -> Turn {
        Turn {
            owner: owner.into(),
            client: 1,
        }
    }

    #[tokio::test]
    async fn a_place_goes_to_the_next_in_turn_and_past_those_who_gave_up() {
        let places = CallLimiter::new(1);
        let first = places.acquire_permit(&turn("a")).await;
        let (a, b) = (turn("a"), turn("b"));
        let mut greedy: Vec<_> = (0..3)
            .map(|_| Box::pin(places.acquire_permit(&a)))
            .collect();
        let mut modest = Box::pin(places.acquire_permit(&b));
        for waiting in &mut greedy {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        assert!(modest.as_mut().now_or_never().is_none());
        // The first of `a` gives up, which was its turn; then it is `b`'s, and `a`'s again.
        drop(greedy.remove(0));
        drop(first);
        let second = modest.as_mut().now_or_never().expect("its turn");
        assert!(greedy[0].as_mut().now_or_never().is_none());
        drop(second);
        let third = greedy[0].as_mut().now_or_never().expect("its turn");
        assert!(greedy[1].as_mut().now_or_never().is_none());
        drop(third);
        assert!(greedy[1].as_mut().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_place_that_was_handed_over_and_not_taken_is_free_again() {
        let places = CallLimiter::new(1);
        let first = places.acquire_permit(&turn("a")).await;
        let b = turn("b");
        let mut waiting = Box::pin(places.acquire_permit(&b));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(first);
        drop(waiting);
        assert!(places.acquire_permit(&turn("c")).now_or_never().is_some());
    }
}
