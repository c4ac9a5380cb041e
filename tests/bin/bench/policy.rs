//! The cost of deciding one call, by the number of rules, compared with no rules.

use std::{fmt::Write as _, hint::black_box, path::Path, time::Instant};

use anyhow::{Context as _, ensure};
use mux_config::Config;
use mux_policy::{
    GivenArguments, PolicyDecision, PolicyQuestion, PolicySet, RuleAction, ToolHints,
};
use serde_json::json;

use super::figures::{Samples, fact};

const RULES: usize = 1_000;
/// Decisions that are timed together: one alone takes less than a clock can tell.
const BATCH: u32 = 100;

pub(crate) fn measure(rounds: usize) -> anyhow::Result<()> {
    let arguments = json!({ "path": "/srv/data/report.txt", "amount": 12 });
    let asked = "github.list_issues";
    let none = policies("")?;
    decided(&none, asked, GivenArguments::Unread, "no rules", rounds)?;
    for (what, rule) in [
        (
            "1,000 rules about 20 other servers",
            &(|n: usize| format!("match = \"server{}.tool_{n}_*\"", n % 20))
                as &dyn Fn(usize) -> String,
        ),
        ("1,000 rules about the server, none matches", &|n| {
            format!("match = \"github.delete_{n}_*\"")
        }),
        ("1,000 rules about any server, none matches", &|n| {
            format!("match = \"*.delete_{n}\"")
        }),
        ("1,000 rules of other agents and workspaces", &|n| {
            format!("match = \"github.*\"\nagent = \"a{n}\"\nworkspace = \"~/w{n}\"")
        }),
    ] {
        let policies = policies(&rules(rule)?)?;
        decided(&policies, asked, GivenArguments::Unread, what, rounds)?;
    }
    let policies = policies(&rules(&|n| {
        format!(
            "match = \"github.*\"\narguments = {{ path = \"/etc/{n}/*\", amount = {{ over = {n} }} }}"
        )
    })?)?;
    let given = GivenArguments::Values(&arguments);
    decided(
        &policies,
        asked,
        given,
        "1,000 rules with two argument conditions",
        rounds,
    )
}

fn rules(conditions: &dyn Fn(usize) -> String) -> anyhow::Result<String> {
    let mut text = String::new();
    for n in 0..RULES {
        writeln!(text, "[[policy]]\naction = \"deny\"\n{}", conditions(n))?;
    }
    Ok(text)
}

fn policies(text: &str) -> anyhow::Result<PolicySet> {
    let config = Config::parse(text, "config.toml").context("the rules")?;
    let mut problems = config.problems;
    let agents = &config.agents;
    let home = Path::new("/home/me");
    let policies = PolicySet::resolve(&config.policy, agents, home, &mut problems);
    ensure!(problems.is_empty(), "{problems:?}");
    Ok(policies)
}

fn decided(
    policies: &PolicySet,
    path: &str,
    given: GivenArguments<'_>,
    what: &str,
    rounds: usize,
) -> anyhow::Result<()> {
    let question = PolicyQuestion {
        path,
        from_server: false,
        program_path: None,
        spellings: &[],
        hints: ToolHints::default(),
        verb: None,
        agent: Some("small-model"),
        client: "mux mcp",
        workspace: Some(Path::new("/home/me/projects/acme")),
        given,
        also_given: &[],
    };
    let mut samples = Samples::default();
    for _ in 0..rounds {
        let began = Instant::now();
        for _ in 0..BATCH {
            let decision = policies.decide(black_box(&question), &[]);
            let PolicyDecision::Made(verdict) = black_box(decision) else {
                anyhow::bail!("it wants the arguments");
            };
            ensure!(verdict.action == RuleAction::Allow, "{verdict:?}");
        }
        samples.push(began.elapsed() / BATCH);
    }
    let nanos = |q| samples.quantile(q).as_nanos();
    fact(
        &format!("a decision: {what}"),
        &format!("p50 {} ns, p99 {} ns", nanos(0.5), nanos(0.99)),
    );
    Ok(())
}
