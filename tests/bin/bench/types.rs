//! The cost of types: generating them, reading them from the cache, and checking programs against
//! them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, ensure};
use mux_client::{ClientIdentity, Session, connect_or_spawn, run, within_seconds};
use mux_proto::{
    CheckRequest, Outcome, RunRequest, ToolInfo, ToolsRequest, TypesRequest, endpoint::Dirs,
};
use mux_typegen::{ServerDecl, ToolDecl, declarations};

use super::{
    commands::Place,
    figures::{Samples, fact, millis, row},
};

/// The number of tools, in addition to the server's standard tools. The server may list 10,000.
const GENERATED: [usize; 3] = [225, 1_000, 9_900];
const CHECKED: [usize; 2] = [400, 4_000];
/// How often a text is generated, and how often a schema changes.
const FEW: usize = 10;

/// About what an agent writes: it calls, computes, and is right.
const PROGRAM: &str = "type Row = { id: string; size: number };
const rows: Row[] = [];
for (let n = 0; n < 3; n++) {
  const said = await mux.fix.echo({ text: `row ${n}` });
  const { sum } = await mux.fix.add({ a: n, b: 1 });
  rows.push({ id: said, size: sum });
}
const largest = rows.reduce((a, b) => (a.size > b.size ? a : b));
console.log(`${rows.length} rows, the largest is ${largest.id.toUpperCase()}`);
const bySize = new Map(rows.map((r) => [r.size, r.id]));
const things = await Promise.all(rows.map((r) => mux.fix.get_thing({ id: r.id })));
return { total: rows.length, ids: [...bySize.values()], things: things.length };
";

pub(crate) async fn measure(place: &Place, compiler: &Path, rounds: usize) -> anyhow::Result<()> {
    for tools in GENERATED {
        generation(place, compiler, tools, Names::Flat).await?;
    }
    generation(place, compiler, GENERATED[1], Names::Dotted).await?;
    for tools in CHECKED {
        checking(place, compiler, tools, rounds).await?;
    }
    Ok(())
}

/// Whether the tools are in groups.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Names {
    Flat,
    Dotted,
}

/// A separate daemon with a server of this many tools. Its home stays for the next daemon.
struct Home {
    folder: tempfile::TempDir,
    daemon: PathBuf,
}

impl Home {
    fn new(place: &Place, compiler: &Path, tools: usize, names: Names) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("mux-").tempdir()?;
        let more = match names {
            Names::Flat => "",
            Names::Dotted => ", \"--dotted-tools\"",
        };
        let config = format!(
            "[servers.fix]\ncommand = {:?}\nargs = [\"--tools\", \"{tools}\"{more}]\n[check]\ntsc = {compiler:?}\n",
            place.fixture
        );
        fs::write(folder.path().join("config.toml"), config)?;
        Ok(Self {
            folder,
            daemon: place.daemon.clone(),
        })
    }

    async fn session(&self) -> anyhow::Result<Session> {
        let dirs = Dirs::under(self.folder.path())?;
        let me = ClientIdentity::new("mux-bench", "1");
        Ok(connect_or_spawn(&dirs, Some(self.daemon.clone()), &me).await?)
    }

    /// Ends the daemon and waits for its end.
    fn stop(&self) -> anyhow::Result<()> {
        let mux = self.daemon.with_file_name("mux");
        let mut command = Command::new(mux);
        command
            .args(["stop", "--now"])
            .env("MUX_HOME", self.folder.path());
        ensure!(
            command.output()?.status.success(),
            "the daemon does not end"
        );
        Ok(())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The daemon may have ended already.
        drop(self.stop());
    }
}

async fn generation(
    place: &Place,
    compiler: &Path,
    tools: usize,
    names: Names,
) -> anyhow::Result<()> {
    let home = Home::new(place, compiler, tools, names)?;
    let session = home.session().await?;
    let listed = listed(&session).await?;
    let mut anew = Samples::default();
    let mut text = String::new();
    for _ in 0..FEW {
        text = anew.time(|| generate(&listed));
    }
    let count = match names {
        Names::Flat => listed.len().to_string(),
        Names::Dotted => format!("{} dotted", listed.len()),
    };
    row(&format!("{count} tools: generated"), &anew);
    fact("its length", &format!("{} KiB", text.len() >> 10));

    types(&session).await?;
    let (mut warm, mut cold, mut connected) = Default::default();
    for _ in 0..FEW {
        time(&mut warm, types(&session)).await?;
    }
    row(&format!("{count} tools: `types` of a warm daemon"), &warm);
    drop(session);
    for _ in 0..FEW {
        home.stop()?;
        time(&mut cold, first_check(&home)).await?;
    }
    row(
        &format!("{count} tools: new daemon to its first check, remembered"),
        &cold,
    );
    for _ in 0..FEW {
        home.stop()?;
        fs::remove_dir_all(home.folder.path().join("cache").join("types"))?;
        time(&mut connected, first_check(&home)).await?;
    }
    row(
        &format!("{count} tools: the same, nothing remembered"),
        &connected,
    );
    let ratio = connected.median().as_secs_f64() / cold.median().as_secs_f64();
    fact("ratio at p50", &format!("{ratio:.1}"));
    Ok(())
}

