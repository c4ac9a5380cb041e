//! Calls that wait for approval: as a list, one in full, and as a prompt.
//!
//! Invariant: a call's arguments are shown as JSON, without control characters.

use super::terminal::{eprint, eprintln, escaped_json as spelled_out, println, report};
use mux_proto::{
    ApprovalAsked, ApprovalEnding, ApprovalInfo, ApprovalList, ApprovalOver, ApprovalState,
    Decided, Decision, Error, GrantInfo,
};
use mux_typegen::names::display_path;

use super::{
    human_units, print_json_line, run_number,
    runs::unix_millis,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, one_line, paint},
    table::ListTable,
};

/// The maximum length of arguments in a list, in characters.
const MAX_LISTED_ARGUMENTS_CHARS: usize = 60;
/// The maximum length of arguments below a run, in characters.
const MAX_RUN_ARGUMENTS_CHARS: usize = 200;
const MAX_PATH_CHARS: usize = 100;

pub(crate) fn approvals(list: &ApprovalList) {
    if list.approvals.is_empty() {
        eprintln!("no call is waiting for approval");
    } else {
        println!("{}", table(&list.approvals, unix_millis()).text());
        eprintln!(
            "`mux approvals ID` shows all arguments; answer with `mux approve ID` or `mux deny ID`"
        );
    }
}

/// Prints the list after each change. With `--json`, one document per line.
pub(crate) fn approvals_now(list: &ApprovalList, json: bool) {
    if json {
        print_json_line(list);
    } else if list.approvals.is_empty() {
        println!("no call is waiting for approval");
    } else {
        println!("{}\n", table(&list.approvals, unix_millis()).text());
    }
}

fn table(approvals: &[ApprovalInfo], now: u64) -> ListTable {
    let mut table = ListTable::new([
        "ID",
        "STATE",
        "SINCE",
        "CALL",
        "ARGUMENTS",
        "ASKED BY",
        "RUN",
        "RULE",
    ])
    .cutting("ARGUMENTS")
    .leaving_out(["RULE", "RUN", "ASKED BY", "SINCE", "STATE"]);
    for approval in approvals {
        table.add_row([
            approval.approval.clone(),
            state(approval),
            human_units::age_text(now.saturating_sub(approval.since_ms)),
            shown_path(&approval.path),
            one_line(
                &spelled_out(&arguments(approval)),
                MAX_LISTED_ARGUMENTS_CHARS,
            ),
            one_line(&client_with_agent(approval), MAX_PATH_CHARS),
            approval.run.as_deref().map_or("-", run_number).to_owned(),
            one_line(
                &rule_with_reason(&approval.rule, approval.reason.as_deref()),
                MAX_PATH_CHARS,
            ),
        ]);
    }
    table
}

fn state(approval: &ApprovalInfo) -> String {
    match (approval.state, approval.left_ms) {
        (ApprovalState::Waiting, Some(left)) => {
            format!("waiting, {} left", human_units::duration_text(left as f64))
        }
        (ApprovalState::Waiting, None) => "waiting".into(),
        (ApprovalState::Pending, _) => "pending".into(),
        (ApprovalState::Approved, _) => "approved".into(),
        (ApprovalState::Denied, _) => "denied".into(),
        _ => "?".into(),
    }
}

fn arguments(approval: &ApprovalInfo) -> String {
    match (&approval.arguments, &approval.preview) {
        (Some(arguments), _) => arguments.to_string(),
        (None, Some(preview)) => preview.clone(),
        (None, None) => String::new(),
    }
}

fn client_with_agent(approval: &ApprovalInfo) -> String {
    match &approval.agent {
        Some(agent) => format!("{} ({agent})", approval.client),
        None => approval.client.clone(),
    }
}

fn rule_with_reason(rule: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{rule}: {reason}"),
        None => rule.to_owned(),
    }
}

/// Prints one approval with all details.
pub(crate) fn approval(approval: &ApprovalInfo) {
    let id = &approval.approval;
    println!(
        "{}  {}",
        paint(STRONG, id),
        paint(NAME, shown_path(&approval.path))
    );
    let since = human_units::age_text(unix_millis().saturating_sub(approval.since_ms));
    let workspace = approval
        .workspace
        .as_ref()
        .map(|path| path.display().to_string());
    for (name, value) in [
        ("state", Some(format!("{}; asked {since}", state(approval)))),
        ("asked by", Some(client_with_agent(approval))),
        ("workspace", workspace),
        (
            "run",
            approval
                .run
                .as_deref()
                .map(|run| run_number(run).to_owned()),
        ),
        ("tool", servers_own_path(&approval.path).map(quoted_path)),
        (
            "rule",
            Some(rule_with_reason(&approval.rule, approval.reason.as_deref())),
        ),
    ] {
        if let Some(value) = value {
            println!(
                "  {:<10} {}",
                paint(DIM, name),
                one_line(&value, 4 * MAX_PATH_CHARS)
            );
        }
    }
    match &approval.arguments {
        Some(arguments) => {
            let text = serde_json::to_string_pretty(arguments).unwrap_or_default();
            println!("{}", spelled_out(&text));
        }
        None => println!("{}", spelled_out(&arguments(approval))),
    }
}

