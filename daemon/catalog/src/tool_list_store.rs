//! The lists of each server's last session, which a new daemon knows before it connects.
//!
//! Invariant: a list belongs to a server definition. A server that is started differently is another server.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use tracing::debug;

use super::{Digest, SchemaText, ToolDescription, cache_slot::CacheSlot};
use mux_cache::{Cache, CacheSpace};
use mux_files::gzip_text::GzipText;
use mux_settings::{ServerDefinition, ServerEndpoint, SourceKind};
use mux_text::digest::DigestKey;

/// Increased when more of a tool is stored, because old lists lack it.
const TOOL_LIST_FORMAT: u32 = 2;
/// The longest list that is loaded, as JSON: more than any server may list.
const MAX_TOOL_LIST_BYTES: usize = 256 << 20;
/// The longest list that is read on a runtime thread, as JSON.
const MAX_INLINE_LIST_BYTES: usize = 256 << 10;

/// The value that marks a server as asking for roots.
const ASKS_FOR_ROOTS_MARKER: &[u8] = b"true";
/// The prefix of stored instructions. No list starts with it, packed or not.
const INSTRUCTIONS_PREFIX: &[u8] = b"instructions\n";

/// The prefix of stored resource and prompt lists. No tool list starts with it.
const OFFERS_PREFIX: &[u8] = b"offers\n";
/// The longest list of resources or prompts that is stored, as JSON.
const MAX_OFFERS_BYTES: usize = 1 << 20;

/// Identifies a server by its configuration.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ListKey(pub(super) DigestKey);

impl ListKey {
    /// Leaves out the values of environment variables and headers: they may be secrets, and a renewed token does not
    /// make another server.
    pub fn of(name: &str, definition: &ServerDefinition) -> Self {
        let digest = Digest::new()
            .bytes(&TOOL_LIST_FORMAT.to_le_bytes())
            .text(name);
        let digest = match &definition.link {
            ServerEndpoint::Process(process) => {
                let digest = digest
                    .text(&process.command)
                    .text(&process.cwd.to_string_lossy());
                let digest = process
                    .args
                    .iter()
                    .fold(digest.text("args"), |digest, arg| digest.text(arg.expose()));
                let names = process.env.keys();
                names.fold(digest.text("env"), |digest, name| digest.text(name))
            }
            ServerEndpoint::Remote(remote) => {
                let digest = digest.text("url").text(remote.url.expose());
                let names = remote.headers.keys();
                let digest = names.fold(digest.text("headers"), |digest, name| digest.text(name));
                match &remote.account {
                    // A list may be private to the login.
                    Some(account) => digest.text("account").text(account),
                    None => digest,
                }
            }
            ServerEndpoint::Source(source) => {
                let digest = digest.text("source").text(&source.shown());
                let digest = digest.text(&source.depth.to_string());
                if source.kind == SourceKind::Graphql {
                    return Self(digest.key());
                }
                // An excluded function is not even listed.
                let digest = digest.text(&source.max_functions.to_string());
                let patterns = source.exclude.iter();
                patterns.fold(digest, |digest, pattern| digest.text(pattern))
            }
        };
        Self(digest.key())
    }
}

impl ListKey {
    /// The key of the marker for roots.
    fn of_roots(&self) -> DigestKey {
        Digest::new().text("roots").bytes(&self.0).key()
    }

    /// The key of a list of resources or prompts: its MCP method, and the session's owner.
    fn of_offers(&self, method: &str, owner: &str) -> DigestKey {
        let digest = Digest::new().text("offers").bytes(&self.0);
        digest.text(method).text(owner).key()
    }

    /// The key of the instructions.
    fn of_instructions(&self) -> DigestKey {
        Digest::new().text("instructions").bytes(&self.0).key()
    }
}

pub(super) struct ToolListStore {
    shelf: CacheSlot,
    lists: Mutex<HashMap<DigestKey, GzipText>>,
    /// Lists of resources and prompts, by [`ListKey::of_offers`].
    offers: Mutex<HashMap<DigestKey, GzipText>>,
    /// Servers that ask for roots, by [`ListKey::of_roots`].
    roots: Mutex<HashSet<DigestKey>>,
    /// Instructions of servers, by [`ListKey::of_instructions`].
    instructions: Mutex<HashMap<DigestKey, String>>,
}

impl ToolListStore {
    pub(super) fn new(shelf: &CacheSlot) -> Self {
        Self {
            shelf: shelf.clone(),
            lists: Mutex::default(),
            offers: Mutex::default(),
            roots: Mutex::default(),
            instructions: Mutex::default(),
        }
    }

