//! Rules on functions apply to every other way to reach them.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, sync::LazyLock};

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

use super::*;
use mux_catalog::{ChangeReaction, DefinitionChange, PinStatus, Scopes, ToolDescription};
use mux_config::{Config, environment::Environment};
use mux_policy::PolicySet;
use mux_settings::Settings;
use mux_sources::graphql_source;

/// A schema whose types lead back to its root types in many ways.
const SCHEMA: &str = "
    schema { query: Query mutation: Mutation }
    interface Node { id: ID a: Int }
    union Any = User | Query
    type Query implements Node {
        id: ID a: Int b(x: Int): Int me: User query: Query! node: Node any: Any changes: Mutation
    }
    type User implements Node { id: ID a: Int name: String root: Query friends: [User!] any: Any }
    type Mutation { a: Int wipe(x: Int): Payload user: UserMutations }
    type UserMutations { delete(id: Int): Boolean purge: Boolean rename(id: Int): Payload }
    type Payload { ok: Boolean query: Query mutation: Mutation }
";

fn policies(rules: &str) -> PolicySet {
    let config = Config::parse(rules, "c").unwrap();
    let mut problems = Vec::new();
    let home = Path::new("/home/me");
    let policies = PolicySet::resolve(&config.policy, &config.agents, home, &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    policies
}

/// A caller of a schema's functions, with a configuration.
struct Pool {
    source: Arc<dyn Source>,
    described: Vec<ToolDescription>,
    /// Rules, and the tools hidden from the agent `me`, who calls.
    rules: String,
    /// The content of the source's entry.
    entry: String,
}

impl Pool {
    fn new(schema: &str, rules: &str) -> Self {
        let source = graphql_source(schema);
        let tools = source.tools(0);
        let described = tools.iter().filter_map(ToolDescription::of_definition);
        Self {
            described: described.collect(),
            source,
            rules: rules.to_owned(),
            entry: String::new(),
        }
    }

    /// A pool of the same source with another configuration.
    fn with(&self, rules: &str, entry: &str) -> Self {
        Self {
            source: Arc::clone(&self.source),
            described: self.described.clone(),
            rules: rules.to_owned(),
            entry: entry.to_owned(),
        }
    }

    /// The pool after a change of this function that its pin refuses.
    fn with_changed(mut self, function: &str) -> Self {
        let mut described = self.described.iter_mut();
        let tool = described.find(|tool| tool.name == function).unwrap();
        tool.pin_status = PinStatus::Changed(Box::new(DefinitionChange {
            before: None,
            now: "{}".into(),
            digest: Default::default(),
            reaction: ChangeReaction::Refuse,
            unpinned: false,
            accepted_before: false,
            changed_paths: Vec::new(),
        }));
        self
    }

    /// Decides on a call as the gateway does. `function` is the server's name of the function.
    fn judged(&self, function: &str, arguments: Value) -> Result<PolicyJudgment, Fault> {
        let config = format!(
            "{}[servers.blog]\ncommand = \"x\"\n{}",
            self.rules, self.entry
        );
        let config = Config::parse(&config, "c").unwrap();
        let settings = Settings::resolve(config, &Environment::default(), Path::new("/home/me"));
        let scopes = Scopes::new(&settings.agents, BTreeMap::new(), BTreeMap::default());
        let scope = scopes.of(Some("me"));
        let definition = settings.servers["blog"].definition.as_ref().unwrap();
        let overrides = &definition.overrides;
        let described = self.described.clone();
        let tools = Arc::new(ToolSet::new(
            "blog",
            described,
            &definition.exclude,
            overrides,
        ));
        let visible = scope.view(&tools);
        let Some(tool) = visible.find_by_server_name(function) else {
            let message = format!("there is no {function}");
            return Err(Fault::new(FaultKind::NotFound, message));
        };
        let target = PolicyTarget::of_listed_tool(tool, &tools);
        let asked = CallerQuestion::by_mux(policies(&self.rules), Arc::clone(&scope), target);
        let own = final_verdict(asked.decide(GivenArguments::Values(&arguments)))?;
        let reached = GraphqlFunction {
            name: function.to_owned(),
            source: Some(Arc::clone(&self.source)),
            visible: Arc::clone(&visible),
            tools: Arc::clone(&tools),
            exclude: definition.exclude.clone(),
            overridden: overrides.iter().map(|(name, _)| name.to_owned()).collect(),
        };
        let judged = match arguments {
            Value::Object(values)
                if own.action != RuleAction::Deny && reached.is_decided_by_arguments(&values) =>
            {
                asked.judge_document(&reached, own, &values)?
            }
            _ => PolicyJudgment::of(own),
        };
        if judged.verdict.action != RuleAction::Deny {
            tool.check_standing()?;
        }
        Ok(judged)
    }

    fn action(&self, function: &str, arguments: Value) -> &'static str {
        match self.judged(function, arguments) {
            Ok(judged) => judged.verdict.action.as_str(),
            Err(fault) => fault.kind.as_str(),
        }
    }
}

