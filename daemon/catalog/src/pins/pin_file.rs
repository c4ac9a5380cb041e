//! A server's pins on disk: a line with the checksum of the rest, then JSON.
//!
//! Invariant: only a complete file of the right server counts as a pin file. Any other is moved aside and keeps
//! counting as damaged, because the server must not be taken for a new one.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};

use super::pin_book::{PinBook, PinBookState, ToolPin};
use mux_files::{atomic_file, gzip_text::GzipText};

/// The version increases when the digest covers more of a tool: older pins must not count as changed then.
const PIN_FILE_MAGIC: &str = "mux-pins 1 ";
/// Far more than the longest pin file.
const MAX_PIN_FILE_BYTES: u64 = 64 << 20;
/// The maximum number of pin files of one server.
const MAX_FILES_PER_SERVER: usize = 16;

/// The server that the pins belong to.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub(super) struct PinOwner {
    pub(super) server: String,
    /// Identifies how the server is reached.
    pub(super) definition: String,
}

impl PinOwner {
    fn file(&self) -> String {
        format!("{}.{}.pins", self.server, &self.definition[..16])
    }
}

/// The result of reading a server's pin file.
pub(super) enum PinFile {
    Nothing,
    Book(PinBook),
    /// The pins are lost, for the given reason.
    Damaged(String),
}

#[derive(Deserialize, Serialize)]
struct StoredPins {
    #[serde(flatten)]
    owner: PinOwner,
    /// Set if not all tools were accepted again since pins were lost.
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    accepted: bool,
    /// The packed definition, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packed: Option<String>,
}

impl StoredPin {
    /// The stored definition. An error if it is invalid.
    fn definition(&self) -> Result<Option<GzipText>, ()> {
        let Some(packed) = &self.packed else {
            return Ok(None);
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
        Err(kept) => PinFile::Damaged(format!("{problem}; cannot move {}: {kept}", path.display())),
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
        .ok_or_else(|| damaged("it is not a pin file"))?;
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
            was_accepted: stored.accepted,
            definition: stored.definition().ok()?,
        };
        Some((stored.name, pin))
    };
    let pins = stored.tools.into_iter().map(pin).collect::<Option<_>>();
    Ok(PinBook {
        state: if stored.lost {
            PinBookState::Lost
        } else {
            PinBookState::Known
        },
        pins: pins.ok_or_else(|| damaged("it has an invalid digest or definition"))?,
    })
}

pub(super) fn encode(owner: &PinOwner, book: &PinBook) -> Vec<u8> {
    let tools = book.pins.iter().map(|(name, pin)| StoredPin {
        name: name.clone(),
        digest: blake3::Hash::from(pin.digest).to_hex().to_string(),
        since: pin.since,
        new: pin.is_new,
        accepted: pin.was_accepted,
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
    // Plain data with string keys: this cannot fail.
    let body = serde_json::to_string(&stored).unwrap_or_default();
    let sum = blake3::hash(body.as_bytes()).to_hex();
    format!("{PIN_FILE_MAGIC}{sum}\n{body}").into_bytes()
}

/// Writes the file, which is on disk when this returns. `whole` means that nothing of a damaged file is still missing.
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

/// Removes the oldest pin files of a server whose command or URL changed often.
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
