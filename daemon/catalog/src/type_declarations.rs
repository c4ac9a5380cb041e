//! The type declarations against which programs are checked, and the declarations that people read.
//!
//! Invariant: a text is named by a digest of all its inputs, so one name never has two texts.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use mux_typegen::{ObservedResult, ResultShape, ServerDecl};
use tokio::sync::Semaphore;

use super::{CatalogReader, Digest, LearnedShapes, Tool, ToolSet, cache_slot::CacheSlot};
use mux_cache::CacheSpace;
use mux_process::{blocking_pool, malloc_trim};
use mux_text::digest::DigestKey;
use mux_typecheck::{TypeDeclarations, TypesText};

/// The number of texts kept in memory.
const MAX_KEPT_TYPE_TEXTS: usize = 4;
/// Generating a text of this size is followed by a trim of freed memory.
const MEMORY_TRIM_TEXT_BYTES: usize = 1 << 20;

/// A server with its known tools.
#[derive(Clone, Debug)]
pub struct KnownServer {
    pub name: String,
    pub tools: Option<Arc<ToolSet>>,
    /// A note for readers about why, or since when, the server's tools are not known.
    pub note: Option<String>,
}

/// The audience of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TypeTextAudience {
    /// The type checker: leaves out everything that changes with every call or session.
    Checker,
    /// People: includes the number of observed results.
    Reader,
}

impl TypeTextAudience {
    /// The audience that a reader belongs to: the number of others' observed results is only for the user.
    pub(super) fn for_reader(self, reader: &CatalogReader) -> Self {
        if reader.is_user() {
            self
        } else {
            Self::Checker
        }
    }

    pub fn observed(self, shape: Option<&ResultShape>) -> Option<ObservedResult<'_>> {
        shape.map(|shape| ObservedResult {
            shape,
            calls: Some(shape.calls()).filter(|calls| self == Self::Reader && *calls > 0),
        })
    }
}

pub(super) struct TypeTexts {
    cache_slot: CacheSlot,
    /// The latest texts for the checker, newest first: agents that see different tools take turns.
    last: Mutex<Vec<RecentTypeText>>,
    /// One text is generated at a time: generating takes several times the text's length in memory, and waiting callers
    /// often want the same text.
    making: Semaphore,
}

struct RecentTypeText {
    basis: DigestKey,
    /// The digest under which the text is stored, computed from its reader's view.
    lasting: DigestKey,
    /// The version of the learned shapes. A newer version makes the text obsolete.
    shapes_version: u64,
    types: TypeDeclarations,
    /// The key for storing the text, unless it is already stored.
    unwritten: Option<DigestKey>,
}

impl TypeTexts {
    pub(super) fn new(cache_slot: &CacheSlot) -> Self {
        Self {
            cache_slot: cache_slot.clone(),
            last: Mutex::default(),
            making: Semaphore::new(1),
        }
    }

    pub(super) async fn types(
        &self,
        servers: &[KnownServer],
        learned: &Arc<LearnedShapes>,
        wording: TypeTextAudience,
        reader: &CatalogReader,
    ) -> TypeDeclarations {
        if wording == TypeTextAudience::Reader {
            return made(servers, learned, wording, reader).await;
        }
        let quick = quick_basis(servers, learned, reader);
        let shapes_version = learned.version();
        if let Some(types) = self.lately(&quick) {
            return types;
        }
        // The semaphore is never closed, so this cannot fail.
        let _turn = self.making.acquire().await;
        if let Some(types) = self.lately(&quick) {
            return types;
        }
        let lasting = lasting_basis(servers, learned, reader);
        // Most readers see the same.
        let same = self.last().iter_mut().find_map(|last| {
            let is_same = last.lasting == lasting;
            is_same.then(|| (last.types.clone(), last.unwritten.take()))
        });
        let (types, unwritten) = match same {
            Some(same) => same,
            None => {
                if let Some(types) = self.kept(lasting).await {
                    (types, None)
                } else {
                    let made = made(servers, learned, wording, reader).await;
                    (made, Some(lasting))
                }
            }
        };
        let mut last = self.last();
        last.retain(|last| last.shapes_version == shapes_version);
        last.truncate(MAX_KEPT_TYPE_TEXTS - 1);
        let made = RecentTypeText {
            basis: quick,
            lasting,
            shapes_version,
            types: types.clone(),
            unwritten,
        };
        last.insert(0, made);
        types
    }

    /// Loads a text that an earlier daemon generated.
    async fn kept(&self, basis: DigestKey) -> Option<TypeDeclarations> {
        let bytes = self.cache_slot.get(CacheSpace::Types, basis).await?;
        let read = move || {
            let (held, text) = TypesText::kept(bytes)?;
            if text.len() >= MEMORY_TRIM_TEXT_BYTES {
                malloc_trim::give_back_soon();
            }
            Some(TypeDeclarations {
                hash: blake3::hash(text.as_bytes()).into(),
                text: held,
            })
        };
        blocking_pool::run(read).await
    }

