//! A directory read in parallel, counted, and summarized into a file through the same server.

use std::{collections::BTreeMap, fs, path::Path};

use mux_tests::{TestEnv, env::output};
use serde_json::{Value, json};

use super::{console, files, run, server_info};

#[test]
fn real_files_are_read_in_parallel_and_summarized_to_disk() {
    let env = TestEnv::new();
    env.write_config(&files(&env));
    let root = env.path("files");
    let made = make_files(&root);
    let summary = root.join("summary.json");

    let document = run(&env, "summary", &json!({ "root": root, "output": summary }));
    assert_eq!(
        document["result"],
        json!({ "files": made.len(), "extensions": ["csv", "md", "rs", "txt"] })
    );
    assert_eq!(console(&document), [format!("read {} files", made.len())]);

    let written: Value = serde_json::from_str(&fs::read_to_string(&summary).unwrap()).unwrap();
    assert_eq!(written, json!(count(&made)), "{written:#}");

    let calls = document["calls"].as_array().unwrap();
    let reads = calls
        .iter()
        .filter(|call| call["path"] == "files.read_text_file" && call["error"].is_null());
    assert_eq!((calls.len(), reads.count()), (made.len() + 2, made.len()));
}

#[test]
fn real_files_outside_the_allowed_directory_are_refused() {
    let env = TestEnv::new();
    env.write_config(&files(&env));
    let error = env.error("return await mux.files.read_text_file({ path: '/etc/hostname' });");
    assert_eq!(error["kind"], "tool", "{error:#}");
    assert!(
        error["message"].as_str().unwrap().contains("Access denied"),
        "{error:#}"
    );
}

/// Creates forty files of different types and sizes, up to two folders deep. Returns their contents by name.
fn make_files(root: &Path) -> BTreeMap<String, String> {
    let extensions = ["txt", "md", "csv", "rs"];
    let mut made = BTreeMap::new();
    for n in 0..40 {
        let extension = extensions[n % extensions.len()];
        let folder = ["", "notes/", "notes/old/"][n % 3];
        let name = format!("{folder}file-{n:02}.{extension}");
        let text = match n {
            0 => String::new(),
            1 => "one line without an end".into(),
            2 => "größer, 中文, 😀\nand more\n".into(),
            _ => (0..=(n % 7))
                .map(|line| format!("{name}, line {line}\n"))
                .collect(),
        };
        fs::create_dir_all(root.join(folder)).unwrap();
        fs::write(root.join(&name), &text).unwrap();
        made.insert(name, text);
    }
    made
}

/// The summary that the program must produce, computed without it.
fn count(made: &BTreeMap<String, String>) -> BTreeMap<&str, Value> {
    let mut groups: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (name, text) in made {
        let extension = name.rsplit('.').next().unwrap();
        groups.entry(extension).or_default().push((name, text));
    }
    groups
        .into_iter()
        .map(|(extension, files)| {
            let lines = |text: &str| text.lines().count();
            let most = files.iter().map(|(_, text)| lines(text)).max().unwrap();
            let longest = files
                .iter()
                .find(|(_, text)| lines(text) == most)
                .unwrap()
                .0;
            let group = json!({
                "files": files.len(),
                "lines": files.iter().map(|(_, text)| lines(text)).sum::<usize>(),
                "bytes": files.iter().map(|(_, text)| text.len()).sum::<usize>(),
                "longest": longest,
            });
            (extension, group)
        })
        .collect()
}

#[test]
fn allowed_directories_are_served_from_any_working_directory() {
    let env = TestEnv::new();
    env.write_config(&files(&env));
    std::fs::write(env.path("files/note"), "here").unwrap();
    let elsewhere = env.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let note = format!("path={}", env.path("files/note").display());
    for folder in [env.path("files"), elsewhere] {
        let mut command = env.command("mux");
        command.current_dir(&folder);
        command.args(["call", "files.read_text_file", &note]);
        let output = output(&mut command);
        assert_eq!(
            output.ok().json()["content"],
            "here",
            "{}",
            folder.display()
        );
    }
    assert_eq!(server_info(&env, "files")["share"], "user");
}
