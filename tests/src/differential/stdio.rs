//! A [`Case`] over stdio.

use std::{
    io::{self, BufRead, Write},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{
    case::{Case, Framing, Habit},
    framing::Framer,
    scripted_server::ScriptedServer,
};

pub(super) const SLOW: Duration = Duration::from_secs(2);

/// Serves until the input ends.
pub fn serve_stdio(case: Case, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let server = ScriptedServer::new(case);
    for line in input.lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        if message["method"] == "initialize" && server.has(Habit::SlowInitialize) {
            thread::sleep(SLOW);
        }
        let is_first = message["method"] == "initialize";
        let is_initialized = server.is_initialized() && !is_first;
        let framer = Framer::new(&server.case.framing, is_initialized);
        for reply in server.replies(&message) {
            let line = framer.line(&reply);
            if framer.has(Framing::SmallPieces) {
                for piece in framer.pieces(line.into_bytes()) {
                    output.write_all(&piece)?;
                    output.flush()?;
                }
            } else {
                output.write_all(line.as_bytes())?;
                output.flush()?;
            }
        }
    }
    Ok(())
}
