//! Valid and invalid programs, and their diagnostics.

use mux_typecheck::{Diagnostic, Severity};

use super::setting::{Setting, types};

/// Code, line, column and severity.
fn short(found: &[Diagnostic]) -> Vec<(u32, u32, u32, Severity)> {
    found
        .iter()
        .map(|d| (d.code, d.line, d.column, d.severity))
        .collect()
}

#[tokio::test]
async fn valid_programs_have_no_diagnostics() {
    let setting = Setting::new();
    for source in [
        "",
        "return 1",
        "const { lines, owner } = await mux.files.read({ path: \"a\", head: 3, mode: \"text\" });\nreturn { count: lines.length, by: owner.login.trim() };",
        "const all = await Promise.all([1, 2].map((n) => mux.files.read({ path: `${n}` })));\nreturn all.flatMap((a) => a.lines).toSorted();",
        "const r = await mux.files.touch({ path: \"a\" }); return r.whatever.it[0].is",
        "return (await mux[\"my-server\"][\"get-thing\"]({ path: mux.input.path })).lines",
        "return await mux.call(\"files.read\", { path: 1 })",
        "try { await mux.files.read({ path: \"a\" }) } catch (e) { console.log(e.message); throw e }",
        "const o = { items: [] }; o.items.push(\"a\"); let best = null; best = 3; const f = (a, b) => a + b; return [o, best, f(1, 2)]",
        "await new Promise(r => setTimeout(() => r(), 10)); const c = {}; c.x = 1; for (const k in c) c[k]++; return c",
        "const counts = {}; for (const w of [\"a\"]) counts[w] = (counts[w] ?? 0) + 1; return Object.entries(counts).sort((a, b) => b[1] - a[1])",
        "console.log(new URL(\"a:b\").host, crypto.randomUUID(), structuredClone([1]), performance.now()); mux.emit({ type: \"text\", text: \"a\" })",
        "#!/usr/bin/env mux\nreturn 1",
        "```ts\nconst a: number = 1;\nreturn a\n```",
    ] {
        setting.is_right(source).await;
    }
}

#[tokio::test]
async fn errors_have_positions_and_hints() {
    let setting = Setting::new();
    let check = async |source: &str, line: u32, column: u32, parts: &[&str]| {
        let found = setting.check(source).await;
        let [one] = &found[..] else {
            panic!("{source}: {found:#?}");
        };
        assert_eq!(one.severity, Severity::Error, "{source}: {one:#?}");
        assert_eq!((one.line, one.column), (line, column), "{source}: {one:#?}");
        let tool = one.tool.as_ref();
        let tool = tool.map_or_else(String::new, |(server, tool)| format!("mux.{server}.{tool}"));
        let hint = one.hint.clone().map_or_else(String::new, |hint| hint.text);
        let all = format!("{} {hint} {tool}", one.message);
        for part in parts {
            assert!(all.contains(part), "{source}: {part:?} in {all}");
        }
    };
    check(
        "await mux.files.read({ pth: \"a\" })",
        1,
        24,
        &["'pth'", "mux.files.read"],
    )
    .await;
    check(
        "return await mux.files.read({\n  path: 3,\n})",
        2,
        3,
        &["'number'", "'string'"],
    )
    .await;
    check(
        "await mux.files.read()",
        1,
        17,
        &["Expected 1 argument", "mux.files.read"],
    )
    .await;
    check(
        "await mux.files.read({ path: \"a\", mode: \"txt\" })",
        1,
        35,
        &["\"text\""],
    )
    .await;
    check(
        "const r = await mux.files.read({ path: \"a\" });\nreturn r.linse.length",
        2,
        10,
        &["'linse'", "Did you mean 'lines'"],
    )
    .await;
    check(
        "return mux.files.raed({ path: \"a\" })",
        1,
        18,
        &["did you mean `read`?"],
    )
    .await;
    check(
        "return mux.file.read({ path: \"a\" })",
        1,
        12,
        &["Did you mean 'files'"],
    )
    .await;
    check(
        "return mux.nosuch.read({})",
        1,
        12,
        &["'nosuch'", "Object.keys(mux)"],
    )
    .await;
    check(
        "return mux.files.read({ path: \"a\" }).lines.length",
        1,
        38,
        &["Promise", "`await`"],
    )
    .await;
    check(
        "/* 𝒳 */ fetch(\"a\")",
        1,
        10,
        &["no network", "mux.<server>.<tool>"],
    )
    .await;
    check("const fs = require(\"fs\")", 1, 12, &["cannot import"]).await;
    check(
        "return process.env.HOME",
        1,
        8,
        &["`mux.input`", "the tools of a server"],
    )
    .await;
    check("return files.read({ path: \"a\" })", 1, 8, &["`mux.files`"]).await;
    check("return input.x", 1, 8, &["`mux.input`"]).await;
    check(
        "return (await import(\"lodash\")).map",
        1,
        22,
        &["cannot import"],
    )
    .await;
    check("```ts\nreturn nope\n```", 2, 8, &["'nope'"]).await;
    check("\u{feff}return nope", 1, 8, &["'nope'"]).await;
}