    fn lately(&self, basis: &DigestKey) -> Option<TypeDeclarations> {
        let mut last = self.last();
        let index = last.iter().position(|last| last.basis == *basis)?;
        last[..=index].rotate_right(1);
        Some(last[0].types.clone())
    }

    /// Saves the latest texts. Done only at the end, because texts change often while shapes are learned, and only the
    /// next daemon reads them.
    pub(super) fn save(&self) {
        for last in self.last().iter_mut() {
            let Some(basis) = last.unwritten.take() else {
                continue;
            };
            let text = last.types.text.packed();
            self.cache_slot
                .put(CacheSpace::Types, basis, text.bytes().to_vec());
        }
    }

    fn last(&self) -> MutexGuard<'_, Vec<RecentTypeText>> {
        self.last.lock()
    }
}

/// Generates a text on the blocking pool. A long text takes a second.
async fn made(
    servers: &[KnownServer],
    learned: &Arc<LearnedShapes>,
    wording: TypeTextAudience,
    reader: &CatalogReader,
) -> TypeDeclarations {
    let servers = servers.to_vec();
    let learned = Arc::clone(learned);
    let reader = reader.clone();
    let make = move || {
        let text = generate(&servers, &learned, wording, &reader);
        let types = TypeDeclarations {
            hash: blake3::hash(text.as_bytes()).into(),
            text: text.as_str().into(),
        };
        if text.len() >= MEMORY_TRIM_TEXT_BYTES {
            malloc_trim::give_back_soon();
        }
        types
    };
    blocking_pool::run(make).await
}

/// A digest that shows within this process whether anything has changed.
fn quick_basis(
    servers: &[KnownServer],
    learned: &LearnedShapes,
    reader: &CatalogReader,
) -> DigestKey {
    let digest = Digest::new().bytes(&learned.version().to_le_bytes());
    let digest = digest.bytes(&reader.key());
    let digest = servers.iter().fold(digest, |digest, server| {
        let key = server.tools.as_ref().map(|tools| tools.key);
        digest.text(&server.name).bytes(&key.unwrap_or_default())
    });
    digest.key()
}

/// A digest that is stable across restarts: it covers the reader's view of the learned shapes, not their version.
fn lasting_basis(
    servers: &[KnownServer],
    learned: &LearnedShapes,
    reader: &CatalogReader,
) -> DigestKey {
    let mut digest = Digest::new().bytes(&mux_typegen::GENERATOR_VERSION.to_le_bytes());
    for server in servers {
        digest = digest.text(&server.name);
        let Some(tools) = &server.tools else {
            digest = digest.text("unknown");
            continue;
        };
        digest = digest.bytes(&tools.key);
        for tool in tools.iter() {
            if let Some(shape) = shape_of(tool, learned, reader) {
                digest = digest.bytes(&tool.key).bytes(&shape.bytes_of_type());
            }
        }
    }
    digest.key()
}

fn generate(
    servers: &[KnownServer],
    learned: &LearnedShapes,
    wording: TypeTextAudience,
    reader: &CatalogReader,
) -> String {
    let shapes: Vec<Vec<Option<Arc<ResultShape>>>> = servers
        .iter()
        .map(|server| {
            let tools = server.tools.iter().flat_map(|set| set.iter());
            tools.map(|tool| shape_of(tool, learned, reader)).collect()
        })
        .collect();
    let declared: Vec<ServerDecl<'_>> = servers
        .iter()
        .zip(&shapes)
        .map(|(server, shapes)| {
            let tools = server.tools.iter().flat_map(|set| set.iter());
            let tools = tools.zip(shapes).map(|(tool, shape)| {
                let observed = wording.for_reader(reader).observed(shape.as_deref());
                tool.declaration(observed)
            });
            let tools: Vec<_> = tools.collect();
            let note = match (&server.tools, wording) {
                (None, TypeTextAudience::Checker) => Some("its tools are not known now"),
                (Some(_), TypeTextAudience::Checker) => None,
                (_, TypeTextAudience::Reader) => server.note.as_deref(),
            };
            ServerDecl {
                name: &server.name,
                tools,
                note,
            }
        })
        .collect();
    match wording {
        TypeTextAudience::Checker => mux_typegen::checker_declarations(&declared),
        TypeTextAudience::Reader => mux_typegen::declarations(&declared),
    }
}

/// The learned shape, for tools without an output schema.
fn shape_of(
    tool: &Tool,
    learned: &LearnedShapes,
    reader: &CatalogReader,
) -> Option<Arc<ResultShape>> {
    if tool.has_output_schema() {
        None
    } else {
        learned.shape_for(tool, reader)
    }
}
