//! What the user's tools were when they were first trusted, and whether they still are.
//!
//! A server can say one thing of a tool on the day on which a user looks at it, and another on the next. So the whole
//! definition of each tool is pinned by its hash when its server is first met; a tool that is another one later is
//! described by what it was, and by the configuration's word refused, until somebody has seen the difference and
//! accepted it. Pins belong to a server's name and to how it is reached: a server that is started in another way is a
//! new acquaintance.
//!
//! Pins that cannot be read are lost and not unmade: nothing is known then of what was trusted, which is something else
//! than that nothing was.
//!
//! Invariant: a pin is made at first sight or by somebody's word, and by nothing else.

mod definition_diff;
mod pin_book;
mod pin_file;
mod pin_writer;

use mux_text::canonical_json;
use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

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
use mux_text::digest::{Digest, DigestKey};

/// All servers' pins.
#[derive(Debug)]
pub struct Pins {
    folder: PathBuf,
    /// As far as somebody has asked for them.
    books: Mutex<HashMap<PinOwner, Arc<Mutex<LoadedPins>>>>,
    writer: PinWriter,
    /// Sent whenever somebody has accepted something.
    accepted: watch::Sender<()>,
}

#[derive(Debug)]
struct LoadedPins {
    book: PinBook,
    /// What is wrong with the file.
    problem: Option<String>,
}

/// The longest definition that is shown.
const MAX_SHOWN_DEFINITION_BYTES: usize = 256 << 10;

/// A canonical text for people: JSON with its names in order, and with what nobody sees escaped. `None` if it is too long.
pub fn readable_definition(definition: &str) -> Option<String> {
    Some(canonical_json::to_readable(definition))
        .filter(|text| text.len() <= MAX_SHOWN_DEFINITION_BYTES)
}

/// One server's pins, and what becomes of what is not as pinned.
#[derive(Clone, Debug)]
pub struct PinKey {
    owner: PinOwner,
    on_change: OnChange,
}

/// One tool beside its pin.
#[derive(Clone, Debug)]
pub struct PinnedTool {
    pub name: String,
    pub digest: Option<DigestKey>,
    /// Seconds since 1970.
    pub since: Option<u64>,
}

impl PinKey {
    /// Names how the server is reached.
    pub fn definition(&self) -> &str {
        &self.owner.definition
    }

    /// As it is written in the configuration: a variable may be a secret, or another one tomorrow.
    pub fn of(name: &str, definition: &ServerDefinition) -> Self {
        let digest = Digest::new().text(name);
        let digest = match &definition.link {
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
    /// The folder is made with the first pin.
    pub fn open(folder: PathBuf) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            writer: PinWriter::start(folder.clone())?,
            folder,
            books: Mutex::default(),
            accepted: watch::Sender::new(()),
        }))
    }

    /// How the tools that a server lists now stand; those that nobody has seen before are pinned.
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
        if pinned {
            self.write(&key.owner, &kept.book, None);
        }
        judged
    }

    /// The same for those that it listed when it was last connected: nothing is pinned.
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

    /// Pins these tools as the server gives them now, if that is what was seen, by its digests. On the disk when it
    /// returns; whoever has a session of the server should ask for its list again.
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

    /// What is pinned of each of these tools, in their order.
    pub fn of(&self, key: &PinKey, tools: &ToolSet) -> Vec<PinnedTool> {
        let kept = (key.on_change != OnChange::Off).then(|| self.loaded_pins(&key.owner));
        let kept = kept.as_deref().map(lock);
        let pinned = tools.iter().map(|tool| {
            let pin = kept.as_ref().and_then(|kept| kept.book.pin(&tool.name));
            PinnedTool {
                name: tool.name.clone(),
                digest: pin.map(|pin| pin.digest),
                since: pin.map(|pin| pin.since),
            }
        });
        pinned.collect()
    }

    /// Is told whenever somebody has accepted something.
    pub fn accepted(&self) -> watch::Receiver<()> {
        self.accepted.subscribe()
    }

    /// What is wrong, and goes on being wrong until somebody does something.
    pub fn problems(&self) -> Vec<String> {
        let books: Vec<_> = self.books().values().cloned().collect();
        let told = books.iter().filter_map(|kept| lock(kept).problem.clone());
        let mut problems: Vec<String> = told.collect();
        problems.sort_unstable();
        problems.extend(self.writer.problems());
        problems
    }

    /// Resolves when all pins are on the disk, or the time is over.
    pub async fn settle(&self, within: Duration) {
        // What is not written then is met again as something new, or not at all.
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
        let kept = Arc::new(Mutex::new(LoadedPins { book, problem }));
        books.insert(owner.clone(), Arc::clone(&kept));
        kept
    }

    fn books(&self) -> MutexGuard<'_, HashMap<PinOwner, Arc<Mutex<LoadedPins>>>> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Done while the book is not locked: lists may be long.
fn digest_tools(kept: &Mutex<LoadedPins>, tools: Vec<ToolDescription>) -> Vec<DigestedTool> {
    let whole = lock(kept).book.whole();
    let listed = tools.into_iter().map(|tool| DigestedTool::of(tool, &whole));
    listed.collect()
}

fn lock(kept: &Mutex<LoadedPins>) -> MutexGuard<'_, LoadedPins> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
