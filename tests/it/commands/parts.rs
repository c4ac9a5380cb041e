//! Parts that a program emits: summarized on standard error, complete in the JSON document, and written to files with
//! `--save-parts`.

use std::fs;

use mux_tests::{TestEnv, mux_snapshot};
use serde_json::{Value, json};

/// Emits a text, an image of three bytes, an embedded resource and a link.
const PROGRAM: &str = "mux.emit({ type: 'text', text: 'a text' });\n\
    mux.emit([{ type: 'image', data: 'AQID', mimeType: 'image/png' },\n\
    { type: 'resource', resource: { uri: 'file:///a/table.csv', mimeType: 'text/csv', text: '1;2' } }]);\n\
    mux.emit({ type: 'resource_link', uri: 'file:///a/b', name: 'b' });\n\
    return 'over'";

#[test]
fn commands_run_summarizes_parts_on_standard_error() {
    let env = TestEnv::new();
    mux_snapshot!(env.run(PROGRAM), @"
    success: true
    exit_code: 0
    ----- stdout -----
    over
    ----- stderr -----
    a text
    part 2: image/png, 3 B
    part 3: text/csv, 3 B, file:///a/table.csv
    part 4: resource_link, file:///a/b
    note: `--save-parts DIR` writes parts to files
    ");
    let shown = env.mux(["runs", "show", "1"]);
    mux_snapshot!(shown, @"
    success: true
    exit_code: 0
    ----- stdout -----
    run 1
    state    succeeded
    program  mux.emit({ type: 'text', text: 'a text' });
    client   mux
    from     ~/
    began    [AGE]
    took     [DURATION]
    calls    0
    source
      mux.emit({ type: 'text', text: 'a text' });
      mux.emit([{ type: 'image', data: 'AQID', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///a/table.csv', mimeType: 'text/csv', text: '1;2' } }]);
      mux.emit({ type: 'resource_link', uri: 'file:///a/b', name: 'b' });
      return 'over'
    part: text, 6 B
    part: image/png, 3 B
    part: text/csv, 3 B, file:///a/table.csv
    part: resource_link, file:///a/b
    over
    ----- stderr -----
    ");
    // A text is shown completely, so there is no note.
    mux_snapshot!(env.run("mux.emit({ type: 'text', text: 'a text' })"), @"
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    a text
    ");
}

#[test]
fn commands_run_as_json_contains_unchanged_parts() {
    let env = TestEnv::new();
    let document = env.mux(["run", "--json", "-e", PROGRAM]).ok().json();
    let parts = document["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 4, "{document:#}");
    assert_eq!(
        parts[1]["value"],
        json!({ "type": "image", "data": "AQID", "mimeType": "image/png" })
    );
    assert_eq!(parts[3]["value"]["name"], "b");
    assert!(document.get("files").is_none(), "{document:#}");
    // A failed run also has its parts.
    let failing = PROGRAM.replace("return", "throw");
    let document = env.mux(["run", "--json", "-e", &failing]).json();
    assert_eq!(
        (&document["ok"], &document["parts"]),
        (&json!(false), &json!(parts))
    );
}

#[test]
fn commands_run_saves_parts_without_overwriting_files() {
    let env = TestEnv::new();
    let args = |more: &'static str| ["run", "--save-parts", "out/parts", "-e", PROGRAM, more];
    mux_snapshot!(env.mux(&args("--")[..5]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    over
    ----- stderr -----
    a text
    part 2: image/png, 3 B
    part 3: text/csv, 3 B, file:///a/table.csv
    part 4: resource_link, file:///a/b
    part 1: written to out/parts/part-1.txt
    part 2: written to out/parts/part-2.png
    part 3: written to out/parts/part-3.csv
    part 4: written to out/parts/part-4.json
    ");
    let read = |file: &str| fs::read(env.path("out/parts").join(file)).unwrap();
    assert_eq!(read("part-1.txt"), b"a text");
    assert_eq!(read("part-2.png"), [1, 2, 3]);
    assert_eq!(read("part-3.csv"), b"1;2");
    let link: Value = serde_json::from_slice(&read("part-4.json")).unwrap();
    assert_eq!(link["uri"], "file:///a/b");

    fs::write(env.path("out/parts/part-2.png"), "mine").unwrap();
    let document = env.mux(args("--json")).ok().json();
    assert_eq!(document["files"][1], "out/parts/part-3.png", "{document:#}");
    assert_eq!(read("part-2.png"), b"mine");

    // An invalid folder fails before the program is run.
    let runs = || env.mux(["runs", "--json"]).ok().json()["total"].take();
    let before = runs();
    fs::write(env.path("file"), "").unwrap();
    let args = ["run", "--save-parts", "file", "-e", PROGRAM];
    mux_snapshot!(env.mux(args), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot create the directory file: File exists (os error 17)
      hint: name a directory that you can write to
    ");
    assert_eq!(runs(), before);
}

#[test]
fn commands_run_saves_stored_parts_completely() {
    let env = TestEnv::new();
    let code = "const data = 'AAAA'.repeat(200_000);\n\
                mux.emit({ type: 'image', data, mimeType: 'image/png' }); return 1";
    mux_snapshot!(env.run(code), @"
    success: true
    exit_code: 0
    ----- stdout -----
    1
    ----- stderr -----
    part 1: 781.3 KiB of JSON; `mux runs read [HANDLE]` reads it
    note: `--save-parts DIR` writes parts to files
    ");
    let document = env.mux(["run", "--json", "-e", code]).ok().json();
    let bytes = document["parts"][0]["stored"]["bytes"].as_u64().unwrap();
    assert!(bytes > 800_000, "{document:#}");

    env.mux(["run", "--save-parts", "parts", "-e", code]).ok();
    let file = fs::read(env.path("parts/part-1.png")).unwrap();
    assert!(file == vec![0; 600_000], "{} bytes", file.len());
    // Watching a run that another client started also saves its parts.
    env.mux(["runs", "watch", "1", "--save-parts", "parts"])
        .ok();
    assert!(fs::read(env.path("parts/part-2.png")).unwrap() == file);
}
