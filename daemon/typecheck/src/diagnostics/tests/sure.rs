//! Which diagnostics are errors, warnings, or not reported.

use super::*;

#[test]
fn only_certain_mistakes_are_errors() {
    use Severity::{Error, Syntax, Warning};
    for (program, code, message, expected) in [
        ("¦fetch()", 2304, "Cannot find name 'fetch'.", Some(Error)),
        (
            "r.¦itms",
            2551,
            "Property 'itms' does not exist on type '{ items: {}[]; }'. Did you mean 'items'?",
            Some(Error),
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type '{}'.",
            None,
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type 'never'.",
            None,
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type 'A | B'.\n  Property 'a' does not exist on type 'A'.",
            Some(Warning),
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type 'Seen<{ b: number; }>'.",
            Some(Warning),
        ),
        (
            "r.¦a = 1",
            2339,
            "Property 'a' does not exist on type '{ b: number; }'.",
            Some(Warning),
        ),
        (
            "r.a = 1; r.¦a",
            2339,
            "Property 'a' does not exist on type '{ b: number; }'.",
            Some(Warning),
        ),
        (
            "r.a == 1; r.¦a",
            2339,
            "Property 'a' does not exist on type '{ b: number; }'.",
            Some(Error),
        ),
        (
            "r.¦map(f)",
            2339,
            "Property 'map' does not exist on type 'MapIterator<number>'.",
            Some(Warning),
        ),
        (
            "r.¦toHex()",
            2339,
            "Property 'toHex' does not exist on type 'Uint8Array<ArrayBuffer>'.",
            Some(Warning),
        ),
        (
            "Promise.¦try(f)",
            2550,
            "Property 'try' does not exist on type 'PromiseConstructor'. Do you need to change your target library? Try changing the 'lib' compiler option to 'es2025' or later.",
            Some(Warning),
        ),
        (
            "¦Iterator.from(x)",
            2693,
            "'Iterator' only refers to a type, but is being used as a value here.",
            Some(Warning),
        ),
        (
            "¦s.length",
            18048,
            "'s' is possibly 'undefined'.",
            Some(Warning),
        ),
        ("¦z.foo", 18047, "'z' is possibly 'null'.", Some(Warning)),
        (
            "(¦a) => 1",
            7006,
            "Parameter 'a' implicitly has an 'any' type.",
            None,
        ),
        (
            "JSON.parse(¦s)",
            2345,
            "Argument of type 'string | undefined' is not assignable to parameter of type 'string'.\n  Type 'undefined' is not assignable to type 'string'.",
            Some(Warning),
        ),
        (
            "new Date(¦s)",
            2769,
            "No overload matches this call.\n  The last overload gave the following error.\n    Argument of type 'string | undefined' is not assignable to parameter of type 'string | number'.\n      Type 'undefined' is not assignable to type 'string | number'.",
            Some(Warning),
        ),
        (
            "mux.a.b({ ¦p: undefined })",
            2322,
            "Type 'undefined' is not assignable to type 'string'.",
            Some(Error),
        ),
        (
            "mux.a.b({ ¦p: 1 })",
            2322,
            "Type 'number' is not assignable to type 'string'.",
            Some(Error),
        ),
        (
            "const ¦a: string = 1",
            2322,
            "Type 'number' is not assignable to type 'string'.",
            Some(Error),
        ),
        (
            "let a = ''; ¦a = 1",
            2322,
            "Type 'number' is not assignable to type 'string'.",
            Some(Warning),
        ),
        (
            "f(¦u)",
            2345,
            "Argument of type 'unknown' is not assignable to parameter of type 'string'.",
            Some(Warning),
        ),
        (
            "o.items.push(¦x)",
            2345,
            "Argument of type 'string' is not assignable to parameter of type 'never'.",
            None,
        ),
        (
            "[].concat(¦x)",
            2769,
            "No overload matches this call.\n  The last overload gave the following error.\n    Argument of type 'string' is not assignable to parameter of type 'ConcatArray<never>'.",
            None,
        ),
        (
            "o.¦best = 5",
            2322,
            "Type '5' is not assignable to type 'null'.",
            Some(Warning),
        ),
        (
            "new Promise(r => ¦r())",
            2794,
            "Expected 1 arguments, but got 0. Did you forget to include 'void' in your type argument to 'Promise'?",
            None,
        ),
        (
            "¦f(1)",
            2554,
            "Expected 2 arguments, but got 1.",
            Some(Warning),
        ),
        (
            "mux.a.¦b()",
            2554,
            "Expected 1 arguments, but got 0.",
            Some(Error),
        ),
        (
            "mux.a.b({}, ¦2)",
            2554,
            "Expected 1 arguments, but got 2.",
            Some(Error),
        ),
        (
            "await mux.¦read()",
            2554,
            "Expected 1-2 arguments, but got 0.",
            Some(Error),
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type '{ at: number; }'.",
            Some(Warning),
        ),
        (
            "JSON.¦stringfy(x)",
            2551,
            "Property 'stringfy' does not exist on type 'JSON'. Did you mean 'stringify'?",
            Some(Error),
        ),
        (
            "mux.call(¦path)",
            2345,
            "Argument of type 'string | { a: number; }' is not assignable to parameter of type 'string'.\n  Type '{ a: number; }' is not assignable to type 'string'.",
            Some(Warning),
        ),
        (
            "Object.keys(¦byTeam)",
            2769,
            "No overload matches this call.\n  The last overload gave the following error.\n    Argument of type 'null' is not assignable to parameter of type 'object'.",
            Some(Warning),
        ),
        (
            "mux.a.b({ ¦p: null })",
            2322,
            "Type 'null' is not assignable to type 'string'.",
            Some(Error),
        ),
        (
            "¦text * 60",
            2362,
            "The left-hand side of an arithmetic operation must be of type 'any', 'number', 'bigint' or an enum type.",
            Some(Error),
        ),
        (
            "¦1 === 'a'",
            2367,
            "This comparison appears to be unintentional because the types 'number' and 'string' have no overlap.",
            Some(Warning),
        ),
        (
            "¦d - e",
            2362,
            "The left-hand side of an arithmetic operation must be of type 'any', 'number', 'bigint' or an enum type.",
            Some(Warning),
        ),
        (
            "const ¦= 1",
            1134,
            "Variable declaration expected.",
            Some(Syntax),
        ),
        (
            "1 ¦satisfies string",
            1360,
            "Type 'number' does not satisfy the expected type 'string'.",
            Some(Error),
        ),
        (
            "class A { ¦x: number }",
            2564,
            "Property 'x' has no initializer and is not definitely assigned in the constructor.",
            None,
        ),
        ("¦x", 99999, "A message of the future.", Some(Warning)),
    ] {
        assert_eq!(
            severity(program, code, message),
            expected,
            "{program}: {message}"
        );
    }
}
