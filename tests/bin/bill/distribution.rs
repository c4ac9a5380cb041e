//! The cost of other projects' tasks as plain calls and as programs, as distributions in Markdown.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::{
    discover::{Discovery, Setting, ToolDiscovery},
    play::{Exchange, PlayedTask, TaskPlayer},
    suites::{SuiteTask, SuitesHome, TaskSuites},
    tokens::TokenCounter,
    transcript::{ConversationTranscript, TokenCounts, TokenPrices},
};

/// Which tasks are played.
#[derive(Args)]
pub(crate) struct SuitesArgs {
    /// Only every Nth task
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Write the tokens of every task to this file, one JSON document each line
    #[arg(long)]
    json: Option<PathBuf>,
}

/// How the calls of one turn of the user are spread over the requests of a model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ToolArrangement {
    /// All plain calls are made at the same time, and the program returns every result.
    AtOnce,
    /// Each plain call waits for the result of the one before. The program returns every result.
    OneByOne,
    /// Each plain call waits for the result of the one before. The program returns the last result.
    LastResult,
}

impl ToolArrangement {
    const ALL: [Self; 3] = [Self::AtOnce, Self::OneByOne, Self::LastResult];

    fn title(self) -> &'static str {
        match self {
            Self::AtOnce => "at once / all results",
            Self::OneByOne => "one by one / all results",
            Self::LastResult => "one by one / last result",
        }
    }
}

const PRICES: [(&str, TokenPrices); 3] = [
    ("no cache", TokenPrices::UNCACHED),
    ("cache", TokenPrices::CACHED),
    ("warm cache", TokenPrices::WARM),
];
const SETTINGS: [(Setting, &str); 3] = [
    (
        Setting::Own,
        "the tools of the task's own servers, by their signatures",
    ),
    (
        Setting::OwnDescribed,
        "the tools of the task's own servers, each described before its first use",
    ),
    (
        Setting::All,
        "the tools of all suites, searched and described",
    ),
];
const MAX_REASON_CHARS: usize = 400;
/// After how many tasks a line says how many there were.
const TASKS_A_LINE: usize = 50;
/// How many losing tasks are named in each group.
const NAMED_LOSERS: usize = 3;

/// The tokens of one task with one set of tools, with one tokenizer.
struct CostRow<'a> {
    task: &'a SuiteTask,
    setting: Setting,
    ways: BTreeMap<ToolArrangement, (TokenCounts, TokenCounts)>,
    discovery: usize,
    needed: usize,
    missed: usize,
}

impl CostRow<'_> {
    /// The cost of the plain calls, as a multiple of the program's cost.
    fn ratio(&self, arrangement: ToolArrangement, prices: TokenPrices) -> f64 {
        let (plain, program) = &self.ways[&arrangement];
        plain.cost(prices) / program.cost(prices)
    }
}

pub(crate) fn print(args: &SuitesArgs) -> anyhow::Result<()> {
    let suites = TaskSuites::load()?;
    let home = SuitesHome::new(&suites)?;
    let mut player = TaskPlayer::new(&home);
    let mut played = Vec::new();
    let mut left_out = Vec::new();
    let mut step = 0;
    for task in &suites.tasks {
        step += 1;
        if (step - 1) % args.every != 0 {
            continue;
        }
        if task.turns.iter().all(|turn| turn.calls.is_empty()) {
            left_out.push(format!("{}: no calls", task.id));
            continue;
        }
        match player.play(task) {
            Ok(texts) => played.push((task, texts)),
            Err(error) => {
                let why: String = format!("{error:#}")
                    .chars()
                    .take(MAX_REASON_CHARS)
                    .collect();
                left_out.push(format!("{}: {why}", task.id));
            }
        }
        progress(played.len() + left_out.len());
    }
    drop(player);
    // Discovered at last, when the shapes of all results are known and declarations are at their longest.
    let mut discoverer = ToolDiscovery::new(&home.env);
    let mut all = Vec::new();
    for (task, texts) in &played {
        for (setting, _) in SETTINGS {
            all.push((*task, texts, setting, discoverer.discover(task, setting)?));
        }
    }
    println_all(&suites.notes, &left_out, played.len());
    let mut lines = String::new();
    for tokens in TokenCounter::both()? {
        let rows: Vec<CostRow<'_>> = all
            .iter()
            .map(|(task, texts, setting, discovery)| row(task, texts, *setting, discovery, &tokens))
            .collect();
        tables(&tokens, &rows);
        for row in &rows {
            lines.push_str(&document(&tokens, row).to_string());
            lines.push('\n');
        }
    }
    if let Some(path) = &args.json {
        fs::write(path, lines).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "it is no part of the tables")]
