//! Opens an address in the user's browser.
//!
//! Invariant: the address goes to a program as one argument, and never through a shell.

use std::{path::PathBuf, process::Stdio};

use tokio::process::{Child, Command};

use super::variable;
use crate::render;

/// Starts `wanted`, or what opens addresses here; `None` if nobody would see it. Some browsers stay: it is
/// not waited for.
pub(super) fn open(wanted: Option<PathBuf>, url: &str) -> Option<Child> {
    let command = opener(wanted)?;
    let (program, before) = command.split_first()?;
    let child = Command::new(program)
        .args(before)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match child {
        Ok(child) => Some(child),
        Err(error) => {
            render::note(&format!("{} cannot be started: {error}", program.display()));
            None
        }
    }
}

/// The program, with what comes before the address.
fn opener(wanted: Option<PathBuf>) -> Option<Vec<PathBuf>> {
    if let Some(program) = wanted {
        return Some(vec![program]);
    }
    if cfg!(target_os = "macos") {
        return Some(vec!["/usr/bin/open".into()]);
    }
    if cfg!(windows) {
        return Some(vec![
            "rundll32.exe".into(),
            "url.dll,FileProtocolHandler".into(),
        ]);
    }
    // Without a screen `xdg-open` would put a browser into this terminal.
    let screen = ["WAYLAND_DISPLAY", "DISPLAY"]
        .into_iter()
        .find_map(variable);
    screen.map(|_| vec!["xdg-open".into()])
}
