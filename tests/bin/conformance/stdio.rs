//! Standard input and output as an rmcp transport: one JSON message a line.

use std::io::{self, BufRead, Write};

use rmcp::{
    RoleServer,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

pub(crate) struct Stdio {
    lines: UnboundedReceiver<String>,
}

impl Stdio {
    /// Reads on a separate thread, which ends with the input or with the process.
    pub(crate) fn new() -> Self {
        let (sender, lines) = unbounded_channel();
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Writes immediately, not when the future is polled, to keep the lines in order.
        std::future::ready(write(&message))
    }

    /// A line that is not a message is dropped, as rmcp's own transport does.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = self.lines.recv().await?;
            if let Ok(message) = serde_json::from_str(&line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line)?;
    output.flush()
}
