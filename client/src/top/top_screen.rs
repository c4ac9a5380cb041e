//! The interaction state of `mux top`, and its key bindings.
//!
//! Invariant: a run is cancelled only after a second key has confirmed it, and only the run that the prompt named.

use std::cmp::Ordering;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::figures::{ServerFigures, TopFigures};

/// The order of the servers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum ServerOrder {
    #[default]
    Name,
    Rate,
    Latency,
    Errors,
    Memory,
}

/// The list in which the arrow keys move.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum FocusedList {
    Servers,
    #[default]
    Runs,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TopScreen {
    pub(crate) order: ServerOrder,
    pub(crate) focus: FocusedList,
    pub(crate) paused: bool,
    /// The run to cancel, if the user confirms it.
    pub(crate) confirming: Option<String>,
    /// A message that is shown until the next key.
    pub(crate) note: Option<String>,
    /// The selected server and run, by name, because the lists change.
    server: Option<String>,
    run: Option<String>,
}

/// An action that a key requests outside the screen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum KeyAction {
    Nothing,
    Quit,
    /// Ctrl-C.
    Interrupt,
    Cancel(String),
}

impl ServerOrder {
    const ALL: [Self; 5] = [
        Self::Name,
        Self::Rate,
        Self::Latency,
        Self::Errors,
        Self::Memory,
    ];

    fn next(self) -> Self {
        let index = Self::ALL.iter().position(|order| *order == self);
        Self::ALL[index.map_or(0, |index| (index + 1) % Self::ALL.len())]
    }

    pub(crate) fn order_name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Rate => "calls/s",
            Self::Latency => "p99",
            Self::Errors => "errors",
            Self::Memory => "memory",
        }
    }

    fn compare(self, a: &ServerFigures, b: &ServerFigures) -> Ordering {
        let most = |a: Option<f64>, b: Option<f64>| b.unwrap_or(-1.0).total_cmp(&a.unwrap_or(-1.0));
        let by = match self {
            Self::Name => Ordering::Equal,
            Self::Rate => most(a.calls_per_second, b.calls_per_second),
            Self::Latency => most(a.p99_seconds, b.p99_seconds),
            Self::Errors => b.errors.cmp(&a.errors),
            Self::Memory => b.memory_bytes.cmp(&a.memory_bytes),
        };
        by.then_with(|| a.name.cmp(&b.name))
    }
}

