//! Documents and selections that are built to be expensive are rejected cheaply, and delay no other client.

use std::fs;

use mux_tests::{TestEnv, process};

/// A home with a local schema. These calls send no requests.
fn home(schema: &str, rules: &str) -> TestEnv {
    let env = TestEnv::new();
    let file = env.path("schema.graphql");
    fs::write(&file, schema).unwrap();
    env.write_config(&format!(
        "[sources.blog]\ngraphql = \"http://127.0.0.1:9/graphql\"\nschema = {file:?}\n{rules}"
    ));
    env
}

/// Operations that share one fragment of many fields, each with a long variable.
fn bomb(operations: usize, default: &str) -> String {
    format!(
        "let query = '';
         for (let n = 0; n < {operations}; n++) query += `query q${{n}}($v: String, $d: Int = ${{n}}) {{ ...F }} `;
         query += 'fragment F on Query {{ ' + 'a(x: $v{default}) '.repeat(5000) + '}}';
         return await mux.blog.graphql({{ query, variables: {{ v: 'x'.repeat(10240) }} }});"
    )
}

#[test]
fn daemon_answers_while_expensive_documents_are_checked() {
    let schema = "type Query { a(x: String, d: Int): Int b: Int }";
    for (rule, program, code, part) in [
        ("blog.graphql", bomb(200, ""), 5, "blog.graphql is denied"),
        ("blog.query.b", bomb(200, ""), 1, "`max_operations` is 100"),
        (
            "blog.query.b",
            bomb(100, ", d: $d"),
            1,
            "`max_visits` is 20000",
        ),
    ] {
        let env = home(
            schema,
            &format!("[[policy]]\nmatch = {rule:?}\naction = \"deny\"\n"),
        );
        env.mux(["tools"]).ok();
        let daemon = env.daemon().unwrap();
        let before = process::peak_bytes(daemon);
        let file = env.path("bomb.ts");
        fs::write(&file, program).unwrap();
        let file = file.to_str().unwrap();
        let bombs: Vec<_> = (0..6)
            .map(|_| env.begin(["run", "--no-check", file]))
            .collect();
        env.mux(["status"]).ok();
        for bomb in bombs {
            bomb.wait().fails(code, &[part]);
        }
        let status = env.mux(["--json", "status"]).ok().json();
        assert!(
            status["degraded"].as_array().is_none_or(Vec::is_empty),
            "{status}"
        );
        assert_eq!(env.daemon(), Some(daemon));
        let grown = process::peak_bytes(daemon).saturating_sub(before) >> 20;
        assert!(grown < 200, "{grown} MiB");
    }
}

#[test]
fn selection_is_not_expanded_beyond_its_limit() {
    let scalars: String = (0..118)
        .map(|n| format!("a_rather_long_name_of_a_field_{n}: Int "))
        .collect();
    let own: String = (0..60).map(|n| format!("c{n}: T ")).collect();
    let env = home(
        &format!("type Query {{ t: T }} type T {{ {scalars} {own} }}"),
        "",
    );
    env.mux(["tools"]).ok();
    let daemon = env.daemon().unwrap();
    let before = process::peak_bytes(daemon);
    for (levels, part) in [
        (
            3,
            "`$select`: it is longer than 65536 bytes (max_selection_bytes)",
        ),
        (
            2,
            "`$select`: its expansion is longer than 65536 bytes (max_selection_bytes)",
        ),
    ] {
        let program = format!(
            "const nested = (levels, wide) => Object.fromEntries(Array.from({{ length: wide }}, (_, n) =>
               ['c' + n, levels === 1 ? true : nested(levels - 1, 60)]));
             return await mux.blog.query.t({{ $select: nested({levels}, 10) }});"
        );
        let ended = env.mux(["run", "--no-check", "-e", &program]);
        ended.fails(1, &["error[validation]", part, "in several calls"]);
    }
    let grown = process::peak_bytes(daemon).saturating_sub(before) >> 20;
    assert!(grown < 64, "{grown} MiB");
}
