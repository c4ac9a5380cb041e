//! The savings of the demo's program: the tokens that plain tool calling would have cost, and the
//! time.
//!
//! Plain calling is replayed here call by call on the same daemon. Both sides of the table
//! therefore come from one run.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::Args;
use mux_client::{ClientIdentity, Session, connect_or_spawn};
use mux_proto::{
    CallRequest, Held, RunRequest, ToolsRequest, TypesRequest, endpoint::Dirs, transport::within,
    variables,
};
use serde_json::{Value, json};

use super::tokens::TokenCounter;

const PATIENCE: Duration = Duration::from_mins(1);

/// The input of the program.
#[derive(Args)]
pub(crate) struct Digest {
    /// The program
    program: PathBuf,
    /// The directory that it reads
    directory: String,
    /// The file that it writes
    output: String,
}

struct Bill {
    session: Session,
    tokens: TokenCounter,
}

pub(crate) async fn print(args: &Digest) -> anyhow::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a program's own entry reads its environment"
    )]
    let home = std::env::var_os(variables::HOME).map(PathBuf::from);
    let dirs = Dirs::resolve(home.as_deref())?;
    let me = ClientIdentity::new("mux-bill", "1");
    let session = connect_or_spawn(&dirs, None, &me).await?;
    let tokens = TokenCounter::new()?;
    Bill { session, tokens }.print(args).await
}

impl Bill {
    async fn print(&self, args: &Digest) -> anyhow::Result<()> {
        let source = fs::read_to_string(&args.program).context("cannot read the program")?;
        let input = json!({ "directory": args.directory, "output": args.output });
        let began = Instant::now();
        let request = RunRequest {
            source: source.clone(),
            input: input.into(),
            ..RunRequest::default()
        };
        let finished = mux_client::run(&self.session, request, |_| {}).await?;
        let took = began.elapsed();
        let mux_proto::Outcome::Result(answer) = finished.outcome else {
            bail!("the program failed: {:?}", finished.outcome);
        };
        let (definitions, tools) = self.definitions().await?;
        let calls = self.replay(args).await?;
        let used = [
            "files.list_directory",
            "files.read_text_file",
            "files.write_file",
        ];
        let paths = used.iter().map(|path| (*path).to_owned()).collect();
        let types = self
            .session
            .client
            .types(within(PATIENCE), TypesRequest { paths })
            .await??;

        let program = self.tokens.count(&source);
        let answer = self.tokens.count(&answer.to_string());
        let types = self.tokens.count(&types);
        let plain = definitions + calls.tokens;
        let code = program + answer + types;
        #[expect(clippy::print_stdout, reason = "this is what it is for")]
        {
            println!("tokens (o200k_base)                            plain calls   one program");
            println!(
                "{:<47}{definitions:>11}{types:>14}",
                format!("definitions: all {tools} tools | the 3 used, typed")
            );
            println!(
                "{:<47}{:>11}{program:>14}",
                format!("{} calls with their results | the program", calls.count),
                calls.tokens
            );
            println!("{:<47}{:>11}{answer:>14}", "the answer", "-");
            println!(
                "{:<47}{plain:>11}{code:>14}   {:.0} x less",
                "together",
                plain as f64 / code as f64
            );
            println!(
                "the program: {} calls in {:.1} ms, all of it",
                calls.count,
                took.as_secs_f64() * 1e3
            );
        }
        Ok(())
    }

    /// Every tool as an MCP client puts it before its model.
    async fn definitions(&self) -> anyhow::Result<(usize, usize)> {
        let request = ToolsRequest {
            schemas: true,
            ..ToolsRequest::default()
        };
        let list = self
            .session
            .client
            .tools(within(PATIENCE), request)
            .await??;
        let definitions: Vec<Value> = list
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.input_schema,
                })
            })
            .collect();
        Ok((
            self.tokens.count(&Value::from(definitions).to_string()),
            list.total,
        ))
    }

    /// The calls that the program makes, as a model would make them: each with its arguments and
    /// its result in the conversation, counted once.
    async fn replay(&self, args: &Digest) -> anyhow::Result<ReplayedTask> {
        let mut replayed = ReplayedTask {
            count: 0,
            tokens: 0,
        };
        let path = json!({ "path": args.directory });
        let listing = self
            .call("files.list_directory", path, &mut replayed)
            .await?;
        let listing = listing["content"]
            .as_str()
            .context("no listing")?
            .to_owned();
        for name in listing
            .lines()
            .filter_map(|line| line.strip_prefix("[FILE] "))
        {
            let path = json!({ "path": format!("{}/{name}", args.directory) });
            self.call("files.read_text_file", path, &mut replayed)
                .await?;
        }
        let digest = fs::read_to_string(&args.output).context("the program wrote no digest")?;
        let write = json!({ "path": args.output, "content": digest });
        self.call("files.write_file", write, &mut replayed).await?;
        Ok(replayed)
    }

    async fn call(
        &self,
        path: &str,
        arguments: Value,
        replayed: &mut ReplayedTask,
    ) -> Result<Value, anyhow::Error> {
        let request = CallRequest {
            path: path.into(),
            arguments: arguments.clone().into(),
            ..CallRequest::default()
        };
        let answer = self.session.client.call(within(PATIENCE), request).await?;
        let Held::Value(value) = answer?.result else {
            anyhow::bail!("{path}: the result is too long to be counted");
        };
        replayed.count += 1;
        replayed.tokens += self.tokens.count(&format!("{path} {arguments} {value}"));
        Ok(value.to_value())
    }
}

struct ReplayedTask {
    count: usize,
    tokens: usize,
}
