//! What is pinned of one server's tools.
//!
//! Invariant: a pin changes only when somebody has accepted the definition that he saw, by its digest.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{canonical, difference};
use crate::{
    cache::Key,
    catalog::{Change, Standing, ToolDescription, ToolSet},
    settings::OnChange,
};

/// The texts that are kept of one definition, and of all of a server: what is longer is known by its digest alone.
const LONGEST: usize = 256 << 10;
const ROOM: usize = 4 << 20;
/// The tools of one server that are pinned.
const MOST: usize = 20_000;
/// Longer names are known by their digests.
const LONGEST_NAME: usize = 128;

/// What is pinned of one server's tools.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    pub(super) state: State,
    pub(super) pins: BTreeMap<String, Pin>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum State {
    /// Nobody has seen this server before.
    #[default]
    Fresh,
    Known,
    /// What was pinned cannot be read any more: a tool without a pin is not one that came later.
    Lost,
}

/// One tool as it was trusted.
#[derive(Clone, Debug)]
pub(super) struct Pin {
    pub(super) digest: Key,
    /// Seconds since 1970.
    pub(super) since: u64,
    /// It came after its server was first trusted, and nobody has taken note.
    pub(super) is_new: bool,
    /// The canonical text of the definition, if it is kept.
    pub(super) definition: Option<String>,
}

/// Why a definition is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    #[error("`{0}` is not among its tools")]
    Unknown(String),
    #[error("`{0}` has changed again since it was shown")]
    Other(String),
    #[error("{MOST} tools of this server are pinned, and no more can be")]
    Full,
    #[error("nothing is pinned of this server: the configuration says so")]
    Off,
}

/// A tool with the digest of its definition.
pub(super) struct Listed {
    pub(super) tool: ToolDescription,
    definition: Value,
    digest: Key,
}

impl Listed {
    /// Done before the book is locked: lists may be long.
    pub(super) fn of(tool: ToolDescription) -> Self {
        let definition = tool.definition();
        let digest = canonical::digest(&definition);
        Self {
            tool,
            definition,
            digest,
        }
    }
}

impl Book {
    /// How each of these tools stands. The flag says whether something was pinned.
    pub(super) fn judge(
        &mut self,
        listed: Vec<Listed>,
        on_change: OnChange,
        now: u64,
    ) -> (Vec<ToolDescription>, bool) {
        let (first, mut pinned) = (self.state == State::Fresh, self.shrink(&listed));
        let mut room = self.room();
        let mut judged = Vec::with_capacity(listed.len());
        for listed in listed {
            let key = key(&listed.tool.name);
            match self.pins.get(&key) {
                Some(pin) => judged.push(stand(listed, Some(pin), on_change)),
                None if self.state == State::Lost && on_change == OnChange::Refuse => {
                    judged.push(stand(listed, None, on_change));
                }
                // Whatever is to become of changed tools: nobody could say whether this one is.
                None if self.pins.len() >= MOST => {
                    let mut tool = stand(listed, None, OnChange::Refuse);
                    if let Standing::Changed(change) = &mut tool.standing {
                        change.unpinned = true;
                    }
                    judged.push(tool);
                }
                None => {
                    let pin = Pin::of(&listed, now, !first, &mut room);
                    judged.push(stand(listed, Some(&pin), on_change));
                    self.pins.insert(key, pin);
                    pinned = true;
                }
            }
        }
        if self.state == State::Fresh {
            self.state = State::Known;
            pinned = true;
        }
        (judged, pinned)
    }

    /// The same for a list of the past: nothing is pinned.
    pub(super) fn recall(&self, listed: Vec<Listed>, on_change: OnChange) -> Vec<ToolDescription> {
        let known = |listed: Listed| match self.pins.get(&key(&listed.tool.name)) {
            None if self.state != State::Lost => listed.tool,
            pin => stand(listed, pin, on_change),
        };
        listed.into_iter().map(known).collect()
    }

