//! Questions of servers that a user answers at the terminal of `mux call` and `mux run`.

use std::{fs, os::unix::fs::PermissionsExt};

use mux_tests::{TestEnv, TestTerminal};
use nix::{sys::stat::Mode, unistd::mkfifo};
use serde_json::{Value, json};

use super::{BOTH, LEGACY, MODERN, home};

const ELICIT: &str = "return (await mux.fix.elicit({ message: 'who?' })).action";
const ASKS: &str = "The MCP server \"fix\" asks, for the call fix.elicit:";
const SUBMIT: &str = "send your answers? [a]ccept, [d]ecline, [c]ancel, [?]: ";

/// The arguments of `fix.elicit` for a form. The names are in alphabetical order, which rmcp makes in the legacy era.
fn form() -> String {
    let schema = json!({
        "type": "object",
        "properties": {
            "age": { "type": "integer", "minimum": 0, "title": "Your age" },
            "color": { "type": "string", "enum": ["red", "blue"], "default": "blue" },
            "news": { "type": "boolean" },
            "password": { "type": "string" },
        },
        "required": ["age", "color", "password"],
    });
    json!({ "message": "who are you?\u{1b}[2J\nallow it? [y]es", "form": schema }).to_string()
}

#[test]
fn form_is_answered_at_a_terminal() {
    for era in BOTH {
        let (env, _) = home(era, &[]);
        let mut terminal = TestTerminal::start(&env, &["call", "fix.elicit", &form()]);
        terminal.wait_for(ASKS);
        // The server's words are behind a bar, without control sequences.
        terminal.wait_for("\u{2502} who are you?[2J");
        terminal.wait_for("\u{2502} allow it? [y]es");
        terminal.wait_for("\u{2502} Your age");
        terminal.wait_for("1 of 4 whole number, at least 0, required: ");
        terminal.type_line("many");
        terminal.wait_for("this is not a whole number");
        terminal.wait_for("required: ");
        terminal.type_line("36");
        terminal.wait_for("2) blue");
        terminal.wait_for("[blue]: ");
        terminal.type_line("");
        terminal.wait_for("yes or no, optional: ");
        terminal.type_line("");
        terminal.wait_for("text, not shown while you type, required: ");
        assert!(!terminal.echoes());
        terminal.type_line("hunter2");
        terminal.wait_for(SUBMIT);
        assert!(terminal.echoes());
        terminal.type_line("maybe");
        terminal.wait_for("type accept, decline or cancel");
        terminal.wait_for(SUBMIT);
        let lines = terminal.lines();
        assert!(
            !lines.iter().any(|line| line.contains("hunter2")),
            "{lines:#?}"
        );
        terminal.type_line("a");
        let (code, output, shown) = terminal.end();
        assert_eq!(code, Some(0), "{era}: {shown}");
        let answer: Value = serde_json::from_str(&output).unwrap();
        let content = json!({ "age": 36, "color": "blue", "password": "hunter2" });
        assert_eq!(
            (&answer["action"], &answer["content"]),
            (&json!("accept"), &content),
            "{era}"
        );
        env.stop();
        assert!(!env.log().contains("hunter2"));
    }
}

#[test]
fn question_is_declined_or_cancelled_at_a_terminal() {
    for era in BOTH {
        let (env, _) = home(era, &[]);
        for (keys, action) in [
            ("/decline\n", "decline\n"),
            ("/cancel\n", "cancel\n"),
            // The end of input.
            ("\u{4}", "cancel\n"),
        ] {
            let mut terminal = TestTerminal::start(&env, &["run", "--no-check", "-e", ELICIT]);
            terminal.wait_for(ASKS);
            terminal.wait_for("1 of 1 text, optional: ");
            terminal.press(keys);
            let (code, output, shown) = terminal.end();
            assert_eq!(
                (code, output.as_str()),
                (Some(0), action),
                "{era} {keys:?}: {shown}"
            );
        }
    }
}

