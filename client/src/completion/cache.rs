//! The tools of the last lists, for completion while no daemon runs.
//!
//! Invariant: a command never fails because of this file, which may be missing, outdated or damaged.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use mux_proto::{ToolInfo, ToolList, endpoint::Dirs};
use mux_typegen::names::spell;
use serde::{Deserialize, Serialize};

const FILE_NAME: &str = "completion.json";
/// A file of another version is ignored.
const VERSION: u32 = 1;
const MAX_TOOLS: usize = 5_000;
const MAX_FILE_BYTES: u64 = 4 << 20;
const MAX_DESCRIPTION_CHARS: usize = 120;

/// A tool as completion needs it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct CachedTool {
    pub(super) server: String,
    pub(super) signature: String,
    #[serde(default)]
    pub(super) description: String,
}

/// Tools by their paths.
pub(super) type CachedTools = BTreeMap<String, CachedTool>;

#[derive(Deserialize, Serialize)]
struct CacheFile {
    version: u32,
    tools: CachedTools,
}

impl CachedTool {
    pub(super) fn new(server: &str, signature: &str, description: Option<&str>) -> Self {
        let line = description.unwrap_or_default().lines().next();
        let description = line.unwrap_or_default().chars();
        Self {
            server: server.to_owned(),
            signature: signature.to_owned(),
            description: description.take(MAX_DESCRIPTION_CHARS).collect(),
        }
    }
}

/// Keeps the tools of a list. `server`: only those of this server were requested.
pub(crate) fn remember_list(dirs: &Dirs, list: &ToolList, server: Option<&str>) {
    // A complete list has no removed tools.
    let is_whole = list.tools.len() == list.total;
    let is_listed = |known: &str| {
        let is_missing = list.missing.iter().any(|missing| missing.server == known);
        let is_requested = server.is_none_or(|server| spell(server) == spell(known));
        is_whole && !is_missing && is_requested
    };
    update(dirs, &list.tools, is_listed);
}

/// Keeps the tools that a search has found.
pub(crate) fn remember_found(dirs: &Dirs, tools: &[ToolInfo]) {
    update(dirs, tools, |_| false);
}

/// Adds tools. Of servers that are `listed`, no other tools are kept.
fn update(dirs: &Dirs, found: &[ToolInfo], is_listed: impl Fn(&str) -> bool) {
    let before = read(dirs);
    let mut tools = before.clone();
    tools.retain(|_, tool| !is_listed(&tool.server));
    let callable = found.iter().filter(|tool| !tool.for_apps);
    tools.extend(callable.map(|tool| {
        let description = tool.description.as_deref();
        let cached = CachedTool::new(&tool.server, &tool.signature, description);
        (tool.path.clone(), cached)
    }));
    if tools != before {
        // Completion works without the file.
        drop(write(dirs, tools));
    }
}

pub(super) fn read(dirs: &Dirs) -> CachedTools {
    let path = path(dirs);
    let fits = fs::metadata(&path).is_ok_and(|found| found.len() <= MAX_FILE_BYTES);
    let text = fits.then(|| fs::read_to_string(path).ok()).flatten();
    let file = text.and_then(|text| serde_json::from_str::<CacheFile>(&text).ok());
    file.filter(|file| file.version == VERSION)
        .map_or_else(CachedTools::new, |file| file.tools)
}

fn write(dirs: &Dirs, mut tools: CachedTools) -> io::Result<()> {
    while tools.len() > MAX_TOOLS {
        tools.pop_last();
    }
    let mut file = tempfile::NamedTempFile::new_in(&dirs.cache)?;
    let version = VERSION;
    serde_json::to_writer(&mut file, &CacheFile { version, tools })?;
    file.persist(path(dirs))?;
    Ok(())
}

fn path(dirs: &Dirs) -> PathBuf {
    dirs.cache.join(FILE_NAME)
}

#[cfg(test)]
mod tests {
    use mux_proto::{Error, Kind, MissingServer};

    use super::*;

    fn list(paths: &[&str], total: usize) -> ToolList {
        let tools = paths.iter().map(|path| ToolInfo {
            path: (*path).into(),
            server: path.split('.').next().unwrap().into(),
            description: Some("does it\nwell".into()),
            ..ToolInfo::default()
        });
        ToolList {
            tools: tools.collect(),
            total,
            missing: Vec::new(),
            warnings: Vec::new(),
            remembered: Vec::new(),
            instructions: Vec::new(),
            fence: None,
        }
    }

    #[test]
    fn whole_list_replaces_the_tools_of_its_servers() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        let paths = || read(&dirs).into_keys().collect::<Vec<_>>();
        // Without a cache directory, lists are not kept, and there is no error.
        remember_list(&dirs, &list(&["a.x"], 1), None);
        assert!(paths().is_empty());
        fs::create_dir(&dirs.cache).unwrap();
        remember_list(&dirs, &list(&["a.x", "a.y", "b.x"], 3), None);
        assert_eq!(paths(), ["a.x", "a.y", "b.x"]);
        assert_eq!(read(&dirs)["a.x"].description, "does it");
        // A list with a limit, and a search.
        remember_list(&dirs, &list(&["a.z"], 9), None);
        remember_found(&dirs, &list(&["b.y"], 1).tools);
        assert_eq!(paths(), ["a.x", "a.y", "a.z", "b.x", "b.y"]);
        remember_list(&dirs, &list(&["a.x"], 1), Some("a"));
        assert_eq!(paths(), ["a.x", "b.x", "b.y"]);
        let mut partial = list(&["a.x"], 1);
        partial.missing.push(MissingServer {
            server: "b".into(),
            error: Error::new(Kind::Unavailable, "no"),
        });
        remember_list(&dirs, &partial, None);
        assert_eq!(paths(), ["a.x", "b.x", "b.y"]);
        remember_list(&dirs, &list(&["a.x"], 1), None);
        assert_eq!(paths(), ["a.x"]);
        fs::write(path(&dirs), "{ torn").unwrap();
        assert!(paths().is_empty());
    }
}