    pub(super) async fn load(&self, cache: &Cache) {
        let mut lists = HashMap::new();
        let mut roots = HashSet::new();
        let mut instructions = HashMap::new();
        let mut offers = HashMap::new();
        for (key, bytes) in cache.all(CacheSpace::Catalogs).await {
            if bytes == ASKS_FOR_ROOTS_MARKER {
                roots.insert(key);
                continue;
            }
            if let Some(text) = bytes.strip_prefix(INSTRUCTIONS_PREFIX) {
                instructions.insert(key, String::from_utf8_lossy(text).into_owned());
                continue;
            }
            if let Some(packed) = bytes.strip_prefix(OFFERS_PREFIX) {
                let packed = GzipText::from_bytes(packed.to_vec());
                offers.extend(packed.map(|packed| (key, packed)));
                continue;
            }
            // Earlier builds stored lists unpacked.
            let unpacked =
                |bytes: Vec<u8>| String::from_utf8(bytes).ok().map(|it| GzipText::of(&it));
            let packed = match bytes.first() {
                Some(b'[') => unpacked(bytes),
                _ => GzipText::from_bytes(bytes),
            };
            lists.extend(packed.map(|packed| (key, packed)));
        }
        self.lists().extend(lists);
        self.offers.lock().extend(offers);
        self.roots().extend(roots);
        self.instructions().extend(instructions);
    }

    /// True if the list is too long to be read on a runtime thread.
    pub(super) fn is_long(&self, key: &ListKey) -> bool {
        let lists = self.lists();
        lists
            .get(&key.0)
            .is_some_and(|list| list.unpacked_bytes() > MAX_INLINE_LIST_BYTES)
    }

    pub(super) fn recall(&self, key: &ListKey) -> Option<Vec<ToolDescription>> {
        let packed = self.lists().get(&key.0)?.clone();
        let stored: Vec<StoredTool<'_>> = serde_json::from_str(&packed.read(MAX_TOOL_LIST_BYTES)?)
            .inspect_err(|error| debug!(%error, "a remembered list of tools cannot be read"))
            .ok()?;
        Some(stored.into_iter().map(Into::into).collect())
    }

    /// Stores the list, unless it is unchanged.
    pub(super) fn keep(&self, key: &ListKey, tools: &[ToolDescription]) {
        let packed = GzipText::json(&ToolListJson(tools));
        let mut lists = self.lists();
        if lists.get(&key.0) != Some(&packed) {
            self.shelf
                .put(CacheSpace::Catalogs, key.0, packed.bytes().to_vec());
            lists.insert(key.0, packed);
        }
    }

    /// Stores a list of resources or prompts, unless it is unchanged or too long.
    pub(super) fn keep_offers(&self, key: &ListKey, method: &str, owner: &str, items: &[Value]) {
        let key = key.of_offers(method, owner);
        let packed = GzipText::json(&items);
        let mut offers = self.offers.lock();
        if packed.unpacked_bytes() > MAX_OFFERS_BYTES {
            offers.remove(&key);
            self.shelf.remove(CacheSpace::Catalogs, key);
        } else if offers.get(&key) != Some(&packed) {
            let bytes = [OFFERS_PREFIX, packed.bytes()].concat();
            self.shelf.put(CacheSpace::Catalogs, key, bytes);
            offers.insert(key, packed);
        }
    }

    pub(super) fn recall_offers(
        &self,
        key: &ListKey,
        method: &str,
        owner: &str,
    ) -> Option<Vec<Value>> {
        let key = key.of_offers(method, owner);
        let packed = self.offers.lock().get(&key)?.clone();
        serde_json::from_str(&packed.read(MAX_OFFERS_BYTES)?).ok()
    }

    /// Stores the server's instructions. Returns true if different instructions were known before.
    pub(super) fn keep_instructions(&self, key: &ListKey, text: Option<&str>) -> bool {
        let key = key.of_instructions();
        let mut known = self.instructions();
        let before = known.get(&key).map(String::as_str);
        if before == text {
            return false;
        }
        let changed = before.is_some();
        if let Some(text) = text {
            let bytes = [INSTRUCTIONS_PREFIX, text.as_bytes()].concat();
            self.shelf.put(CacheSpace::Catalogs, key, bytes);
            known.insert(key, text.to_owned());
        } else {
            self.shelf.remove(CacheSpace::Catalogs, key);
            known.remove(&key);
        }
        changed
    }

    pub(super) fn recall_instructions(&self, key: &ListKey) -> Option<String> {
        self.instructions().get(&key.of_instructions()).cloned()
    }