#[tokio::test]
async fn errors_in_arguments_name_the_tool() {
    let setting = Setting::new();
    let source = "const a = mux[\"my-server\"][\"get-thing\"]({ path: 1 });\nawait mux.files.touch({ path: 2 });\nconst n: number = \"\";";
    let found = setting.check(source).await;
    let tools: Vec<_> = found
        .iter()
        .map(|d| {
            d.tool
                .as_ref()
                .map(|(server, tool)| format!("{server}.{tool}"))
        })
        .collect();
    let expected = [Some("my-server.get-thing"), Some("files.touch"), None];
    assert_eq!(
        tools,
        expected.map(|tool| tool.map(str::to_owned)),
        "{found:#?}"
    );
}

#[tokio::test]
async fn possibly_valid_code_is_a_warning() {
    let setting = Setting::new();
    for (source, code) in [
        (
            "const r = await mux.files.read({ path: \"a\" }); return r.next.length",
            18048,
        ),
        (
            "const r = await mux.files.read({ path: \"a\" }); await mux.files.read({ path: r.next })",
            2322,
        ),
        ("return [...new Map().keys().map((k) => k)]", 2339),
        ("return Promise.try(() => 1)", 2550),
        ("const d = new Date(); return d - d", 2362),
        ("let a = \"\"; a = 1; return a", 2322),
        ("const o = { a: 1 }; o.b = 2; return o", 2339),
        ("function f(a, b) { return a } return f(1)", 2554),
    ] {
        let found = setting.check(source).await;
        assert!(found.iter().any(|d| d.code == code), "{source}: {found:#?}");
        assert!(
            found.iter().all(|d| d.severity == Severity::Warning),
            "{source}: {found:#?}"
        );
    }
}

#[tokio::test]
async fn syntax_errors_are_left_to_the_parser() {
    let setting = Setting::new();
    for source in [
        "const = 1",
        "if (a) {",
        "return 1 +",
        "import fs from \"fs\"",
        "const a = 1;\nexport { a } from \"fs\";",
        "enum A { B }",
    ] {
        let found = setting.check(source).await;
        assert!(
            found.iter().any(Diagnostic::is_syntax),
            "{source}: {found:#?}"
        );
        let lines = u32::try_from(source.lines().count()).unwrap();
        assert!(
            found.iter().all(|d| d.line <= lines),
            "{source}: {found:#?}"
        );
    }
}

#[tokio::test]
async fn check_uses_the_given_types() {
    let setting = Setting::new();
    let source = "return mux.files.fresh({})";
    assert_eq!(
        short(&setting.check(source).await),
        [(2339, 1, 18, Severity::Error)]
    );
    let newer = types(&["fresh"]);
    assert!(setting.against(&newer, source).await.unwrap().is_empty());
    // Concurrent checks against different types.
    for round in 0..30 {
        let source = format!("{source} // {round}");
        let other = types(&["fresh", &format!("tool_{round}")]);
        let (old, new, newest) = tokio::join!(
            setting.against(&setting.types, &source),
            setting.against(&newer, &source),
            setting.against(&other, &source),
        );
        assert_eq!(old.unwrap().len(), 1);
        assert!(new.unwrap().is_empty() && newest.unwrap().is_empty());
    }
}
