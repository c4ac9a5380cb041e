//! Tools whose names have dots are members of groups, and are found however their names are written.

use mux_tests::{Agent, TestEnv, env::compiler, program_result};
use serde_json::{Value, json};

/// A home with the type checker, a server with dotted tools that is known already, and `more` configuration.
fn home(more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}[check]\ntsc = {:?}\n{more}",
        env.fixture("api", &["--dotted"]),
        compiler()
    ));
    env.mux(["tools"]).ok();
    env
}

#[test]
fn type_errors_in_groups_name_the_right_tool() {
    let env = home("");
    for (code, words) in [
        (
            "await mux.api.pet.getPetById({ id: 'x' })",
            &["not assignable", "api.pet.getPetById(args: { id: number })"][..],
        ),
        (
            "await mux.api.pets.getPetById({ id: 1 })",
            &["'pets'", "Did you mean 'pet'", "api.pet.getPetById("],
        ),
        (
            "await mux.api.pet.getPetByID({ id: 1 })",
            &["Did you mean 'getPetById'", "api.pet.getPetById("],
        ),
        (
            "await mux.api.getPetById({ id: 1 })",
            &["'getPetById'", "api.pet.getPetById("],
        ),
        (
            "await mux.api.my_store({})",
            &["not callable", "call one of these: `order`"],
        ),
    ] {
        let error = env.error(code);
        assert_eq!(error["kind"], "type", "{code}: {error}");
        for word in words {
            assert!(
                error.to_string().replace("\\\"", "\"").contains(word),
                "{code}: no {word} in {error}"
            );
        }
    }
}

#[test]
fn flat_names_of_grouped_tools_work_with_a_warning() {
    let env = home("");
    let code = "return (await mux.api.pet_list_all({ id: 'a' })).tool";
    assert_eq!(env.result(code), "pet.list-all");
    let output = env.run(code).ok();
    assert!(
        output.stderr.contains("write `mux.api.pet.list_all`"),
        "{output:#?}"
    );
    // These are valid and give no warning.
    for code in [
        "return (await mux.api.pet.list_all({ id: 'a' })).tool",
        "return (await mux.api.pet['list-all']({ id: 'a' })).tool",
        "return (await mux.api['pet.list-all']({ id: 'a' })).tool",
        "return (await mux['api.pet.list-all']({ id: 'a' })).tool",
    ] {
        let output = env.run(code).ok();
        assert_eq!(
            (output.stdout.trim(), output.stderr.as_str()),
            ("pet.list-all", ""),
            "{code}"
        );
    }
}

#[test]
fn unknown_server_accepts_any_group() {
    let env = home("");
    // The checker connects to servers that a program names literally. This one is connected by the call.
    env.write_config(&format!(
        "{}{}",
        env.fixture("api", &["--dotted"]),
        env.fixture("late", &["--dotted"])
    ));
    env.mux(["reload"]).ok();
    let code = "const unseen = mux['la' + 'te'] as any;\n\
                const kinds = [Object.keys(unseen), typeof unseen.pet, typeof unseen.pet.list, unseen.pet === unseen.pet];\n\
                const store = await unseen.my_store.order.then_({ id: 'a' });\n\
                const waited = (await unseen.pet) === unseen.pet;\n\
                return [kinds, waited, store.tool, (await unseen.pet({ id: 'b' })).tool, unseen.pet.getPetById.name];";
    assert_eq!(
        env.result(code),
        json!([
            [[], "function", "function", true],
            true,
            "my-store.order.then",
            "pet",
            "getPetById"
        ])
    );
    let code = "return await (mux['no' + 'body'] as any).pet.list()";
    let error = env.error(code);
    assert_eq!(
        (&error["kind"], &error["message"]),
        (&json!("not_found"), &json!("there is no server `nobody`"))
    );
}

#[test]
fn commands_find_a_grouped_tool_in_every_spelling() {
    let env = home("");
    for path in ["api.pet.getPetById", "api.pet_getPetById"] {
        let called = env.mux(["--json", "call", path, "id=1"]).ok().json();
        assert_eq!(
            called["result"],
            json!({ "tool": "pet.getPetById", "id": 1 })
        );
    }
    for (path, tool) in [
        ("api.pet.list_all", "pet.list-all"),
        ("api.pet", "pet"),
        ("api.my_store.order.then_", "my-store.order.then"),
        ("api.my-store.order.then", "my-store.order.then"),
        ("api.x.a-b", "x.a-b"),
        ("api.a..b", "a..b"),
    ] {
        let called = env.mux(["--json", "call", path, "id=1"]).ok().json();
        assert_eq!(called["result"]["tool"], tool, "{path}");
    }
    env.mux(["call", "api.my_store", "id=1"]).fails(
        1,
        &[
            "no tool `api.my_store`",
            "it is a group",
            "api.my_store.order.then_(args",
        ],
    );
    env.mux(["call", "api.pets.getPetById", "id=1"])
        .fails(1, &["did you mean", "api.pet.getPetById(args"]);

    let listed = env
        .mux(["--json", "tools", "stands in a group"])
        .ok()
        .json();
    let paths: Vec<&Value> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["path"])
        .collect();
    for path in [
        "api.pet.getPetById",
        "api.pet.list_all",
        "api.x.a-b",
        "api.x.a_b",
    ] {
        assert!(paths.contains(&&json!(path)), "{path}: {paths:?}");
    }
    let output = env.mux(["tools"]).ok();
    assert!(
        output.stderr.contains("`x.a_b` is ambiguous in api"),
        "{output:#?}"
    );
    let found = env.mux(["tools", "api.pet.getPetById"]).ok();
    assert!(found.stdout.contains("api.pet.getPetById"), "{found:#?}");

    let all = env.mux(["types", "api"]).ok().stdout;
    for part in [
        "readonly pet: Mux.Api_pet;",
        "interface Api_my_store_order {",
        "getPetById(args: ",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let one = env.mux(["types", "api.pet.list_all"]).ok().stdout;
    assert!(one.contains("mux.api.pet.list_all(args?:"), "{one}");
    let group = env.mux(["types", "api.pet"]).ok().stdout;
    assert_eq!(group.matches("\nmux.api.pet").count(), 3, "{group}");
}

