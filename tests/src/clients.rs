//! Third-party MCP clients, which `scripts/setup` installs, and the Node that runs them.

use std::path::{Path, PathBuf};

use crate::env::{installed_at, setup_variable};

const FOLDER: &str = "MUX_TEST_CLIENTS";
const NODE: &str = "MUX_TEST_NODE";

/// A Node that is recent enough for the programs in `tests/clients`.
pub fn node() -> PathBuf {
    installed_at(setup_variable(NODE, "--servers"))
}

/// A file of an installed package, by its path below `node_modules`. The empty path is that folder.
pub fn client(path: &str) -> PathBuf {
    let folder = setup_variable(FOLDER, "--servers");
    installed_at(Path::new(&folder).join("node_modules").join(path))
}
