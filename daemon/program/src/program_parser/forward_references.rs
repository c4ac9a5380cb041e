//! Reports references to later steps and circular references, with a fix for each.

use std::collections::{HashMap, hash_map::Entry};

use super::ProgramReader;
use crate::program_mistake::{short_text, step_label};

impl ProgramReader {
    /// Adds an error for each reference to a later step. Called when all references of all steps are known.
    pub(super) fn look_ahead(&mut self) {
        /// Finding a cycle is expensive, and more of them most likely have the same cause.
        const MAX_EXAMINED_REFERENCES: usize = 20;
        let ahead = std::mem::take(&mut self.ahead);
        for (from, to, written) in ahead.into_iter().take(MAX_EXAMINED_REFERENCES) {
            let name = |index: usize| {
                let id = self.names.get(index).and_then(Option::as_deref);
                id.map_or_else(
                    || format!("steps[{index}]"),
                    |id| format!("`{}`", short_text(id)),
                )
            };
            let place = step_label(from, self.names[from].as_deref());
            let written = short_text(&written);
            let (message, hint) = if from == to {
                (
                    format!("{place} refers to itself: {written}"),
                    "a step can only use results of earlier steps".to_owned(),
                )
            } else if let Some(circle) = self.circle(from, to) {
                let circle: Vec<String> = circle.into_iter().map(name).collect();
                (
                    format!("{place} waits for itself: {}", circle.join(" \u{2192} ")),
                    format!("remove one of these references; this one is {written}"),
                )
            } else {
                (
                    format!(
                        "{place} refers to {}, which comes later: {written}",
                        name(to)
                    ),
                    format!("put {} before it", name(to)),
                )
            };
            self.add_mistake(message, hint);
        }
    }

    /// The cycle of references from step `from` through step `to` back to `from`.
    fn circle(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut came_from: HashMap<usize, usize> = HashMap::from([(to, from)]);
        let mut open = vec![to];
        while let Some(here) = open.pop() {
            for next in self.edges[here].iter().copied() {
                if next == from {
                    let mut way = vec![from];
                    let mut at = here;
                    while at != from {
                        way.push(at);
                        at = came_from[&at];
                    }
                    way.push(from);
                    way.reverse();
                    return Some(way);
                }
                if let Entry::Vacant(place) = came_from.entry(next) {
                    place.insert(here);
                    open.push(next);
                }
            }
        }
        None
    }
}