fn progress(tasks: usize) {
    if tasks.is_multiple_of(TASKS_A_LINE) {
        eprintln!("{tasks} tasks");
    }
}

fn row<'a>(
    task: &'a SuiteTask,
    texts: &PlayedTask,
    setting: Setting,
    discovery: &Discovery,
    tokens: &TokenCounter,
) -> CostRow<'a> {
    let ways = ToolArrangement::ALL.map(|arrangement| {
        let plain = plain(task, texts, arrangement, discovery).count(tokens);
        let program = programs(task, texts, arrangement, discovery).count(tokens);
        (arrangement, (plain, program))
    });
    let exchanges = discovery.turns.iter().flatten();
    CostRow {
        task,
        setting,
        ways: ways.into(),
        discovery: exchanges
            .map(|exchange| tokens.count(&exchange.said) + tokens.count(&exchange.heard))
            .sum(),
        needed: discovery.needed,
        missed: discovery.missed,
    }
}

fn plain(
    task: &SuiteTask,
    texts: &PlayedTask,
    arrangement: ToolArrangement,
    discovery: &Discovery,
) -> ConversationTranscript {
    let mut talk = ConversationTranscript::new(vec![discovery.plain.clone(), task.system.clone()]);
    for (turn, exchanges) in task.turns.iter().zip(&texts.plain) {
        talk.hear(&turn.user);
        match arrangement {
            ToolArrangement::AtOnce if !exchanges.is_empty() => {
                talk.say(exchanges.iter().map(|one| one.said.clone()).collect());
                for exchange in exchanges {
                    talk.hear(&exchange.heard);
                }
            }
            _ => one_by_one(&mut talk, exchanges),
        }
        talk.answer();
    }
    talk
}

fn programs(
    task: &SuiteTask,
    texts: &PlayedTask,
    arrangement: ToolArrangement,
    discovery: &Discovery,
) -> ConversationTranscript {
    let mut talk = ConversationTranscript::new(vec![discovery.mux.clone(), task.system.clone()]);
    let runs = match arrangement {
        ToolArrangement::LastResult => &texts.last,
        ToolArrangement::AtOnce | ToolArrangement::OneByOne => &texts.all,
    };
    for ((turn, runs), discovered) in task.turns.iter().zip(runs).zip(&discovery.turns) {
        talk.hear(&turn.user);
        one_by_one(&mut talk, discovered);
        one_by_one(&mut talk, runs);
        talk.answer();
    }
    talk
}

