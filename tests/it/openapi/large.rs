//! Descriptions of large APIs: every operation is a function or is left out with a reason, and all types compile.

use std::{fs, path::Path, process::Command};

use mux_catalog::{ToolDescription, ToolSet};
use mux_schema::can_be_checked;
use mux_settings::ToolOverrides;
use mux_sources::openapi::{FunctionSelection, OpenApiDescription, ServerOverrides};
use mux_tests::{
    TestEnv,
    env::{apis, compiler, output},
};
use mux_typegen::{ServerDecl, declarations};
use serde_json::{Value, json};

const VERBS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];
/// The maximum length of a tool's result schema, in bytes of JSON.
const MOST_OF_A_RESULT: usize = 32 << 10;

/// Every API that `scripts/setup --apis` installs.
const NAMES: [&str; 11] = [
    "asana",
    "box",
    "digitalocean",
    "github",
    "jira",
    "kubernetes",
    "netbox",
    "slack",
    "spotify",
    "stripe",
    "zoom",
];
/// One in so many operations may have a text that looks as if it instructed a model.
const OPERATIONS_PER_FALSE_ALARM: usize = 1000;

fn read(name: &str) -> (Value, OpenApiDescription) {
    let text = fs::read_to_string(apis().join(format!("{name}.json"))).unwrap();
    let entry = ServerOverrides {
        base_url: Some("https://api.example".into()),
        ..ServerOverrides::default()
    };
    let everything = FunctionSelection::new(&[], 20_000);
    let description = OpenApiDescription::read(&text, &entry, &everything);
    let description = description.unwrap_or_else(|problem| panic!("{name}: {problem}"));
    (serde_json::from_str(&text).unwrap(), description)
}

fn operations(description: &Value) -> usize {
    let items = description["paths"].as_object().unwrap().values();
    items
        .map(|item| {
            VERBS
                .iter()
                .filter(|verb| item.get(**verb).is_some())
                .count()
        })
        .sum()
}

/// Asserts that all operations of an API are functions or left out, and that TypeScript accepts their types.
#[track_caller]
fn is_whole(name: &str, known: &str, example: &str) {
    let (said, description) = read(name);
    let left_out = description.left_out();
    assert_eq!(
        description.tools().len() + left_out.len(),
        operations(&said),
        "{name}"
    );
    assert!(left_out.len() * 100 <= operations(&said), "{left_out:#?}");
    let mut described = Vec::new();
    for tool in &description.tools() {
        assert!(can_be_checked(&tool["inputSchema"]), "{}", tool["name"]);
        let result = tool.get("outputSchema").unwrap_or(&Value::Null);
        assert!(
            result.is_null() || can_be_checked(result),
            "{}",
            tool["name"]
        );
        assert!(
            result.to_string().len() < MOST_OF_A_RESULT,
            "{}",
            tool["name"]
        );
        described.push(ToolDescription::of_definition(tool).unwrap());
    }
    let set = ToolSet::new(name, described, &[], &ToolOverrides::default());
    assert!(set.warnings.is_empty(), "{:?}", set.warnings);
    let found = set.find(known);
    let found = found.unwrap_or_else(|| panic!("{known}: {:?}", set.nearest(known)));
    let decls: Vec<_> = set.iter().map(|tool| tool.declaration(None)).collect();
    let server = ServerDecl {
        name,
        tools: decls,
        note: None,
    };
    let types = declarations(&[server]);
    let env = TestEnv::new();
    let call = format!("mux.{}", set.path(found));
    let program = example.replace("CALL", &call);
    checks(env.home(), &types, &program);
}

