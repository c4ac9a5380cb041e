//! The terminal of `mux top`, in raw mode on the alternate screen.

use std::io::{self, IsTerminal as _, stdin, stdout};

use ratatui::DefaultTerminal;

use super::{super::verbosity::has_color, draw};
use crate::top::{TopFigures, TopScreen};

/// Returns true if standard output and standard input are terminals.
pub(crate) fn can_draw() -> bool {
    stdout().is_terminal() && stdin().is_terminal()
}

/// A guard: the terminal is in raw mode on the alternate screen until this is dropped. A panic also restores it, before
/// its message is printed.
pub(crate) struct TopTerminal(DefaultTerminal);

impl TopTerminal {
    pub(crate) fn enter() -> io::Result<Self> {
        if !has_color(&stdout()) {
            crossterm::style::force_color_output(false);
        }
        ratatui::try_init().map(Self)
    }

    /// Draws a frame. `trouble`: why there are no newer figures.
    pub(crate) fn draw(
        &mut self,
        figures: Option<&TopFigures>,
        screen: &TopScreen,
        trouble: Option<&str>,
    ) -> io::Result<()> {
        self.0
            .draw(|frame| draw::draw_frame(frame, figures, screen, trouble))?;
        Ok(())
    }
}

impl Drop for TopTerminal {
    fn drop(&mut self) {
        // A closed terminal needs no restoring.
        drop(self.0.show_cursor());
        drop(ratatui::try_restore());
    }
}
