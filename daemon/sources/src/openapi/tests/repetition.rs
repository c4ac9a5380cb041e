//! Keys that occur more than once in a description.

use super::{OpenApiDescription, entry, everything};

const JSON: &str = r#"{
  "openapi": "3.0.0",
  "paths": {
    "/d1": { "get": { "operationId": "first" } },
    "/d2": { "get": { "operationId": "lost" } },
    "/d1": { "post": { "operationId": "second" } },
    "/d2": { "get": { "operationId": "last" } }
  }
}"#;
const YAML: &str = "
openapi: 3.0.0
paths:
  /d1:
    get: {operationId: first}
  /d2:
    get: {operationId: lost}
  /d1:
    post: {operationId: second}
  /d2:
    get: {operationId: last}
";

#[test]
fn operations_of_a_path_that_occurs_twice_are_all_offered() {
    for text in [JSON, YAML] {
        let description = OpenApiDescription::read(text, &entry(), &everything()).unwrap();
        let mut names: Vec<&String> = description.operations.keys().collect();
        names.sort();
        assert_eq!(names, ["d1.first", "d1.second", "d2.last"]);
        assert_eq!(
            description.notes(),
            [
                "`/d1` occurs more than once in `paths`: their operations are merged",
                "`/d2` occurs more than once in `paths`: their operations are merged",
                "`get` occurs more than once in `paths > /d2`: the last value is used",
            ]
        );
    }
}

#[test]
fn yaml_merge_keys_are_no_repetition() {
    let text = "
openapi: 3.0.0
x-base: &base {get: {operationId: base}, post: {operationId: post}}
paths:
  /a:
    <<: *base
    get: {operationId: own, responses: {200: {description: a}, '200': {description: b}}}
";
    let description = OpenApiDescription::read(text, &entry(), &everything()).unwrap();
    let mut names: Vec<&String> = description.operations.keys().collect();
    names.sort();
    assert_eq!(names, ["a.own", "a.post"]);
    assert_eq!(
        description.notes(),
        ["`200` occurs more than once in `paths > /a > get > responses`: the last value is used"]
    );
}