const DENY_A: &str = "[[policy]]\nmatch = \"blog.query.a\"\naction = \"deny\"\n\
                      [[policy]]\nmatch = \"blog.*\"\naction = \"allow\"\n";

#[test]
fn denied_function_is_denied_on_every_route_to_its_root_type() {
    let pool = Pool::new(SCHEMA, DENY_A);
    for query in [
        "{ a }",
        "{ query { a } }",
        "{ me { root { x: a } } }",
        "{ node { ... on Query { a } } }",
        "{ node { a } }",
        "{ any { ... on Query { a } } }",
        "{ any { ... { ...F } } } fragment F on Query { query { ...G } } fragment G on Query { a }",
        "mutation { wipe { query { a @skip(if: true) } } }",
        "{ me { ... on Node { a } } }",
    ] {
        assert_eq!(
            pool.action("graphql", json!({ "query": query })),
            "deny",
            "{query}"
        );
    }
    for query in [
        "{ id me { a name } __schema { types { name } } __type(name: \"Query\") { fields { name } } }",
        "{ query { id } any { __typename ... on User { a } } }",
        "{ changes { a } }",
    ] {
        assert_eq!(
            pool.action("graphql", json!({ "query": query })),
            "allow",
            "{query}"
        );
    }
    for (function, select, expected) in [
        ("query.query", json!("{ a }"), "deny"),
        ("query.query", json!("id b(x: 1)"), "allow"),
        ("query.query", json!({ "query": { "a": true } }), "deny"),
        ("query.query", json!({ "query": true }), "allow"),
        (
            "query.me",
            json!({ "any": { "... on Query": { "a": true } } }),
            "deny",
        ),
        ("query.me", json!("{ a }"), "allow"),
        ("mutation.wipe", json!("{ query { a } }"), "deny"),
        ("query.me", Value::Null, "allow"),
        ("query.query", json!("{ nope }"), "validation"),
    ] {
        let arguments = json!({ "$select": select });
        assert_eq!(
            pool.action(function, arguments),
            expected,
            "{function} {select}"
        );
    }
    let mut pool = Pool::new(SCHEMA, "");
    pool.entry = "tools = { exclude = [\"query.a\"] }\n".into();
    assert_eq!(
        pool.action("query.query", json!({ "$select": "{ a }" })),
        "not_found"
    );
    assert_eq!(
        pool.action("query.query", json!({ "$select": "{ id }" })),
        "allow"
    );
}

#[test]
fn root_types_are_recognized_under_any_name() {
    let schema = SCHEMA.replace("Query", "Q").replace("Mutation", "M");
    let pool = Pool::new(&schema, DENY_A);
    let twice = json!({ "query": "{ query { a } }" });
    assert_eq!(pool.action("graphql", twice), "deny");
    let pool = Pool::new(
        "schema { query: Q } type Q { a: Int o: Query } type Query { a: Int }",
        DENY_A,
    );
    assert_eq!(
        pool.action("query.o", json!({ "$select": "{ a }" })),
        "allow"
    );
    assert_eq!(
        pool.action("graphql", json!({ "query": "{ o { a } }" })),
        "allow"
    );
}

