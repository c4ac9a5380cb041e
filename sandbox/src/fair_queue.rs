//! A fair queue: owners take turns, and so do the clients of an owner.
//!
//! Invariant: a waiting owner is served after at most one item of each other owner, however many items those have
//! queued.

use std::{collections::VecDeque, sync::Arc};

/// The owner and the client of a queued item.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueueKey {
    /// A client program in a workspace, with all its connections.
    pub owner: Arc<str>,
    /// One connection of the owner.
    pub client: u64,
}

/// The queue. Items stay until they are popped or removed by [`Line::retain`].
#[derive(Debug)]
pub struct FairQueue<T> {
    /// In the order of their turns; each has at least one client.
    owners: VecDeque<OwnerQueue<T>>,
    length: usize,
}

#[derive(Debug)]
struct OwnerQueue<T> {
    name: Arc<str>,
    /// In the order of their turns; each has at least one item.
    clients: VecDeque<ClientQueue<T>>,
}

#[derive(Debug)]
struct ClientQueue<T> {
    number: u64,
    items: VecDeque<T>,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            owners: VecDeque::new(),
            length: 0,
        }
    }
}

impl<T> FairQueue<T> {
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The number of queued items of this owner.
    pub fn len_of_owner(&self, owner: &str) -> usize {
        self.owners
            .iter()
            .find(|o| *o.name == *owner)
            .map_or(0, OwnerQueue::len)
    }

    /// Every owner with queued items, and how many.
    pub fn owners(&self) -> impl Iterator<Item = (&str, usize)> {
        self.owners.iter().map(|o| (&*o.name, o.len()))
    }

    pub fn push(&mut self, turn: &QueueKey, item: T) {
        self.length += 1;
        let owner = if let Some(place) = self.owners.iter().position(|o| o.name == turn.owner) {
            &mut self.owners[place]
        } else {
            let name = turn.owner.clone();
            let clients = VecDeque::new();
            self.owners.push_back(OwnerQueue { name, clients });
            let last = self.owners.len() - 1;
            &mut self.owners[last]
        };
        match owner.clients.iter_mut().find(|c| c.number == turn.client) {
            Some(client) => client.items.push_back(item),
            None => owner.clients.push_back(ClientQueue {
                number: turn.client,
                items: VecDeque::from([item]),
            }),
        }
    }

    /// The next owner, in turn, for which `may` is true.
    pub fn next_owner(&self, may: impl Fn(&str) -> bool) -> Option<&str> {
        let mut owners = self.owners.iter().map(|owner| &*owner.name);
        owners.find(|owner| may(owner))
    }

    /// Removes the next item of the first owner, in turn, for which `may` is true.
    pub fn pop(&mut self, may: impl Fn(&str) -> bool) -> Option<T> {
        let place = self.owners.iter().position(|o| may(&o.name))?;
        let mut owner = self.owners.remove(place)?;
        let item = owner.pop();
        if !owner.clients.is_empty() {
            self.owners.push_back(owner);
        }
        self.length -= usize::from(item.is_some());
        item
    }

    /// Removes the items for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        for owner in &mut self.owners {
            for client in &mut owner.clients {
                client.items.retain(&keep);
            }
            owner.clients.retain(|client| !client.items.is_empty());
        }
        self.owners.retain(|owner| !owner.clients.is_empty());
        self.length = self.owners.iter().map(OwnerQueue::len).sum();
    }

    /// Removes all items, in no particular order.
    pub fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        let all = std::mem::take(self);
        let clients = all.owners.into_iter().flat_map(|owner| owner.clients);
        clients.flat_map(|client| client.items)
    }
}

impl<T> OwnerQueue<T> {
    fn len(&self) -> usize {
        self.clients.iter().map(|client| client.items.len()).sum()
    }

    fn pop(&mut self) -> Option<T> {
        let mut client = self.clients.pop_front()?;
        let item = client.items.pop_front();
        if !client.items.is_empty() {
            self.clients.push_back(client);
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(owner: &str, client: u64) -> QueueKey {
        QueueKey {
            owner: owner.into(),
            client,
        }
    }

    fn drained(line: &mut FairQueue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| line.pop(|_| true)).collect()
    }

    #[test]
    fn new_owner_waits_for_one_turn_of_each_other_owner() {
        let mut line = FairQueue::default();
        for item in 0..500 {
            line.push(&turn("greedy", 1), item);
        }
        line.push(&turn("modest", 2), 1_000);
        assert_eq!(line.pop(|_| true), Some(0));
        assert_eq!(line.pop(|_| true), Some(1_000));
        assert_eq!(line.pop(|_| true), Some(1));
        assert_eq!(
            (
                line.len(),
                line.len_of_owner("greedy"),
                line.len_of_owner("modest")
            ),
            (498, 498, 0)
        );
    }

    #[test]
    fn owners_and_clients_of_an_owner_take_turns() {
        let mut line = FairQueue::default();
        // Two connections of `a`, one with two items, against one of `b`.
        for (owner, client, item) in [
            ("a", 1, 10),
            ("a", 1, 11),
            ("a", 2, 20),
            ("b", 3, 30),
            ("b", 3, 31),
            ("b", 3, 32),
        ] {
            line.push(&turn(owner, client), item);
        }
        assert_eq!(drained(&mut line), [10, 30, 20, 31, 11, 32]);
        assert!(line.is_empty());
    }

    #[test]
    fn ineligible_owner_is_skipped_and_keeps_its_turn() {
        let mut line = FairQueue::default();
        line.push(&turn("a", 1), 1);
        line.push(&turn("b", 1), 2);
        line.push(&turn("c", 1), 3);
        assert_eq!(line.pop(|owner| owner != "a"), Some(2));
        assert_eq!(line.pop(|owner| owner == "d"), None);
        assert_eq!(drained(&mut line), [1, 3]);
    }

    #[test]
    fn removed_items_are_not_counted() {
        let mut line = FairQueue::default();
        for item in 0..10_u32 {
            line.push(&turn("a", u64::from(item % 2)), item);
        }
        line.push(&turn("b", 7), 11);
        line.retain(|item| item % 2 == 0);
        assert_eq!((line.len(), line.owners().count()), (5, 1));
        assert_eq!(line.take_all().count(), 5);
        assert!(line.is_empty());
    }
}
