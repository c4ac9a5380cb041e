//! The terminal that `mux top` takes for itself, and gives back.

use std::io::{self, IsTerminal as _, stdin, stdout};

use ratatui::DefaultTerminal;

use super::draw;
use crate::top::{Figures, Screen};

/// Whether there is one: somebody who looks, and keys.
pub(crate) fn can_draw() -> bool {
    stdout().is_terminal() && stdin().is_terminal()
}

/// Raw and on its second screen until this is dropped. A panic gives it back, too, before it says anything.
pub(crate) struct TopTerminal(DefaultTerminal);

impl TopTerminal {
    pub(crate) fn enter() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }

    /// `trouble`: why there are no newer figures.
    pub(crate) fn draw(
        &mut self,
        figures: Option<&Figures>,
        screen: &Screen,
        trouble: Option<&str>,
    ) -> io::Result<()> {
        self.0
            .draw(|frame| draw::all(frame, figures, screen, trouble))?;
        Ok(())
    }
}

impl Drop for TopTerminal {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing back.
        drop(self.0.show_cursor());
        drop(ratatui::try_restore());
    }
}