impl TopScreen {
    /// The servers in the selected order.
    pub(crate) fn servers<'a>(&self, figures: &'a TopFigures) -> Vec<&'a ServerFigures> {
        let mut servers: Vec<_> = figures.servers.iter().collect();
        servers.sort_by(|a, b| self.order.compare(a, b));
        servers
    }

    /// The indexes of the selected server and run.
    pub(crate) fn selected(&self, figures: &TopFigures) -> (Option<usize>, Option<usize>) {
        let servers = self.servers(figures);
        let server = self.server.as_ref();
        let server = servers.iter().position(|it| Some(&it.name) == server);
        let run = self.run.as_ref();
        let run = figures.running.iter().position(|it| Some(&it.run) == run);
        (server, run)
    }

    pub(crate) fn handle_key(&mut self, key: KeyEvent, figures: Option<&TopFigures>) -> KeyAction {
        self.note = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => KeyAction::Interrupt,
                _ => KeyAction::Nothing,
            };
        }
        if let Some(run) = self.confirming.take() {
            return match key.code {
                KeyCode::Char('y' | 'Y') => KeyAction::Cancel(run),
                _ => KeyAction::Nothing,
            };
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return KeyAction::Quit,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Tab => {
                self.focus = match self.focus {
                    FocusedList::Servers => FocusedList::Runs,
                    FocusedList::Runs => FocusedList::Servers,
                }
            }
            KeyCode::Down | KeyCode::Char('j') => self.move_selection(figures, |index| index + 1),
            KeyCode::Up | KeyCode::Char('k') => {
                self.move_selection(figures, |index| index.saturating_sub(1));
            }
            KeyCode::Char('x') => self.ask_to_cancel(figures),
            _ => {}
        }
        KeyAction::Nothing
    }

    /// Moves the selection. Without a selection, the first row is selected.
    fn move_selection(&mut self, figures: Option<&TopFigures>, step: impl Fn(usize) -> usize) {
        let Some(figures) = figures else { return };
        let (server, run) = self.selected(figures);
        let to = |index: Option<usize>, count: usize| {
            let index = index.map_or(0, step);
            index.min(count.saturating_sub(1))
        };
        match self.focus {
            FocusedList::Servers => {
                let servers = self.servers(figures);
                let chosen = servers.get(to(server, servers.len()));
                self.server = chosen.map(|server| server.name.clone());
            }
            FocusedList::Runs => {
                let chosen = figures.running.get(to(run, figures.running.len()));
                self.run = chosen.map(|run| run.run.clone());
            }
        }
    }

    fn ask_to_cancel(&mut self, figures: Option<&TopFigures>) {
        let running = figures
            .map(|figures| &figures.running[..])
            .unwrap_or_default();
        let chosen = running
            .iter()
            .find(|run| Some(&run.run) == self.run.as_ref());
        self.confirming = chosen.map(|run| run.run.clone());
        if self.confirming.is_none() {
            self.note = Some("select a run first, with the arrows".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::top::{ReadingHistory, TopFigures, tests::reading};

    fn figures() -> TopFigures {
        let mut history = ReadingHistory::default();
        history.push(reading(Instant::now(), 1, 0, 9));
        TopFigures::of(&history).unwrap()
    }

    fn press(screen: &mut TopScreen, figures: &TopFigures, keys: &str) -> KeyAction {
        let mut wish = KeyAction::Nothing;
        for key in keys.chars() {
            wish = screen.handle_key(KeyEvent::from(KeyCode::Char(key)), Some(figures));
        }
        wish
    }

    #[test]
    fn run_is_cancelled_only_if_selected_and_confirmed() {
        let figures = figures();
        let mut screen = TopScreen::default();
        assert_eq!(press(&mut screen, &figures, "xy"), KeyAction::Nothing);
        assert_eq!(press(&mut screen, &figures, "jx"), KeyAction::Nothing);
        assert_eq!(screen.confirming.as_deref(), Some("9f-7"));
        assert_eq!(press(&mut screen, &figures, "n"), KeyAction::Nothing);
        assert_eq!(press(&mut screen, &figures, "q"), KeyAction::Quit);
        // A key that answers a prompt has no other effect.
        assert_eq!(press(&mut screen, &figures, "xq"), KeyAction::Nothing);
        let cancel = press(&mut screen, &figures, "xy");
        assert_eq!(cancel, KeyAction::Cancel("9f-7".into()));
        // The run has ended in the meantime.
        let mut ended = figures;
        ended.running.clear();
        assert_eq!(press(&mut screen, &ended, "xy"), KeyAction::Nothing);
    }

    #[test]
    fn selection_follows_the_selected_server() {
        let mut figures = figures();
        let mut screen = TopScreen::default();
        screen.handle_key(KeyEvent::from(KeyCode::Tab), Some(&figures));
        press(&mut screen, &figures, "jjj");
        assert_eq!(screen.selected(&figures), (Some(1), None));
        // Ordered by errors, the other server comes first.
        figures.servers[1].errors = 9;
        press(&mut screen, &figures, "sss");
        assert_eq!(
            (screen.order, screen.selected(&figures).0),
            (ServerOrder::Errors, Some(0))
        );
        press(&mut screen, &figures, "ss");
        assert_eq!(screen.order, ServerOrder::Name);
        press(&mut screen, &figures, "pkk");
        assert!(screen.paused && screen.selected(&figures).0 == Some(0));
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(screen.handle_key(interrupt, None), KeyAction::Interrupt);
    }
}
