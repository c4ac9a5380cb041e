//! A server's pins on the disk: a line with the checksum of the rest, and JSON.
//!
//! Invariant: a file is whole and ours, or it is no file of pins; and one that is none is moved aside, so that its absence
//! is never taken for a first meeting.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};

use super::pin_book::{MAX_DEFINITION_BYTES as LONGEST_DEFINITION, PinBook, PinBookState, ToolPin};
use mux_files::{atomic_file, gzip_text::GzipText};

/// Counts up when more of a tool is taken over: what was pinned without it must not count as changed then.
const PIN_FILE_MAGIC: &str = "mux-pins 1 ";
/// Far more than the longest book.
const MAX_PIN_FILE_BYTES: u64 = 64 << 20;
/// Of one server.
const MAX_FILES_PER_SERVER: usize = 16;

/// Whose pins they are.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub(super) struct PinOwner {
    pub(super) server: String,
    /// Names how the server is reached.
    pub(super) definition: String,
}

impl PinOwner {
    fn file(&self) -> String {
        format!("{}.{}.pins", self.server, &self.definition[..16])
    }
}

/// What was found where a server's pins should be.
pub(super) enum PinFile {
    Nothing,
    Book(PinBook),
    /// Why there is nothing any more.
    Damaged(String),
}

#[derive(Deserialize, Serialize)]
struct StoredPins {
    #[serde(flatten)]
    owner: PinOwner,
    /// Not all of its tools have been looked at since pins were lost.
    #[serde(default)]
    lost: bool,
    tools: Vec<StoredPin>,
}

#[derive(Deserialize, Serialize)]
struct StoredPin {
    name: String,
    digest: String,
    since: u64,
    #[serde(default)]
    new: bool,
    /// As earlier builds wrote it. They take a pin without one for one whose definition was too long.
    #[serde(default, skip_serializing)]
    definition: Option<String>,
    /// Packed, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packed: Option<String>,
}

impl StoredPin {
    /// An error if there is one that is none.
    fn definition(&self) -> Result<Option<GzipText>, ()> {
        let plain = self.definition.as_ref();
        let plain = plain.filter(|text| text.len() <= LONGEST_DEFINITION);
        let Some(packed) = &self.packed else {
            return Ok(plain.map(|text| GzipText::of(text)));
        };
        let bytes = BASE64_STANDARD.decode(packed).map_err(drop)?;
        GzipText::from_bytes(bytes).map(Some).ok_or(())
    }
}

pub(super) fn read(folder: &Path, owner: &PinOwner) -> PinFile {
    let path = folder.join(owner.file());
    let text = atomic_file::read(&path, MAX_PIN_FILE_BYTES).transpose();
    let problem = match text.map(|text| parse(&text?, owner)) {
        Some(Ok(book)) => return PinFile::Book(book),
        None => {
            let aside = aside(&path);
            return match fs::symlink_metadata(&aside) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => PinFile::Nothing,
                _ => PinFile::Damaged(format!("they are at {}", aside.display())),
            };
        }
        Some(Err(error)) => error,
    };
    let aside = aside(&path);
    match fs::rename(&path, &aside) {
        Ok(()) => PinFile::Damaged(format!("{problem}; moved to {}", aside.display())),
        Err(kept) => PinFile::Damaged(format!("{problem}; {} stays: {kept}", path.display())),
    }
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("damaged")
}

fn parse(text: &str, owner: &PinOwner) -> io::Result<PinBook> {
    let damaged = |what: &str| io::Error::other(what.to_owned());
    let (head, body) = text.split_once('\n').unwrap_or_default();
    let sum = head
        .strip_prefix(PIN_FILE_MAGIC)
        .ok_or_else(|| damaged("it is no file of pins"))?;
    if blake3::hash(body.as_bytes()).to_hex().as_str() != sum {
        return Err(damaged("its checksum is wrong"));
    }
    let stored: StoredPins = serde_json::from_str(body)?;
    if stored.owner != *owner {
        return Err(damaged("it belongs to another server"));
    }
    let pin = |stored: StoredPin| {
        let digest = blake3::Hash::from_hex(&stored.digest).ok()?.into();
        let pin = ToolPin {
            digest,
            since: stored.since,
            is_new: stored.new,
            definition: stored.definition().ok()?,
        };
        Some((stored.name, pin))
    };
    let pins = stored.tools.into_iter().map(pin).collect::<Option<_>>();
    Ok(PinBook {
        state: match stored.lost {
            true => PinBookState::Lost,
            false => PinBookState::Known,
        },
        pins: pins.ok_or_else(|| damaged("a digest or a definition in it is none"))?,
    })
}

pub(super) fn encode(owner: &PinOwner, book: &PinBook) -> Vec<u8> {
    let tools = book.pins.iter().map(|(name, pin)| StoredPin {
        name: name.clone(),
        digest: blake3::Hash::from(pin.digest).to_hex().to_string(),
        since: pin.since,
        new: pin.is_new,
        definition: None,
        packed: pin
            .definition
            .as_ref()
            .map(|text| BASE64_STANDARD.encode(text.bytes())),
    });
    let stored = StoredPins {
        owner: owner.clone(),
        lost: book.state == PinBookState::Lost,
        tools: tools.collect(),
    };
    // Plain data with names that are text.
    let body = serde_json::to_string(&stored).unwrap_or_default();
    let sum = blake3::hash(body.as_bytes()).to_hex();
    format!("{PIN_FILE_MAGIC}{sum}\n{body}").into_bytes()
}

/// On the disk when it returns. `whole` says that nothing is missing any more of what was damaged.
pub(super) fn write(folder: &Path, owner: &PinOwner, bytes: &[u8], whole: bool) -> io::Result<()> {
    let path = folder.join(owner.file());
    if !path.exists() {
        forget_older(folder, owner);
    }
    atomic_file::write(&path, bytes)?;
    if whole {
        drop(fs::remove_file(aside(&path)));
    }
    Ok(())
}

/// A server that was reached in many ways keeps the pins of the last few.
fn forget_older(folder: &Path, owner: &PinOwner) {
    let prefix = format!("{}.", owner.server);
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let ours = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(&prefix) && name.ends_with(".pins")
    });
    let dated =
        ours.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
    let mut dated: Vec<_> = dated.collect();
    dated.sort_unstable();
    let over = (dated.len() + 1).saturating_sub(MAX_FILES_PER_SERVER);
    for (_, path) in dated.into_iter().take(over) {
        drop(fs::remove_file(path));
    }
}

#[cfg(test)]
mod tests;
