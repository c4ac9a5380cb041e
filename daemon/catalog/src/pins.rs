//! Pins: the definitions of tools when they were first trusted, and the detection of changes.
//!
//! A server can change a tool's definition after the user has reviewed it. So the complete definition of each tool is
//! pinned by its hash when its server is first seen. A tool that differs later is described by its pinned definition
//! and, depending on the configuration, refused until the user has seen and accepted the difference. Pins belong to a
//! server's name and to its command or URL: a server with another command or URL starts with new pins.
//!
//! If pins cannot be read, they count as lost, not as absent: then the trusted definitions are unknown, which differs
//! from having trusted nothing.
//!
//! Invariant: a pin is created when a tool is first seen or accepted by the user, never otherwise.

mod definition_diff;
mod list_order;
mod pin_book;
mod pin_file;
mod pin_writer;

use mux_text::canonical_json;
use std::{
    collections::{HashMap, HashSet},
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};

pub use self::pin_book::AcceptError;
use self::{
    pin_book::{DigestedTool, PinBook, PinBookState},
    pin_file::{PinFile, PinOwner},
    pin_writer::PinWriter,
};
use crate::{ToolDescription, ToolSet};
use mux_settings::{OnChange, ServerDefinition, ServerEndpoint};
use mux_text::{
    digest::{Digest, DigestKey},
    sanitize::clean,
};

/// All servers' pins.
#[derive(Debug)]
pub struct Pins {
    folder: PathBuf,
    /// Loaded on first use.
    books: Mutex<HashMap<PinOwner, Arc<Mutex<LoadedPins>>>>,
    writer: PinWriter,
    /// Notified whenever the user has accepted a definition.
    accepted: watch::Sender<()>,
}

#[derive(Debug)]
struct LoadedPins {
    book: PinBook,
    /// The problem with the file, if any.
    problem: Option<String>,
    /// The tools whose differences were logged although they need no decision.
    logged: HashSet<String>,
}

impl LoadedPins {
    /// Logs each tool that is offered as trusted although its server describes it differently, once.
    fn log_harmless_changes(&mut self, server: &str, tools: &[ToolDescription]) {
        for tool in tools {
            let Some(note) = tool.pin_status.note() else {
                continue;
            };
            if self.logged.len() < MAX_LOGGED_TOOLS && self.logged.insert(tool.name.clone()) {
                info!(server, tool = %clean(&tool.name), "{note}");
            }
        }
    }
}

/// The longest definition that is displayed.
const MAX_SHOWN_DEFINITION_BYTES: usize = 256 << 10;

/// The maximum number of tools of a server whose harmless differences are logged.
const MAX_LOGGED_TOOLS: usize = 100;

/// In a displayed definition, members that models read and calls depend on come first, and these last.
const SHOWN_LAST: [&str; 2] = ["annotations", "outputSchema"];

/// Formats a canonical text for display: JSON with invisible characters escaped, and with the members first that a user
/// should read first. `None` if it is too long.
pub fn readable_definition(definition: &str) -> Option<String> {
    let mut ordered: Value = serde_json::from_str(definition).unwrap_or_default();
    if let Value::Object(members) = &mut ordered {
        for name in SHOWN_LAST {
            if let Some(member) = members.shift_remove(name) {
                members.insert(name.to_owned(), member);
            }
        }
    }
    Some(canonical_json::to_readable(&ordered.to_string()))
        .filter(|text| text.len() <= MAX_SHOWN_DEFINITION_BYTES)
}

/// Identifies one server's pins, with the configured reaction to changes.
#[derive(Clone, Debug)]
pub struct PinKey {
    owner: PinOwner,
    on_change: OnChange,
}

/// One tool with its pin.
#[derive(Clone, Debug)]
pub struct PinnedTool {
    pub name: String,
    pub digest: Option<DigestKey>,
    /// Seconds since 1970.
    pub since: Option<u64>,
}

impl PinKey {
    /// Identifies how the server is reached.
    pub fn definition(&self) -> &str {
        &self.owner.definition
    }

    /// Uses the configuration as written: an expanded variable may be a secret, or change.
    pub fn of(name: &str, definition: &ServerDefinition) -> Self {
        let digest = Digest::new().text(name);
        let digest = match &definition.endpoint {
            ServerEndpoint::Process(process) => {
                let written = process.written.iter();
                written.fold(digest.text("command"), |digest, word| digest.text(word))
            }
            ServerEndpoint::Remote(remote) => {
                let socket = remote.socket.as_ref().map(|path| path.to_string_lossy());
                let digest = digest.text("url").text(&remote.written);
                digest.optional_text(socket.as_deref())
            }
            ServerEndpoint::Source(source) => digest.text("source").text(&source.written),
        };
        Self {
            owner: PinOwner {
                server: name.to_owned(),
                definition: blake3::Hash::from(digest.key()).to_hex().to_string(),
            },
            on_change: definition.pins,
        }
    }
}

