//! The table of muxd's own variables in `environment.md`, generated from `mux_proto::variables`.

use std::{fmt::Write as _, fs};

use mux_proto::variables::REFERENCE;
use mux_tests::golden;

use super::root;

const TABLE_START: &str = "<!-- variables of muxd -->\n";
const TABLE_END: &str = "<!-- end -->\n";

#[test]
fn table_of_environment_variables_is_current() {
    let page = root().join("docs/reference/environment.md");
    let written = fs::read_to_string(&page).unwrap();
    let (before, rest) = written
        .split_once(TABLE_START)
        .expect("the start of the table");
    let (_, after) = rest.split_once(TABLE_END).expect("the end of the table");
    let mut table = String::from(
        "| variable | value | if not set | read by | meaning |\n|---|---|---|---|---|\n",
    );
    for variable in REFERENCE {
        let names = variable.names.iter().map(|name| format!("`{name}`"));
        let names: Vec<String> = names.collect();
        _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} |",
            names.join(", "),
            variable.value,
            variable.default,
            variable.readers,
            variable.meaning
        );
    }
    let text = format!("{before}{TABLE_START}{table}{TABLE_END}{after}");
    golden::compare(&page, &text).unwrap();
}
