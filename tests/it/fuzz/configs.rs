//! Configuration files with random tables, keys and values.

use std::{fs, path::Path};

use mux_chance::{damage::damage_of, holds};
use mux_config::{Config, environment::Environment};
use mux_sandbox::ProgramLimits;
use mux_settings::Settings;
use mux_wire::MAX_FRAME_BYTES;
use proptest::{collection::vec, prelude::*, sample::select};

const TABLES: &[&str] = &[
    "servers.a",
    "servers.\"\"",
    "servers.\"a b\"",
    "servers.mux",
    "servers.a.env",
    "servers.a.tools",
    "servers",
    "policy",
    "[policy]",
    "limits",
    "daemon",
    "sources",
    "else",
];

const KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "share",
    "tools",
    "enabled",
    "start_timeout",
    "call_timeout",
    "match",
    "action",
    "wall",
    "calls",
    "calls_at_once",
    "calls_per_server",
    "workers",
    "heap",
    "cpu",
    "argument",
    "console",
    "source",
    "emitted",
    "timers",
    "inline",
    "kept",
    "kept_for",
    "queue",
    "buffers",
    "idle_exit",
    "prestart",
    "exclude",
    "direct",
    "other",
];

const VALUES: &[&str] = &[
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "1.5",
    "nan",
    "true",
    "\"\"",
    "\"a\"",
    "\"never\"",
    "\"0s\"",
    "\"30s\"",
    "\"1 KiB\"",
    "\"16 MiB\"",
    "\"99999999999999999999 GiB\"",
    "\"-1 MiB\"",
    "\"99999999999999999999y\"",
    "\"18446744073709551615s\"",
    "\"-1s\"",
    "\"deny\"",
    "\"allow\"",
    "\"a.*\"",
    "\"**\"",
    "\"${HOME}\"",
    "\"${\"",
    "\"${}\"",
    "\"${A}${A}\"",
    "\"~/a\"",
    "\"\\u0000\"",
    "[]",
    "[\"a\", \"${A}\"]",
    "[1]",
    "{}",
    "{ a = \"b\" }",
    "{ \"\" = \"${A\" }",
    "{ exclude = [\"*\"], direct = [\"a\"] }",
    "1979-05-27",
];

/// The configurations in the documentation, which use every table and key.
fn documented() -> Vec<String> {
    fn read(folder: &Path, found: &mut Vec<String>) {
        let mut entries: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
        entries.sort_by_key(fs::DirEntry::path);
        for path in entries.iter().map(fs::DirEntry::path) {
            if path.is_dir() {
                read(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&path).unwrap();
                let blocks = text.split("```toml\n").skip(1);
                found
                    .extend(blocks.filter_map(|block| Some(block.split_once("```")?.0.to_owned())));
            }
        }
    }
    let mut found = Vec::new();
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs"),
        &mut found,
    );
    assert!(found.len() > 20, "{} configurations", found.len());
    found
}

/// Lines of documented configurations in any order, most of them in their own.
fn documented_text() -> impl Strategy<Value = String> {
    let documented = documented();
    let lines: Vec<String> = documented
        .iter()
        .flat_map(|text| text.lines())
        .map(str::to_owned)
        .collect();
    let mixed = vec(select(lines), 0..12).prop_map(|lines| lines.join("\n"));
    let whole = vec(select(documented), 1..3).prop_map(|texts| texts.concat());
    prop_oneof![3 => whole, 1 => mixed]
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        2 => select(TABLES).prop_map(|table| format!("[{table}]\n")),
        6 => (select(KEYS), select(VALUES)).prop_map(|(key, value)| format!("{key} = {value}\n")),
    ];
    vec(line, 0..20).prop_map(|lines| lines.concat())
}

#[test]
fn fuzz_any_configuration_gives_settings_or_an_error() {
    let environment = Environment::of([
        ("HOME".to_owned(), "/home/user".to_owned()),
        ("A".to_owned(), "${A}".to_owned()),
    ]);
    let texts = prop_oneof![text(), documented_text()];
    let values = (texts, vec(damage_of(VALUES), 0..3));
    holds("configs", 1000, values, |(text, damages)| {
        let mut bytes = text.into_bytes();
        for damage in damages {
            damage.apply(&mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        let config = match Config::parse(&text, "config.toml") {
            Ok(config) => config,
            Err(error) => {
                prop_assert!(error.to_string().starts_with("config.toml"), "{}", error);
                return Ok(());
            }
        };
        let names = config.servers.keys().chain(config.sources.keys());
        let names: Vec<String> = names.cloned().collect();
        let settings = Settings::resolve(config, &environment, Path::new("/home/user"));
        // Every resolved server is in the file.
        for name in settings.servers.keys() {
            prop_assert!(names.contains(name), "{} was made up", name);
        }
        // The limits always allow programs to run.
        let limits = &settings.limits;
        let (least, most) = ProgramLimits::WALL_TIME_RANGE;
        prop_assert!(
            (least..=most).contains(&limits.run.wall),
            "{:?}",
            limits.run
        );
        prop_assert!(limits.run.calls_at_once >= 1 && limits.calls_per_server >= 1);
        prop_assert!(
            limits.run.result as usize <= MAX_FRAME_BYTES,
            "{:?}",
            limits.run
        );
        prop_assert!(
            limits.run.argument as usize <= MAX_FRAME_BYTES,
            "{:?}",
            limits.run
        );
        prop_assert!(limits.pool.ceiling >= 1, "no worker");
        Ok(())
    });
}
