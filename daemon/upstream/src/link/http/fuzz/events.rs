//! Event streams: well-formed streams in any line ends and chunks, and damaged streams in any chunks.

use std::fmt::Write as _;

use mux_chance::{
    damage::{cuts, damage_of, damaged, pieces},
    holds,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use sse_stream::Sse;

use super::super::sse_decoder::SseDecoder;

const TOKENS: &[&str] = &[
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "data",
    "data:",
    "data: ",
    "event: ",
    "id: ",
    "retry: ",
    ":",
    ": comment",
    "\u{feff}",
    "\0",
    "99999999999999999999999",
    "-1",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    "\u{1f600}",
    "data:\n",
];

/// A stream, decoded chunk by chunk: the events, the unfinished last event, and the maximum number of pending bytes.
fn decoded(chunks: &[&[u8]]) -> (Vec<Sse>, Option<Sse>, usize) {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    let mut most = 0;
    for chunk in chunks {
        decoder.push_chunk(chunk);
        most = most.max(decoder.pending_bytes());
        events.extend(std::iter::from_fn(|| decoder.next_event()));
    }
    let last = decoder.finish();
    (events, last, most)
}

#[test]
fn fuzz_events_are_the_same_in_any_chunks() {
    let noise = vec(select(TOKENS), 0..60).prop_map(|tokens| tokens.concat().into_bytes());
    let text =
        (noise, vec(damage_of(TOKENS), 0..4)).prop_map(|(text, damages)| damaged(text, &damages));
    let values = (
        prop_oneof![4 => text, 1 => vec(any::<u8>(), 0..200)],
        cuts(),
    );
    holds("events", 2000, values, |(bytes, cuts)| {
        let (events, last, most) = decoded(&[&bytes]);
        let (again, last_again, most_again) = decoded(&pieces(&bytes, &cuts));
        prop_assert_eq!(&again, &events, "{:?}", String::from_utf8_lossy(&bytes));
        prop_assert_eq!(last_again, last);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(decoded(&single).0, events);
        prop_assert!(
            most.max(most_again) <= bytes.len(),
            "{most} bytes are pending"
        );
        Ok(())
    });
}

/// The parts of an event, each on one line.
fn event() -> impl Strategy<Value = Sse> {
    let line = || "[ -~\u{e9}\u{1f600}]{0,12}";
    // A line that begins with a space would lose the space.
    let field = || line().prop_map(|text| text.trim_start().to_owned());
    let data = vec(line(), 1..4).prop_map(|lines| lines.join("\n"));
    (
        data,
        option::of(field()),
        option::of(field()),
        option::of(any::<u32>()),
    )
        .prop_map(|(data, event, id, retry)| Sse {
            data: Some(data),
            event,
            id,
            retry: retry.map(u64::from),
        })
}

#[test]
fn fuzz_written_events_are_read_back() {
    let ends = select(&["\n", "\r", "\r\n"][..]);
    holds(
        "events_written",
        1000,
        (vec(event(), 0..5), ends, cuts()),
        |(events, end, cuts)| {
            let mut text = String::new();
            for event in &events {
                let mut line = |name: &str, value: &str| _ = write!(text, "{name}: {value}{end}");
                if let Some(name) = &event.event {
                    line("event", name);
                }
                if let Some(id) = &event.id {
                    line("id", id);
                }
                for part in event.data.iter().flat_map(|data| data.split('\n')) {
                    line("data", part);
                }
                if let Some(retry) = event.retry {
                    line("retry", &retry.to_string());
                }
                text.push_str(end);
            }
            let (read, last, _) = decoded(&pieces(text.as_bytes(), &cuts));
            prop_assert_eq!(read, events);
            prop_assert_eq!(last, None);
            Ok(())
        },
    );
}
