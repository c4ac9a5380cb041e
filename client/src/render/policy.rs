//! Policy rules, and explanations of decisions.

use std::process::ExitCode;

use super::terminal::{eprintln, println};
use comfy_table::{Cell, Color};
use mux_proto::{
    Error, PolicyAction, PolicyExplanation, PolicyList, PolicyOutcome, PolicyRule, PolicyStep,
    ProjectText,
};
use mux_typegen::names::display_path;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    human_units::count_text,
    note, print_document,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, one_line, paint},
    table::ListTable,
    warn,
};

const MAX_RULE_TEXT_CHARS: usize = 200;
/// The maximum number of rules about other paths that are listed individually.
const MAX_UNRELATED_RULES: usize = 5;

pub(crate) fn policy(list: &PolicyList, agent: Option<&str>) {
    if let (Some(agent), true) = (agent, list.own) {
        note(&format!(
            "{agent} has its own rules, which replace [[policy]]"
        ));
    }
    match list.rules.as_slice() {
        [] if list.own => {}
        [] => note("there are no rules; `mux policy add 'SERVER.TOOL' ask` adds one"),
        rules => println!("{}", rule_table(rules).text()),
    }
    println!(
        "{} allow; ask for tools marked as destructive, if a user can answer",
        paint(STRONG, "otherwise")
    );
    let allowed = list.allowed_by_default;
    let destructive = list.destructive_by_default;
    println!(
        "{}",
        paint(
            DIM,
            format!("so far {allowed} calls, {destructive} of them to destructive tools")
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
}

/// The column of conditions is left out if no rule has any.
fn rule_table(rules: &[PolicyRule]) -> ListTable {
    let has_conditions = rules.iter().any(|rule| !rule.conditions.is_empty());
    let table = if has_conditions {
        ListTable::new(["RULE", "ACTION", "MATCH", "AND", "DECIDED"]).cutting("AND")
    } else {
        ListTable::new(["RULE", "ACTION", "MATCH", "DECIDED"]).cutting("MATCH")
    };
    let mut table = table.leaving_out(["DECIDED"]);
    for rule in rules {
        let mut row = vec![
            Cell::new(rule_name(rule)),
            action_cell(rule.action),
            Cell::new(limited_text(&rule.matches.join(" "))),
        ];
        if has_conditions {
            row.push(Cell::new(limited_text(&rule.conditions.join(", "))));
        }
        row.push(Cell::new(rule.decided));
        table.add_row(row);
    }
    table
}

/// A case of `mux policy test`, and how it is decided.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(crate) struct PolicyCaseOutcome {
    /// Counts from 1.
    pub(crate) case: usize,
    pub(crate) call: String,
    pub(crate) arguments: Value,
    pub(crate) expected: PolicyAction,
    pub(crate) explanation: Option<PolicyExplanation>,
    /// Why the call cannot be decided.
    pub(crate) error: Option<Error>,
}

impl PolicyCaseOutcome {
    fn is_expected(&self) -> bool {
        let action = self.explanation.as_ref().map(|found| found.action);
        action == Some(self.expected)
    }
}

/// Prints each case whose decision differs from the expected one. Exits with 1 if there is one.
pub(crate) fn policy_cases(cases: &[PolicyCaseOutcome], file: &str, json: bool) -> ExitCode {
    let failed = cases.iter().filter(|case| !case.is_expected());
    let failed: Vec<&PolicyCaseOutcome> = failed.collect();
    if json {
        print_document(&json!({ "ok": failed.is_empty(), "cases": cases.len(), "failed": failed }));
    } else {
        for case in &failed {
            let call = limited_text(&format!("{} {}", case.call, case.arguments));
            let is = match (&case.explanation, &case.error) {
                (Some(explanation), _) => format!(
                    "{} {}",
                    painted_action(explanation.action),
                    decider(explanation)
                ),
                (None, error) => {
                    let why = error.iter().map(|error| limited_text(&error.message));
                    why.collect()
                }
            };
            let expected = case.expected.as_str();
            println!("case {}: {call}: expected {expected}, but {is}", case.case);
        }
        println!(
            "{}: {} as expected, {} not",
            limited_text(file),
            count_text(cases.len() - failed.len(), "case"),
            failed.len()
        );
    }
    ExitCode::from(u8::from(!failed.is_empty()))
}

/// The reason for a decision, as in `by rule 3`.
fn decider(explanation: &PolicyExplanation) -> String {
    match &explanation.rule {
        Some(rule) => format!("by rule {}", rule_name(rule)),
        None if explanation.action == PolicyAction::Ask => {
            "by default: the tool is marked as destructive; allowed if no user can answer".into()
        }
        // No other call is denied without a rule.
        None if explanation.action == PolicyAction::Deny => {
            "by default: a server can use your model only if a rule allows it".into()
        }
        None => "by default: no rule matches".into(),
    }
}

pub(crate) fn policy_explanation(explanation: &PolicyExplanation) {
    let decided = decider(explanation);
    let unless = if explanation.depends {
        ", unless an earlier rule applies to the arguments"
    } else {
        ""
    };
    let path = paint(NAME, limited_text(&display_path(&explanation.path)));
    println!(
        "{path}  {}  {decided}{unless}",
        painted_action(explanation.action)
    );
    if let Some(reason) = explanation
        .rule
        .as_ref()
        .and_then(|rule| rule.reason.as_deref())
    {
        println!("  {}", limited_text(reason));
    }
    let hints = explanation
        .hints
        .iter()
        .map(|(name, value)| format!("{name} = {value}"));
    let verb = explanation.verb.iter().map(|verb| format!("verb = {verb}"));
    let declared: Vec<String> = hints.chain(verb).collect();
    if !declared.is_empty() {
        println!(
            "  {}",
            paint(DIM, format!("the tool declares {}", declared.join(", ")))
        );
    }
    let elsewhere = |step: &&PolicyStep| step.outcome == PolicyOutcome::Elsewhere;
    let others = explanation.steps.iter().filter(elsewhere).count();
    for step in &explanation.steps {
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
        let number = rule_name(rule);
        let action = rule.action.as_str();
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
    for text in &explanation.notes {
        eprintln!("{}: {}", paint(WARN, "note"), limited_text(text));
    }
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

fn painted_action(action: PolicyAction) -> String {
    let style = match action {
        PolicyAction::Allow => GOOD,
        PolicyAction::Ask => WARN,
        PolicyAction::Deny => ERROR,
    };
    paint(style, action.as_str())
}

fn action_cell(action: PolicyAction) -> Cell {
    Cell::new(action.as_str()).fg(match action {
        PolicyAction::Allow => Color::Green,
        PolicyAction::Ask => Color::Yellow,
        PolicyAction::Deny => Color::Red,
    })
}

fn limited_text(text: &str) -> String {
    one_line(text, MAX_RULE_TEXT_CHARS)
}
