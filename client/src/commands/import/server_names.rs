//! Names of servers and variables in config.toml.

use mux_typegen::names::is_reserved;

/// The valid server name that is nearest to `name`.
pub(in crate::commands) fn nearest_valid_name(name: &str) -> String {
    let right = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let spelled: String = name
        .chars()
        .map(|c| if right(c) { c } else { '-' })
        .collect();
    let mut spelled = spelled.trim_matches('-').to_owned();
    if !spelled.starts_with(|c: char| c.is_ascii_alphabetic()) {
        spelled = format!("server-{spelled}");
        spelled.truncate(spelled.trim_end_matches('-').len());
    }
    if is_reserved(&spelled) {
        spelled.push_str("-server");
    }
    spelled
}

/// The name of an imported server, as written in programs: `my-server` becomes `my_server`.
pub(super) fn imported_name(theirs: &str) -> String {
    let valid = nearest_valid_name(theirs);
    let words: Vec<&str> = valid.split('-').filter(|word| !word.is_empty()).collect();
    words.join("_")
}

/// The variable for a secret of a server.
pub(super) fn secret_variable(server: &str, key: &str) -> String {
    let upper = |text: &str| -> String {
        let words = text.chars().map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        });
        words.collect::<String>().trim_matches('_').to_owned()
    };
    format!("MUX_{}_{}", upper(server), upper(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_converted_to_valid_ones() {
        for (theirs, ours) in [
            ("github", "github"),
            ("my server/v2.0", "my-server-v2-0"),
            ("@scope/tool", "scope-tool"),
            ("7zip", "server-7zip"),
            ("größe", "gr--e"),
            ("検索", "server"),
            ("search", "search-server"),
            ("__proto__", "server-__proto__"),
        ] {
            assert_eq!(nearest_valid_name(theirs), ours, "{theirs}");
        }
        for (theirs, ours) in [
            ("my-server", "my_server"),
            ("my server/v2.0", "my_server_v2_0"),
            ("größe", "gr_e"),
            ("a_b", "a_b"),
            ("search", "search_server"),
        ] {
            assert_eq!(imported_name(theirs), ours, "{theirs}");
        }
        assert_eq!(
            secret_variable("my-server", "--api-key"),
            "MUX_MY_SERVER_API_KEY"
        );
    }
}