#[test]
fn unknown_field_is_denied_if_rules_name_functions() {
    let named = "[[policy]]\nmatch = \"blog.query.a\"\naction = \"deny\"\n";
    let elsewhere = "[[policy]]\nmatch = [\"blog.graphql\", \"other.*\"]\naction = \"ask\"\n\
                     [[policy]]\nmatch = \"*\"\nclient = \"other\"\naction = \"deny\"\n\
                     [[policy]]\nmatch = \"*\"\nverb = \"DELETE\"\naction = \"deny\"\n";
    for query in [
        "{ me { newer { a } } }",
        "{ me { ... on Newer { a } } }",
        "{ newer { a } }",
    ] {
        let query = json!({ "query": query });
        let judged = Pool::new(SCHEMA, named)
            .judged("graphql", query.clone())
            .unwrap();
        assert_eq!(judged.verdict.action, RuleAction::Deny);
        let why = judged.undecided.unwrap();
        assert!(
            why.contains("`a`") && why.contains("\"blog.query.a\""),
            "{why}"
        );
        assert_eq!(
            Pool::new(SCHEMA, elsewhere).action("graphql", query.clone()),
            "ask"
        );
        let mut pool = Pool::new(SCHEMA, "");
        pool.entry = "tools = { exclude = [\"mutation.wipe\"] }\n".into();
        assert_eq!(pool.action("graphql", query), "deny");
    }
    let known = json!({ "query": "{ me { newer ... on Newer { __typename } } }" });
    assert_eq!(Pool::new(SCHEMA, named).action("graphql", known), "ask");
}

#[test]
fn fields_below_the_root_are_denied_without_a_schema() {
    let rules = "[[policy]]\nmatch = \"blog.query.a\"\naction = \"deny\"\n";
    let asked = |path: &str| {
        CallerQuestion::by_mux(policies(rules), Arc::default(), PolicyTarget::of_path(path))
    };
    let verdict = PolicyVerdict {
        action: RuleAction::Allow,
        rule: None,
    };
    let of = |name: &str, arguments: Value| {
        let function = GraphqlFunction {
            name: name.into(),
            source: None,
            tools: Arc::default(),
            visible: Arc::default(),
            exclude: Vec::new(),
            overridden: Vec::new(),
        };
        let values = arguments.as_object().unwrap();
        let judged =
            asked(&format!("blog.{name}")).judge_document(&function, verdict.clone(), values);
        judged.unwrap().verdict.action
    };
    assert_eq!(of("graphql", json!({ "query": "{ a }" })), RuleAction::Deny);
    assert_eq!(
        of("graphql", json!({ "query": "{ b }" })),
        RuleAction::Allow
    );
    assert_eq!(
        of("graphql", json!({ "query": "{ me { id } }" })),
        RuleAction::Deny
    );
    assert_eq!(
        of("query.me", json!({ "$select": "{ id }" })),
        RuleAction::Deny
    );
}

#[test]
fn mutation_group_is_as_destructive_as_its_selection() {
    let rule = "[[policy]]\nmatch = \"blog.mutation.*\"\nannotations = { destructive = true }\naction = \"deny\"\n\
                [[policy]]\nmatch = \"blog.*\"\naction = \"allow\"\n";
    for (rules, expected) in [(rule, "deny"), ("", "ask")] {
        let pool = Pool::new(SCHEMA, rules);
        for query in [
            "mutation { user { delete(id: 1) } }",
            "mutation { user { ...F } } fragment F on UserMutations { harmless: delete }",
            "{ changes { user { purge } } }",
        ] {
            assert_eq!(
                pool.action("graphql", json!({ "query": query })),
                expected,
                "{query}"
            );
        }
        for select in [json!("{ delete(id: 1) }"), json!({ "purge": true })] {
            let arguments = json!({ "$select": select });
            assert_eq!(
                pool.action("mutation.user", arguments),
                expected,
                "{select}"
            );
        }
        for select in [json!("{ rename(id: 1) { ok } }"), Value::Null] {
            let arguments = json!({ "$select": select });
            assert_eq!(pool.action("mutation.user", arguments), "allow", "{select}");
        }
    }
    // A rule that allows destructive calls does not apply to others.
    let odd = "[[policy]]\nmatch = \"*\"\nannotations = { destructive = true }\naction = \"allow\"\n\
               [[policy]]\nmatch = \"blog.mutation.user\"\naction = \"deny\"\n";
    let query = json!({ "query": "mutation { user { delete } }" });
    assert_eq!(Pool::new(SCHEMA, odd).action("graphql", query), "deny");
}