    /// Records that the server asks for roots, its clients' directories.
    pub(super) fn keep_roots(&self, key: &ListKey) {
        self.shelf.put(
            CacheSpace::Catalogs,
            key.of_roots(),
            ASKS_FOR_ROOTS_MARKER.into(),
        );
        self.roots().insert(key.of_roots());
    }

    pub(super) fn asks_for_roots(&self, key: &ListKey) -> bool {
        self.roots().contains(&key.of_roots())
    }

    fn lists(&self) -> MutexGuard<'_, HashMap<DigestKey, GzipText>> {
        self.lists.lock()
    }

    fn instructions(&self) -> MutexGuard<'_, HashMap<DigestKey, String>> {
        self.instructions.lock()
    }

    fn roots(&self) -> MutexGuard<'_, HashSet<DigestKey>> {
        self.roots.lock()
    }
}

/// Serializes a list tool by tool.
struct ToolListJson<'a>(&'a [ToolDescription]);

impl Serialize for ToolListJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(StoredTool::from))
    }
}

/// A tool as stored.
#[serde_with::skip_serializing_none]
#[derive(Deserialize, Serialize)]
struct StoredTool<'a> {
    name: Cow<'a, str>,
    title: Option<Cow<'a, str>>,
    description: Option<Cow<'a, str>>,
    input: Cow<'a, SchemaText>,
    output: Option<Cow<'a, SchemaText>>,
    read_only: Option<bool>,
    destructive: Option<bool>,
    #[serde(default, skip_serializing_if = "is_empty")]
    extra: Cow<'a, Map<String, Value>>,
}

fn is_empty(extra: &Map<String, Value>) -> bool {
    extra.is_empty()
}

impl<'a> From<&'a ToolDescription> for StoredTool<'a> {
    fn from(tool: &'a ToolDescription) -> Self {
        Self {
            name: tool.name.as_str().into(),
            title: tool.title.as_deref().map(Cow::Borrowed),
            description: tool.description.as_deref().map(Cow::Borrowed),
            input: Cow::Borrowed(&tool.input_schema),
            output: tool.output_schema.as_ref().map(Cow::Borrowed),
            read_only: tool.read_only,
            destructive: tool.destructive,
            extra: Cow::Borrowed(&tool.extra),
        }
    }
}

impl From<StoredTool<'_>> for ToolDescription {
    fn from(tool: StoredTool<'_>) -> Self {
        Self {
            name: tool.name.into_owned(),
            title: tool.title.map(Cow::into_owned),
            description: tool.description.map(Cow::into_owned),
            input_schema: tool.input.into_owned(),
            output_schema: tool.output.map(Cow::into_owned),
            read_only: tool.read_only,
            destructive: tool.destructive,
            extra: tool.extra.into_owned(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list() -> Vec<ToolDescription> {
        let described = ToolDescription::of_definition(&json!({
            "name": "n",
            "description": "D",
            "inputSchema": { "type": "object", "properties": { "a": { "type": "string" } } },
            "outputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true },
        }));
        vec![described.unwrap()]
    }

    #[tokio::test]
    async fn lists_are_kept_across_daemons_and_builds() {
        let cache = Cache::memory();
        let shelf = CacheSlot::default();
        shelf.put_up(cache.clone());
        let new = ListKey([1; 32]);
        let old = ListKey([2; 32]);
        let asking = ListKey([3; 32]);
        let remembered = ToolListStore::new(&shelf);
        remembered.keep(&new, &list());
        remembered.keep_roots(&asking);
        assert!(!remembered.keep_instructions(&new, Some("first")));
        assert!(remembered.keep_instructions(&new, Some("Read the manual.")));
        assert!(!remembered.keep_instructions(&new, Some("Read the manual.")));
        let plain = json!([{ "name": "n", "input": {}, "read_only": true }]).to_string();
        cache.put(CacheSpace::Catalogs, old.0, plain.into_bytes());
        cache.put(CacheSpace::Catalogs, [4; 32], b"rubbish".to_vec());
        cache.flush().await;

        let later = ToolListStore::new(&shelf);
        later.load(&cache).await;
        let instructions = later.recall_instructions(&new);
        assert_eq!(instructions.as_deref(), Some("Read the manual."));
        assert!(later.keep_instructions(&new, None));
        assert_eq!(later.recall_instructions(&new), None);
        let recalled = later.recall(&new).unwrap();
        assert_eq!(recalled[0].definition(), list()[0].definition());
        assert_eq!(recalled[0].read_only, Some(true));
        let recalled = later.recall(&old).unwrap();
        assert_eq!(recalled[0].name, "n");
        assert!(later.asks_for_roots(&asking) && !later.asks_for_roots(&new));
        assert!(later.recall(&ListKey([4; 32])).is_none());
        assert!(!later.is_long(&new));
    }
}
