//! The conformance server, from its command line to the end of its standard input.

mod asking;
mod asks;
mod calls;
mod offers;
mod schemas;
mod server;
mod stdio;
mod tools;

use std::path::PathBuf;

use rmcp::service::serve_server;

#[derive(clap::Parser)]
pub(crate) struct Args {
    /// Note here, one a line, what happens to the calls of `wait`: `begun` and `cancelled`.
    #[arg(long)]
    journal: Option<PathBuf>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = server::Server::new(args.journal);
        serve_server(server, stdio::Stdio::new())
            .await?
            .waiting()
            .await?;
        Ok(())
    })
}
