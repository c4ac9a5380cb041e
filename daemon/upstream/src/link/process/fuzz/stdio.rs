//! The output of a server that is a process, in any pieces.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use mux_chance::{
    damage::{cuts, damage_of, damaged, pieces},
    holds,
};
use proptest::{collection::vec, prelude::*, sample::select};
use rmcp::transport::Transport as _;
use tokio::{
    io::{AsyncRead, ReadBuf},
    runtime,
};

use super::super::{LastLines, StdioTransport};
use crate::link::LogStamp;

const LINES: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}"#,
    r#"[{"jsonrpc":"2.0","id":"1","result":{}},{"jsonrpc":"2.0","method":"x"}]"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#,
    "Listening on stdio",
    "",
    "{\"level\":\"info\",\"method\":\"start\"}",
];
const TOKENS: &[&str] = &[
    "\n", "\r\n", "\0", "\u{feff}", "{", "}", "[", "]", "\"", "null", ",", "\"id\":7",
];

/// A stream whose reads return these pieces.
struct Pieces(VecDeque<Vec<u8>>);

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // An empty read is the end of the stream.
        while self.0.front().is_some_and(Vec::is_empty) {
            self.0.pop_front();
        }
        if let Some(mut piece) = self.0.pop_front() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            self.0.push_front(rest);
        }
        Poll::Ready(Ok(()))
    }
}

/// The messages that are read from these pieces, with requests 1 and 7 open.
async fn messages(pieces: &[&[u8]]) -> Vec<String> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut transport = StdioTransport::new(
        Pieces(pieces.iter().map(|piece| piece.to_vec()).collect()),
        tokio::io::sink(),
        (log.path().to_owned(), LogStamp::default()),
        LastLines::default(),
    );
    for id in [1, 7] {
        let request = serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        let request = serde_json::from_value(request).unwrap();
        transport.send(request).await.unwrap();
    }
    let mut found = Vec::new();
    while let Some(message) = transport.receive().await {
        found.push(serde_json::to_string(&message).unwrap());
    }
    found
}

#[test]
fn fuzz_messages_are_the_same_in_any_pieces_and_a_bad_line_costs_itself() {
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    let lines = vec(select(LINES), 0..8).prop_map(|lines| lines.join("\n") + "\n");
    let values = (lines, vec(damage_of(TOKENS), 0..3), cuts());
    holds("stdio", 600, values, |(text, damages, cuts)| {
        let bytes = damaged(text.as_str(), &damages);
        let (whole, cut) = runtime.block_on(async {
            (
                messages(&[&bytes]).await,
                messages(&pieces(&bytes, &cuts)).await,
            )
        });
        prop_assert_eq!(&whole, &cut, "{:?}", String::from_utf8_lossy(&bytes));
        // A request is answered only once.
        for id in [1, 7] {
            let answer = format!("\"id\":{id},");
            let answers = whole
                .iter()
                .filter(|message| message.contains(&answer) && !message.contains("\"method\""));
            prop_assert!(answers.count() <= 1, "{whole:?}");
        }
        let notification = LINES[0].as_bytes();
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let intact = lines.filter(|line| line.strip_suffix(b"\n") == Some(notification));
        let read = whole
            .iter()
            .filter(|message| message.contains("list_changed"));
        prop_assert!(read.count() >= intact.count(), "{whole:?}");
        Ok(())
    });
}
