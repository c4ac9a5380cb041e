//! The cost of large APIs as sources: reading them, generating types, checking programs against the types, keeping
//! them in the daemon, and offering them to a model.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, ensure};
use mux_catalog::{ToolDescription, ToolSet};
use mux_client::{ClientIdentity, Session, connect_or_spawn, within_seconds};
use mux_proto::{CheckRequest, endpoint::Dirs};
use mux_settings::ToolOverrides;
use mux_sources::openapi::{FunctionSelection, OpenApiDescription, ServerOverrides};
use mux_tests::process;
use mux_typegen::{ServerDecl, declarations};
use serde_json::{Value, json};

use super::{
    commands::Place,
    figures::{Samples, fact, row},
};

/// Each with a program that calls it.
const APIS: [(&str, &str); 3] = [
    (
        "github",
        "const repos = await mux.call('github.repos.listForOrg', { org: 'a' });\nreturn repos.length;",
    ),
    (
        "stripe",
        "const all = await mux.call('stripe.customers.getCustomers', { limit: 3 });\nreturn all.data.length;",
    ),
    (
        "kubernetes",
        "const all = await mux.call('kubernetes.coreV1.listCoreV1Namespace', {});\nreturn all.items.length;",
    ),
];
/// A text is read and generated so often at most.
const FEW: usize = 5;
/// The number of descriptions whose memory is measured.
const LARGEST: usize = 10;
/// Memory that is being given back has been given back.
const SETTLED: Duration = Duration::from_secs(4);

pub(crate) async fn measure(
    place: &Place,
    compiler: &Path,
    folder: Option<&Path>,
    rounds: usize,
) -> anyhow::Result<()> {
    let folder = folder.context("--apis is missing: scripts/setup --apis")?;
    let tokens = tiktoken_rs::o200k_base()?;
    let count = |text: &str| tokens.encode_ordinary(text).len();
    let empty = daemon(place, compiler, folder, &[], "return 1", 1).await?;
    fact("daemon without sources: RSS", &mebibytes(empty.rss));
    for (name, program) in APIS {
        let text = fs::read_to_string(folder.join(format!("{name}.json")))?;
        generated(name, &text, rounds.min(FEW), &count)?;
        let one = daemon(place, compiler, folder, &[name], program, rounds).await?;
        row(&format!("{name}: first check in a new daemon"), &one.first);
        row(&format!("{name}: check of unseen code"), &one.unseen);
        fact(
            &format!("{name}: RSS of the daemon; of the compiler"),
            &format!("{}; {}", mebibytes(one.rss), mebibytes(one.compiler)),
        );
    }
    largest(place, folder, empty.rss).await?;
    let names = APIS.map(|(name, _)| name);
    let all = daemon(place, compiler, folder, &names, APIS[0].1, rounds).await?;
    row("all three: first check in a new daemon", &all.first);
    row("all three: check of unseen code", &all.unseen);
    fact(
        "all three: RSS of the daemon; of the compiler",
        &format!("{}; {}", mebibytes(all.rss), mebibytes(all.compiler)),
    );
    Ok(())
}

/// Prints the cost of each of the largest descriptions of the folder as the only source of a new daemon. `bare` is the
/// memory of a daemon without sources.
async fn largest(place: &Place, folder: &Path, bare: u64) -> anyhow::Result<()> {
    let mut files: Vec<(u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.metadata()?.len(), entry.path()));
    }
    files.sort();
    let head = "MiB of text | functions | left out | until mux tools has them | peak | after (more than without sources)";
    fact("the largest descriptions", head);
    for (bytes, file) in files.iter().rev().take(LARGEST) {
        let name = file.file_stem().and_then(|name| name.to_str());
        let name = name.context("a description without a name")?;
        let home = place.beside(&format!(
            "[sources.api]\nopenapi = {file:?}\nbase_url = \"http://127.0.0.1:9\"\n"
        ))?;
        let mut listed = Samples::default();
        listed.time(|| home.mux(&["tools", "--server", "api"]))?;
        let pid = home.pid()?;
        tokio::time::sleep(SETTLED).await;
        let text = fs::read_to_string(file)?;
        let selection = FunctionSelection::new(&[], 20_000);
        let entry = ServerOverrides {
            base_url: Some("https://api.example".into()),
            ..ServerOverrides::default()
        };
        let description = OpenApiDescription::read(&text, &entry, &selection);
        let description = description.map_err(anyhow::Error::msg)?;
        let after = process::resident_bytes(pid);
        fact(
            name,
            &format!(
                "{:.1} | {} | {} | {:.1} s | {} | {} ({})",
                *bytes as f64 / f64::from(1 << 20),
                description.function_count(),
                description.left_out().len(),
                listed.median().as_secs_f64(),
                mebibytes(process::peak_bytes(pid)),
                mebibytes(after),
                mebibytes(after.saturating_sub(bare)),
            ),
        );
    }
    Ok(())
}