/// The default asks only if a user can answer immediately, so it would not stop other callers.
#[test]
fn asking_rule_is_stricter_than_asking_default() {
    let rules = "[[policy]]\nmatch = \"blog.query.a\"\naction = \"ask\"\n";
    let judged = Pool::new(SCHEMA, rules)
        .judged("graphql", json!({ "query": "{ a }" }))
        .unwrap();
    assert!(judged.verdict.rule.is_some(), "{judged:?}");
    assert_eq!(judged.through.unwrap().target.path, "blog.query.a");
}

#[test]
fn arguments_of_every_operation_are_checked() {
    let rules = "[[policy]]\nmatch = \"blog.query.b\"\narguments = { x = 1 }\naction = \"deny\"\n\
                 [[policy]]\nmatch = \"blog.*\"\naction = \"allow\"\n";
    let pool = Pool::new(SCHEMA, rules);
    let fragment = "fragment F on Query { query { b(x: $x) } }";
    for (operations, x, expected) in [
        (
            "query A($x: Int = 2) { ...F } query B($x: Int = 1) { ...F }",
            Value::Null,
            "deny",
        ),
        (
            "query A($x: Int = 2) { ...F } query B($x: Int = 3) { ...F }",
            Value::Null,
            "allow",
        ),
        ("query A($x: Int = 2) { ...F }", json!(1), "deny"),
        ("query A($x: Int = 1) { ...F }", json!(2), "allow"),
    ] {
        let mut arguments = json!({ "query": format!("{operations} {fragment}") });
        if !x.is_null() {
            arguments["variables"] = json!({ "x": x });
        }
        assert_eq!(
            pool.action("graphql", arguments),
            expected,
            "{operations} {x}"
        );
    }
}

#[test]
fn denial_comes_before_the_document_limits() {
    let rules = "[[policy]]\nmatch = \"blog.query.a\"\naction = \"deny\"\n";
    let many: Vec<_> = (0..30_000).map(|n| format!("f{n} ")).collect();
    let many = many.concat();
    // The fields after the denied one are not examined.
    let query = json!({ "query": format!("{{ a {many} }}") });
    assert_eq!(Pool::new(SCHEMA, rules).action("graphql", query), "deny");
}

/// The fields of a type that lead to other types. `...T` is a type condition.
fn ways(ty: &str) -> &'static [(&'static str, &'static str)] {
    match ty {
        "Query" => &[
            ("me", "User"),
            ("query", "Query"),
            ("node", "Node"),
            ("any", "Any"),
            ("changes", "Mutation"),
        ],
        "User" => &[("root", "Query"), ("friends", "User"), ("any", "Any")],
        "Node" | "Any" => &[("...Query", "Query"), ("...User", "User")],
        "Mutation" => &[("wipe", "Payload"), ("user", "UserMutations")],
        "UserMutations" => &[("rename", "Payload")],
        "Payload" => &[("query", "Query"), ("mutation", "Mutation")],
        other => panic!("{other}"),
    }
}

/// The next step toward a root type.
fn step(ty: &str, root: &str) -> Option<(&'static str, &'static str)> {
    let name = match (ty, root) {
        _ if ty == root => return None,
        ("Query", _) => "changes",
        ("User", _) => "root",
        ("Node" | "Any", _) => "...Query",
        ("Mutation", _) => "wipe",
        ("UserMutations", _) => "rename",
        ("Payload", "Query") => "query",
        _ => "mutation",
    };
    ways(ty).iter().find(|(way, _)| *way == name).copied()
}

/// One route to a function's field.
#[derive(Clone, Debug)]
struct Route {
    begins: &'static str,
    steps: Vec<(&'static str, &'static str)>,
    root: &'static str,
    field: &'static str,
    x: Option<i64>,
}

