//! `mux-scripted-server FILE`: the MCP server of one case, over stdio.
//!
//! Invariant: it starts fast, because the differential tests start it hundreds of times.

use std::{env, fs, io};

use anyhow::Context as _;

fn main() -> anyhow::Result<()> {
    let file = env::args()
        .nth(1)
        .context("usage: mux-scripted-server FILE")?;
    let case = serde_json::from_str(&fs::read_to_string(file)?)?;
    mux_tests::differential::serve_stdio(case, io::stdin().lock(), io::stdout().lock())?;
    Ok(())
}
