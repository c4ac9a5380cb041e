//! `mux man DIR`: manual pages, from the same description as `--help`.

use std::path::Path;

use clap::CommandFactory as _;

use super::{CommandFailure, CommandResult};
use crate::{args::MuxCli, exit, render};

pub(super) fn man(dir: &Path, json: bool) -> CommandResult {
    let failed = |error: std::io::Error| {
        let message = format!("cannot write manual pages to {}: {error}", dir.display());
        CommandFailure::from(exit::unavailable_error(message))
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(MuxCli::command(), dir).map_err(failed)?;
    let entries = std::fs::read_dir(dir).map_err(failed)?;
    let pages = entries.flatten().map(|entry| entry.path());
    let mut pages: Vec<_> = pages
        .filter(|page| page.extension().is_some_and(|ending| ending == "1"))
        .filter(|page| is_mux_page(page))
        .collect();
    pages.sort();
    Ok(render::manual_pages_written(dir, &pages, json))
}

fn is_mux_page(page: &Path) -> bool {
    let name = page.file_stem().and_then(|name| name.to_str());
    name.is_some_and(|name| name == "mux" || name.starts_with("mux-"))
}