fn route() -> impl Strategy<Value = Route> {
    let targets: &[(&str, &str, bool)] = &[
        ("Query", "a", false),
        ("Query", "b", true),
        ("Mutation", "a", false),
        ("Mutation", "wipe", true),
    ];
    let begins = select(vec!["Query", "Mutation"]);
    let x = prop::option::of(0..3_i64);
    let parts = (
        begins,
        vec(any::<prop::sample::Index>(), 0..6),
        select(targets),
        x,
        any::<bool>(),
    );
    parts.prop_map(
        |(begins, choices, (root, field, takes_x), x, by_interface)| {
            let mut ty = begins;
            let mut steps = Vec::new();
            for choice in choices {
                let way = *choice.get(ways(ty));
                (ty, ()) = (way.1, steps.push(way));
            }
            while let Some(way) = step(ty, root) {
                (ty, ()) = (way.1, steps.push(way));
            }
            // The interface has that field, too.
            let is_node = steps.len() > 1 && steps[steps.len() - 2].1 == "Node";
            if by_interface && is_node && (root, field) == ("Query", "a") && ty == "Query" {
                steps.pop();
            }
            Route {
                begins,
                steps,
                root,
                field,
                x: x.filter(|_| takes_x),
            }
        },
    )
}

/// How a document is written: a style for each step, the form of the argument, and whether there is another operation.
type Manners = (Vec<u8>, u8, bool);

impl Route {
    fn word(root: &str) -> &'static str {
        if root == "Query" { "query" } else { "mutation" }
    }

    fn function(&self) -> String {
        format!("{}.{}", Self::word(self.root), self.field)
    }

    fn arguments(&self) -> Value {
        self.x.map_or(json!({}), |x| json!({ "x": x }))
    }

    fn leaf(&self, argument: &str) -> String {
        let argument = self.x.map(|_| argument).unwrap_or_default();
        let more = if self.field == "wipe" { " { ok }" } else { "" };
        format!("z: {}{argument}{more}", self.field)
    }

    /// Steps around a leaf, as text, with the fragments that they need.
    fn text(steps: &[(&str, &str)], leaf: String, manners: &[u8], named: bool) -> (String, String) {
        let mut text = leaf;
        let mut fragments = String::new();
        for (place, (name, ty)) in steps.iter().enumerate().rev() {
            let manner = manners.get(place).copied().unwrap_or_default();
            text = match manner % 6 {
                1 => format!("... {{ {text} }}"),
                2 => format!("... on {ty} {{ {text} }}"),
                3 if named => {
                    _ = write!(fragments, " fragment F{place} on {ty} {{ {text} }}");
                    format!("...F{place}")
                }
                4 => format!("__typename ... @include(if: true) {{ {text} }}"),
                _ => text,
            };
            text = match name.strip_prefix("...") {
                Some(on) => format!("... on {on} {{ {text} }}"),
                None if manner % 2 == 1 => {
                    format!("y{place}: {name} @skip(if: false) {{ {text} }}")
                }
                None => format!("{name} {{ {text} }}"),
            };
        }
        (text, fragments)
    }

    /// The route as a complete document.
    fn document(&self, (manners, given, beside): &Manners) -> Value {
        let x = self.x.unwrap_or_default();
        let (argument, declared, variables) = match given % 3 {
            0 => (format!("(x: {x})"), String::new(), json!({})),
            1 => ("(x: $x)".into(), "($x: Int)".into(), json!({ "x": x })),
            _ => ("(x: $x)".into(), format!("($x: Int = {x})"), json!({})),
        };
        let leaf = self.leaf(&argument);
        let (text, fragments) = Self::text(&self.steps, leaf, manners, true);
        let other = if *beside { "query Other { id }" } else { "" };
        let word = Self::word(self.begins);
        json!({
            "query": format!("{other} {word} It{declared} {{ {text} }}{fragments}"),
            "variables": variables,
            "operationName": "It",
        })
    }

    /// The route as a selection of the function that begins it, if there is one.
    fn selected(&self, (manners, ..): &Manners) -> Option<(String, Value, Value)> {
        let ((first, _), steps) = self.steps.split_first()?;
        let leaf = self.leaf(&format!("(x: {})", self.x.unwrap_or_default()));
        let (text, _) = Self::text(steps, leaf, manners, false);
        let mut object = match self.field {
            "wipe" => json!({ "ok": true }),
            _ => json!({}),
        };
        if let Some(x) = self.x {
            object["$args"] = json!({ "x": x });
        }
        object = json!({ self.field: object });
        for (name, _) in steps.iter().rev() {
            let name = match name.strip_prefix("...") {
                Some(on) => format!("... on {on}"),
                None => (*name).to_owned(),
            };
            object = json!({ name: object });
        }
        let function = format!("{}.{first}", Self::word(self.begins));
        Some((function, format!("{{ {text} }}").into(), object))
    }
}

