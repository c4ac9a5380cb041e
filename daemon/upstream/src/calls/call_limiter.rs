//! Limits the calls that a server gets at the same time, with a fair queue for waiting calls.
//!
//! Invariant: a returned permit goes to the next waiter in turn, never to a newcomer while others wait.

use std::sync::Arc;

use parking_lot::Mutex;

use mux_sandbox::{QueueKey, fair_queue::FairQueue};
use tokio::sync::oneshot;

#[derive(Debug)]
pub(crate) struct CallLimiter(Mutex<CallLimiterState>);

/// The state that `CallLimiter` guards.
#[derive(Debug)]
struct CallLimiterState {
    free: usize,
    queue: FairQueue<oneshot::Sender<CallPermit>>,
}

/// A permit for one call, returned on drop.
#[derive(Debug)]
pub(crate) struct CallPermit(Option<Arc<CallLimiter>>);

/// A permit that a call may release before it ends: while its server waits for a user's answer, other calls can run.
#[derive(Debug)]
pub struct PermitSlot(Mutex<Option<CallPermit>>);

impl PermitSlot {
    pub(crate) fn new(permit: CallPermit) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(permit))))
    }

    pub(crate) fn release_early(&self) {
        let permit = self.0.lock().take();
        drop(permit);
    }
}

impl CallLimiter {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(CallLimiterState {
            free: count,
            queue: FairQueue::default(),
        })))
    }

    /// Waits for a permit. Cancel-safe: a permit that was sent but not received goes to the next waiter.
    pub(crate) async fn acquire_permit(self: &Arc<Self>, turn: &QueueKey) -> CallPermit {
        let receiver = {
            let mut state = self.0.lock();
            if state.free > 0 {
                state.free -= 1;
                return CallPermit(Some(Arc::clone(self)));
            }
            let (sender, receiver) = oneshot::channel();
            state.queue.push(turn, sender);
            receiver
        };
        match receiver.await {
            Ok(permit) => permit,
            // The queue lives as long as `self` and drops no waiter.
            Err(_) => CallPermit(None),
        }
    }

    /// Passes the permit to the next waiter.
    fn return_permit(self: Arc<Self>) {
        loop {
            let mut state = self.0.lock();
            let Some(sender) = state.queue.pop(|_| true) else {
                state.free += 1;
                return;
            };
            drop(state);
            match sender.send(CallPermit(Some(Arc::clone(&self)))) {
                Ok(()) => return,
                // That waiter is gone, so the permit is still ours.
                Err(mut permit) => permit.0 = None,
            }
        }
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        if let Some(limiter) = self.0.take() {
            limiter.return_permit();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn turn(owner: &str) -> QueueKey {
        QueueKey {
            owner: owner.into(),
            client: 1,
        }
    }

    #[tokio::test]
    async fn permit_goes_to_next_in_turn_and_skips_dropped_waiters() {
        let limiter = CallLimiter::new(1);
        let first = limiter.acquire_permit(&turn("a")).await;
        let a = turn("a");
        let b = turn("b");
        let mut greedy: Vec<_> = (0..3)
            .map(|_| Box::pin(limiter.acquire_permit(&a)))
            .collect();
        let mut modest = Box::pin(limiter.acquire_permit(&b));
        for waiting in &mut greedy {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        assert!(modest.as_mut().now_or_never().is_none());
        // The first waiter of `a` gives up its turn. Next come `b` and `a`.
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
    async fn permit_sent_to_dropped_waiter_is_returned() {
        let limiter = CallLimiter::new(1);
        let first = limiter.acquire_permit(&turn("a")).await;
        let b = turn("b");
        let mut waiting = Box::pin(limiter.acquire_permit(&b));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(first);
        drop(waiting);
        assert!(limiter.acquire_permit(&turn("c")).now_or_never().is_some());
    }
}
