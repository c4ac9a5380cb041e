//! Finds rules that an earlier rule covers completely. Reports only certain cases.

use serde_json::Value;

/// Conditions whose globs may be wider in the earlier rule.
const GLOB_KEYS: [&str; 3] = ["server", "agent", "client"];
/// Conditions that must be equal in both rules.
const PLAIN_KEYS: [&str; 3] = ["workspace", "verb", "annotations"];

/// Returns true if `earlier` decides every call to which `later` applies.
pub(super) fn covers_rule(earlier: &Value, later: &Value) -> bool {
    let covers = |key: &str, glob: &str| {
        texts(&earlier[key])
            .iter()
            .any(|wider| covers_glob(wider, glob))
    };
    let paths = || match texts(&later["match"]) {
        all if all.is_empty() => vec!["*"],
        all => all,
    };
    let is_everything = earlier["match"].is_null();
    let matches = paths().into_iter().all(|path| {
        // A rule applies to a method of a server's requests only if it names that.
        let group = path.split_once('/').map(|(group, _)| group);
        let method = group.and_then(|group| group.rsplit(['.', '*']).next());
        let named = |text: &str| method.is_none_or(|method| text.contains(&format!("{method}/")));
        if is_everything {
            method.is_none()
        } else {
            texts(&earlier["match"])
                .iter()
                .any(|wider| covers_glob(wider, path) && named(wider))
        }
    });
    let of_globs = GLOB_KEYS.iter().all(|key| {
        let wanted = texts(&later[*key]);
        earlier[*key].is_null()
            || (!wanted.is_empty() && wanted.into_iter().all(|glob| covers(key, glob)))
    });
    let same = |key: &str| earlier[key].is_null() || earlier[key] == later[key];
    // How a server reads an argument may be in doubt, and a rule that allows does not apply then.
    let arguments =
        earlier["arguments"].is_null() || (earlier["action"] != "allow" && same("arguments"));
    matches && of_globs && PLAIN_KEYS.iter().all(|key| same(key)) && arguments
}

/// A string, or a list of strings.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns true if `wider` matches every string that `glob` matches. A string without `*` and `?` is
/// also a glob.
pub(super) fn covers_glob(wider: &str, glob: &str) -> bool {
    let (wider, glob): (Vec<char>, Vec<char>) = (wider.chars().collect(), glob.chars().collect());
    // `covered[i]`: the rest of `wider` from the loop's position covers `glob[i..]`.
    let mut covered = vec![false; glob.len() + 1];
    covered[glob.len()] = true;
    for letter in wider.iter().rev() {
        let rest = covered.clone();
        for at in (0..=glob.len()).rev() {
            let next = glob.get(at);
            covered[at] = match letter {
                '*' => rest[at] || (at < glob.len() && covered[at + 1]),
                '?' => next.is_some_and(|next| *next != '*') && rest[at + 1],
                letter => next == Some(letter) && rest[at + 1],
            };
        }
    }
    covered[0]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wider_globs_cover_narrower_ones() {
        for (wider, glob, expected) in [
            ("*", "files.*", true),
            ("files.*", "files.write_*", true),
            ("files.write_*", "files.*", false),
            ("f?les.*", "files.x", true),
            ("a?c", "a*c", false),
            ("a*c", "a?c", true),
            ("*.read", "files.*", false),
            ("a*b*c", "a.b.b?c", true),
            ("", "", true),
            ("*", "", true),
            ("?", "*", false),
        ] {
            assert_eq!(covers_glob(wider, glob), expected, "{wider} {glob}");
        }
    }

    #[test]
    fn rule_is_covered_only_by_one_with_no_further_condition() {
        let deny = json!({ "match": "files.*", "action": "deny" });
        let narrow = json!({ "match": "files.write", "agent": "small-1", "action": "allow" });
        let of_agent = json!({ "match": "*", "agent": "small-*", "action": "ask" });
        let of_arguments = json!({ "match": "files.*", "arguments": { "a": 1 }, "action": "deny" });
        let method = json!({ "match": "files.elicitation/create", "action": "ask" });
        let no_path = json!({ "annotations": { "destructive": true }, "action": "ask" });
        for (earlier, later, expected) in [
            (&deny, &narrow, true),
            (&narrow, &deny, false),
            (&of_agent, &narrow, true),
            (&of_agent, &deny, false),
            (&of_arguments, &deny, false),
            (&deny, &of_arguments, true),
            (&of_arguments, &of_arguments, true),
            (&deny, &method, false),
            (&method, &method, true),
            (&json!({ "action": "deny" }), &no_path, true),
            (&no_path, &deny, false),
        ] {
            assert_eq!(covers_rule(earlier, later), expected, "{earlier} {later}");
        }
        let mut allow = of_arguments.clone();
        allow["action"] = "allow".into();
        assert!(!covers_rule(&allow, &of_arguments));
    }
}
