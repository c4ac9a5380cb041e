//! The daemons that one keeper serves: one, or two while one takes over from another.
//!
//! Invariant: a child ends with the daemon that owns it at that time, and the socket of a daemon that has exited
//! is closed once all its children have ended.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use super::{
    daemon_socket::DaemonSocket,
    kept_child::StopSignal,
    process_trees::ProcessTrees,
    wire::{KEEPER_PROTOCOL_VERSION, KeeperEvent},
};

/// The distance between the child id ranges of two daemons.
const CHILD_ID_STRIDE: u64 = 1 << 40;

pub(super) struct ServedDaemon {
    pub(super) number: u64,
    pub(super) control: DaemonSocket,
    /// When the daemon went away, and how far the ending of its children has come.
    gone: Option<(Instant, EndingStage)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd)]
enum EndingStage {
    Nothing,
    Asked,
    Killed,
}

pub(super) struct ServedDaemons {
    all: Vec<ServedDaemon>,
    next: u64,
}

impl ServedDaemons {
    pub(super) fn new(first: DaemonSocket) -> Self {
        let mut daemons = ServedDaemons {
            all: Vec::new(),
            next: 0,
        };
        daemons.enter(first);
        daemons
    }

    fn enter(&mut self, control: DaemonSocket) {
        let number = self.next;
        self.next += 1;
        self.all.push(ServedDaemon {
            number,
            control,
            gone: None,
        });
        let base = number * CHILD_ID_STRIDE;
        self.send(
            number,
            &KeeperEvent::Hello {
                wire: KEEPER_PROTOCOL_VERSION,
                base,
            },
        );
    }

    pub(super) fn admit(&mut self, socket: OwnedFd) {
        self.enter(DaemonSocket::over(socket));
    }

    /// The daemon that takes over from this one.
    pub(super) fn successor(&self, number: u64) -> Option<u64> {
        let mut later = self.all.iter().rev();
        let open = later.find(|it| it.number > number && it.control.is_open());
        open.map(|it| it.number)
    }

    pub(super) fn any_open(&self) -> bool {
        self.all.iter().any(|it| it.control.is_open())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ServedDaemon> {
        self.all.iter_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ServedDaemon> {
        self.all.iter()
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        self.all.iter().map(|it| it.number).collect()
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut DaemonSocket> {
        let found = self.all.iter_mut().find(|it| it.number == number);
        found.map(|it| &mut it.control)
    }

    pub(super) fn send(&mut self, to: u64, event: &KeeperEvent) {
        self.send_with(to, event, Vec::new());
    }

    pub(super) fn send_with(&mut self, to: u64, event: &KeeperEvent, pipes: Vec<OwnedFd>) {
        if let Some(control) = self.get_mut(to)
            && let Err(error) = control.queue(event, pipes)
        {
            super::keeper_process::warn("send to the daemon", &std::io::Error::other(error));
        }
    }

    /// Ends the children of daemons that have exited while another daemon is connected. Returns when to call it
    /// again.
    pub(super) fn end_gone(
        &mut self,
        trees: &mut ProcessTrees,
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
            let (since, done) = it.gone.get_or_insert((now, EndingStage::Nothing));
            let age = now - *since;
            if age >= kill_after && *done < EndingStage::Killed {
                *done = EndingStage::Killed;
                trees.signal_all_of(it.number, StopSignal::Kill, now);
                next = Some(now);
            } else if age >= term_after && *done < EndingStage::Asked {
                *done = EndingStage::Asked;
                trees.signal_all_of(it.number, StopSignal::Term, now);
            }
            let due = match done {
                EndingStage::Nothing => Some(*since + term_after),
                EndingStage::Asked => Some(*since + kill_after),
                // `ProcessTrees::step` returns when to look again.
                EndingStage::Killed => None,
            };
            next = [next, due].into_iter().flatten().min();
            true
        });
        next
    }
}
