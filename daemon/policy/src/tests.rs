mod proptests;
mod shapes;

use serde_json::json;

use super::*;
use mux_config::Config;

pub(super) const HOME: &str = if cfg!(windows) {
    r"C:\Users\me"
} else {
    "/home/me"
};

pub(super) fn policies(text: &str) -> (PolicySet, Vec<String>) {
    let config = Config::parse(text, "c").unwrap();
    let mut problems = Vec::new();
    let agents = &config.agents;
    let home = Path::new(HOME);
    let policies = PolicySet::resolve(&config.policy, agents, home, &mut problems);
    let messages = problems.into_iter().map(|problem| problem.message);
    (policies, messages.collect())
}

/// A question in which only the path is known.
pub(super) fn call(path: &str) -> PolicyQuestion<'_> {
    PolicyQuestion {
        path,
        from_server: false,
        program_path: None,
        spellings: &[],
        hints: ToolHints::default(),
        verb: None,
        agent: None,
        client: "mux",
        workspace: None,
        given: GivenArguments::Unread,
        also_given: &[],
    }
}

/// The decision as a string: `allow 2` means by the second rule, `allow -` by default.
fn decided(policies: &PolicySet, question: &PolicyQuestion<'_>) -> String {
    match policies.decide(question, &[]) {
        PolicyDecision::NeedsArguments => "arguments".into(),
        PolicyDecision::TimedOut => "timeout".into(),
        PolicyDecision::Made(verdict) => {
            policies.count_verdict(&verdict);
            let number = verdict.rule.as_ref().map(|rule| rule.number.to_string());
            let number = number.unwrap_or_else(|| "-".into());
            format!("{} {number}", verdict.action.as_str())
        }
    }
}