fn generated(
    name: &str,
    text: &str,
    rounds: usize,
    count: &dyn Fn(&str) -> usize,
) -> anyhow::Result<()> {
    let entry = ServerOverrides {
        base_url: Some("https://api.example".into()),
        ..ServerOverrides::default()
    };
    let everything = FunctionSelection::new(&[], 20_000);
    let mut read = Samples::default();
    let mut typed = Samples::default();
    let mut read_once = || {
        read.time(|| OpenApiDescription::read(text, &entry, &everything))
            .map_err(anyhow::Error::msg)
    };
    let mut description = read_once()?;
    for _ in 1..rounds {
        description = read_once()?;
    }
    let tools = description.tools();
    let described = tools
        .iter()
        .filter_map(ToolDescription::of_definition)
        .collect();
    let set = ToolSet::new(name, described, &[], &ToolOverrides::default());
    let mut types = String::new();
    for _ in 0..rounds {
        types = typed.time(|| {
            let tools = set.iter().map(|tool| tool.declaration(None)).collect();
            declarations(&[ServerDecl {
                name,
                tools,
                note: None,
            }])
        });
    }
    fact(
        &format!("{name}: functions, left out"),
        &format!("{}, {}", set.len(), description.left_out().len()),
    );
    row(
        &format!("{name}: description read ({} KiB)", text.len() >> 10),
        &read,
    );
    row(
        &format!("{name}: types generated ({} KiB)", types.len() >> 10),
        &typed,
    );
    let kibibytes = |member: &str| {
        let schemas = tools.iter().filter_map(|tool| tool.get(member));
        schemas
            .map(|schema| schema.to_string().len())
            .sum::<usize>()
            >> 10
    };
    fact(
        &format!("{name}: schemas of arguments, of results"),
        &format!(
            "{} KiB, {} KiB",
            kibibytes("inputSchema"),
            kibibytes("outputSchema")
        ),
    );
    // As a model is given tools: name, description, schema of the arguments.
    let plain = tools.iter().map(|tool| {
        json!({ "name": tool["name"], "description": tool.get("description"), "input_schema": tool["inputSchema"] })
    });
    let plain = count(&Value::Array(plain.collect()).to_string());
    let signatures: Vec<String> = set.iter().map(|tool| tool.signature().to_owned()).collect();
    fact(
        &format!("{name}: tokens as plain tools; all of its signatures; one"),
        &format!(
            "{plain}; {}; {}",
            count(&signatures.join("\n")),
            count(&signatures.join("\n")) / signatures.len().max(1)
        ),
    );
    Ok(())
}

/// The measurements of one daemon.
struct Found {
    first: Samples,
    unseen: Samples,
    rss: u64,
    compiler: u64,
}

async fn daemon(
    place: &Place,
    compiler: &Path,
    folder: &Path,
    names: &[&str],
    program: &str,
    rounds: usize,
) -> anyhow::Result<Found> {
    let home = tempfile::Builder::new().prefix("mux-").tempdir()?;
    let mut config = format!("[check]\ntsc = {compiler:?}\n");
    for name in names {
        let file = folder.join(format!("{name}.json"));
        _ = write!(
            config,
            "[sources.{name}]\nopenapi = {file:?}\nbase_url = \"http://127.0.0.1:9\"\n"
        );
    }
    fs::write(home.path().join("config.toml"), config)?;
    let dirs = Dirs::under(home.path())?;
    let me = ClientIdentity::new("mux-bench", "1");
    let session = connect_or_spawn(&dirs, Some(place.daemon.clone()), &me).await?;
    let mut first = Samples::default();
    let mut unseen = Samples::default();
    time(&mut first, check(&session, program.to_owned())).await?;
    for round in 0..rounds {
        time(
            &mut unseen,
            check(&session, format!("// {round}\n{program}")),
        )
        .await?;
    }
    let status = session.client.status(within_seconds(60)).await??;
    let found = Found {
        first,
        unseen,
        rss: status.rss_bytes.unwrap_or_default(),
        compiler: status.checker.rss_bytes.unwrap_or_default(),
    };
    drop(session);
    let mut stop = Command::new(place.daemon.with_file_name("mux"));
    let stopped = stop
        .args(["stop", "--now"])
        .env("MUX_HOME", home.path())
        .output()?;
    ensure!(stopped.status.success(), "the daemon does not end");
    Ok(found)
}

async fn check(session: &Session, source: String) -> anyhow::Result<()> {
    let request = CheckRequest { source };
    let found = session.client.check(within_seconds(300), request).await??;
    ensure!(found.errors.is_empty(), "{found:?}");
    if let Some(why) = found.unchecked {
        fact("not checked", &why);
    }
    Ok(())
}

async fn time(
    samples: &mut Samples,
    work: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let began = std::time::Instant::now();
    work.await?;
    samples.push(began.elapsed());
    Ok(())
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
