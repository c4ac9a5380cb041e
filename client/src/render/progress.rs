//! A spinner on standard error while something slow goes on. Silent where there is no terminal.
//!
//! Invariant: while a question stands on the terminal nothing else is written there: neither the spinner, however early
//! the question came, nor what is printed beside it, which follows the question.

use std::{
    io::IsTerminal,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::terminal::spelled_in_one_line;

/// Shorter waits show nothing: a flicker says less than silence.
const QUIET: Duration = Duration::from_millis(150);
const TICK: Duration = Duration::from_millis(100);

/// Something that is being waited for.
pub(crate) struct Waiting {
    spinner: Spinner,
    starter: Option<tokio::task::JoinHandle<()>>,
}

/// Takes the terminal for a question, and gives it back.
#[derive(Clone)]
pub(crate) struct Spinner(Arc<Mutex<State>>);

/// Guarded by `Spinner`.
struct State {
    /// None where nothing is shown.
    bar: Option<ProgressBar>,
    /// It has been waited for long enough to show it.
    is_due: bool,
    /// A question stands on the terminal.
    is_asking: bool,
    /// What is to be printed behind the question.
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

    /// For whoever asks the user beside it.
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
            // Its line is not ended by an answer any more.
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

    /// Prints without tearing it, and behind a question that stands there.
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

    /// From here on the terminal belongs to a question.
    pub(crate) fn hide(&self) {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_asking, true) {
            return;
        }
        if let Some(bar) = &state.bar {
            bar.disable_steady_tick();
            // What stands there is wiped away.
            bar.suspend(|| ());
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    /// No question stands there any more.
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

    /// Prints what has waited.
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
    fn what_is_printed_while_a_question_stands_there_follows_it() {
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