#[test]
fn result_types_of_grouped_tools_are_learned() {
    let env = home("");
    env.result(
        "await mux.api.pet.list_all({ id: 'a' }); return await mux.api.x['a_b']({ id: 'b' })",
    );
    let error = env.error("return (await mux.api.pet.list_all({ id: 'a' })).tol.x.y");
    assert_eq!(error["kind"], "runtime", "only seen, so it runs: {error}");
    assert!(error.to_string().contains("tool"), "{error}");
    let one = env.mux(["types", "api.pet.list_all"]).ok().stdout;
    assert!(one.contains("Seen<{ id: string; tool: string }>"), "{one}");
    let output = env
        .mux(["--json", "types", "--forget", "api.pet.list_all"])
        .ok()
        .json();
    assert_eq!(output["tools"], 1, "{output}");
}

#[test]
fn rules_apply_however_a_grouped_tool_is_called() {
    let env = home(
        "[[policy]]\nmatch = \"api.pet.list-all\"\naction = \"deny\"\n[agents.small]\nexclude = [\"api.pet_get*\"]\n",
    );
    for call in [
        "mux.api.pet.list_all({})",
        "mux.api.pet['list-all']({})",
        "mux.api['pet.list-all']({})",
        "mux['api.pet.list-all']({})",
        "mux.call('api.pet_list_all', {})",
        "mux.call.raw('api.pet.list_all', {})",
    ] {
        let error = env.error(&format!("return await {call}"));
        assert_eq!(
            (&error["kind"], &error["path"]),
            (&json!("denied"), &json!("api.pet.list-all")),
            "{call}: {error}"
        );
    }
    let mut agent = Agent::legacy(&env, &["--agent", "small"], json!({}));
    let code = "return [Object.keys(mux.api.pet), await mux.call('api.pet.getPetById', { id: 1 }).catch(e => e.kind)]";
    let result = agent.call("run", json!({ "code": code }));
    assert_eq!(
        program_result::value(&result),
        json!([["list-all"], "not_found"]),
        "{result}"
    );
}

#[test]
fn agents_get_tool_names_that_models_accept() {
    let env = home("");
    env.write_config(&format!(
        "{}tools = {{ direct = [\"pet.get*\", \"x.*\"] }}\n",
        env.fixture("api", &["--dotted"])
    ));
    env.mux(["reload"]).ok();
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let tools = agent.tools();
    assert!(
        tools.contains(&"api__pet_getPetById".to_owned()),
        "{tools:?}"
    );
    let result = agent.call("api__pet_getPetById", json!({ "id": 1 }));
    assert_eq!(result["structuredContent"]["tool"], "pet.getPetById");
    let found = agent.call("search", json!({ "query": "get pet by id" }));
    assert!(found.to_string().contains("api.pet.getPetById("), "{found}");
    let described = agent.call(
        "describe",
        json!({ "paths": ["api.my_store", "api.pet.getPetById"] }),
    );
    for part in ["mux.api.my_store.order.then_(", "mux.api.pet.getPetById("] {
        assert!(described.to_string().contains(part), "{part}: {described}");
    }
    let called = agent.call(
        "call",
        json!({ "path": "api.pet.list_all", "arguments": { "id": "a" } }),
    );
    assert!(called.to_string().contains("pet.list-all"), "{called}");

    for args in [&["--passthrough"][..], &["--passthrough=api"]] {
        let mut agent = Agent::legacy(&env, args, json!({}));
        let tools = agent.tools();
        let fits = |name: &String| {
            let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            name.len() <= 64 && name.chars().all(is_fit)
        };
        assert!(tools.iter().all(fits), "{tools:?}");
        let mut different = tools.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), tools.len());
        let prefix = if args[0].contains('=') { "" } else { "api__" };
        for (name, tool) in [("pet_list-all", "pet.list-all"), ("get-thing", "get-thing")] {
            let result = agent.call(&format!("{prefix}{name}"), json!({ "id": "1" }));
            assert!(result.to_string().contains(tool), "{name}: {result}");
        }
    }
    let mut agent = Agent::legacy(&env, &["--passthrough=api"], json!({}));
    let result = agent.call("pet.list-all", json!({ "id": "1" }));
    assert!(result.to_string().contains("pet.list-all"), "{result}");
}