fn generate(listed: &[ToolInfo]) -> String {
    let nothing = serde_json::Value::Null;
    let tools = listed.iter().map(|tool| ToolDecl {
        name: &tool.name,
        title: tool.title.as_deref(),
        description: tool.description.as_deref(),
        input_schema: tool.input_schema.as_ref().unwrap_or(&nothing).into(),
        output_schema: tool.output_schema.as_ref().map(Into::into),
        observed: None,
    });
    let server = ServerDecl {
        name: "fix",
        tools: tools.collect(),
        note: None,
    };
    declarations(&[server])
}

async fn first_check(home: &Home) -> anyhow::Result<()> {
    let session = home.session().await?;
    check(&session, PROGRAM.to_owned()).await
}

async fn checking(
    place: &Place,
    compiler: &Path,
    tools: usize,
    rounds: usize,
) -> anyhow::Result<()> {
    let home = Home::new(place, compiler, tools, Names::Flat)?;
    let session = home.session().await?;
    types(&session).await?;
    check(&session, PROGRAM.to_owned()).await?;
    let before = memory(&session).await?;

    let mut unseen = Samples::default();
    for round in 0..rounds {
        let program = format!("// {round}\n{PROGRAM}");
        time(&mut unseen, check(&session, program)).await?;
    }
    row(&format!("{tools} tools: check of unseen code"), &unseen);
    let p95 = millis(unseen.quantile(0.95));
    fact(
        "p95 (goals at 400: 5 ms and 15 ms)",
        &format!("{p95:.1} ms"),
    );
    let mut known = Samples::default();
    for _ in 0..rounds {
        time(&mut known, check(&session, PROGRAM.to_owned())).await?;
    }
    row(&format!("{tools} tools: cached verdict"), &known);
    let mut checked = Samples::default();
    let mut unchecked = Samples::default();
    for round in 0..rounds {
        for (no_check, samples) in [(false, &mut checked), (true, &mut unchecked)] {
            let request = RunRequest {
                source: format!("// {round} {no_check}\nreturn {round}"),
                no_check,
                ..RunRequest::default()
            };
            time(samples, finish(&session, request)).await?;
        }
    }
    row(&format!("{tools} tools: run of unseen code"), &checked);
    row("the same with --no-check", &unchecked);

    baseline(compiler, &session, &home).await?;
    let mut changed = Samples::default();
    for round in 0..FEW {
        let text = format!("'{{\"field{}\": 1}}'", "x".repeat(round + 1));
        let request = RunRequest {
            source: format!("return await mux.fix.echo({{ text: {text} }})"),
            no_check: true,
            ..RunRequest::default()
        };
        finish(&session, request).await?;
        let program = format!("// changed {round}\n{PROGRAM}");
        time(&mut changed, check(&session, program)).await?;
    }
    row(
        &format!("{tools} tools: first check after a change of types"),
        &changed,
    );
    fact(
        "RSS of the compiler, before and after",
        &format!("{before:.0} MiB, {:.0} MiB", memory(&session).await?),
    );
    Ok(())
}

/// The same compiler, started for one program.
async fn baseline(compiler: &Path, session: &Session, home: &Home) -> anyhow::Result<()> {
    let folder = home.folder.path().join("baseline");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("mux.d.ts"), types(session).await?)?;
    let program = format!("(async () => {{ {PROGRAM} }});\nexport {{}};\n");
    fs::write(folder.join("program.ts"), program)?;
    let project = r#"{"compilerOptions": {"target": "es2024", "lib": ["es2024"], "module": "esnext",
        "strict": true, "noEmit": true, "types": [], "skipLibCheck": true}, "include": ["*.ts"]}"#;
    fs::write(folder.join("tsconfig.json"), project)?;
    let mut alone = Samples::default();
    for _ in 0..FEW {
        let mut command = Command::new(compiler);
        command.arg("-p").arg(&folder);
        let output = alone.time(|| command.output())?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "the baseline is wrong: {said}");
    }
    row("baseline: `tsc -p`, a process for each program", &alone);
    Ok(())
}

async fn time(
    samples: &mut Samples,
    work: impl Future<Output = anyhow::Result<impl Sized>>,
) -> anyhow::Result<()> {
    let began = Instant::now();
    work.await?;
    samples.push(began.elapsed());
    Ok(())
}

async fn listed(session: &Session) -> anyhow::Result<Vec<ToolInfo>> {
    let request = ToolsRequest {
        schemas: true,
        ..ToolsRequest::default()
    };
    Ok(session
        .client
        .tools(within_seconds(60), request)
        .await??
        .tools)
}

async fn types(session: &Session) -> anyhow::Result<String> {
    let request = TypesRequest::default();
    Ok(session.client.types(within_seconds(60), request).await??)
}

/// The program must be right, and must have been checked.
async fn check(session: &Session, source: String) -> anyhow::Result<()> {
    let request = CheckRequest { source };
    let found = session.client.check(within_seconds(60), request).await??;
    ensure!(
        found.errors.is_empty() && found.unchecked.is_none(),
        "{found:?}"
    );
    Ok(())
}

async fn finish(session: &Session, request: RunRequest) -> anyhow::Result<()> {
    let outcome = run(session, request, |_| {}).await?.outcome;
    ensure!(matches!(outcome, Outcome::Result(_)), "{outcome:?}");
    Ok(())
}

async fn memory(session: &Session) -> anyhow::Result<f64> {
    let status = session.client.status(within_seconds(10)).await??;
    let bytes = status.checker.rss_bytes.context("no compiler runs")?;
    Ok(bytes as f64 / f64::from(1 << 20))
}