    /// Pins what the tools are now, if it is what somebody has seen. All or nothing.
    pub(super) fn accept(
        &mut self,
        offered: &ToolSet,
        seen: &[(String, Key)],
        now: u64,
    ) -> Result<(), AcceptError> {
        let mut accepted = Vec::with_capacity(seen.len());
        let mut room = self.room();
        let mut free = MOST.saturating_sub(self.pins.len());
        for (name, digest) in seen {
            if self.pin(name).is_none() {
                free = free.checked_sub(1).ok_or(AcceptError::Full)?;
            }
            let tool = offered.find(name).filter(|tool| tool.name == *name);
            let tool = tool.ok_or_else(|| AcceptError::Unknown(name.clone()))?;
            let pin = match (tool.change(), self.pin(name)) {
                (Some(change), _) if change.digest == *digest => Pin {
                    digest: *digest,
                    since: now,
                    is_new: false,
                    definition: kept(canonical::text(&change.now), &mut room),
                },
                (None, Some(pin)) if pin.digest == *digest => Pin {
                    is_new: false,
                    ..pin.clone()
                },
                _ => return Err(AcceptError::Other(name.clone())),
            };
            accepted.push((key(name), pin));
        }
        self.pins.extend(accepted);
        if offered.iter().all(|tool| self.pin(&tool.name).is_some()) {
            self.state = State::Known;
        }
        Ok(())
    }

    pub(super) fn pin(&self, name: &str) -> Option<&Pin> {
        self.pins.get(&key(name))
    }

    /// Makes place for a list: a tool that nobody has taken note of, and that is gone, is no loss. Whether
    /// anything was given up.
    fn shrink(&mut self, listed: &[Listed]) -> bool {
        let names: BTreeSet<String> = listed.iter().map(|tool| key(&tool.tool.name)).collect();
        let new = names.iter().filter(|name| !self.pins.contains_key(*name));
        if self.pins.len() + new.count() <= MOST {
            return false;
        }
        let before = self.pins.len();
        self.pins
            .retain(|name, pin| !pin.is_new || names.contains(name));
        self.pins.len() < before
    }

    fn room(&self) -> usize {
        let taken = self.pins.values().filter_map(|pin| pin.definition.as_ref());
        ROOM.saturating_sub(taken.map(String::len).sum())
    }
}

impl Pin {
    fn of(listed: &Listed, since: u64, is_new: bool, room: &mut usize) -> Self {
        Self {
            digest: listed.digest,
            since,
            is_new,
            definition: kept(canonical::text(&listed.definition), room),
        }
    }

    /// What was trusted, if it is kept whole.
    pub(super) fn read(&self) -> Option<Value> {
        let value = serde_json::from_str(self.definition.as_ref()?).ok()?;
        (canonical::digest(&value) == self.digest).then_some(value)
    }
}

fn kept(text: String, room: &mut usize) -> Option<String> {
    if text.len() > LONGEST.min(*room) {
        return None;
    }
    *room -= text.len();
    Some(text)
}

fn key(name: &str) -> String {
    match name.len() > LONGEST_NAME {
        true => format!("#{}", blake3::hash(name.as_bytes()).to_hex()),
        false => name.to_owned(),
    }
}

/// The tool as it is offered, by what is pinned of it.
fn stand(listed: Listed, pin: Option<&Pin>, on_change: OnChange) -> ToolDescription {
    let Listed {
        mut tool,
        definition,
        digest,
    } = listed;
    if let Some(pin) = pin
        && pin.digest == digest
    {
        if pin.is_new {
            tool.standing = Standing::New;
        }
        return tool;
    }
    let refused = on_change == OnChange::Refuse;
    let before = pin.and_then(Pin::read);
    let places = match &before {
        Some(before) => difference::places(before, &definition),
        None => Vec::new(),
    };
    let mut offered = match (refused, &before) {
        (false, _) => tool,
        (true, Some(before)) => {
            ToolDescription::of_definition(before).unwrap_or_else(|| unknown(tool.name))
        }
        (true, None) => unknown(tool.name),
    };
    offered.standing = Standing::Changed(Box::new(Change {
        before,
        now: definition,
        digest,
        refused,
        unpinned: false,
        places,
    }));
    offered
}

/// A tool of which nothing is trusted but that it is there.
fn unknown(name: String) -> ToolDescription {
    ToolDescription {
        name,
        input_schema: serde_json::json!({ "type": "object" }),
        ..ToolDescription::default()
    }
}

#[cfg(test)]
mod tests;
