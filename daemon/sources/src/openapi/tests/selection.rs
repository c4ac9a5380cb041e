//! The operations that become functions: `max_functions` and `tools.exclude`.

use serde_json::{Map, Value, json};

use super::{
    super::{FunctionSelection, OpenApiDescription, left_out},
    entry,
};

/// `much` operations of the tag `much`, and as many of `few` behind them.
fn description(much: usize, few: usize) -> String {
    let operation = |tag: &str, number: usize| {
        let operation =
            json!({ "tags": [tag], "operationId": format!("{tag}{number}"), "responses": {} });
        (format!("/{tag}/{number}"), json!({ "get": operation }))
    };
    let much = (0..much).map(|number| operation("much", number));
    let few = (0..few).map(|number| operation("few", number));
    let paths: Map<String, Value> = much.chain(few).collect();
    json!({ "openapi": "3.1.0", "paths": paths }).to_string()
}

fn select(text: &str, exclude: &[&str], max_functions: usize) -> OpenApiDescription {
    let exclude: Vec<String> = exclude.iter().map(|&glob| glob.to_owned()).collect();
    let selection = FunctionSelection::new(&exclude, max_functions);
    OpenApiDescription::read(text, &entry(), &selection).unwrap()
}

fn names(description: &OpenApiDescription) -> Vec<String> {
    let mut names: Vec<String> = description.operations.keys().cloned().collect();
    names.sort();
    names
}

#[test]
fn excluded_operations_do_not_count() {
    let text = description(60, 5);
    let all = select(&text, &[], 30);
    assert_eq!(all.operations.len(), 30);
    assert_eq!(all.left_out().len(), 35);
    let few = select(&text, &["much.*"], 30);
    assert_eq!(
        names(&few),
        ["few.few0", "few.few1", "few.few2", "few.few3", "few.few4"]
    );
    assert_eq!(few.left_out(), []);
    // Other forms of a name work, too.
    let spelled = select(&text, &["much_*"], 30);
    assert_eq!(names(&spelled), names(&few));
    assert_eq!(select(&text, &[], 65).operations.len(), 65);
}

#[test]
fn names_do_not_depend_on_what_is_excluded() {
    let operation = |tag: &str| json!({ "get": { "tags": [tag], "operationId": "list" } });
    let text = json!({ "openapi": "3.1.0", "paths": {
        "/x": operation("a"), "/y": operation("a"), "/z": operation("b"),
    } })
    .to_string();
    assert_eq!(
        names(&select(&text, &[], 10)),
        ["a.getX", "a.getY", "b.list"]
    );
    assert_eq!(names(&select(&text, &["a.getX"], 10)), ["a.getY", "b.list"]);
}

#[test]
fn operations_beyond_the_limit_are_one_note_that_names_the_keys() {
    let text = description(50, 0);
    let notes = left_out::notes(select(&text, &[], 10).left_out());
    assert_eq!(notes.len(), 4, "{notes:#?}");
    assert!(notes[0].starts_with("GET /much/10 is left out: "));
    assert!(
        notes[3].starts_with("37 more operations are left out: "),
        "{notes:#?}"
    );
    for key in [
        "more than 10 functions",
        "`max_functions`",
        "`tools.exclude`",
    ] {
        assert!(notes[3].contains(key), "{notes:#?}");
    }
}