#[test]
fn first_matching_rule_decides_and_invalid_rule_denies() {
    let (policies, problems) = policies(
        "[[policy]]\nmatch = \"a.read\"\naction = \"allow\"\n\
         [[policy]]\nmatch = [\"a.*\", \"*.both\"]\naction = \"deny\"\nreason = \"no\"\n\
         [[policy]]\nmatch = \"b.*\"\naction = \"dney\"\n\
         [[policy]]\nserver = \"c\"\naction = \"ask\"\n\
         [[policy]]\nmatch = \"d.*\"\naction = \"allow\"\nagnet = \"x\"\n\
         [[policy]]\nmatch = \"e.*\"\naction = \"allow\"\narguments = { n = { ovr = 1 } }\n",
    );
    for (path, expected) in [
        ("a.read", "allow 1"),
        ("a.write", "deny 2"),
        ("z.both", "deny 2"),
        ("b.x", "deny 3"),
        ("c.x", "ask 4"),
        ("d.x", "deny 5"),
        ("e.x", "deny 6"),
        ("f.x", "allow -"),
        ("a.x.y", "deny 2"),
    ] {
        assert_eq!(decided(&policies, &call(path)), expected, "{path}");
    }
    assert_eq!(problems.len(), 3, "{problems:?}");
    for (problem, expected) in problems.iter().zip([
        "[[policy]] rule 3 (match \"b.*\"): action \"dney\" is none of allow, ask, deny; denied",
        "unknown key `agnet` (did you mean `agent`?)",
        "arguments: n: unknown test `ovr` (did you mean `over`?)",
    ]) {
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn rule_applies_only_if_every_condition_is_met() {
    let annotations = json!({ "destructiveHint": true, "openWorldHint": false });
    let question = PolicyQuestion {
        hints: ToolHints::of_annotations(&annotations),
        verb: Some("DELETE"),
        agent: Some("small-model"),
        client: "claude-code",
        ..call("api.drop")
    };
    for (conditions, met) in [
        ("server = \"api\"", true),
        ("server = [\"x\", \"ap?\"]", true),
        ("server = \"apis\"", false),
        ("agent = \"small-*\"", true),
        ("agent = \"big\"", false),
        ("client = \"claude*\"", true),
        ("client = \"mux\"", false),
        ("verb = \"delete\"", true),
        ("verb = [\"PUT\", \"DELETE\"]", true),
        ("verb = \"GET\"", false),
        ("annotations = { destructive = true }", true),
        ("annotations = { destructive = false }", false),
        (
            "annotations = { read_only = false, open_world = false }",
            true,
        ),
        ("annotations = { read_only = true }", false),
        ("annotations = { idempotent = false }", true),
        (
            "server = \"api\"\nverb = \"DELETE\"\nagent = \"big\"",
            false,
        ),
    ] {
        let rule = format!("[[policy]]\nmatch = \"api.*\"\naction = \"deny\"\n{conditions}\n");
        let (policies, problems) = policies(&rule);
        assert_eq!(problems, Vec::<String>::new());
        let expected = if met { "deny 1" } else { "ask -" };
        assert_eq!(decided(&policies, &question), expected, "{conditions}");
    }
}

#[test]
fn workspace_rule_applies_in_the_directory_and_below_it() {
    let (workspace, globs) = if cfg!(windows) {
        let globs: &[(&str, bool)] = &[
            (r"~\projects\*", true),
            (r"C:\Users\Me\Projects\acme\", true),
            ("c:/users/me/projects/acme", true),
            (r"\\?\C:\Users\me", true),
            (r"C:\", true),
            (r"D:\", false),
            (r"C:\Users\me\projects\acme\src", false),
        ];
        (r"C:\Users\me\projects\acme\src\..", globs)
    } else {
        let globs: &[(&str, bool)] = &[
            ("/home/*/projects", true),
            ("/home/Me", false),
            ("/home/me/projects/acme/src", false),
            ("/srv", false),
            ("/", true),
        ];
        ("/home/me/projects/acme/src/..", globs)
    };
    let everywhere = [
        ("~", true),
        ("~/projects/*", true),
        ("~/projects/acme/", true),
        ("~/other", false),
        ("*", true),
    ];
    let question = PolicyQuestion {
        workspace: Some(Path::new(workspace)),
        ..call("api.drop")
    };
    for (glob, met) in everywhere.iter().chain(globs) {
        let rule = format!("[[policy]]\nworkspace = ['{glob}']\naction = \"deny\"\n");
        let (policies, problems) = policies(&rule);
        assert_eq!(problems, Vec::<String>::new());
        let expected = if *met { "deny 1" } else { "allow -" };
        assert_eq!(decided(&policies, &question), expected, "{glob}");
    }
}

#[test]
fn workspace_of_a_rule_must_be_an_absolute_path() {
    let (policies, problems) = policies("[[policy]]\nworkspace = \"work\"\naction = \"allow\"\n");
    assert!(
        problems[0].contains("must be an absolute path or begin with ~"),
        "{problems:?}"
    );
    assert_eq!(decided(&policies, &call("a.b")), "deny 1");
}

#[test]
fn other_spellings_match_deny_and_ask_rules_but_not_allow_rules() {
    let (policies, _) = policies(
        "[[policy]]\nmatch = \"my_files.get_it\"\naction = \"deny\"\n\
         [[policy]]\nmatch = \"my_files.*\"\naction = \"allow\"\n\
         [[policy]]\nserver = \"my_files\"\naction = \"ask\"\n\
         [[policy]]\nmatch = \"web.open\"\naction = \"deny\"\n",
    );
    let all = |path: &str, shown: &str| {
        let (server, name) = path.split_once('.').unwrap();
        let spellings = spellings(server, name, shown);
        let question = PolicyQuestion {
            spellings: &spellings,
            ..call(path)
        };
        decided(&policies, &question)
    };
    assert_eq!(all("my-files.get-it", "get-it"), "deny 1");
    assert_eq!(all("my-files.read", "read"), "ask 3");
    assert_eq!(all("web.op\u{200b}en", "open"), "deny 4");
    assert_eq!(all("web.read", "read"), "allow -");
}

#[test]
fn path_of_programs_matches_rules_of_every_action_if_it_is_unambiguous() {
    let (policies, _) = policies(
        "[[policy]]\nmatch = \"my-files.get-it\"\naction = \"allow\"\n\
         [[policy]]\nmatch = \"my_files.get_*\"\naction = \"allow\"\n\
         [[policy]]\nmatch = \"my_files.put_it\"\naction = \"deny\"\n\
         [[policy]]\nserver = \"my_files\"\nverb = \"GET\"\naction = \"allow\"\n\
         [[policy]]\nmatch = \"my-files.*\"\naction = \"ask\"\n",
    );
    let decided = |path: &str, program_path: Option<&str>, verb: Option<&'static str>| {
        let (server, name) = path.split_once('.').unwrap();
        let spellings = spellings(server, name, name);
        let question = PolicyQuestion {
            program_path,
            spellings: &spellings,
            verb,
            ..call(path)
        };
        decided(&policies, &question)
    };
    for (path, program_path, expected) in [
        ("my-files.get-it", Some("my_files.get_it"), "allow 1"),
        ("my-files.get-it", None, "allow 1"),
        ("my-files.get-all", Some("my_files.get_all"), "allow 2"),
        // Another tool has the same spelling.
        ("my-files.get-all", None, "ask 5"),
        ("my-files.put-it", None, "deny 3"),
        ("my-files.put-it", Some("my_files.put_it"), "deny 3"),
        ("my-files.x", Some("my_files.x"), "ask 5"),
    ] {
        assert_eq!(decided(path, program_path, None), expected, "{path}");
    }
    let of_get = |program_path| decided("my-files.x", program_path, Some("GET"));
    assert_eq!(of_get(Some("my_files.x")), "allow 4");
    assert_eq!(of_get(None), "ask 5");
}

#[test]
fn missing_annotation_matches_no_annotation_condition() {
    let hints = |read_only, destructive| ToolHints {
        read_only,
        destructive,
        ..ToolHints::default()
    };
    let (policies, _) = policies(
        "[[policy]]\nmatch = \"a.*\"\nannotations = { destructive = false }\naction = \"allow\"\n\
         [[policy]]\nmatch = \"a.*\"\nannotations = { destructive = true }\naction = \"deny\"\n\
         [[policy]]\nmatch = \"b.*\"\nannotations = { open_world = true }\naction = \"deny\"\n",
    );
    for (path, hints, expected) in [
        ("a.x", hints(None, None), "allow -"),
        ("a.x", hints(Some(true), None), "allow 1"),
        ("a.x", hints(None, Some(false)), "allow 1"),
        ("a.x", hints(Some(true), Some(true)), "deny 2"),
        ("b.x", hints(None, None), "allow -"),
        ("c.x", hints(None, Some(true)), "ask -"),
        ("c.x", hints(None, Some(false)), "allow -"),
        ("c.x", hints(Some(false), None), "allow -"),
    ] {
        let question = PolicyQuestion {
            hints,
            ..call(path)
        };
        assert_eq!(decided(&policies, &question), expected, "{path} {hints:?}");
    }
    assert_eq!(policies.by_default(), (4, 1));
}

#[test]
fn arguments_are_requested_only_if_a_rule_needs_them() {
    let (policies, _) = policies(
        "[[policy]]\nmatch = \"fs.read\"\naction = \"allow\"\narguments = { \"paths[*]\" = { below = \"/srv\" } }\n\
         [[policy]]\nmatch = \"fs.*\"\naction = \"deny\"\narguments = { \"paths[*]\" = \"/etc/*\", force = true }\n\
         [[policy]]\nmatch = \"pay\"\naction = \"deny\"\n\
         [[policy]]\nmatch = \"fs.read\"\naction = \"ask\"\n",
    );
    for (path, arguments, expected) in [
        ("other.read", None, "allow -"),
        ("fs.read", None, "arguments"),
        (
            "fs.read",
            Some(json!({ "paths": ["/srv/a", "/srv/b"] })),
            "allow 1",
        ),
        // An allow rule must match each of them, a deny rule any.
        (
            "fs.read",
            Some(json!({ "paths": ["/srv/a", "/etc/b"] })),
            "ask 4",
        ),
        (
            "fs.read",
            Some(json!({ "paths": ["/srv/a", "/etc/b"], "force": true })),
            "deny 2",
        ),
        ("fs.read", Some(json!({ "paths": [] })), "ask 4"),
        (
            "fs.write",
            Some(json!({ "paths": "/etc/b", "force": "true" })),
            "deny 2",
        ),
        ("fs.write", Some(json!({ "paths": "/etc/b" })), "allow -"),
    ] {
        let given = arguments
            .as_ref()
            .map_or(GivenArguments::Unread, GivenArguments::Values);
        let question = PolicyQuestion {
            given,
            ..call(path)
        };
        assert_eq!(
            decided(&policies, &question),
            expected,
            "{path} {arguments:?}"
        );
    }
    for (path, expected) in [
        ("fs.write", "deny 2"),
        ("fs.read", "deny 2"),
        ("a.b", "allow -"),
    ] {
        let given = GivenArguments::Unreadable;
        let question = PolicyQuestion {
            given,
            ..call(path)
        };
        assert_eq!(decided(&policies, &question), expected, "{path}");
    }
}

#[test]
fn agent_rules_replace_the_default_rules() {
    let text = "[[policy]]\nmatch = \"a.*\"\naction = \"deny\"\n\
                [agents.own]\npolicy = [{ match = \"b.*\", action = \"ask\" }]\n\
                [agents.none]\npolicy = []\n[agents.plain]\nexclude = [\"x\"]\n";
    let (policies, problems) = policies(text);
    assert_eq!(problems, Vec::<String>::new());
    let of = |agent, path| {
        let question = PolicyQuestion {
            agent,
            ..call(path)
        };
        decided(&policies, &question)
    };
    assert_eq!(of(None, "a.x"), "deny 1");
    assert_eq!(of(Some("plain"), "a.x"), "deny 1");
    assert_eq!(of(Some("own"), "a.x"), "allow -");
    assert_eq!(of(Some("own"), "b.x"), "ask 1");
    assert_eq!(of(Some("none"), "a.x"), "allow -");

    // A project comes first for every agent, and has its own counts.
    let deny = Config::parse("[[policy]]\nmatch = \"b.*\"\naction = \"deny\"\n", "c").unwrap();
    let list = RuleList::Project(Path::new("/p").into(), ProjectText::Approved);
    let project = Policy::new(&deny.policy, list, Path::new(HOME), &mut Vec::new());
    let question = PolicyQuestion {
        agent: Some("own"),
        ..call("b.x")
    };
    let PolicyDecision::Made(verdict) = policies.decide(&question, &[project.into()]) else {
        panic!()
    };
    assert_eq!(verdict.action, RuleAction::Deny);
    let file = Path::new("/p").join(".mux.toml");
    assert_eq!(
        verdict.origin().unwrap(),
        format!(
            "rule 1 of [[policy]] of {} as you approved it",
            file.display()
        )
    );
}

#[test]
fn unchanged_rule_keeps_its_count_after_reload() {
    let rule = |path: &str| format!("[[policy]]\nmatch = {path:?}\naction = \"deny\"\n");
    let (before, _) = policies(&format!("{}{}", rule("a.*"), rule("b.*")));
    for path in ["a.1", "a.2", "b.1", "c.1"] {
        decided(&before, &call(path));
    }
    let (after, _) = policies(&format!("{}{}{}", rule("n.*"), rule("b.*"), rule("a.*")));
    after.follow(&before);
    decided(&after, &call("a.3"));
    let counts: Vec<u64> = after
        .of(None, &[])
        .rules()
        .map(|rule| rule.decision_count())
        .collect();
    assert_eq!(counts, [0, 1, 3]);
    assert_eq!(after.by_default(), (1, 0));
}

#[test]
fn explanation_names_the_unmet_condition() {
    let (policies, _) = policies(
        "[[policy]]\nmatch = \"b.*\"\naction = \"deny\"\n\
         [[policy]]\nmatch = \"a.*\"\nagent = \"big\"\naction = \"deny\"\n\
         [[policy]]\nmatch = \"a.*\"\narguments = { n = { over = 3 } }\naction = \"deny\"\n\
         [[policy]]\nmatch = \"a.*\"\nannotations = { destructive = true }\naction = \"ask\"\n\
         [[policy]]\nmatch = \"a.x\"\naction = \"allow\"\nreason = \"fine\"\n\
         [[policy]]\nmatch = \"*\"\naction = \"deny\"\n",
    );
    let arguments = json!({ "n": 2 });
    let explained = |given| {
        let question = PolicyQuestion {
            given,
            ..call("a.x")
        };
        let explanation = policies.of(None, &[]).explain(&question);
        let steps = explanation.steps.iter();
        let words: Vec<String> = steps
            .map(|step| format!("{:?} {}", step.outcome, step.because))
            .collect();
        (explanation.verdict.action, explanation.depends, words)
    };
    let (action, depends, words) = explained(GivenArguments::Values(&arguments));
    assert_eq!(
        (action, depends, words.len()),
        (RuleAction::Allow, false, 5)
    );
    for (word, part) in words.iter().zip([
        "Elsewhere match: it is about \"b.*\"",
        "Unmet agent: a caller without --agent is not \"big\"",
        "Unmet arguments.n: 2 is not { over = 3 }",
        "Unmet annotations.destructive: the tool does not declare it",
        "Decides all conditions are met",
    ]) {
        assert_eq!(word, part);
    }
    let (action, depends, words) = explained(GivenArguments::Unread);
    assert_eq!((action, depends), (RuleAction::Allow, true));
    assert!(words[2].starts_with("Depends"), "{words:?}");
    // Nothing was counted.
    assert_eq!(policies.by_default(), (0, 0));
}

#[test]
fn rules_are_indexed_by_server() {
    let text: Vec<_> = (0..1000)
        .map(|n| {
            format!(
                "[[policy]]\nmatch = \"s{}.tool_{n}_*\"\naction = \"deny\"\n",
                n % 20
            )
        })
        .collect();
    let (policies, _) = policies(&format!(
        "{}[[policy]]\nmatch = \"*.last\"\naction = \"ask\"\n",
        text.concat()
    ));
    let policy = policies.of(None, &[]).own;
    assert_eq!(policy.rules_for_server("s3").count(), 51);
    assert_eq!(policy.rules_for_server("unknown").count(), 1);
    let numbers: Vec<usize> = policy
        .rules_for_server("s3")
        .map(|rule| rule.number)
        .collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert_eq!(decided(&policies, &call("s3.tool_983_x")), "deny 984");
    assert_eq!(decided(&policies, &call("s3.last")), "ask 1001");
}

#[test]
fn server_requests_need_rules_that_name_them_and_sampling_is_denied_by_default() {
    let (policies, problems) = policies(
        r#"
        [[policy]]
        match = "a.*"
        action = "allow"
        [[policy]]
        match = "b.*"
        action = "deny"
        [[policy]]
        server = "b"
        action = "ask"
        [[policy]]
        match = "c.sampling/createMessage"
        action = "allow"
        [[policy]]
        match = ["*.elicitation/*", "*.roots/list"]
        server = ["c", "d"]
        action = "deny"
        "#,
    );
    assert!(problems.is_empty(), "{problems:?}");
    for (path, from_server, expected) in [
        // Wide rules match calls only, also of a tool that has the name of a request.
        ("a.sampling/createMessage", true, "deny -"),
        ("a.sampling/createMessage", false, "allow 1"),
        ("a.roots/list", true, "allow -"),
        ("b.elicitation/create", true, "allow -"),
        ("b.elicitation/create", false, "deny 2"),
        ("b.sampling/createMessage", true, "deny -"),
        ("c.sampling/createMessage", true, "allow 4"),
        ("c.elicitation/create", true, "deny 5"),
        ("d.roots/list", true, "deny 5"),
        ("d.sampling/createMessage", true, "deny -"),
        ("e.elicitation/create", true, "allow -"),
    ] {
        let question = PolicyQuestion {
            from_server,
            ..call(path)
        };
        assert_eq!(
            decided(&policies, &question),
            expected,
            "{path} {from_server}"
        );
    }
    assert_eq!(policies.by_default(), (3, 0));
}
