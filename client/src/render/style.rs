//! Colours by meaning. `anstream` takes them away where there is no terminal, and for `NO_COLOR`.

use anstyle::{AnsiColor, Style};

pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const NAME: Style = AnsiColor::Cyan.on_default();
pub(super) const STRONG: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

/// `text` in a style.
pub(super) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{}{text}{}", style.render(), style.render_reset())
}
