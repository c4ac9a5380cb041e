//! The pins of one server's tools.
//!
//! Invariant: a pin changes only when the user has accepted the definition that was shown, by its digest.

use mux_text::canonical_json;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use super::{definition_diff, list_order::without_list_order};
use crate::{ChangeReaction, DefinitionChange, PinStatus, ToolDescription, ToolSet};
use mux_files::gzip_text::GzipText;
use mux_settings::OnChange;
use mux_text::digest::DigestKey;

/// The longest stored definition of a tool, and the total size of a server's packed definitions. Beyond that only
/// digests are stored.
const MAX_DEFINITION_BYTES: usize = 256 << 10;
const MAX_BOOK_DEFINITION_BYTES: usize = 4 << 20;
/// The maximum number of pinned tools of one server: as many functions as a source may have (`max_functions`).
const MAX_PINS: usize = 50_000;
/// Longer names are stored as digests.
const MAX_PIN_NAME_BYTES: usize = 128;

/// The pins of one server's tools.
#[derive(Clone, Debug, Default)]
pub(super) struct PinBook {
    pub(super) state: PinBookState,
    pub(super) pins: BTreeMap<String, ToolPin>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum PinBookState {
    /// The server is new.
    #[default]
    Fresh,
    Known,
    /// The pins cannot be read: a tool without a pin need not be new.
    Lost,
}

/// The trusted definition of one tool.
#[derive(Clone, Debug)]
pub(super) struct ToolPin {
    pub(super) digest: DigestKey,
    /// Seconds since 1970.
    pub(super) since: u64,
    /// The tool was added after its server was first trusted, and the user has not acknowledged it.
    pub(super) is_new: bool,
    /// The user has accepted a change of the tool.
    pub(super) was_accepted: bool,
    /// The canonical text of the definition, if it is stored. Needed when the tool changes.
    pub(super) definition: Option<GzipText>,
}

/// Why a definition cannot be accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    #[error("`{0}` is not among its tools")]
    Unknown(String),
    #[error("`{0}` has changed again since it was shown")]
    Other(String),
    #[error("{MAX_PINS} tools of this server are pinned, which is the maximum")]
    Full,
    #[error("pins are turned off for this server in the configuration")]
    Off,
}

/// A tool with the digest of its definition.
pub(super) struct DigestedTool {
    pub(super) tool: ToolDescription,
    digest: DigestKey,
    /// The canonical text of its definition, if it can be stored and is not stored yet.
    text: Option<GzipText>,
}

impl DigestedTool {
    /// `whole` contains the digests of the stored definitions.
    pub(super) fn of(tool: ToolDescription, whole: &HashSet<DigestKey>) -> Self {
        let text = canonical_json::members_to_text(tool.members());
        let digest = canonical_json::digest_of_text(&text);
        let is_kept = whole.contains(&digest);
        let text = if is_kept { None } else { short(&text) };
        Self { tool, digest, text }
    }
}

impl PinBook {
    /// Compares a list with the pins and pins new tools. The flag tells whether any pin changed.
    pub(super) fn judge(
        &mut self,
        listed: Vec<DigestedTool>,
        on_change: OnChange,
        now: u64,
    ) -> (Vec<ToolDescription>, bool) {
        let first = self.state == PinBookState::Fresh;
        let mut pinned = self.shrink(&listed);
        let mut room = self.room();
        let mut judged = Vec::with_capacity(listed.len());
        for listed in listed {
            let key = key(&listed.tool.name);
            if let Some(pin) = self.pins.get_mut(&key) {
                // There may have been no room for the text when the tool was pinned.
                if pin.digest == listed.digest && pin.definition.is_none() {
                    pin.definition = kept(listed.text.clone(), &mut room);
                    pinned |= pin.definition.is_some();
                }
            }
            match self.pins.get(&key) {
                Some(pin) => judged.push(stand(listed, Some(pin), on_change)),
                None if self.state == PinBookState::Lost && on_change == OnChange::Refuse => {
                    judged.push(stand(listed, None, on_change));
                }
                // Refused in any configuration: it is unknown whether this tool has changed.
                None if self.pins.len() >= MAX_PINS => {
                    let mut tool = stand(listed, None, OnChange::Refuse);
                    if let PinStatus::Changed(change) = &mut tool.pin_status {
                        change.unpinned = true;
                    }
                    judged.push(tool);
                }
                None => {
                    let pin = ToolPin::of(&listed, now, !first, &mut room);
                    judged.push(stand(listed, Some(&pin), on_change));
                    self.pins.insert(key, pin);
                    pinned = true;
                }
            }
        }
        if self.state == PinBookState::Fresh {
            self.state = PinBookState::Known;
            pinned = true;
        }
        (judged, pinned)
    }