fn rules() -> impl Strategy<Value = String> {
    let matches = select(vec![
        "blog.query.a",
        "blog.query.b",
        "blog.mutation.a",
        "blog.mutation.wipe",
        "blog.query.*",
        "blog.mutation.*",
        "blog.*.a",
        "*.w*",
        "blog.secret",
        "blog.other_*",
        "blog.*",
    ]);
    let conditions = select(vec![
        "",
        "arguments = { x = 1 }",
        "annotations = { destructive = true }",
    ]);
    let actions = select(vec!["allow", "ask", "deny"]);
    let rule = (matches, conditions, actions).prop_map(|(matches, condition, action)| {
        format!("[[policy]]\nmatch = {matches:?}\n{condition}\naction = {action:?}\n")
    });
    vec(rule, 0..4).prop_map(|rules| rules.concat())
}

/// Renames the root types in a schema or document.
fn rename(text: &str) -> String {
    let text = text.replace("Query", "Q").replace("UserMutations", "UM");
    text.replace("Mutation", "M")
}

/// The schema with the usual names of root types, and with others.
static POOLS: LazyLock<[Pool; 2]> =
    LazyLock::new(|| [Pool::new(SCHEMA, ""), Pool::new(&rename(SCHEMA), "")]);

/// Configurations that change the catalog's entry for `query.a`, each with the outcome of a call of it.
const SHOWN_OTHERWISE: &[(&str, &str, &str)] = &[
    (
        "[[policy]]\nmatch = \"blog.secret\"\naction = \"deny\"\n",
        "override.\"query.a\" = { name = \"secret\" }\n",
        "deny",
    ),
    (
        "[[policy]]\nmatch = \"blog.query.a\"\naction = \"deny\"\n",
        "override.\"query.a\" = { name = \"secret\" }\n",
        "deny",
    ),
    (
        "[[policy]]\nmatch = \"blog.secret_one\"\naction = \"ask\"\n",
        "override.\"query.a\" = { name = \"secret-one\" }\n",
        "ask",
    ),
    (
        "[[policy]]\nmatch = [\"blog.shown\", \"blog.graphql\", \"blog.query.query\", \"blog.query.me\"]\naction = \"allow\"\n\
         [[policy]]\nmatch = \"*\"\naction = \"deny\"\n",
        "override.\"query.a\" = { name = \"shown\" }\n",
        "allow",
    ),
    (
        "[[policy]]\nmatch = \"blog.query.*\"\nannotations = { destructive = true }\naction = \"deny\"\n",
        "override.\"query.a\" = { annotations = { destructive = true } }\n",
        "deny",
    ),
    (
        "[agents.me]\nexclude = [\"blog.secret\"]\n",
        "override.\"query.a\" = { name = \"secret\" }\n",
        "not_found",
    ),
    (
        "[agents.me]\nexclude = [\"blog.query.a\"]\n",
        "override.\"query.a\" = { name = \"secret\" }\n",
        "not_found",
    ),
    (
        "",
        "tools = { exclude = [\"secret\"] }\noverride.\"query.a\" = { name = \"secret\" }\n",
        "not_found",
    ),
    ("", "tools = { exclude = [\"query.a\"] }\n", "not_found"),
    (
        "",
        "override.\"query.a\" = { name = \"query.b\" }\n",
        "not_found",
    ),
    ("", "override.\"query.a\" = { name = 3 }\n", "not_found"),
    (
        "",
        "override.\"query.a\" = { name = \"secret\" }\n",
        "allow",
    ),
    ("", "", "allow"),
];

