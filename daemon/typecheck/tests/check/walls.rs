//! Files and limits that a program must not read or break while it is checked.

use std::{fs, sync::Arc, time::Duration};

use mux_typecheck::CheckFailure;

use super::setting::Setting;

const SECRET: &str = "hunter2";

#[tokio::test]
async fn check_reads_no_file_for_a_program() {
    let setting = Setting::new();
    let home = setting.home.path().canonicalize().unwrap();
    let module =
        format!("declare const leaked: \"{SECRET}\";\nexport declare const other: \"{SECRET}\";\n");
    fs::write(
        home.join("secret.json"),
        format!("{{ \"{SECRET}\": \"{SECRET}\" }}"),
    )
    .unwrap();
    fs::write(home.join("secret.d.ts"), &module).unwrap();
    for folder in [
        "node_modules/secret",
        "check/node_modules/@types/secret",
        "node_modules/@types/secret",
    ] {
        fs::create_dir_all(home.join(folder)).unwrap();
        fs::write(home.join(folder).join("index.d.ts"), &module).unwrap();
    }
    let home = home.display();
    for source in [
        format!("const a: typeof import(\"{home}/secret.json\") = 1;"),
        format!("const a: typeof import(\"{home}/secret\") = 1;"),
        format!(
            "const a: number = await import(\"{home}/secret.json\", {{ with: {{ type: \"json\" }} }});"
        ),
        format!("const a: number = (await import(\"{home}/secret\")).other;"),
        "const a: typeof import(\"../../secret\") = 1;".into(),
        "const a: typeof import(\"secret\") = 1;".into(),
        "const a: typeof import(\"./tsconfig.json\") = 1;".into(),
        format!("/// <reference path=\"{home}/secret.d.ts\" />\nconst a: 1 = leaked;"),
        "/// <reference types=\"secret\" />\nconst a: 1 = leaked;".into(),
        "/// <reference lib=\"dom\" />\ndocument.title = 1;".into(),
        format!("\n/// <reference path=\"{home}/secret.d.ts\" />\nconst a: 1 = leaked;"),
        format!("}});\nimport x from \"{home}/secret.json\"; const a: 1 = x; (async () => {{"),
        format!(
            "}});\nimport {{ other }} from \"{home}/secret\"; const a: 1 = other; (async () => {{"
        ),
        format!(
            "}});\nimport x = require(\"{home}/secret\"); const a: 1 = x.other; (async () => {{"
        ),
        format!("}});\nexport * from \"{home}/secret\"; (async () => {{"),
        "}); declare module \"secret\" { export const more: 1 } const a: 1 = more; (async () => {"
            .into(),
    ] {
        let found = setting.check(&source).await;
        assert!(!found.is_empty(), "{source}");
        for diagnostic in found.iter() {
            let shown = format!("{diagnostic:?}").replace("/secret", "");
            assert!(!shown.contains(SECRET), "{source}: {shown}");
            assert!(!diagnostic.message.contains("check/"), "{source}: {shown}");
        }
    }
    setting.is_right("return 1").await;
}

#[tokio::test]
async fn checked_programs_do_not_affect_each_other() {
    let setting = Arc::new(Setting::new());
    let evil = "}); declare global { const leaked: 1; interface Mux { readonly files: never } } export const shown = 1; (async () => {";
    let mut checks = tokio::task::JoinSet::new();
    for number in 0..40 {
        let setting = Arc::clone(&setting);
        checks.spawn(async move {
            if number % 4 == 0 {
                drop(setting.check(&format!("{evil} // {number}")).await);
                return;
            }
            let innocent = format!("leaked; return mux.files.read({{ path: \"{number}\" }})");
            let found = setting.check(&innocent).await;
            assert_eq!(found.len(), 1, "{found:#?}");
            assert!(
                found[0].message.contains("Cannot find name 'leaked'"),
                "{found:#?}"
            );
        });
    }
    while let Some(done) = checks.join_next().await {
        done.unwrap();
    }
}

