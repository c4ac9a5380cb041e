//! The behaviors of hostile servers, and the required outcomes.

/// One hostile server.
pub(super) struct Row {
    /// The name of the row and of its server.
    pub(super) name: &'static str,
    /// Flags of the fixture server, in addition to `--hostile`.
    pub(super) flags: &'static [&'static str],
    /// More lines of its entry.
    pub(super) entry: &'static str,
    /// A program in which `it` is the server.
    pub(super) program: &'static str,
    pub(super) must: Must,
}

/// How the program must end.
pub(super) enum Must {
    /// The call returns this value, as JSON.
    Give(&'static str),
    /// The call fails with an error of this kind that contains this string.
    Fail(&'static str, &'static str),
}

use Must::{Fail, Give};

const fn row(name: &'static str, program: &'static str, must: Must) -> Row {
    Row {
        name,
        flags: &[],
        entry: "",
        program,
        must,
    }
}

impl Row {
    const fn with(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    const fn entry(mut self, entry: &'static str) -> Self {
        self.entry = entry;
        self
    }
}

/// A short timeout for calls that get no answer.
const SHORT: &str = "call_timeout = \"1s\"\n";

pub(super) const OUTPUT: &[Row] = &[
    row(
        "endless_line",
        "return await it.endless_line({})",
        Fail("unknown_outcome", "longer than"),
    ),
    row(
        "line_of_17_mib",
        "return await it.huge_line({ bytes: 17 * 1024 * 1024 })",
        Fail("unknown_outcome", "longer than"),
    ),
    row(
        "result_of_64_mib",
        "return await it.huge_line({ bytes: 64 * 1024 * 1024 })",
        Fail("unknown_outcome", "longer than"),
    ),
    row(
        "binary_noise",
        "return await it.noise({ bytes: 50_000_000 })",
        Give(r#""after the noise""#),
    ),
    row(
        "lines_of_noise",
        "return await it.garbage({ lines: 100_000, binary: true })",
        Give(r#""after the noise""#),
    ),
    row(
        "logs",
        "return await it.tell({ what: 'log', times: 100_000 })",
        Give(r#""told""#),
    ),
    row(
        "progress_of_a_stranger",
        "return await it.tell({ what: 'progress', times: 100_000 })",
        Give(r#""told""#),
    ),
    row(
        "a_flood_on_standard_error",
        "return await it.stderr({ lines: 300_000 })",
        Give(r#""written""#),
    ),
];

/// In a separate test, because it is slow.
pub(super) const NOTIFICATIONS: &[Row] = &[row(
    "a_quarter_of_a_million_notifications",
    "return await it.tell({ what: 'unknown', times: 250_000 })",
    Give(r#""told""#),
)
.entry("call_timeout = \"400s\"\n")];

pub(super) const ANSWERS: &[Row] = &[
    row(
        "strangers",
        "return [await it.answers({ how: 'strangers' }), await it.echo({ text: 'x' })]",
        Give(r#"["answered","x"]"#),
    ),
    row(
        "twice",
        "const all = []; for (let n = 0; n < 20; n++) {
            all.push(await it.answers({ how: 'twice' }) === 'answered' && await it.echo({ text: `${n}` }) === `${n}`);
        }
        return all.every(Boolean)",
        Give("true"),
    ),
    row(
        "before_it_is_asked",
        "const all = [await it.answers({ how: 'early' })];
         for (let n = 0; n < 100; n++) all.push(await it.echo({ text: `${n}` }));
         return all.every((text, n) => text === (n ? `${n - 1}` : 'answered'))",
        Give("true"),
    ),
    row(
        "odd_ids",
        "return [await it.answers({ how: 'odd_ids' }), await it.echo({ text: 'x' })]",
        Give(r#"["answered","x"]"#),
    ),
    row(
        "an_answer_that_is_a_text",
        "return await it.malformed({ how: 'text' })",
        Give("\"no object\""),
    )
    .entry(SHORT),
    row(
        "an_answer_that_is_neither",
        "return await it.malformed({ how: 'neither' })",
        Fail("tool", "cannot be read"),
    )
    .entry(SHORT),
    row(
        "an_answer_nested_100_000_deep",
        "return await it.malformed({ how: 'deep' })",
        Fail("tool", "cannot be read"),
    )
    .entry(SHORT),
    row(
        "an_answer_to_a_number_as_a_text",
        "return await it.malformed({ how: 'id_as_text' })",
        Give(r#""x""#),
    )
    .entry(SHORT),
    row(
        "a_byte_at_a_time",
        "return await it.loris({ bytes: 60, ms: 10 })",
        Give(r#""slowly""#),
    ),
    row(
        "a_byte_at_a_time_without_end",
        "return await it.loris({ bytes: 60, ms: 10_000 })",
        Fail("timeout", "call_timeout"),
    )
    .entry(SHORT),
    row(
        "never",
        "return await it.hang({})",
        Fail("timeout", "call_timeout"),
    )
    .entry(SHORT),
    row(
        "dead_in_the_middle",
        "return await it.die_mid({})",
        Fail("unknown_outcome", "exit code 70"),
    ),
];

/// Checks that a tool works, and that the resource and prompt lists have items without duplicates.
const CURSORS: &str = "
    const once = (names) => names.length > 0 && new Set(names).size === names.length;
    const resources = await mux.resources[mux.input].list();
    const prompts = await mux.prompts[mux.input].list();
    return [
        (await it.echo({ text: 'x' })) === 'x',
        once(resources.map((resource) => resource.uri)),
        once(prompts.map((prompt) => prompt.name)),
    ]";

pub(super) const LISTS: &[Row] = &[
    row(
        "pages_of_tools_without_end",
        "return await it.echo({ text: 'x' })",
        Give("\"x\""),
    )
    .with(&["--endless-tools", "1000"]),
    row(
        "long_pages_of_tools_without_end",
        "return await it.echo({ text: 'x' })",
        Fail("unavailable", "longer than"),
    )
    .with(&["--endless-tools", "12000000"]),
    row(
        "pages_of_resources_without_end",
        "return (await mux.resources[mux.input].list()).length",
        Give("500"),
    )
    .with(&["--offers", "--endless", "1000"]),
    row("last_cursor_is_empty", CURSORS, Give("[true,true,true]")).with(&[
        "--offers",
        "--last-cursor",
        "",
    ]),
    row("last_cursor_leads_back", CURSORS, Give("[true,true,true]")).with(&[
        "--offers",
        "--page-size",
        "5",
        "--last-cursor",
        "again",
    ]),
    row(
        "schema_1000_levels_deep",
        "return await it.echo({ text: 'x' })",
        Fail("unavailable", "cannot be read"),
    )
    .with(&["--hostile=deep-schema"]),
    row(
        "tools_100_000",
        "return await it.echo({ text: 'x' })",
        Fail("unavailable", "more than 10000 tools"),
    )
    .with(&["--tools", "100000", "--page-size", "5000"]),
    row(
        "description_of_12_mib",
        "return await it.echo({ text: 'x' })",
        Fail("unavailable", "longer than"),
    )
    .with(&["--hostile=huge-description"]),
];

/// Small messages that are expensive to process or to store.
pub(super) const WORK: &[Row] = &[
    row(
        "a_schema_of_200_patterns",
        "return await it.checked({ p0: 'x' })",
        Give(r#"{"p0":"x"}"#),
    )
    .with(&["--hostile=patterns"]),
    row(
        "a_schema_that_doubles",
        "return await it.checked({ a: 1 })",
        Give(r#"{"a":1}"#),
    )
    .with(&["--hostile=unevaluated"]),
    row(
        "patterns_that_go_back_and_forth",
        "const texts = Array(1_000).fill('a'.repeat(30));
         return (await it.checked({ texts })).texts.length",
        Give("1000"),
    )
    .with(&["--hostile=backtracking"]),
    row(
        "errors_of_8_mib",
        "const short = [];
         for (let n = 0; n < 40; n++) {
             short.push(await it.refuse({ bytes: 8 * 1024 * 1024 }).catch((e) => e.message.length < 5000));
         }
         return short.every(Boolean)",
        Give("true"),
    ),
    row(
        "errors_as_long_as_they_may_be",
        "const all = [];
         for (let n = 0; n < 300; n++) all.push(it.refuse({ bytes: 200_000 }).catch((e) => e.message.length < 5000));
         return (await Promise.all(all)).every(Boolean)",
        Give("true"),
    ),
    row(
        "two_million_objects",
        "return await it.objects({ count: 2_000_000, how: 'value' })",
        Fail("tool", "more than 1000000 JSON values"),
    ),
    row(
        "two_million_objects_four_times",
        "const all = Array.from({ length: 4 }, () => it.objects({ count: 2_000_000, how: 'beside' }).catch((e) => e.kind));
         return await Promise.all(all)",
        Give(r#"["tool","tool","tool","tool"]"#),
    ),
    row(
        "a_million_objects_in_a_text",
        "return await it.objects({ count: 1_000_000, how: 'text' })",
        Fail("limit", "more than 1000000 JSON values"),
    ),
    row(
        "as_many_objects_as_may_be",
        "return [(await it.objects({ count: 190_000, how: 'value' })).length,
                 (await it.objects({ count: 190_000, how: 'text' })).length]",
        Give("[190001,190001]"),
    ),
];

pub(super) const CHANGES: &[Row] = &[
    row(
        "another_list_each_time",
        "return [await it.change({ times: 100, ms: 10 }), await it.echo({ text: 'x' })]",
        Give(r#"["settled","x"]"#),
    )
    .with(&["--hostile=restless", "--offers"]),
    row(
        "a_flood_of_changes",
        "return await it.tell({ what: 'list_changed', times: 20_000 })",
        Give(r#""told""#),
    )
    .with(&["--hostile=restless", "--offers"]),
];

/// Three arguments that are longer than a pipe's buffer.
const LONG: &str = "const long = 'x'.repeat(1_000_000);
    const told = [];
    for (let n = 0; n < 3; n++) told.push(await it.echo({ text: long }).then((t) => t.length, (e) => e.kind));
    return told";

pub(super) const INPUT: &[Row] = &[
    row(
        "closes_its_input",
        "return [await it.close_stdin({}), await it.echo({ text: 'x' })]",
        Give(r#"["closed","x"]"#),
    )
    .with(&["--ignore-eof"]),
    row(
        "reads_nothing_for_a_while",
        "const told = [await it.deafen({ ms: 500 })];
         for (let n = 0; n < 3; n++) told.push((await it.echo({ text: 'x'.repeat(1_000_000) })).length);
         return told",
        Give(r#"["deaf",1000000,1000000,1000000]"#),
    ),
    row(
        "reads_nothing_any_more",
        LONG_AFTER_DEAFNESS,
        Give(r#"["timeout","timeout","timeout"]"#),
    )
    .entry(SHORT),
    row(
        "asks_and_does_not_read",
        "return await it.tell({ what: 'ping', times: 20_000 })",
        Give(r#""told""#),
    ),
    row("reads_as_it_should", LONG, Give("[1000000,1000000,1000000]")),
];

const LONG_AFTER_DEAFNESS: &str = "await it.deafen({ ms: 1_000_000 });
    const long = 'x'.repeat(1_000_000);
    const told = [];
    for (let n = 0; n < 3; n++) told.push(await it.echo({ text: long }).then((t) => t.length, (e) => e.kind));
    return told";
