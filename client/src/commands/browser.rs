//! Opens an address in the user's browser.
//!
//! Invariant: the address goes to a program as one argument, and never through a shell.

use std::{path::PathBuf, process::Stdio};

use tokio::process::{Child, Command};

use super::env_path;
use crate::render;

/// Starts `wanted`, or the system's URL opener. `None` if there is no display or the program does not start. Some
/// browsers keep running, so do not wait for the child.
pub(super) fn open_url(wanted: Option<PathBuf>, url: &str) -> Option<Child> {
    let command = opener_command(wanted)?;
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

/// The program and the arguments before the address.
fn opener_command(wanted: Option<PathBuf>) -> Option<Vec<PathBuf>> {
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
    // Without a display, `xdg-open` would start a text browser in this terminal.
    let screen = ["WAYLAND_DISPLAY", "DISPLAY"]
        .into_iter()
        .find_map(env_path);
    screen.map(|_| vec!["xdg-open".into()])
}
