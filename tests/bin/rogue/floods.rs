//! More than anybody asked for, until the daemon hangs up.

use std::io::{self, Write as _};

use mux_wire::{CallTarget, FromWorker};

use super::{link::DaemonLink, tricks::named};

pub(super) fn pour(name: &str, link: &mut DaemonLink) -> io::Result<()> {
    match name {
        "prints" => {
            let line = "x".repeat(1 << 20);
            (0..1024).try_for_each(|_| link.print(&line))
        }
        "prints-nothing" => (0..100_000_000).try_for_each(|_| link.print("")),
        "emits-much" => {
            let part = format!(r#"{{"type":"text","text":"{}"}}"#, "x".repeat(1 << 20));
            (0..1024).try_for_each(|_| link.say(&FromWorker::Emit { part: part.clone() }))
        }
        "emits-nothing" => {
            let part = String::new();
            (0..100_000_000).try_for_each(|_| link.say(&FromWorker::Emit { part: part.clone() }))
        }
        "calls-with-much" => {
            let arguments = format!("{:?}", "x".repeat((4 << 20) - 2));
            (0..100_000).try_for_each(|call| link.call(call, named("hang"), arguments.clone()))
        }
        "calls-with-too-much" => {
            let arguments = format!("{:?}", "x".repeat(8 << 20));
            (0..100_000).try_for_each(|call| link.call(call, named("hang"), arguments.clone()))
        }
        "calls-long-names" => {
            let path = "x".repeat(15 << 20);
            (0..100_000).try_for_each(|call| {
                let path = path.clone();
                link.call(call, CallTarget::Path { path, raw: false }, "{}".into())
            })
        }
        "calls-and-calls" => {
            (0..u32::MAX).try_for_each(|call| link.call(call, named("small"), "{}".into()))
        }
        // Each answer is a mebibyte, and it takes none.
        "calls-and-hears-nothing" => {
            (0..1_000).try_for_each(|call| link.call(call, named("large"), "{}".into()))
        }
        "gives-much" => link.done(&format!("{:?}", "x".repeat((16 << 20) - 64))),
        "complains" => {
            let piece = vec![b'x'; 1 << 20];
            (0..1024).try_for_each(|_| io::stderr().write_all(&piece))
        }
        "complains-in-lines" => {
            let piece = "no\n".repeat(1 << 18);
            (0..64).try_for_each(|_| io::stderr().write_all(piece.as_bytes()))?;
            link.hang_up()
        }
        _ => Ok(()),
    }
}