fn checks(folder: &Path, types: &str, program: &str) {
    fs::write(folder.join("mux.d.ts"), types).unwrap();
    let wrong = "(async () => { const n: number = mux; });";
    for (name, code) in [("right", program), ("wrong", wrong)] {
        fs::write(
            folder.join(format!("{name}.ts")),
            format!("(async () => {{ {code}\n}});\nexport {{}};\n"),
        )
        .unwrap();
    }
    let options = json!({
        "compilerOptions": {
            "strict": true, "noEmit": true, "types": [], "lib": ["es2024"], "target": "esnext", "module": "esnext",
        },
        "files": ["mux.d.ts", "right.ts", "wrong.ts"],
    });
    fs::write(folder.join("tsconfig.json"), options.to_string()).unwrap();
    let mut command = Command::new(compiler());
    command.args(["--pretty", "false", "-p"]).arg(folder);
    let checked = output(&mut command);
    let (wrong, others): (Vec<&str>, Vec<&str>) = checked
        .stdout
        .lines()
        .partition(|line| line.contains("wrong.ts(") || line.starts_with(' '));
    assert!(others.is_empty(), "{}", others.join("\n"));
    assert!(!wrong.is_empty(), "{checked:?}");
}

#[test]
fn apis_all_operations_of_the_largest_description_are_functions() {
    for name in ["graph", "ec2"] {
        let (said, description) = read(name);
        assert_eq!(description.left_out(), [], "{name}");
        assert_eq!(description.function_count(), operations(&said), "{name}");
    }
}

#[test]
fn apis_github_operations_are_typed_functions() {
    is_whole(
        "github",
        "repos.listForOrg",
        "const repos = await CALL({ org: 'a', per_page: 5, type: 'all' }); return repos.map((r) => r.name.length);",
    );
}

#[test]
fn apis_stripe_operations_are_typed_functions() {
    is_whole(
        "stripe",
        "customers.getCustomers",
        "const all = await CALL({ limit: 3, $pages: 2 }); return all.data.map((it) => it.id.length);",
    );
}

#[test]
fn apis_kubernetes_operations_are_typed_functions() {
    is_whole(
        "kubernetes",
        "coreV1.listCoreV1NamespacedPod",
        "const pods = await CALL({ namespace: 'default' }); return pods.items.length;",
    );
}

#[test]
fn apis_other_operations_are_typed_functions() {
    for (name, known, example) in [
        (
            "digitalocean",
            "droplets.list",
            "const found = await CALL({ page: 1 }); return found.droplets;",
        ),
        (
            "jira",
            "issues.getIssue",
            "return (await CALL({ issueIdOrKey: 'A-1' })).key;",
        ),
        (
            "asana",
            "tasks.getTask",
            "return (await CALL({ task_gid: '1' })).data?.name;",
        ),
        (
            "box",
            "files.getFilesId",
            // The result schema is longer than the limit.
            "const file: unknown = await CALL({ file_id: '1' }); return file;",
        ),
        (
            "slack",
            "conversations.list",
            "return (await CALL({ limit: 3 })).channels.length;",
        ),
        (
            "spotify",
            "albums.getAnAlbum",
            "return (await CALL({ id: 'a' })).name.length;",
        ),
        (
            "zoom",
            "users.users",
            "return (await CALL({ page_size: 3 })).users?.length;",
        ),
        (
            "netbox",
            "circuits.circuitTerminationsList",
            "return (await CALL({ limit: 3 })).results.length;",
        ),
    ] {
        is_whole(name, known, example);
    }
}

#[test]
fn apis_have_hardly_an_operation_whose_text_seems_to_instruct_a_model() {
    let mut operations = 0;
    let mut alarms = Vec::new();
    for name in NAMES {
        let (_, description) = read(name);
        let tools = description.tools();
        let described = tools.iter();
        let described = described.map(|tool| ToolDescription::of_definition(tool).unwrap());
        let set = ToolSet::new(name, described.collect(), &[], &ToolOverrides::default());
        for tool in set.iter() {
            operations += 1;
            let signs = tool.injection_signs();
            if !signs.is_empty() {
                alarms.push(format!("{}: {signs:?}", tool.path()));
            }
        }
    }
    assert!(operations > 4000, "{operations}");
    assert!(
        alarms.len() * OPERATIONS_PER_FALSE_ALARM < operations,
        "{} of {operations}: {alarms:#?}",
        alarms.len()
    );
}