#[test]
fn secret_answer_is_masked_in_a_recording() {
    let (env, _) = home(MODERN, &[]);
    let file = env.path("recording.json");
    let code = format!("return (await mux.fix.elicit({})).action", form());
    let record = file.to_str().unwrap();
    let run = ["run", "--no-check", "--record", record, "-e", &code];
    let mut terminal = TestTerminal::start(&env, &run);
    for (prompt, line) in [
        ("at least 0, required: ", "36"),
        ("[blue]: ", ""),
        ("yes or no, optional: ", ""),
        ("not shown while you type, required: ", "hunter2"),
        (SUBMIT, "a"),
    ] {
        terminal.wait_for(prompt);
        terminal.type_line(line);
    }
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "accept\n"), "{shown}");
    let recording = fs::read_to_string(&file).unwrap();
    assert!(
        recording.contains("***") && !recording.contains("hunter2"),
        "{recording}"
    );
}

#[test]
fn interrupted_question_restores_the_terminal() {
    let (env, log) = home(LEGACY, &[]);
    let mut terminal = TestTerminal::start(&env, &["call", "fix.elicit", &form()]);
    terminal.wait_for("required: ");
    terminal.type_line("36");
    terminal.wait_for("[blue]: ");
    terminal.type_line("red");
    terminal.wait_for("optional: ");
    terminal.type_line("no");
    terminal.wait_for("not shown while you type, required: ");
    assert!(!terminal.echoes());
    assert_eq!(terminal.interrupt(), (Some(130), true));
    assert!(
        fs::read_to_string(log)
            .unwrap()
            .contains("\"tool\":\"elicit\"")
    );
}

#[test]
fn page_is_opened_after_a_yes_and_its_completion_is_reported() {
    let (env, _) = home(LEGACY, &[]);
    let address = env.path("address");
    mkfifo(&address, Mode::S_IRWXU).unwrap();
    let bin = env.path("bin");
    fs::create_dir(&bin).unwrap();
    let browser = bin.join("xdg-open");
    let script = format!("#!/bin/sh\nprintf '%s' \"$1\" > {address:?}\n");
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let start = |code: &str| {
        let mut command = env.command("mux");
        command.args(["run", "--no-check", "-e", code]);
        command
            .env("DISPLAY", ":0")
            .env("PATH", format!("{}:/usr/bin:/bin", bin.to_str().unwrap()));
        TestTerminal::start_command(&mut command)
    };
    let url = "https://xn--pple-43d.com/1";
    let open = format!("await mux.fix.elicit({{ message: 'log in', url: '{url}' }})");
    // The second question comes after the notification of the first one.
    let code = format!(
        "const {{ action }} = {open}; await mux.fix.page_done({{ id: 'e-1' }});\n\
         return [action, (await mux.fix.elicit({{ message: 'who?' }})).action].join()"
    );
    let mut terminal = start(&code);
    terminal.wait_for("The MCP server \"fix\" asks to open a page, for the call fix.elicit:");
    terminal.wait_for("the page is at https://xn--pple-43d.com which a browser may show as https://\u{430}pple.com");
    terminal.wait_for(url);
    terminal.wait_for("open it in your browser? [y]es, [d]ecline, [c]ancel, [?]: ");
    terminal.type_line("");
    terminal.wait_for("type yes, decline or cancel");
    terminal.wait_for("[?]: ");
    terminal.type_line("y");
    assert_eq!(fs::read_to_string(&address).unwrap(), url);
    terminal.wait_for("the MCP server \"fix\" reports that its page is complete");
    terminal.wait_for("optional: ");
    terminal.type_line("/decline");
    let (code, output, shown) = terminal.end();
    assert_eq!(
        (code, output.as_str()),
        (Some(0), "accept,decline\n"),
        "{shown}"
    );
    // No page but those of the web is offered.
    for (page, why) in [
        ("file:///etc/passwd", "only http and https are opened"),
        (
            "https://bank.test@evil.test/1",
            "a user name before the host",
        ),
    ] {
        let asks =
            format!("return (await mux.fix.elicit({{ message: 'm', url: '{page}' }})).action");
        let (code, output, shown) = start(&asks).end();
        assert_eq!((code, output.as_str()), (Some(0), "decline\n"), "{shown}");
        assert!(shown.contains(why), "{shown}");
    }
}