    /// Compares a remembered list with the pins. Pins nothing.
    pub(super) fn recall(
        &self,
        listed: Vec<DigestedTool>,
        on_change: OnChange,
    ) -> Vec<ToolDescription> {
        let known = |listed: DigestedTool| match self.pins.get(&key(&listed.tool.name)) {
            None if self.state != PinBookState::Lost => listed.tool,
            pin => stand(listed, pin, on_change),
        };
        listed.into_iter().map(known).collect()
    }

    /// Pins the current definitions, if the user has seen exactly these. All or nothing.
    pub(super) fn accept(
        &mut self,
        offered: &ToolSet,
        seen: &[(String, DigestKey)],
        now: u64,
    ) -> Result<(), AcceptError> {
        let mut accepted = Vec::with_capacity(seen.len());
        let mut room = self.room();
        let mut free = MAX_PINS.saturating_sub(self.pins.len());
        for (name, digest) in seen {
            let tool = offered.find(name).filter(|tool| tool.name == *name);
            let tool = tool.ok_or_else(|| AcceptError::Unknown(name.clone()))?;
            // Users name a tool as their override does.
            let pinned = tool.server_name();
            if self.pin(pinned).is_none() {
                free = free.checked_sub(1).ok_or(AcceptError::Full)?;
            }
            let pin = match (tool.change(), self.pin(pinned)) {
                (Some(change), _) if change.digest == *digest => ToolPin {
                    digest: *digest,
                    since: now,
                    is_new: false,
                    was_accepted: true,
                    definition: kept(short(&change.now), &mut room),
                },
                (None, Some(pin)) if pin.digest == *digest => ToolPin {
                    is_new: false,
                    ..pin.clone()
                },
                _ => return Err(AcceptError::Other(name.clone())),
            };
            accepted.push((key(pinned), pin));
        }
        self.pins.extend(accepted);
        if offered
            .iter()
            .all(|tool| self.pin(tool.server_name()).is_some())
        {
            self.state = PinBookState::Known;
        }
        Ok(())
    }

    pub(super) fn pin(&self, name: &str) -> Option<&ToolPin> {
        self.pins.get(&key(name))
    }

    /// Makes room for a list: drops pins of tools that are gone and were never acknowledged. Returns true if any was
    /// dropped.
    fn shrink(&mut self, listed: &[DigestedTool]) -> bool {
        let names: BTreeSet<String> = listed.iter().map(|tool| key(&tool.tool.name)).collect();
        let new = names.iter().filter(|name| !self.pins.contains_key(*name));
        if self.pins.len() + new.count() <= MAX_PINS {
            return false;
        }
        let before = self.pins.len();
        self.pins
            .retain(|name, pin| !pin.is_new || names.contains(name));
        self.pins.len() < before
    }

    fn room(&self) -> usize {
        let taken = self.pins.values().filter_map(|pin| pin.definition.as_ref());
        MAX_BOOK_DEFINITION_BYTES.saturating_sub(taken.map(|text| text.bytes().len()).sum())
    }

