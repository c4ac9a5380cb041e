//! What a recording has to do with the calls of a run: they go onto it, or come from it.
//!
//! Invariant: a call that is answered from a recording goes no further than here.

use std::sync::Arc;

use futures::{
    FutureExt,
    future::{BoxFuture, pending, ready},
};
use mux_wire::{Fault, Target};

use super::reach::Reach;
use crate::recording::{Player, Script, Tape, known};
use mux_gateway::CallObserver as _;
use mux_upstream::Upstreams;

/// What lies in it.
#[derive(Debug)]
pub(super) enum Deck {
    Tape(Tape, Script),
    Player(Player),
}

type Answer = BoxFuture<'static, Result<String, Fault>>;

impl Reach {
    /// Whether a recording answers its calls.
    pub(super) fn is_played(&self) -> bool {
        matches!(self.deck.as_deref(), Some(Deck::Player(_)))
    }

    /// Makes the call, unless a recording answers it.
    pub(super) fn on_deck(
        &self,
        target: Target,
        arguments: Arc<str>,
        make: impl FnOnce(Target, Arc<str>) -> Answer,
    ) -> Answer {
        let Some(deck) = &self.deck else {
            return make(target, arguments);
        };
        match &**deck {
            Deck::Tape(tape, _) => {
                let place = tape.begin(&target, &arguments);
                let (made, deck) = (make(target, arguments), Arc::clone(deck));
                async move {
                    let outcome = made.await;
                    if let Deck::Tape(tape, _) = &*deck {
                        tape.end(place, &outcome);
                    }
                    outcome
                }
                .boxed()
            }
            Deck::Player(player) => {
                let (answer, path) = (player.answer(&target, &arguments), tool(&target));
                let call = path.as_ref().map(|path| self.observer.call_started(path));
                // It does not end before its run, as it did not then.
                let Some((outcome, took)) = answer else {
                    return pending().boxed();
                };
                if let (Some(path), Some(call)) = (path, call) {
                    let told = outcome.as_ref().map(String::len);
                    self.observer.call_ended(call, &path, took, told);
                }
                ready(outcome).boxed()
            }
        }
    }
}

impl Deck {
    /// The recording as JSON text, if one is being made.
    pub(super) fn finish(
        &self,
        outcome: &Result<String, Fault>,
        upstreams: &Upstreams,
    ) -> Option<Result<String, Fault>> {
        match self {
            Self::Tape(tape, script) => {
                Some(tape.finish(script.clone(), outcome, known(upstreams)))
            }
            Self::Player(_) => None,
        }
    }
}

/// Its path, unless it is a function of `mux`.
fn tool(target: &Target) -> Option<String> {
    match target {
        Target::Own { .. } => None,
        Target::Named { server, tool } => Some(format!("{server}.{tool}")),
        Target::Path { path, .. } => Some(path.clone()),
    }
}