pub(crate) fn granted(list: &ApprovalList) {
    if list.granted.is_empty() {
        eprintln!("there are no permanent grants; `mux approve ID --always` creates one");
        return;
    }
    let mut table = ListTable::new(["GRANT", "CALL", "AGENT", "RULE", "SINCE"])
        .cutting("RULE")
        .leaving_out(["SINCE", "AGENT"]);
    for grant in &list.granted {
        table.add_row([
            grant.grant.clone(),
            shown_path(&grant.path),
            grant.agent.clone().unwrap_or_else(|| "-".into()),
            one_line(&grant.rule, MAX_PATH_CHARS),
            human_units::age_text(unix_millis().saturating_sub(grant.since_ms)),
        ]);
    }
    println!("{}", table.text());
    eprintln!("a grant ends when its tool changes; `mux approvals revoke GRANT` revokes one");
}

pub(crate) fn revoked_approval(grant: &GrantInfo) {
    report!("{}: revoked; calls need approval", shown_path(&grant.path));
}

/// Prints the effect of a decision.
pub(crate) fn decided(decided: &Decided, decision: Decision) {
    let approval = &decided.approval;
    let id = &approval.approval;
    let path = shown_path(&approval.path);
    let outcome = match decision {
        Decision::Deny => paint(ERROR, "denied"),
        Decision::Once | Decision::Session | Decision::Always => paint(GOOD, "approved"),
    };
    report!(
        "{id}: {path} {outcome}{}",
        match decision {
            Decision::Session => " for this session",
            Decision::Always => " always",
            Decision::Once | Decision::Deny => "",
        }
    );
    if decided.released > 0 {
        let others = human_units::count_text(decided.released, "other call");
        report!("{others} waiting for the same approval also continued");
    }
    if !decided.unshown.is_empty() {
        let others = decided.unshown.join(", ");
        super::note(&format!(
            "{others}: also waiting for {path}; the decision applies only to the named call and to later calls"
        ));
    }
    if let Some(warning) = &decided.warning {
        super::warn(warning);
    }
    if !decided.live {
        super::note(&format!(
            "its program is no longer waiting; `mux resume {id}` continues it"
        ));
    }
}

/// Prints that a call of a run waits for approval.
pub(crate) fn approval_requested(asked: &ApprovalAsked) {
    let id = &asked.approval;
    let call = call_text(asked, MAX_RUN_ARGUMENTS_CHARS);
    eprintln!(
        "{} {}: {call}; mux approve {id}",
        paint(WARN, "waiting for approval"),
        paint(STRONG, id)
    );
}

pub(super) fn approval_ended(over: &ApprovalOver) {
    let id = &over.approval;
    let path = shown_path(&over.path);
    let what = match over.ending {
        ApprovalEnding::Approved => paint(GOOD, "approved"),
        ApprovalEnding::Denied => paint(ERROR, "denied"),
        _ => paint(WARN, "not answered in time"),
    };
    eprintln!("{}: {path} {what}", paint(STRONG, id));
}

fn call_text(asked: &ApprovalAsked, most: usize) -> String {
    let path = shown_path(&asked.path);
    let shown = one_line(&asked.arguments, most);
    let cut = shown.chars().count() > most || asked.arguments.len() < asked.bytes;
    if cut {
        format!(
            "{path} {shown} (`mux approvals {}` shows all)",
            asked.approval
        )
    } else {
        format!("{path} {shown}")
    }
}

/// Parses an answer typed at the prompt. `in_run`: the call belongs to a run, and can be allowed until the run ends.
pub(crate) fn prompt_answer(line: &str, in_run: bool) -> Option<Decision> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Decision::Once),
        // The session of a run at a terminal is its connection, which ends with the run.
        "r" | "run" if in_run => Some(Decision::Session),
        "a" | "always" => Some(Decision::Always),
        "n" | "no" => Some(Decision::Deny),
        _ => None,
    }
}

/// Prints the prompt for an approval. `position` is its number among the calls that wait
/// together, and how many they are.
pub(crate) fn ask_to_approve(asked: &ApprovalAsked, position: (usize, usize), in_run: bool) {
    let because = rule_with_reason(&asked.rule, asked.reason.as_deref());
    eprintln!("{}", question(asked, position));
    if let Some(own) = servers_own_path(&asked.path) {
        let text = format!("its server calls it {}", quoted_path(own));
        eprintln!("  {}", paint(DIM, text));
    }
    eprintln!(
        "  {}",
        paint(
            DIM,
            format!(
                "asked because of {}",
                one_line(&because, 4 * MAX_PATH_CHARS)
            )
        )
    );
    ask_again(in_run);
}

