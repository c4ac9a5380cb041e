//! The text that programs are checked against, and the one that people read.
//!
//! Invariant: a text is named by everything that it was made of, so that one name never has two texts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mux_typegen::{Observed, ServerDecl, Shape};
use tokio::sync::Semaphore;

use super::{Digest, Learned, Tool, ToolSet, shelf::Shelf};
use mux_cache::Space;
use mux_process::{blocking_pool, freed_memory};
use mux_text::digest::Key;
use mux_typecheck::{Text, Types};

/// Texts that are kept at hand.
const KEPT: usize = 4;
/// A text of so many bytes leaves memory behind, when it is made, that is worth asking for.
const LONG: usize = 1 << 20;

/// A server with the tools that it is known to have.
#[derive(Clone, Debug)]
pub struct Known {
    pub name: String,
    pub tools: Option<Arc<ToolSet>>,
    /// What a reader should know of it: why its tools are not known, or since when.
    pub note: Option<String>,
}

/// For whom a text is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wording {
    /// What changes with every call or session is left out.
    Checker,
    /// With how often a result was observed.
    Reader,
}

impl Wording {
    pub fn observed(self, shape: Option<&Shape>) -> Option<Observed<'_>> {
        shape.map(|shape| Observed {
            shape,
            calls: (self == Self::Reader).then(|| shape.calls()),
        })
    }
}

pub(super) struct Texts {
    shelf: Shelf,
    /// The last ones for the checker, the latest first: agents who see other tools take turns.
    last: Mutex<Vec<Last>>,
    /// One text is made at a time: it takes several times its length until it is made, and who waits often wants the same.
    making: Semaphore,
}

struct Last {
    basis: Key,
    /// How much had been learned. With the next lesson nobody needs the text any more.
    lessons: u64,
    types: Types,
    /// The name under which the next daemon looks for it, unless it stands there already.
    unwritten: Option<Key>,
}

impl Texts {
    pub(super) fn new(shelf: &Shelf) -> Self {
        Self {
            shelf: shelf.clone(),
            last: Mutex::default(),
            making: Semaphore::new(1),
        }
    }

    pub(super) async fn types(
        &self,
        servers: &[Known],
        learned: &Arc<Learned>,
        wording: Wording,
    ) -> Types {
        if wording == Wording::Reader {
            return made(servers, learned, wording).await;
        }
        let (quick, lessons) = (quick_basis(servers, learned), learned.version());
        if let Some(types) = self.lately(&quick) {
            return types;
        }
        // Never closed: it cannot fail.
        let _turn = self.making.acquire().await;
        if let Some(types) = self.lately(&quick) {
            return types;
        }
        let basis = lasting_basis(servers, learned);
        let (types, unwritten) = match self.kept(basis).await {
            Some(types) => (types, None),
            None => (made(servers, learned, wording).await, Some(basis)),
        };
        let mut last = self.last();
        last.retain(|last| last.lessons == lessons);
        last.truncate(KEPT - 1);
        let made = Last {
            basis: quick,
            lessons,
            types: types.clone(),
            unwritten,
        };
        last.insert(0, made);
        types
    }

    /// As an earlier daemon made it.
    async fn kept(&self, basis: Key) -> Option<Types> {
        let bytes = self.shelf.get(Space::Types, basis).await?;
        let read = move || {
            let (held, text) = Text::kept(bytes)?;
            if text.len() >= LONG {
                freed_memory::give_back_soon();
            }
            Some(Types {
                hash: blake3::hash(text.as_bytes()).into(),
                text: held,
            })
        };
        blocking_pool::run(read).await
    }

    fn lately(&self, basis: &Key) -> Option<Types> {
        let mut last = self.last();
        let place = last.iter().position(|last| last.basis == *basis)?;
        last[..=place].rotate_right(1);
        Some(last[0].types.clone())
    }

    /// Writes the last text down. While shapes are learned it changes with many a call, and only the next
    /// daemon reads it.
    pub(super) fn save(&self) {
        for last in self.last().iter_mut() {
            let Some(basis) = last.unwritten.take() else {
                continue;
            };
            let text = last.types.text.packed();
            self.shelf.put(Space::Types, basis, text.bytes().to_vec());
        }
    }

    fn last(&self) -> MutexGuard<'_, Vec<Last>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A long text takes a second.
async fn made(servers: &[Known], learned: &Arc<Learned>, wording: Wording) -> Types {
    let (servers, learned) = (servers.to_vec(), Arc::clone(learned));
    let make = move || {
        let text = generate(&servers, &learned, wording);
        let types = Types {
            hash: blake3::hash(text.as_bytes()).into(),
            text: text.as_str().into(),
        };
        if text.len() >= LONG {
            freed_memory::give_back_soon();
        }
        types
    };
    blocking_pool::run(make).await
}

/// Says within this process whether anything has changed.
fn quick_basis(servers: &[Known], learned: &Learned) -> Key {
    let digest = Digest::new().bytes(&learned.version().to_le_bytes());
    let digest = servers.iter().fold(digest, |digest, server| {
        let key = server.tools.as_ref().map(|tools| tools.key);
        digest.text(&server.name).bytes(&key.unwrap_or_default())
    });
    digest.key()
}

/// The same over restarts: what was learned stands in it, and not how often that changed.
fn lasting_basis(servers: &[Known], learned: &Learned) -> Key {
    let mut digest = Digest::new().bytes(&mux_typegen::GENERATOR.to_le_bytes());
    for server in servers {
        digest = digest.text(&server.name);
        let Some(tools) = &server.tools else {
            digest = digest.text("unknown");
            continue;
        };
        digest = digest.bytes(&tools.key);
        for tool in tools.iter() {
            if let Some(shape) = shape_of(tool, learned) {
                digest = digest.bytes(&tool.key).bytes(&shape.kind());
            }
        }
    }
    digest.key()
}

fn generate(servers: &[Known], learned: &Learned, wording: Wording) -> String {
    let shapes: Vec<Vec<Option<Arc<Shape>>>> = servers
        .iter()
        .map(|server| {
            let tools = server.tools.iter().flat_map(|set| set.iter());
            tools.map(|tool| shape_of(tool, learned)).collect()
        })
        .collect();
    let declared: Vec<ServerDecl<'_>> = servers
        .iter()
        .zip(&shapes)
        .map(|(server, shapes)| {
            let tools = server.tools.iter().flat_map(|set| set.iter());
            let tools = tools.zip(shapes).map(|(tool, shape)| {
                let observed = wording.observed(shape.as_deref());
                tool.declaration(observed)
            });
            let tools: Vec<_> = tools.collect();
            let note = match (&server.tools, wording) {
                (None, Wording::Checker) => Some("its tools are not known now"),
                (Some(_), Wording::Checker) => None,
                (_, Wording::Reader) => server.note.as_deref(),
            };
            ServerDecl {
                name: &server.name,
                tools,
                note,
            }
        })
        .collect();
    mux_typegen::declarations(&declared)
}

/// What was learned counts where nothing was declared.
fn shape_of(tool: &Tool, learned: &Learned) -> Option<Arc<Shape>> {
    match tool.has_output_schema() {
        true => None,
        false => learned.shape(tool),
    }
}