    /// The digests of the stored definitions.
    pub(super) fn whole(&self) -> HashSet<DigestKey> {
        let kept = self.pins.values().filter(|pin| pin.definition.is_some());
        kept.map(|pin| pin.digest).collect()
    }
}

impl ToolPin {
    fn of(listed: &DigestedTool, since: u64, is_new: bool, room: &mut usize) -> Self {
        Self {
            digest: listed.digest,
            since,
            is_new,
            was_accepted: false,
            definition: kept(listed.text.clone(), room),
        }
    }

    /// The trusted definition, if its text is stored.
    pub(super) fn read(&self) -> Option<Value> {
        let text = self.definition.as_ref()?.read(MAX_DEFINITION_BYTES)?;
        let value = serde_json::from_str(&text).ok()?;
        (canonical_json::digest(&value) == self.digest).then_some(value)
    }
}

/// Packs a text, if it is short enough to be stored.
fn short(text: &str) -> Option<GzipText> {
    (text.len() <= MAX_DEFINITION_BYTES).then(|| GzipText::of(text))
}

fn kept(text: Option<GzipText>, room: &mut usize) -> Option<GzipText> {
    let text = text?;
    *room = room.checked_sub(text.bytes().len())?;
    Some(text)
}

fn key(name: &str) -> String {
    if name.len() > MAX_PIN_NAME_BYTES {
        format!("#{}", blake3::hash(name.as_bytes()).to_hex())
    } else {
        name.to_owned()
    }
}

/// The tool as it is offered, given its pin.
fn stand(listed: DigestedTool, pin: Option<&ToolPin>, on_change: OnChange) -> ToolDescription {
    let DigestedTool {
        mut tool, digest, ..
    } = listed;
    if let Some(pin) = pin
        && pin.digest == digest
    {
        if pin.is_new {
            tool.pin_status = PinStatus::New;
        }
        return tool;
    }
    let definition = tool.definition();
    let before = pin.and_then(ToolPin::read);
    let (unordered, diff) = match &before {
        Some(before) => {
            let [was, is] = [before, &definition].map(without_list_order);
            (was == is, Some(definition_diff::diff(&was, &is)))
        }
        None => (false, None),
    };
    let trusted = before.as_ref().and_then(ToolDescription::of_definition);
    if unordered && let Some(mut trusted) = trusted.clone() {
        if pin.is_some_and(|pin| pin.is_new) {
            trusted.pin_status = PinStatus::New;
        } else {
            trusted.pin_status = PinStatus::Reordered;
        }
        return trusted;
    }
    let is_stricter = trusted.is_some() && diff.as_ref().is_some_and(|diff| diff.is_stricter);
    let reaction = match on_change {
        _ if is_stricter => ChangeReaction::KeepTrusted,
        OnChange::Refuse => ChangeReaction::Refuse,
        OnChange::Warn | OnChange::Off => ChangeReaction::Offer,
    };
    let mut offered = match (reaction, trusted) {
        (ChangeReaction::Offer, _) => tool,
        (ChangeReaction::KeepTrusted, Some(trusted)) => trusted.with_hints_of(&tool),
        (_, Some(trusted)) => trusted,
        (_, None) => unknown(tool.name),
    };
    offered.pin_status = PinStatus::Changed(Box::new(DefinitionChange {
        before: before.map(|before| canonical_json::to_text(&before).into()),
        now: canonical_json::to_text(&definition).into(),
        digest,
        reaction,
        unpinned: false,
        accepted_before: pin.is_some_and(|pin| pin.was_accepted),
        changed_paths: diff.map(|diff| diff.paths).unwrap_or_default(),
    }));
    offered
}

/// A tool with nothing trusted but its name.
fn unknown(name: String) -> ToolDescription {
    ToolDescription {
        name,
        input_schema: serde_json::json!({ "type": "object" }).into(),
        ..ToolDescription::default()
    }
}

#[cfg(test)]
mod tests;
