//! The daemons that one keeper serves: one, and for a moment two, when one takes over from another.
//!
//! Invariant: a child ends with the daemon whose it is, whichever daemon that is by then, and the
//! socket of a daemon that has gone is closed when nothing of its is left.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use super::{
    child::Ending,
    control::Control,
    trees::Trees,
    wire::{Event, WIRE},
};

/// Between the numbers that two daemons choose.
const STRIDE: u64 = 1 << 40;

pub(super) struct Master {
    pub(super) number: u64,
    pub(super) control: Control,
    /// Since when it has gone, and what was done about its children.
    gone: Option<(Instant, Done)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd)]
enum Done {
    Nothing,
    Asked,
    Killed,
}

pub(super) struct Masters {
    all: Vec<Master>,
    next: u64,
}

impl Masters {
    pub(super) fn new(first: Control) -> Self {
        let mut masters = Masters {
            all: Vec::new(),
            next: 0,
        };
        masters.enter(first);
        masters
    }

    fn enter(&mut self, control: Control) {
        let number = self.next;
        self.next += 1;
        self.all.push(Master {
            number,
            control,
            gone: None,
        });
        let base = number * STRIDE;
        self.say(number, &Event::Hello { wire: WIRE, base });
    }

    pub(super) fn admit(&mut self, socket: OwnedFd) {
        self.enter(Control::over(socket));
    }

    /// Whoever takes over from this one.
    pub(super) fn successor(&self, number: u64) -> Option<u64> {
        let mut later = self.all.iter().rev();
        let open = later.find(|it| it.number > number && it.control.is_open());
        open.map(|it| it.number)
    }

    pub(super) fn any_open(&self) -> bool {
        self.all.iter().any(|it| it.control.is_open())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Master> {
        self.all.iter_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Master> {
        self.all.iter()
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        self.all.iter().map(|it| it.number).collect()
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Control> {
        let found = self.all.iter_mut().find(|it| it.number == number);
        found.map(|it| &mut it.control)
    }

    pub(super) fn say(&mut self, to: u64, event: &Event) {
        self.send(to, event, Vec::new());
    }

    pub(super) fn send(&mut self, to: u64, event: &Event, pipes: Vec<OwnedFd>) {
        if let Some(control) = self.get_mut(to)
            && let Err(error) = control.queue(event, pipes)
        {
            super::serve::warn("tell the daemon", &std::io::Error::other(error));
        }
    }

    /// Ends what is left of those that have gone while another is there. Answers when to be called again.
    pub(super) fn end_gone(
        &mut self,
        trees: &mut Trees,
        now: Instant,
        (term_after, kill_after): (Duration, Duration),
    ) -> Option<Instant> {
        let mut next = None;
        self.all.retain_mut(|it| {
            if it.control.is_open() {
                return true;
            }
            if !trees.any_of(it.number) {
                return false;
            }
            let (since, done) = it.gone.get_or_insert((now, Done::Nothing));
            let age = now - *since;
            if age >= kill_after && *done < Done::Killed {
                *done = Done::Killed;
                trees.signal_all_of(it.number, Ending::Kill, now);
                next = Some(now);
            } else if age >= term_after && *done < Done::Asked {
                *done = Done::Asked;
                trees.signal_all_of(it.number, Ending::Term, now);
            }
            let due = match done {
                Done::Nothing => Some(*since + term_after),
                Done::Asked => Some(*since + kill_after),
                // The trees tell when they are to be looked at.
                Done::Killed => None,
            };
            next = [next, due].into_iter().flatten().min();
            true
        });
        next
    }
}
