//! A spinner on standard error during slow operations. Silent without a terminal.
//!
//! Invariant: while a prompt is on the terminal, nothing else is written there: the spinner is hidden, and other output
//! is printed after the prompt.

use std::{
    io::IsTerminal,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::terminal::spelled_in_one_line;

/// The delay before the spinner is shown, so that short waits do not flicker.
const QUIET: Duration = Duration::from_millis(150);
const TICK: Duration = Duration::from_millis(100);

/// A guard: the spinner is shown while it lives.
pub(crate) struct Waiting {
    spinner: Spinner,
    starter: Option<tokio::task::JoinHandle<()>>,
}

/// A handle to the spinner, which is hidden during a prompt.
#[derive(Clone)]
pub(crate) struct Spinner(Arc<Mutex<State>>);

/// The state of the spinner.
struct State {
    /// `None` if nothing is shown.
    bar: Option<ProgressBar>,
    /// The wait has been long enough to show the spinner.
    is_due: bool,
    /// A prompt is on the terminal.
    is_asking: bool,
    /// Output that is printed after the prompt.
    later: Vec<Box<dyn FnOnce() + Send>>,
}

impl Waiting {
    pub(crate) fn begin(what: &str, json: bool) -> Self {
        if json || !std::io::stderr().is_terminal() {
            return Self {
                spinner: Spinner::new(None),
                starter: None,
            };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_message(spelled_in_one_line(what));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        let spinner = Spinner::new(Some(bar));
        let starting = spinner.clone();
        let starter = tokio::spawn(async move {
            tokio::time::sleep(QUIET).await;
            starting.start();
        });
        Self {
            spinner,
            starter: Some(starter),
        }
    }

    pub(crate) fn say(&self, what: &str) {
        if let Some(bar) = &self.spinner.state().bar {
            bar.set_message(spelled_in_one_line(what));
        }
    }

    /// The handle for code that prompts the user.
    pub(crate) fn spinner(&self) -> Spinner {
        self.spinner.clone()
    }

    /// See [`Spinner::aside`].
    pub(crate) fn aside(&self, print: impl FnOnce() + Send + 'static) {
        self.spinner.aside(print);
    }

    pub(crate) fn end(self) {
        drop(self);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(starter) = self.starter.take() {
            starter.abort();
        }
        let mut state = self.spinner.state();
        if state.is_asking {
            // No answer will end the prompt's line.
            anstream::eprintln!();
        }
        state.give_back();
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Spinner {
    fn new(bar: Option<ProgressBar>) -> Self {
        Self(Arc::new(Mutex::new(State {
            bar,
            is_due: false,
            is_asking: false,
            later: Vec::new(),
        })))
    }

    fn start(&self) {
        let mut state = self.state();
        state.is_due = true;
        if !state.is_asking {
            state.draw();
        }
    }

    /// Prints without disturbing the spinner, and after a prompt.
    pub(crate) fn aside(&self, print: impl FnOnce() + Send + 'static) {
        let mut state = self.state();
        if state.is_asking {
            state.later.push(Box::new(print));
            return;
        }
        match &state.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Hides the spinner for a prompt.
    pub(crate) fn hide(&self) {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_asking, true) {
            return;
        }
        if let Some(bar) = &state.bar {
            bar.disable_steady_tick();
            // Clears the spinner's line.
            bar.suspend(|| ());
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    /// Shows the spinner again after a prompt.
    pub(crate) fn show(&self) {
        let mut state = self.state();
        state.give_back();
        if state.is_due {
            state.draw();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn draw(&self) {
        if let Some(bar) = &self.bar {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(TICK);
        }
    }

    /// Prints the deferred output.
    fn give_back(&mut self) {
        self.is_asking = false;
        for print in self.later.drain(..) {
            print();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_during_a_prompt_is_printed_after_it() {
        let waiting = Waiting {
            spinner: Spinner::new(None),
            starter: None,
        };
        let (sender, printed) = std::sync::mpsc::channel();
        let print = |what: &'static str| {
            let sender = sender.clone();
            waiting.aside(move || sender.send(what).unwrap());
        };
        print("before");
        assert_eq!(printed.try_recv(), Ok("before"));
        let spinner = waiting.spinner();
        spinner.hide();
        print("one");
        print("two");
        assert!(printed.try_recv().is_err());
        spinner.show();
        assert_eq!(printed.try_iter().collect::<Vec<_>>(), ["one", "two"]);
        spinner.hide();
        print("last");
        waiting.end();
        assert_eq!(printed.try_recv(), Ok("last"));
    }
}