fn one_by_one(talk: &mut ConversationTranscript, exchanges: &[Exchange]) {
    for exchange in exchanges {
        talk.say(vec![exchange.said.clone()]);
        talk.hear(&exchange.heard);
    }
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn println_all(notes: &[String], left_out: &[String], played: usize) {
    for note in notes {
        println!("- {note}");
    }
    println!("- played, with the same state and results both ways: {played} tasks");
    println!("- left out: {} tasks", left_out.len());
    for task in left_out {
        println!("  - {task}");
    }
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn tables(tokens: &TokenCounter, rows: &[CostRow<'_>]) {
    println!("\n## {}", tokens.name());
    for (setting, title) in SETTINGS {
        let mut groups: BTreeMap<&str, Vec<&CostRow<'_>>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.setting == setting) {
            groups.entry(&row.task.group).or_default().push(row);
        }
        println!("\n### With {title}\n");
        sizes(&groups);
        print!("\n| tasks | calls / program |");
        for (price, _) in PRICES {
            print!(" {price}: p10, p50, p90 | plain is cheaper |");
        }
        println!("\n|---|---|{}", "---|---|".repeat(PRICES.len()));
        for (group, rows) in &groups {
            for arrangement in ToolArrangement::ALL {
                print!("| {group} | {} |", arrangement.title());
                for (_, prices) in PRICES {
                    let ratios = rows.iter().map(|row| row.ratio(arrangement, prices));
                    print!(" {} |", CostSpread::of(ratios.collect()));
                }
                println!();
            }
        }
        println!("\nThe tasks in which programs lose the most (at once / all results, cache):\n");
        for (group, rows) in &groups {
            losers(group, rows);
        }
    }
}

/// Medians of the tokens to read and to write.
#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn sizes(groups: &BTreeMap<&str, Vec<&CostRow<'_>>>) {
    println!(
        "| tasks | number | before the first request: plain | the same: mux | calls and results: plain | programs and results | \
         discovery | written: plain | written: programs | tools not found by the first search |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (group, rows) in groups {
        let median = |figure: fn(&CostRow<'_>) -> usize| {
            let mut all: Vec<f64> = rows.iter().map(|row| figure(row) as f64).collect();
            all.sort_by(f64::total_cmp);
            quantile(&all, 0.5)
        };
        let missed: usize = rows.iter().map(|row| row.missed).sum();
        let needed: usize = rows.iter().map(|row| row.needed).sum();
        println!(
            "| {group} | {} | {} | {} | {} | {} | {} | {} | {} | {missed} of {needed} |",
            rows.len(),
            median(|row| row.ways[&ToolArrangement::AtOnce].0.standing),
            median(|row| row.ways[&ToolArrangement::AtOnce].1.standing),
            median(|row| row.ways[&ToolArrangement::AtOnce].0.calls()),
            median(|row| row.ways[&ToolArrangement::AtOnce].1.calls() - row.discovery),
            median(|row| row.discovery),
            median(|row| row.ways[&ToolArrangement::AtOnce].0.written()),
            median(|row| row.ways[&ToolArrangement::AtOnce].1.written()),
        );
    }
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn losers(group: &str, rows: &[&CostRow<'_>]) {
    let ratio = |row: &CostRow<'_>| row.ratio(ToolArrangement::AtOnce, TokenPrices::CACHED);
    let mut losing: Vec<&&CostRow<'_>> = rows.iter().filter(|row| ratio(row) < 1.0).collect();
    losing.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    for row in losing.into_iter().take(NAMED_LOSERS) {
        let (plain, program) = &row.ways[&ToolArrangement::AtOnce];
        println!(
            "- {group}: {} ({} calls in {} turns): {:.0} as plain calls, {:.0} as programs",
            row.task.id,
            row.task
                .turns
                .iter()
                .map(|turn| turn.calls.len())
                .sum::<usize>(),
            row.task.turns.len(),
            plain.cost(TokenPrices::CACHED),
            program.cost(TokenPrices::CACHED),
        );
    }
}

/// The distribution of ratios of a group of tasks.
struct CostSpread {
    sorted: Vec<f64>,
    /// For the tasks in which plain calls are cheaper: the cost of the program, as a multiple of the
    /// plain calls.
    losing: Vec<f64>,
}

impl CostSpread {
    fn of(mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        let losing = ratios.iter().rev().filter(|ratio| **ratio < 1.0);
        Self {
            losing: losing.map(|ratio| 1.0 / ratio).collect(),
            sorted: ratios,
        }
    }
}

impl std::fmt::Display for CostSpread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [p10, p50, p90] = [0.1, 0.5, 0.9].map(|at| quantile(&self.sorted, at));
        let share = 100.0 * self.losing.len() as f64 / self.sorted.len() as f64;
        write!(f, "{p10:.2} / {p50:.2} / {p90:.2} | {share:.0} %")?;
        let Some(most) = self.losing.last() else {
            return Ok(());
        };
        let median = quantile(&self.losing, 0.5);
        write!(f, ": {median:.2} ×, at most {most:.2} ×")
    }
}

/// The value at this share of sorted values, the nearest one.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

fn document(tokens: &TokenCounter, row: &CostRow<'_>) -> Value {
    let ways: BTreeMap<&str, Value> = row
        .ways
        .iter()
        .map(|(arrangement, (plain, program))| {
            let side = |counted: &TokenCounts| {
                let costs =
                    PRICES.map(|(name, prices)| (name.to_owned(), json!(counted.cost(prices))));
                json!({
                    "standing": counted.standing,
                    "read": counted.read(),
                    "written": counted.written(),
                    "requests": counted.requests(),
                    "cost": Value::Object(costs.into_iter().collect()),
                })
            };
            let both = json!({ "plain": side(plain), "program": side(program) });
            (arrangement.title(), both)
        })
        .collect();
    json!({
        "task": row.task.id,
        "group": row.task.group,
        "tools": SETTINGS.iter().find(|(setting, _)| *setting == row.setting).map(|(_, title)| title),
        "tokenizer": tokens.name(),
        "discovery": row.discovery,
        "ways": ways,
    })
}

#[cfg(test)]
mod tests {
    use super::CostSpread;

    #[test]
    fn a_spread_names_the_share_of_losing_tasks_and_how_much_they_lose() {
        let ratios = (1..=10).map(|n| f64::from(n) / 4.0).collect();
        let spread = CostSpread::of(ratios).to_string();
        assert_eq!(spread, "0.50 / 1.50 / 2.25 | 30 %: 2.00 ×, at most 4.00 ×");
    }
}
