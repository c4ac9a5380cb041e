//! A spinner on standard error during slow operations. Silent without a terminal.
//!
//! Invariant: while a prompt is on the terminal, no other output goes there: the spinner is hidden, and other output is
//! printed after the prompt.

use std::{io::IsTerminal, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::{Mutex, MutexGuard};

use super::{
    terminal::{eprintln, escape_one_line},
    verbosity::{Verbosity, has_color, verbosity},
};

/// The delay before the spinner is shown, to avoid flicker on short waits.
const SPINNER_DELAY: Duration = Duration::from_millis(150);
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);

/// A guard: the spinner is shown while it lives.
pub(crate) struct SpinnerGuard {
    spinner: SpinnerHandle,
    starter: Option<tokio::task::JoinHandle<()>>,
}

/// Shows a spinner while `work` goes on.
pub(crate) async fn with_spinner<T>(what: &str, json: bool, work: impl Future<Output = T>) -> T {
    let spinner = SpinnerGuard::begin(what, json);
    let done = work.await;
    spinner.end();
    done
}

/// A handle to the spinner, which is hidden during a prompt.
#[derive(Clone)]
pub(crate) struct SpinnerHandle(Arc<Mutex<SpinnerState>>);

/// The state of the spinner.
struct SpinnerState {
    /// `None` if nothing is shown.
    bar: Option<ProgressBar>,
    /// The wait has been long enough to show the spinner.
    is_due: bool,
    /// A prompt is on the terminal.
    is_asking: bool,
    /// Output that is printed after the prompt.
    later: Vec<Box<dyn FnOnce() + Send>>,
}

impl SpinnerGuard {
    pub(crate) fn begin(what: &str, json: bool) -> Self {
        let is_quiet = verbosity() == Verbosity::Quiet;
        if json || is_quiet || !std::io::stderr().is_terminal() {
            return Self {
                spinner: SpinnerHandle::new(None),
                starter: None,
            };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_message(escape_one_line(what));
        let template = if has_color(&std::io::stderr()) {
            "{spinner} {msg} {elapsed:.dim}"
        } else {
            "{spinner} {msg} {elapsed}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let spinner = SpinnerHandle::new(Some(bar));
        let starting = spinner.clone();
        let starter = tokio::spawn(async move {
            tokio::time::sleep(SPINNER_DELAY).await;
            starting.start();
        });
        Self {
            spinner,
            starter: Some(starter),
        }
    }

    pub(crate) fn update_message(&self, what: &str) {
        self.spinner.update_message(what);
    }

    /// The handle for code that prompts the user.
    pub(crate) fn spinner(&self) -> SpinnerHandle {
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

impl Drop for SpinnerGuard {
    fn drop(&mut self) {
        if let Some(starter) = self.starter.take() {
            starter.abort();
        }
        let mut state = self.spinner.state();
        if state.is_asking {
            // No answer will end the prompt's line.
            eprintln!();
        }
        state.flush_deferred();
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl SpinnerHandle {
    fn new(bar: Option<ProgressBar>) -> Self {
        Self(Arc::new(Mutex::new(SpinnerState {
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

    pub(crate) fn update_message(&self, what: &str) {
        if let Some(bar) = &self.state().bar {
            bar.set_message(escape_one_line(what));
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
    pub(crate) fn begin_prompt(&self) {
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
    pub(crate) fn end_prompt(&self) {
        let mut state = self.state();
        state.flush_deferred();
        if state.is_due {
            state.draw();
        }
    }

    fn state(&self) -> MutexGuard<'_, SpinnerState> {
        self.0.lock()
    }
}

impl SpinnerState {
    fn draw(&self) {
        if let Some(bar) = &self.bar {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(SPINNER_INTERVAL);
        }
    }

    /// Prints the deferred output.
    fn flush_deferred(&mut self) {
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
        let waiting = SpinnerGuard {
            spinner: SpinnerHandle::new(None),
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
        spinner.begin_prompt();
        print("one");
        print("two");
        assert!(printed.try_recv().is_err());
        spinner.end_prompt();
        assert_eq!(printed.try_iter().collect::<Vec<_>>(), ["one", "two"]);
        spinner.begin_prompt();
        print("last");
        waiting.end();
        assert_eq!(printed.try_recv(), Ok("last"));
    }
}