fn question(asked: &ApprovalAsked, (number, of): (usize, usize)) -> String {
    let id = paint(STRONG, &asked.approval);
    let position = match of {
        1 => String::new(),
        of => format!(" ({number} of {of})"),
    };
    format!(
        "{id}{position} {}",
        call_text(asked, 10 * MAX_RUN_ARGUMENTS_CHARS)
    )
}

pub(crate) fn ask_again(in_run: bool) {
    let run = if in_run { " for this [r]un," } else { "" };
    eprint!(
        "{} [y]es once,{run} [a]lways, [n]o, [?]: ",
        paint(WARN, "allow it?")
    );
}

/// Prints that more calls are waiting, and the prompt again.
pub(crate) fn more_calls_wait(count: usize, in_run: bool) {
    let text = format!("{count} calls are now waiting for approval; this one is first");
    eprintln!("\n  {}", paint(DIM, text));
    ask_again(in_run);
}

/// Prints the effect of each answer, and the prompt again.
pub(crate) fn explain_answers(asked: &ApprovalAsked, in_run: bool) {
    for line in answers(asked, in_run) {
        eprintln!("  {line}");
    }
    ask_again(in_run);
}

fn answers(asked: &ApprovalAsked, in_run: bool) -> Vec<String> {
    let id = &asked.approval;
    let path = shown_path(&asked.path);
    let mut lines = vec![
        "answer with one of these letters, then Enter:".to_owned(),
        "y  allow this call with these arguments".to_owned(),
    ];
    if in_run {
        lines.push(format!(
            "r  allow {path} with any arguments until this run ends"
        ));
    }
    lines.extend([
        format!("a  allow {path} with any arguments for every client without --agent until you revoke it"),
        "n  deny this call; its program gets an error".to_owned(),
        format!("Ctrl-D leaves it open: answer it elsewhere with `mux approve {id}` or `mux deny {id}`"),
    ]);
    lines
}

/// Prints which calls an answer allows now and later, and asks for confirmation.
pub(crate) fn confirm(asked: &ApprovalAsked, decision: Decision, others: &[&ApprovalAsked]) {
    for line in covered_lines(asked, decision, others) {
        eprintln!("  {line}");
    }
    confirm_again();
}

fn covered_lines(
    asked: &ApprovalAsked,
    decision: Decision,
    others: &[&ApprovalAsked],
) -> Vec<String> {
    let path = shown_path(&asked.path);
    let mut lines = vec!["this allows now:".to_owned()];
    let now = [asked].into_iter().chain(others.iter().copied());
    lines.extend(now.map(|other| {
        let id = paint(STRONG, &other.approval);
        format!("  {id} {}", call_text(other, 5 * MAX_RUN_ARGUMENTS_CHARS))
    }));
    lines.push("and later, without asking:".to_owned());
    lines.push(match decision {
        Decision::Always => format!(
            "  {path} with any arguments, for every client without --agent, until the tool or its server's entry \
             changes or you run `mux approvals revoke`"
        ),
        _ => format!("  {path} with any arguments until this run ends"),
    });
    lines
}

pub(crate) fn confirm_again() {
    eprint!("{} [y]es, [n]o: ", paint(WARN, "allow all of this?"));
}

/// Prints that standard input ended without an answer.
pub(crate) fn approval_left_open() {
    eprintln!("\n{}", paint(DIM, "no answer: the approval stays open"));
}

/// Warns that an answer covers less than requested.
pub(crate) fn approval_narrowed(why: &str) {
    super::warn_always(why);
}

/// Prints why an answer had no effect.
pub(crate) fn not_decided(error: &Error) {
    eprintln!(
        "{}",
        paint(DIM, one_line(&error.message, 4 * MAX_PATH_CHARS))
    );
}

/// Prints that the prompt needs no answer any more.
pub(crate) fn answered_elsewhere() {
    eprintln!("\n{}", paint(DIM, "this no longer needs an answer here"));
}

/// A tool as written in programs.
pub(super) fn shown_path(path: &str) -> String {
    quoted_path(&display_path(path))
}

/// The path with the server's own name for the tool, if programs write it differently: two tools may share a program
/// name.
fn servers_own_path(path: &str) -> Option<&str> {
    (display_path(path) != path).then_some(path)
}