/// Programs that take much time or memory to compile.
fn bombs() -> Vec<(&'static str, String)> {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    vec![
        ("a type that recurses", "type F<A, B> = A extends { x: infer X } ? B extends { x: infer Y } ? F<{ x: [X, Y] }, { x: [Y, X] }> : 1 : 2; let q: F<{ x: 1 }, { x: 2 }> = 1".into()),
        ("a tuple that grows", "type R<T> = T extends [infer H, ...infer X] ? R<[...X, H, H]> : never; const q: R<[1]> = 1".into()),
        ("generics", format!("let x: {} = 1", nested("Array<", "number", ">", 10_000))),
        ("brackets", format!("return {}", nested("(", "1", ")", 100_000))),
        ("lists", format!("return {}", nested("[", "", "]", 5_000))),
        ("a chain", format!("return \"a\"{}", ".concat(\"b\")".repeat(20_000))),
        ("a sum", format!("return 1{}", "+1".repeat(100_000))),
        ("a union", "type D = 0|1|2|3|4|5|6|7|8|9; const s: `${D}${D}${D}${D}${D}${D}` = 1".into()),
        ("a megabyte", format!("return [{}]", "{a:1,b:\"x\",c:[1,2,3]},".repeat(45_000))),
    ]
}

#[tokio::test]
async fn check_survives_programs_that_exceed_limits() {
    let setting = Setting::with(|settings| settings.deadline = Duration::from_secs(2));
    for (name, source) in bombs() {
        match setting.try_check(&source).await {
            Ok(_)
            | Err(CheckFailure::TooSlow(_) | CheckFailure::TooLarge(_) | CheckFailure::Died(_)) => {
            }
            Err(other) => panic!("{name}: {other}"),
        }
        let after = setting.check(&format!("nope // {name}")).await;
        assert_eq!(after.len(), 1, "{name}: {after:#?}");
    }
    // A program that exceeded a limit is not checked again immediately.
    let (_, brackets) = bombs().swap_remove(3);
    let before = setting.checker.status().checks;
    let verdict = setting.try_check(&brackets).await;
    assert!(
        matches!(verdict, Err(CheckFailure::TooSlow(_))),
        "{verdict:?}"
    );
    assert_eq!(setting.checker.status().checks, before);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn check_kills_a_compiler_that_takes_too_much_memory() {
    let setting = Setting::with(|settings| settings.memory = 96 << 20);
    setting.is_right("return 1").await;
    let before = setting.checker.status().pid;
    let (_, recursion) = bombs().swap_remove(0);
    let verdict = setting.try_check(&recursion).await;
    assert!(
        matches!(verdict, Err(CheckFailure::TooLarge(_))),
        "{verdict:?}"
    );
    setting.is_right("return 2").await;
    assert_ne!(setting.checker.status().pid, before);
}

#[tokio::test]
async fn concurrent_checks_survive_a_program_that_exceeds_limits() {
    let setting = Arc::new(Setting::with(|settings| {
        settings.deadline = Duration::from_secs(3);
    }));
    setting.is_right("return 0").await;
    let mut checks = tokio::task::JoinSet::new();
    let (_, brackets) = bombs().swap_remove(3);
    let bomb = Arc::clone(&setting);
    checks.spawn(async move {
        let verdict = bomb.try_check(&brackets).await;
        assert!(
            matches!(verdict, Err(CheckFailure::TooSlow(_))),
            "{verdict:?}"
        );
    });
    for number in 0..12 {
        let setting = Arc::clone(&setting);
        checks.spawn(async move {
            let found = setting.check(&format!("nope{number}")).await;
            assert!(
                found[0].message.contains(&format!("'nope{number}'")),
                "{found:?}"
            );
        });
    }
    while let Some(done) = checks.join_next().await {
        done.unwrap();
    }
}
