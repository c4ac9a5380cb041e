//! Pins that cannot be read are lost: their tools are not trusted as on first use.

use std::{fs, path::PathBuf};

use mux_proto::Kind;
use serde_json::json;

use super::{POISON, PinnedServer};
use crate::client::within;

fn file(pinned: &PinnedServer) -> PathBuf {
    let mut files = fs::read_dir(pinned.home.dirs.pins()).unwrap();
    files.next().unwrap().unwrap().path()
}

async fn problems(pinned: &PinnedServer) -> String {
    let status = pinned.client.rpc.status(within()).await.unwrap().unwrap();
    json!(status.problems).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_pins_are_reported_and_their_tools_refused_until_accepted() {
    let damages: &[fn(&PathBuf)] = &[
        |path| fs::write(path, "").unwrap(),
        |path| {
            let mut bytes = fs::read(path).unwrap();
            let last = bytes.len() - 9;
            bytes[last] ^= 4;
            fs::write(path, bytes).unwrap();
        },
        // A link is not followed, since its target could be anything. On Windows, a user may not create one.
        #[cfg(unix)]
        |path| {
            let elsewhere = path.with_extension("elsewhere");
            fs::rename(path, &elsewhere).unwrap();
            std::os::unix::fs::symlink(&elsewhere, path).unwrap();
        },
    ];
    for damage in damages {
        let mut pinned = PinnedServer::poisoned("").await;
        pinned.home.stop().await;
        damage(&file(&pinned));
        for _ in 0..2 {
            // The next daemon still reports the loss.
            pinned.restart().await;
            for (tool, arguments) in [("echo", json!({ "text": "x" })), ("pid", json!({}))] {
                let error = pinned.client.fails(tool, arguments).await;
                assert_eq!(error.kind, Kind::Denied);
                let said = format!("the definition of fix.{tool} that you trusted is lost");
                assert!(error.message.contains(&said), "{error:?}");
            }
            let types = pinned.types(&[]).await;
            assert!(!types.contains(POISON), "{types}");
            assert!(types.contains("its trusted definition is lost"), "{types}");
            let problems = problems(&pinned).await;
            assert!(
                problems.contains("the pins of `fix` are lost"),
                "{problems}"
            );
        }
        pinned.accept_all().await;
        pinned.echo().await;
        pinned.restart().await;
        pinned.echo().await;
        assert_eq!(problems(&pinned).await, "[]");
        let aside = fs::read_dir(pinned.home.dirs.pins()).unwrap().flatten();
        let mut aside = aside.map(|entry| entry.path());
        assert!(!aside.any(|path| path.extension().is_some_and(|end| end == "damaged")));
    }
}