/// A rule that ends the default approval of `graphql` itself.
const ALLOW_GRAPHQL: &str = "[[policy]]\nmatch = \"blog.graphql\"\naction = \"allow\"\n";

#[test]
fn overridden_function_gets_one_judgment_on_every_way() {
    let pool = Pool::new(SCHEMA, "");
    let ways = [
        ("query.a", json!({})),
        ("graphql", json!({ "query": "{ a }" })),
        ("graphql", json!({ "query": "{ me { root { x: a } } }" })),
        ("query.query", json!({ "$select": "{ a }" })),
        ("query.query", json!({ "$select": { "a": true } })),
    ];
    for (rules, entry, expected) in SHOWN_OTHERWISE {
        for (function, arguments) in &ways {
            let rules = format!("{rules}{ALLOW_GRAPHQL}");
            let action = pool.with(&rules, entry).action(function, arguments.clone());
            assert_eq!(action, *expected, "{function} {arguments}: {rules}{entry}");
        }
    }
    for entry in ["", "override.\"query.a\" = { name = \"secret\" }\n"] {
        for (function, arguments) in &ways {
            let changed = pool.with(ALLOW_GRAPHQL, entry).with_changed("query.a");
            let action = changed.action(function, arguments.clone());
            assert_eq!(action, "denied", "{function} {arguments}: {entry}");
        }
    }
}

#[test]
fn rule_on_an_overridden_function_looks_at_the_arguments_of_a_document() {
    let rules = "[[policy]]\nmatch = \"blog.number\"\narguments = { x = 1 }\naction = \"deny\"\n";
    let rules = format!("{rules}{ALLOW_GRAPHQL}");
    let entry = "override.\"query.b\" = { name = \"number\" }\n";
    let pool = Pool::new(SCHEMA, "").with(&rules, entry);
    for (x, expected) in [(1, "deny"), (2, "allow")] {
        for (function, arguments) in [
            ("query.b", json!({ "x": x })),
            ("graphql", json!({ "query": format!("{{ b(x: {x}) }}") })),
            (
                "query.query",
                json!({ "$select": { "b": { "$args": { "x": x } } } }),
            ),
        ] {
            assert_eq!(
                pool.action(function, arguments.clone()),
                expected,
                "{function} {arguments}"
            );
        }
    }
}

/// Only a call of the function itself gets the arguments that the user has fixed.
#[test]
fn function_with_fixed_arguments_is_reached_by_its_own_calls_only() {
    let entry = "override.\"query.b\" = { fixed = { x = 1 } }\n\
                 override.\"query.query\" = { name = \"again\", description = \"D\" }\n";
    let pool = Pool::new(SCHEMA, "").with("", entry);
    assert_eq!(pool.action("query.b", json!({})), "allow");
    assert_eq!(
        pool.action("graphql", json!({ "query": "{ b(x: 2) }" })),
        "not_found"
    );
    assert_eq!(
        pool.action("query.query", json!({ "$select": "{ b(x: 2) }" })),
        "not_found"
    );
}

#[test]
fn rule_on_an_overridden_function_denies_what_is_not_known() {
    let unknown = json!({ "query": "{ me { newer { a } } }" });
    let entry = "override.\"query.a\" = { name = \"secret\" }\n";
    for rules in [
        "[[policy]]\nmatch = \"blog.secret\"\naction = \"deny\"\n",
        "[agents.me]\nexclude = [\"blog.secret\"]\n",
    ] {
        let pool = Pool::new(SCHEMA, "").with(rules, entry);
        assert_eq!(pool.action("graphql", unknown.clone()), "deny", "{rules}");
    }
    let changed = Pool::new(SCHEMA, "").with_changed("query.b");
    assert_eq!(changed.action("graphql", unknown), "deny");
}

