//! Policy rules, and explanations of decisions.

use std::process::ExitCode;

use super::terminal::{eprintln, println};
use comfy_table::{Cell, Color};
use mux_proto::{
    PolicyAction, PolicyExplanation, PolicyList, PolicyOutcome, PolicyRule, PolicyStep, ProjectText,
};
use mux_typegen::names::program_path;

use super::{
    amounts::count_text,
    note, print_document,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, one_line, paint},
    table::ListTable,
    warn,
};

const MAX_RULE_TEXT_CHARS: usize = 200;
/// The maximum number of rules about other paths that are listed individually.
const MAX_UNRELATED_RULES: usize = 5;

pub(crate) fn policy(list: &PolicyList, agent: Option<&str>, json: bool) -> ExitCode {
    if json {
        print_document(list);
        return ExitCode::SUCCESS;
    }
    if let (Some(agent), true) = (agent, list.own) {
        note(&format!(
            "{agent} has its own rules, which replace [[policy]]"
        ));
    }
    if !list.rules.is_empty() {
        let mut table = ListTable::new(["RULE", "ACTION", "MATCH", "AND", "DECIDED"])
            .cutting("AND")
            .leaving_out(["DECIDED"]);
        for rule in &list.rules {
            table.add_row([
                Cell::new(rule_name(rule)),
                action_cell(rule.action),
                Cell::new(limited_text(&rule.matches.join(" "))),
                Cell::new(limited_text(&rule.conditions.join(", "))),
                Cell::new(rule.decided),
            ]);
        }
        println!("{}", table.text());
    }
    println!(
        "{} allow; ask for tools marked as destructive, if a user can answer",
        paint(STRONG, "otherwise")
    );
    let (allowed, destructive) = (list.allowed_by_default, list.destructive_by_default);
    println!(
        "{}",
        paint(
            DIM,
            format!("so far {allowed} calls, and {destructive} of destructive tools")
        )
    );
    for rule in &list.rules {
        if let Some(mistake) = &rule.mistake {
            warn(format!(
                "rule {} is invalid and therefore denies: {}",
                rule_name(rule),
                limited_text(mistake)
            ));
        }
    }
    ExitCode::SUCCESS
}

pub(crate) fn policy_explanation(told: &PolicyExplanation, json: bool) -> ExitCode {
    if json {
        print_document(told);
        return ExitCode::SUCCESS;
    }
    let decided = match &told.rule {
        Some(rule) => format!("by rule {}", rule_name(rule)),
        None if told.action == PolicyAction::Ask => {
            "by default: the tool is marked as destructive; allowed if no user can answer".into()
        }
        // Nothing else is denied without a rule.
        None if told.action == PolicyAction::Deny => {
            "by default: a server uses your model only if a rule allows it".into()
        }
        None => "by default: no rule matches".into(),
    };
    let unless = if told.depends {
        ", unless a rule before it applies to the arguments"
    } else {
        ""
    };
    let path = paint(NAME, limited_text(&program_path(&told.path)));
    println!("{path}  {}  {decided}{unless}", painted_action(told.action));
    if let Some(reason) = told.rule.as_ref().and_then(|rule| rule.reason.as_deref()) {
        println!("  {}", limited_text(reason));
    }
    let said = told
        .hints
        .iter()
        .map(|(name, said)| format!("{name} = {said}"));
    let verb = told.verb.iter().map(|verb| format!("verb = {verb}"));
    let said: Vec<String> = said.chain(verb).collect();
    if !said.is_empty() {
        println!(
            "  {}",
            paint(DIM, format!("the tool says {}", said.join(", ")))
        );
    }
    let elsewhere = |step: &&PolicyStep| step.outcome == PolicyOutcome::Elsewhere;
    let others = told.steps.iter().filter(elsewhere).count();
    for step in &told.steps {
        if elsewhere(&step) && others > MAX_UNRELATED_RULES {
            continue;
        }
        let mark = match step.outcome {
            PolicyOutcome::Decides => paint(GOOD, "decides"),
            PolicyOutcome::Depends => paint(WARN, "depends"),
            PolicyOutcome::Elsewhere | PolicyOutcome::Unmet => paint(DIM, "passes "),
        };
        let rule = &step.rule;
        let wants = limited_text(&rule.conditions.join(", "));
        let about = format!("{} {wants}", limited_text(&rule.matches.join(" ")));
        let (number, action) = (rule_name(rule), action_name(rule.action));
        println!("  {mark}  rule {number}  {action} {}", about.trim_end());
        println!("           {}", paint(DIM, limited_text(&step.because)));
    }
    if others > MAX_UNRELATED_RULES {
        println!(
            "  {}",
            paint(
                DIM,
                format!("{} about other paths", count_text(others, "rule"))
            )
        );
    }
    for told in &told.notes {
        eprintln!("{}: {}", paint(WARN, "note"), limited_text(told));
    }
    ExitCode::SUCCESS
}

/// The name of a rule: its number, with the agent or the project and its version of the file.
fn rule_name(rule: &PolicyRule) -> String {
    match (&rule.project, &rule.agent) {
        (Some(_), _) => {
            let text = match rule.project_text {
                None | Some(ProjectText::Current) => "",
                Some(ProjectText::Approved) => ", as you approved it",
                Some(ProjectText::Unapproved) => ", not approved",
            };
            format!("{} of the project{text}", rule.number)
        }
        (None, Some(agent)) => format!("{} of {}", rule.number, limited_text(agent)),
        (None, None) => rule.number.to_string(),
    }
}

fn action_name(action: PolicyAction) -> &'static str {
    match action {
        PolicyAction::Allow => "allow",
        PolicyAction::Ask => "ask",
        PolicyAction::Deny => "deny",
    }
}

fn painted_action(action: PolicyAction) -> String {
    let style = match action {
        PolicyAction::Allow => GOOD,
        PolicyAction::Ask => WARN,
        PolicyAction::Deny => ERROR,
    };
    paint(style, action_name(action))
}

fn action_cell(action: PolicyAction) -> Cell {
    Cell::new(action_name(action)).fg(match action {
        PolicyAction::Allow => Color::Green,
        PolicyAction::Ask => Color::Yellow,
        PolicyAction::Deny => Color::Red,
    })
}

fn limited_text(text: &str) -> String {
    one_line(text, MAX_RULE_TEXT_CHARS)
}
