//! Pins that cannot be read are lost: their tools are not trusted as on first use.

use std::{fs, path::PathBuf};

use super::{Home, POISON};

fn file(home: &Home) -> PathBuf {
    let mut files = fs::read_dir(home.env.dirs.pins()).unwrap();
    files.next().unwrap().unwrap().path()
}

#[test]
fn lost_pins_are_reported_and_their_tools_refused_until_accepted() {
    let damages: [fn(&PathBuf); 3] = [
        |path| fs::write(path, "").unwrap(),
        |path| {
            let mut bytes = fs::read(path).unwrap();
            let last = bytes.len() - 9;
            bytes[last] ^= 4;
            fs::write(path, bytes).unwrap();
        },
        // A link is not followed, since its target could be anything.
        |path| {
            let elsewhere = path.with_extension("elsewhere");
            fs::rename(path, &elsewhere).unwrap();
            std::os::unix::fs::symlink(&elsewhere, path).unwrap();
        },
    ];
    for damage in damages {
        let home = Home::poisoned("");
        home.env.stop();
        damage(&file(&home));
        for _ in 0..2 {
            home.echo()
                .fails(5, &["the definition of fix.echo that you trusted is lost"]);
            home.env
                .mux(["call", "fix.pid"])
                .fails(5, &["that you trusted is lost"]);
            let types = home.env.mux(["types"]).ok().stdout;
            assert!(
                !types.contains(POISON) && types.contains("its trusted definition is lost"),
                "{types}"
            );
            let status = home.env.mux(["--json", "status"]).ok().json();
            let problems = status["problems"].as_array().unwrap().iter();
            let mut problems = problems.filter_map(|problem| problem.as_str());
            assert!(
                problems.any(|problem| problem.contains("the pins of `fix` are lost")),
                "{status}"
            );
            // The next daemon still reports the loss.
            home.env.stop();
        }
        home.env.mux(["servers", "accept", "fix", "--yes"]).ok();
        home.echo().ok();
        home.env.stop();
        home.echo().ok();
        let status = home.env.mux(["--json", "status"]).ok().json();
        assert_eq!(status["problems"], serde_json::json!([]));
        let aside = fs::read_dir(home.env.dirs.pins()).unwrap().flatten();
        assert!(
            !aside
                .map(|entry| entry.path())
                .any(|path| path.extension().is_some_and(|e| e == "damaged"))
        );
    }
}