/// An approval of a document covers the tools that it reaches, in their present form.
#[test]
fn approval_of_a_document_ends_with_a_change_of_a_tool_that_it_reaches() {
    let rules = "[[policy]]\nmatch = \"blog.*\"\naction = \"ask\"\n";
    let pool = Pool::new(SCHEMA, "");
    let identity = |entry: &str| {
        let judged = pool
            .with(rules, entry)
            .judged("graphql", json!({ "query": "{ a }" }));
        judged.unwrap().identity
    };
    assert_eq!(
        identity(""),
        identity("override.\"query.b\" = { description = \"D\" }\n")
    );
    assert_ne!(
        identity(""),
        identity("override.\"query.a\" = { description = \"D\" }\n")
    );
}

/// The settings for functions that an entry may have. Names are in both schemas.
fn entries() -> impl Strategy<Value = String> {
    let overridden = select(vec!["query.a", "query.b", "mutation.a", "mutation.wipe"]);
    let change = select(vec![
        "name = \"secret\"",
        "name = \"other.secret-one\"",
        "annotations = { destructive = true }",
        "annotations = { destructive = false, read_only = true }",
        "name = \"secret\", annotations = { destructive = true }",
        "description = \"D\"",
        "defaults = { nothing = 1 }",
    ]);
    let exclude = select(vec![
        "query.a",
        "mutation.*",
        "query_b",
        "secret",
        "other_*",
    ]);
    let overridden = prop::option::weighted(0.7, (overridden, change));
    (overridden, prop::option::weighted(0.2, exclude)).prop_map(|(overridden, exclude)| {
        let exclude = exclude.map(|glob| format!("tools = {{ exclude = [{glob:?}] }}\n"));
        let overridden =
            overridden.map(|(name, change)| format!("override.{name:?} = {{ {change} }}\n"));
        exclude.unwrap_or_default() + &overridden.unwrap_or_default()
    })
}

fn views() -> impl Strategy<Value = String> {
    let hidden = select(vec![
        "blog.query.a",
        "blog.secret",
        "*.other_secret_one",
        "blog.mutation.*",
    ]);
    let view = prop::option::weighted(0.2, hidden);
    view.prop_map(|hidden| {
        let view = hidden.map(|glob| format!("[agents.me]\nexclude = [{glob:?}]\n"));
        view.unwrap_or_default()
    })
}

proptest! {
    /// However a function is reached, the decision is the same as on its tool as shown in the catalog, or stricter.
    #[test]
    fn every_route_to_a_function_is_at_least_as_strict(
        route in route(),
        (rules, view, entry) in (rules(), views(), entries()),
        changed in prop::option::weighted(0.1, select(vec!["query.a", "mutation.wipe"])),
        manners in (vec(any::<u8>(), 0..12), any::<u8>(), any::<bool>()),
        renamed in any::<bool>(),
    ) {
        let text = |text: &str| if renamed { rename(text) } else { text.to_owned() };
        let mut pool = POOLS[usize::from(renamed)].with(&(rules + &view), &entry);
        if let Some(changed) = changed {
            pool = pool.with_changed(changed);
        }
        let strict = |judged: Result<PolicyJudgment, Fault>| match judged {
            Ok(judged) => Ok(strictness(&judged.verdict)),
            Err(fault) => match fault.kind {
                FaultKind::NotFound | FaultKind::Denied => Ok(3),
                _ => Err(fault),
            },
        };
        let direct = strict(pool.judged(&route.function(), route.arguments())).unwrap();
        let mut ways = vec![("graphql".to_owned(), route.document(&manners))];
        if let Some((function, text, object)) = route.selected(&manners) {
            ways.push((function.clone(), json!({ "$select": text })));
            ways.push((function, json!({ "$select": object })));
        }
        for (function, arguments) in ways {
            let arguments: Value = serde_json::from_str(&text(&arguments.to_string())).unwrap();
            let other = strict(pool.judged(&function, arguments.clone())).unwrap();
            prop_assert!(other >= direct, "{function} {arguments}: {other} < {direct} of {}", route.function());
        }
    }
}