impl Pins {
    /// Opens the pins. The folder is created with the first pin.
    pub fn open(folder: PathBuf) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            writer: PinWriter::start(folder.clone())?,
            folder,
            books: Mutex::default(),
            accepted: watch::Sender::new(()),
        }))
    }

    /// Compares a connected server's tools with their pins, and pins tools that were never seen.
    pub fn compare_with_pins(
        &self,
        key: &PinKey,
        tools: Vec<ToolDescription>,
    ) -> Vec<ToolDescription> {
        if key.on_change == OnChange::Off {
            return tools;
        }
        let kept = self.loaded_pins(&key.owner);
        let listed = digest_tools(&kept, tools);
        let mut kept = lock(&kept);
        let (judged, pinned) = kept.book.judge(listed, key.on_change, unix_seconds());
        kept.log_harmless_changes(&key.owner.server, &judged);
        if pinned {
            self.write(&key.owner, &kept.book, None);
        }
        judged
    }

    /// Compares a remembered list with the pins. Pins nothing.
    pub fn compare_remembered(
        &self,
        key: &PinKey,
        tools: Vec<ToolDescription>,
    ) -> Vec<ToolDescription> {
        if key.on_change == OnChange::Off {
            return tools;
        }
        let kept = self.loaded_pins(&key.owner);
        let listed = digest_tools(&kept, tools);
        let kept = lock(&kept);
        kept.book.recall(listed, key.on_change)
    }

    /// Pins these tools as the server gives them now, if the user has seen their digests. The pins are on disk when
    /// this returns. The caller should refresh the tool lists of the server's sessions.
    pub async fn accept(
        &self,
        key: &PinKey,
        offered: &ToolSet,
        seen: &[(String, DigestKey)],
    ) -> Result<io::Result<()>, AcceptError> {
        if key.on_change == OnChange::Off {
            return Err(AcceptError::Off);
        }
        let (done, written) = oneshot::channel();
        {
            let kept = self.loaded_pins(&key.owner);
            let mut kept = lock(&kept);
            kept.book.accept(offered, seen, unix_seconds())?;
            if kept.book.state == PinBookState::Known {
                kept.problem = None;
            }
            self.write(&key.owner, &kept.book, Some(done));
        }
        info!(
            server = key.owner.server,
            tools = seen.len(),
            "tools were accepted"
        );
        let gone = || io::Error::other("the thread that writes pins has ended");
        let outcome = written.await.unwrap_or_else(|_| Err(gone()));
        self.accepted.send_replace(());
        Ok(outcome)
    }

    /// The pins of these tools, in their order. A pin belongs to the server's own name, whatever an override says.
    pub fn of(&self, key: &PinKey, tools: &ToolSet) -> Vec<PinnedTool> {
        let kept = (key.on_change != OnChange::Off).then(|| self.loaded_pins(&key.owner));
        let kept = kept.as_deref().map(lock);
        let pinned = tools.iter().map(|tool| {
            let pin = kept
                .as_ref()
                .and_then(|kept| kept.book.pin(tool.server_name()));
            PinnedTool {
                name: tool.name.clone(),
                digest: pin.map(|pin| pin.digest),
                since: pin.map(|pin| pin.since),
            }
        });
        pinned.collect()
    }

    /// A receiver that is notified whenever the user has accepted a definition.
    pub fn accepted(&self) -> watch::Receiver<()> {
        self.accepted.subscribe()
    }

    /// Problems that persist until the user acts.
    pub fn problems(&self) -> Vec<String> {
        let books: Vec<_> = self.books().values().cloned().collect();
        let found = books.iter().filter_map(|kept| lock(kept).problem.clone());
        let mut problems: Vec<String> = found.collect();
        problems.sort_unstable();
        problems.extend(self.writer.problems());
        problems
    }

    /// Waits until all pins are on disk, or for `within`.
    pub async fn settle(&self, within: Duration) {
        // Pins that are not written by then are created again when the tool is seen again.
        _ = tokio::time::timeout(within, self.writer.settled()).await;
    }

    fn write(
        &self,
        owner: &PinOwner,
        book: &PinBook,
        done: Option<oneshot::Sender<io::Result<()>>>,
    ) {
        let whole = book.state == PinBookState::Known;
        self.writer
            .write(owner, pin_file::encode(owner, book), whole, done);
    }

    fn loaded_pins(&self, owner: &PinOwner) -> Arc<Mutex<LoadedPins>> {
        let mut books = self.books();
        if let Some(kept) = books.get(owner) {
            return Arc::clone(kept);
        }
        let (book, problem) = match pin_file::read(&self.folder, owner) {
            PinFile::Nothing => (PinBook::default(), None),
            PinFile::Book(book) => (book, None),
            PinFile::Damaged(why) => {
                let book = PinBook {
                    state: PinBookState::Lost,
                    ..PinBook::default()
                };
                let server = &owner.server;
                let problem = format!(
                    "the pins of `{server}` are lost: {why}; `mux servers accept {server}` shows its tools"
                );
                warn!("{problem}");
                (book, Some(problem))
            }
        };
        let kept = Arc::new(Mutex::new(LoadedPins {
            book,
            problem,
            logged: HashSet::new(),
        }));
        books.insert(owner.clone(), Arc::clone(&kept));
        kept
    }

    fn books(&self) -> MutexGuard<'_, HashMap<PinOwner, Arc<Mutex<LoadedPins>>>> {
        self.books.lock()
    }
}

/// Computes digests without holding the lock, because lists may be long.
fn digest_tools(kept: &Mutex<LoadedPins>, tools: Vec<ToolDescription>) -> Vec<DigestedTool> {
    let whole = lock(kept).book.whole();
    let listed = tools.into_iter().map(|tool| DigestedTool::of(tool, &whole));
    listed.collect()
}

fn lock(kept: &Mutex<LoadedPins>) -> MutexGuard<'_, LoadedPins> {
    kept.lock()
}

fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