/// A path as one word, quoted if needed: a tool's name could look like a path with arguments.
fn quoted_path(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-/:@".contains(letter);
    let quoted = if path.chars().all(is_plain) {
        path.to_owned()
    } else {
        serde_json::Value::from(path).to_string()
    };
    one_line(&spelled_out(&quoted), 2 * MAX_PATH_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &str, bytes: usize) -> ApprovalAsked {
        ApprovalAsked {
            approval: "A7".into(),
            path: "github.delete_repo".into(),
            arguments: arguments.into(),
            bytes,
            rule: "\"github.*\"".into(),
            reason: None,
            cover: "c".into(),
            wait_ms: 1,
        }
    }

    #[test]
    fn tool_name_is_one_word_in_every_list() {
        assert_eq!(
            quoted_path("github.repos.list-all"),
            "github.repos.list-all"
        );
        assert_eq!(quoted_path("fix.a\nA9: x"), r#""fix.a\nA9: x""#);
        assert_eq!(quoted_path("fix.a {\"n\":1}"), r#""fix.a {\"n\":1}""#);
        assert_eq!(shown_path("fix.a\nA9: x"), "fix.a_A9_x");
        assert_eq!(servers_own_path("fix.get-it"), Some("fix.get-it"));
        assert_eq!(servers_own_path("fix.get_it"), None);
        let approval = ApprovalInfo {
            approval: "A7".into(),
            state: ApprovalState::Waiting,
            path: "fix.a\nA8 approved".into(),
            arguments: None,
            preview: None,
            bytes: 0,
            client: "mux\n".into(),
            agent: None,
            workspace: None,
            run: None,
            rule: "\"fix.*\"".into(),
            reason: None,
            cover: String::new(),
            since_ms: 0,
            left_ms: None,
        };
        let text = table(&[approval], 0).text_within(None);
        assert_eq!(text.lines().count(), 2, "{text}");
    }

    #[test]
    fn truncated_arguments_name_the_command_that_shows_all() {
        let whole = call_text(&asked("{\"a\":1}", 7), MAX_RUN_ARGUMENTS_CHARS);
        assert_eq!(whole, "github.delete_repo {\"a\":1}");
        let cut = call_text(&asked(&"x".repeat(300), 300), MAX_RUN_ARGUMENTS_CHARS);
        assert!(cut.ends_with("(`mux approvals A7` shows all)"), "{cut}");
        let cut = call_text(&asked("{\"a…", 5_000), MAX_RUN_ARGUMENTS_CHARS);
        assert!(cut.ends_with("shows all)"), "{cut}");
    }

    #[test]
    fn only_answers_that_apply_are_accepted_and_explained() {
        let asked = asked("{\"a\":1}", 7);
        let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
        assert_eq!(
            plain(&question(&asked, (1, 1))),
            "A7 github.delete_repo {\"a\":1}"
        );
        let second = plain(&question(&asked, (2, 3)));
        assert_eq!(second, "A7 (2 of 3) github.delete_repo {\"a\":1}");
        for (line, in_run, choice) in [
            ("y", false, Some(Decision::Once)),
            (" Yes ", true, Some(Decision::Once)),
            ("r", true, Some(Decision::Session)),
            ("r", false, None),
            ("s", true, None),
            ("session", true, None),
            ("a", false, Some(Decision::Always)),
            ("n", false, Some(Decision::Deny)),
            ("?", false, None),
            ("", true, None),
            ("x", true, None),
        ] {
            assert_eq!(prompt_answer(line, in_run), choice, "{line:?}");
        }
        let letters = |in_run| -> String {
            let lines = answers(&asked, in_run);
            let offered = lines.iter().filter(|line| line.get(1..3) == Some("  "));
            offered.map(|line| &line[..1]).collect()
        };
        assert_eq!(
            (letters(true).as_str(), letters(false).as_str()),
            ("yran", "yan")
        );
    }

    #[test]
    fn confirmation_lists_every_covered_call() {
        let first = asked("{\"a\":1}", 7);
        let mut second = asked("{\"b\":2}", 7);
        second.approval = "A8".into();
        let lines = |decision| -> Vec<String> {
            let lines = covered_lines(&first, decision, &[&second]);
            let plain = lines
                .iter()
                .map(|line| anstream::adapter::strip_str(line).to_string());
            plain.collect()
        };
        let run = lines(Decision::Session);
        assert_eq!(
            run,
            [
                "this allows now:",
                "  A7 github.delete_repo {\"a\":1}",
                "  A8 github.delete_repo {\"b\":2}",
                "and later, without asking:",
                "  github.delete_repo with any arguments until this run ends",
            ]
        );
        let always = lines(Decision::Always);
        assert_eq!(always[..4], run[..4]);
        assert!(always[4].contains("mux approvals revoke"), "{always:?}");
    }

    #[test]
    fn control_and_invisible_characters_in_arguments_are_escaped() {
        assert_eq!(
            spelled_out("a\u{1b}[2J\u{202e}b\u{e0041}\n"),
            "a\\u001b[2J\\u202eb\\udb40\\udc41\n"
        );
    }
}
