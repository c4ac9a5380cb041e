//! Conditions on arguments of an unexpected shape, and the identity of rules.

use super::*;

#[test]
fn missing_or_misshapen_argument_is_never_allowed() {
    let below = "{ below = \"/home/me/notes\" }";
    for (test, files, allows, denies) in [
        (below, json!([{ "path": "/home/me/notes/a" }]), true, true),
        (
            below,
            json!([{ "path": "/home/me/notes/a" }, "/etc/passwd"]),
            false,
            true,
        ),
        (
            below,
            json!([{ "path": "/home/me/notes/a" }, { "paht": "x" }]),
            false,
            true,
        ),
        (below, json!(["/home/me/notes/a"]), false, false),
        (below, json!([]), false, false),
        (
            "{ not = { below = \"/etc\" } }",
            json!([{ "path": "/srv" }, {}]),
            true,
            true,
        ),
        (
            "{ not = { below = \"/etc\" } }",
            json!([{ "path": "/srv" }, "/etc/passwd"]),
            false,
            true,
        ),
        (
            "{ not = { below = \"/srv\" } }",
            json!([{ "path": "/srv/a" }, "/etc/passwd"]),
            false,
            true,
        ),
        (
            "{ not = { below = \"/srv\" } }",
            json!([{ "path": "/srv/a" }, {}]),
            false,
            true,
        ),
        ("{ under = 3 }", json!([{ "path": 2 }, {}]), false, true),
        ("{ under = 3 }", json!([{}, [2]]), false, false),
        ("{ present = false }", json!([{}, { "x": 1 }]), true, true),
        ("{ present = false }", json!([{}, "x"]), false, true),
    ] {
        let arguments = json!({ "files": files });
        for (action, met) in [("allow", allows), ("deny", denies), ("ask", denies)] {
            let (policies, problems) = policies(&format!(
                "[[policy]]\naction = {action:?}\narguments = {{ \"files[*].path\" = {test} }}\n"
            ));
            assert_eq!(problems, Vec::<String>::new());
            let question = PolicyQuestion {
                given: GivenArguments::Values(&arguments),
                ..call("fs.write")
            };
            let expected = if met {
                format!("{action} 1")
            } else {
                "allow -".into()
            };
            assert_eq!(
                decided(&policies, &question),
                expected,
                "{action} {test} {arguments}"
            );
        }
    }
    // A member of a value that is not an object does not count as absent.
    let (policies, _) = policies(
        "[[policy]]\naction = \"allow\"\narguments = { \"options.force\" = { not = true } }\n\
         [[policy]]\naction = \"deny\"\n",
    );
    for (arguments, expected) in [
        (json!({}), "allow 1"),
        (json!({ "options": {} }), "allow 1"),
        (json!({ "options": { "force": true } }), "deny 2"),
        (json!({ "options": [{ "force": true }] }), "deny 2"),
        (json!({ "options": "force" }), "deny 2"),
    ] {
        let question = PolicyQuestion {
            given: GivenArguments::Values(&arguments),
            ..call("fs.write")
        };
        assert_eq!(decided(&policies, &question), expected, "{arguments}");
    }
}

#[test]
fn rule_identity_is_its_list_and_its_text() {
    let rule = "[[policy]]\nmatch = \"a.*\"\naction = \"ask\"\n";
    let identity = |text: &str| {
        let (policies, _) = policies(text);
        policies.of(Some("x"), &[]).own.rules()[0].identity()
    };
    let one = identity(rule);
    for more in [
        "arguments = { by = { under = 10 } }",
        "arguments = { by = { over = 10 } }",
        "agent = \"x\"",
        "annotations = { destructive = true }",
        "reason = \"r\"",
    ] {
        assert_ne!(identity(&format!("{rule}{more}\n")), one, "{more}");
    }
    let of_agent = "[agents.x]\npolicy = [{ match = \"a.*\", action = \"ask\" }]\n";
    assert_ne!(identity(of_agent), one);
    let second = format!("[[policy]]\nmatch = \"b.*\"\naction = \"deny\"\n{rule}");
    let (policies, _) = policies(&second);
    assert_eq!(policies.of(None, &[]).own.rules()[1].identity(), one);
}

#[test]
fn later_deny_overrides_an_ask_in_doubt() {
    let (policies, problems) = policies(
        "[[policy]]\naction = \"ask\"\narguments = { path = { below = \"/srv\" } }\n\
         [[policy]]\naction = \"deny\"\narguments = { path = \"/etc/*\" }\n\
         [[policy]]\naction = \"allow\"\n",
    );
    assert_eq!(problems, Vec::<String>::new());
    for (path, expected, outcomes) in [
        ("/srv/a", "ask 1", "Decides"),
        ("a", "ask 1", "Decides Unmet Unmet"),
        ("../etc/passwd", "deny 2", "Unmet Decides"),
        ("/srv/%2e%2e/etc/passwd", "deny 2", "Unmet Decides"),
        ("/tmp/a", "allow 3", "Unmet Unmet Decides"),
    ] {
        let arguments = json!({ "path": path });
        let question = PolicyQuestion {
            given: GivenArguments::Values(&arguments),
            ..call("a.b")
        };
        assert_eq!(decided(&policies, &question), expected, "{path}");
        let explained = policies.of(None, &[]).explain(&question);
        let steps = explained.steps.iter();
        let words: Vec<String> = steps.map(|step| format!("{:?}", step.outcome)).collect();
        assert_eq!(words.join(" "), outcomes, "{path}: {:?}", explained.steps);
        assert!(
            expected.starts_with(explained.verdict.action.as_str()),
            "{path}"
        );
    }
}

#[test]
fn member_that_is_sent_as_an_argument_meets_rules_that_deny_or_ask() {
    let arguments = json!({ "filter": { "account": "victim" }, "amount": 5 });
    let also = [json!({ "account": "victim" })];
    for (condition, met) in [
        ("account = \"victim\"", true),
        ("account = \"vic*\", amount = 5", true),
        ("account = \"victim\", amount = 6", false),
        ("account = \"other\"", false),
        ("account = { not = \"me\" }", true),
        ("amount = { not = 5 }", false),
        ("absent = { present = true }", false),
    ] {
        for action in ["allow", "ask", "deny"] {
            let rule = format!("[[policy]]\naction = {action:?}\narguments = {{ {condition} }}\n");
            let (policies, problems) = policies(&format!("{rule}[[policy]]\naction = \"allow\"\n"));
            assert_eq!(problems, Vec::<String>::new());
            let question = PolicyQuestion {
                given: GivenArguments::Values(&arguments),
                also_given: &also,
                ..call("shop.pay")
            };
            let alone = PolicyQuestion {
                also_given: &[],
                ..question
            };
            let expected = match (action, met) {
                ("allow", _) => decided(&policies, &alone),
                (action, true) => format!("{action} 1"),
                (_, false) => "allow 2".into(),
            };
            assert_eq!(
                decided(&policies, &question),
                expected,
                "{action} {condition}"
            );
            let explained = policies.of(None, &[]).explain(&question);
            assert!(
                expected.starts_with(explained.verdict.action.as_str()),
                "{condition}"
            );
        }
    }
}
