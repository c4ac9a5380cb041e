//! The terminal of a command, which shows one prompt at a time.
//!
//! Invariant: input that was typed before a prompt does not answer it, and echo is restored at the end.

use std::io::{self, BufRead as _};

use tokio::sync::mpsc;

use super::super::hidden_input;
use crate::render::SpinnerHandle;

pub(super) struct PromptTerminal {
    spinner: Option<SpinnerHandle>,
    typed: Option<mpsc::UnboundedReceiver<String>>,
    /// Standard input has ended.
    is_closed: bool,
}

impl PromptTerminal {
    pub(super) fn new(spinner: Option<SpinnerHandle>) -> Self {
        Self {
            spinner,
            typed: None,
            is_closed: false,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Starts to read the terminal, at the first question.
    pub(super) fn start_reader(&mut self) {
        if self.typed.is_some() || self.is_closed {
            return;
        }
        let (sender, typed) = mpsc::unbounded_channel();
        self.typed = Some(typed);
        // The thread ends with the process: a blocking read of a terminal cannot be interrupted.
        std::thread::spawn(move || {
            for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                if sender.send(line.trim_end_matches('\r').to_owned()).is_err() {
                    return;
                }
            }
        });
    }

    /// The next typed line, or `None` at the end of standard input.
    pub(super) async fn next_typed_line(&mut self) -> Option<String> {
        match &mut self.typed {
            Some(typed) => typed.recv().await,
            None => std::future::pending().await,
        }
    }

    /// Makes room for a question.
    pub(super) fn begin_question(&mut self) {
        self.discard_input();
        if let Some(spinner) = &self.spinner {
            spinner.begin_prompt();
        }
    }

    /// Discards the input typed so far, even an unfinished line. Call this before each prompt. Pasted lines then cannot
    /// answer a question that was not shown when they were pasted.
    pub(super) fn discard_input(&mut self) {
        hidden_input::discard_input();
        self.discard_typed();
    }

    /// Hides input until [`PromptTerminal::show_input`], and discards earlier input.
    pub(super) fn hide_input(&mut self) -> io::Result<()> {
        hidden_input::hide_echo()?;
        self.discard_typed();
        Ok(())
    }

    #[expect(
        clippy::unused_self,
        reason = "only the owner of the terminal may show input"
    )]
    pub(super) fn show_input(&self) {
        hidden_input::restore_echo();
    }

    /// Prints the output that was held back during the question, and shows the spinner again.
    pub(super) fn end_question(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.end_prompt();
        }
    }

    /// Prints after the question that is on the terminal, if there is one.
    pub(super) fn print_aside(&self, print: impl FnOnce() + Send + 'static) {
        if let Some(spinner) = &self.spinner {
            spinner.aside(print);
        }
    }

    pub(super) fn update_progress(&self, line: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.update_message(line);
        }
    }

    pub(super) fn close(&mut self) {
        (self.typed, self.is_closed) = (None, true);
    }

    fn discard_typed(&mut self) {
        if let Some(typed) = &mut self.typed {
            while typed.try_recv().is_ok() {}
        }
    }
}

impl Drop for PromptTerminal {
    fn drop(&mut self) {
        hidden_input::restore_echo();
    }
}
