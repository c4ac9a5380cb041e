//! Strangers' MCP clients, where `scripts/setup` put them, and what runs them.

use std::path::{Path, PathBuf};

use crate::env::{installed_at, told};

const FOLDER: &str = "MUX_TEST_CLIENTS";
const NODE: &str = "MUX_TEST_NODE";

/// A Node that is new enough for the programs of `tests/clients`.
pub fn node() -> PathBuf {
    installed_at(told(NODE, "--servers"))
}

/// A file of a package that they need, by its path below `node_modules`; alone it is that folder.
pub fn client(path: &str) -> PathBuf {
    let folder = told(FOLDER, "--servers");
    installed_at(Path::new(&folder).join("node_modules").join(path))
}