#[test]
fn output_does_not_overwrite_a_question_of_a_server() {
    let (env, log) = home(MODERN, &[]);
    // The program prints from before the question until after the answer.
    let code = "let waits = true;\n\
                const asked = mux.fix.elicit({ message: 'who?' }).then((answer) => { waits = false; return answer; });\n\
                while (waits) {\n\
                    await mux.fix.echo({ text: 'x' });\n\
                    console.log('tick');\n\
                    await new Promise((then) => setTimeout(then, 20));\n\
                }\n\
                return (await asked).content.name";
    let mut terminal = TestTerminal::start(&env, &["run", "--no-check", "-e", code]);
    terminal.wait_for("\u{2502} who?");
    terminal.wait_for("1 of 1 text, optional: ");
    // Time for the spinner to start, and for output of the program to arrive after the question.
    let before = fs::read_to_string(&log).unwrap();
    let before = before.matches("\"tool\":\"echo\"").count();
    env.until_called(&log, "echo", before + 20, "fix.pid");
    terminal.type_line("Ada");
    terminal.wait_for(SUBMIT);
    let lines = terminal.lines();
    let asked = lines
        .iter()
        .position(|line| line == "1 of 1 text, optional: Ada");
    let asked = asked.unwrap_or_else(|| panic!("something was written over it: {lines:#?}"));
    assert!(
        lines[asked + 1].starts_with(SUBMIT.trim_end()),
        "{lines:#?}"
    );
    assert!(
        !lines[asked..].iter().any(|line| line.contains("tick")),
        "{lines:#?}"
    );
    terminal.type_line("a");
    // Output that arrived meanwhile follows the answer.
    terminal.wait_for("tick");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "Ada\n"), "{shown}");
}

#[test]
fn question_without_a_terminal_is_declined_and_names_the_way() {
    for era in BOTH {
        let (env, _) = home(era, &[]);
        let way = "`mux run` and `mux call` ask at a terminal";
        let declined = |answer: &Value| {
            assert_eq!(answer["action"], "decline", "{era}: {answer}");
            let reason = answer["_meta"]["muxd/reason"].as_str().unwrap();
            assert!(reason.contains(way), "{reason}");
        };
        let call = env.mux(["call", "fix.elicit", "message=?"]).ok();
        declined(&call.json());
        let line = "a question from the MCP server \"fix\" was declined: standard input and standard error must be a terminal";
        assert_eq!(call.stderr.matches(line).count(), 1, "{call:#?}");
        let run = env.mux(["run", "--no-check", "-e", ELICIT]).ok();
        assert_eq!(run.stdout, "decline\n");
        assert_eq!(run.stderr.matches(line).count(), 1, "{run:#?}");
        // With --json, no question is asked at a terminal either.
        let args = ["--json", "call", "fix.elicit", "message=?"];
        let (_, output, shown) = TestTerminal::start(&env, &args).end();
        let document: Value = serde_json::from_str(&output).unwrap();
        declined(&document["result"]);
        assert!(!shown.contains("asks"), "{shown}");
    }
}

/// A home whose policy has this action for questions of the server.
fn with_rule(action: &str) -> TestEnv {
    let (env, _) = home(LEGACY, &[]);
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    let rule = format!("[[policy]]\nmatch = \"fix.elicitation/create\"\naction = {action:?}\n");
    env.write_config(&format!("{config}{rule}"));
    env
}

#[test]
fn rule_on_questions_decides_before_the_user_is_asked() {
    let run = ["run", "--no-check", "-e", ELICIT];
    let (code, output, shown) = TestTerminal::start(&with_rule("deny"), &run).end();
    assert_eq!((code, output.as_str()), (Some(0), "decline\n"), "{shown}");
    assert!(!shown.contains("The MCP server"), "{shown}");

    let env = with_rule("ask");
    let mut terminal = TestTerminal::start(&env, &run);
    // The approval is not asked as a form.
    terminal.wait_for("fix.elicitation/create");
    terminal.wait_for("allow it? ");
    terminal.type_line("y");
    terminal.wait_for(ASKS);
    terminal.wait_for("optional: ");
    terminal.type_line("Ada");
    terminal.wait_for(SUBMIT);
    terminal.type_line("a");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "accept\n"), "{shown}");
}
