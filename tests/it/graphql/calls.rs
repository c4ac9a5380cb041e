//! Calls of GraphQL functions from the shell and from programs, with and without a selection.

use serde_json::{Value, json};

use super::home;

#[test]
fn fields_are_functions_with_types_and_default_selections() {
    let (env, server) = home(&[], "");
    let ada = env
        .mux(["--json", "call", "blog.query.user", "id=1"])
        .ok()
        .json();
    assert_eq!(
        ada["result"],
        json!({
            "id": "1", "name": "Ada", "role": "ADMIN", "joined": "2026-01-02T03:04:05Z",
            "best": { "id": "p1", "title": "On engines", "role": "draft" },
        }),
        "{ada}"
    );
    let nobody = env
        .mux(["--json", "call", "blog.query.user", "id=9"])
        .ok()
        .json();
    assert_eq!(nobody["result"], json!(null));
    let result = env.result(
        "const all = await mux.blog.query.users({ where: { role: 'READER' } });
         const found = await mux.blog.query.found({ word: 'Ada' });
         const pages = await mux.blog.query.posts();
         const names = found.map(one => one.__typename === 'User' ? one.name : one.title);
         return [all.map(user => user.id), names, pages.edges.map(edge => edge.node.title), pages.total,
                 await mux.blog.query.version()];",
    );
    assert_eq!(
        result,
        json!([["2"], ["Ada", "On Ada"], ["On engines", "On Ada"], 2, "1.0"])
    );
    // Values are sent as variables.
    for request in server.requests() {
        let body: Value = serde_json::from_str(request["text"].as_str().unwrap()).unwrap();
        let query = body["query"].as_str().unwrap();
        assert!(
            !query.contains("READER"),
            "a value stands in a query: {query}"
        );
    }
    assert_eq!(server.heard("__schema"), 1);
}

#[test]
fn selection_in_either_form_replaces_the_default() {
    let (env, _server) = home(&[], "");
    let result = env.result(
        "const user = mux.blog.query.user;
         const text = await user({ id: 1, $select: '{ name posts(last: 1) { title author { id } } avatar(size: 3) }' });
         const object = await user({ id: '1', $select: { best: true, avatar: { $args: { size: 4 } } } });
         return [text, object, text.posts[0].author.id.length];",
    );
    assert_eq!(
        result,
        json!([
            { "name": "Ada", "posts": [{ "title": "On engines", "author": { "id": "1" } }], "avatar": "1@3" },
            { "best": { "id": "p1", "title": "On engines", "role": "draft" }, "avatar": "1@4" },
            1
        ])
    );
    let typed = env.mux([
        "--json",
        "call",
        "blog.query.node",
        "id=p1",
        "$select={ ... on Post { title } }",
    ]);
    assert_eq!(
        typed.ok().json()["result"],
        json!({ "title": "On engines" })
    );
}

#[test]
fn raw_query_returns_data_and_errors() {
    let (env, server) = home(&[], "");
    let result = env.result(
        "const both = await mux.blog.graphql({
           query: 'query a($id: ID!) { user(id: $id) { name } broken { part } } query b { version }',
           variables: { id: 1 }, operationName: 'a' });
         const wrong = await mux.blog.graphql({ query: '{ nope }' });
         const { data, errors } = await mux.blog.graphql({ query: '{ version }' });
         return [both.data, both.errors[0].path, wrong.data, wrong.errors[0].message, data, errors ?? 'none'];",
    );
    assert_eq!(
        result[0],
        json!({ "user": { "name": "Ada" }, "broken": { "part": null } })
    );
    assert_eq!(result[1], json!(["broken", "part"]));
    assert_eq!(result[2], json!(null));
    assert!(result[3].as_str().unwrap().contains("\"nope\""), "{result}");
    assert_eq!(
        (&result[4], &result[5]),
        (&json!({ "version": "1.0" }), &json!("none"))
    );
    let accepts = server.requests()[0]["headers"]["accept"].to_string();
    assert!(
        accepts.contains("application/graphql-response+json"),
        "{accepts}"
    );
}

#[test]
fn results_are_typed_only_without_a_custom_selection() {
    let (env, _server) = home(&[], "");
    env.mux(["tools"]).ok();
    let wrong = "const user = await mux.blog.query.user({ id: 1 });\nreturn user?.nmae;";
    let shown = env.run(wrong).ok().stderr;
    assert!(shown.contains("'nmae' does not exist"), "{shown}");
    let wrong = "return await mux.blog.query.users({ where: { rolle: 'ADMIN' } });";
    env.run(wrong).fails(4, &["'rolle' does not exist"]);
    let wrong = "return await mux.blog.mutation.rename({ input: { name: 'x' } });";
    env.run(wrong).fails(4, &["'id' is missing"]);
    for right in [
        "const user = await mux.blog.query.user({ id: 1, $select: { friends: { id: true } } });
         return user.friends.map(friend => friend.id);",
        "const id: string | undefined = (await mux.blog.query.user({ id: 1 }))?.best?.id; return id;",
        "const select = '{ id }'; return (await mux.blog.query.users({ $select: select })).map(u => u.id);",
    ] {
        let file = env.path("right.ts");
        std::fs::write(&file, right).unwrap();
        let checked = env.mux(["check", file.to_str().unwrap()]).ok();
        assert!(!checked.stderr.contains("warning"), "{right}: {checked:#?}");
    }
}
