//! Real servers, each called from nothing, warm, and after its process was killed; with muxd and with two
//! other programs that keep servers warm, by the same whole commands in the same run.
//!
//! Invariant: each has a home and server processes of its own, and every answer is looked at.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use mux_tests::{env::binary, process};
use serde_json::json;

use super::{
    figures::{Samples, millis},
    real::{self, Real},
};

/// Of one figure; each takes a second and more with some of them.
const MOST: usize = 10;
/// How long a killed process may take to be gone.
const GONE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Who {
    Muxd,
    Mcporter,
    Mcpdo,
}

const ALL: [Who; 3] = [Who::Muxd, Who::Mcporter, Who::Mcpdo];

/// One of the three, with a home of its own.
struct Stack<'a> {
    who: Who,
    home: tempfile::TempDir,
    /// Where one works: servers that ask for roots serve it.
    workspace: &'a Path,
    rivals: &'a Path,
    node: &'a Path,
}

pub(crate) fn measure(
    rivals: Option<&Path>,
    node: Option<&Path>,
    rounds: usize,
) -> anyhow::Result<()> {
    let rivals = rivals.context("--rivals says where mcporter and mcpdo are")?;
    let node = node.context("--node says what they run on")?;
    let folder = tempfile::tempdir_in("/tmp")?;
    let git = Command::new("git")
        .arg("init")
        .arg(folder.path())
        .output()?;
    ensure!(git.status.success(), "git init failed");
    let servers = real::all(folder.path());
    let mut stacks = Vec::new();
    for who in ALL {
        stacks.push(Stack::new(who, folder.path(), (rivals, node), &servers)?);
    }
    say(&format!(
        "  {:<12} {:>31}   {:>31}   {:>31}",
        "", "from nothing to the answer", "warm", "after SIGKILL of the server"
    ));
    let names = ["muxd", "mcporter", "mcpdo"]
        .map(|name| format!("{name:>9}"))
        .join("  ");
    say(&format!("  {:<12} {names}   {names}   {names}", ""));
    for server in &servers {
        let mut cells = Vec::new();
        for figure in [Stack::cold, Stack::warm, Stack::after_a_kill] {
            for stack in &stacks {
                let mut samples = Samples::default();
                for _ in 0..rounds.clamp(1, MOST) {
                    samples.push(figure(stack, server)?);
                }
                cells.push(format!("{:>9.1}", millis(samples.median())));
            }
        }
        let groups: Vec<String> = cells
            .chunks(ALL.len())
            .map(|group| group.join("  "))
            .collect();
        say(&format!("  {:<12} {}", server.name, groups.join("   ")));
    }
    Ok(())
}

impl<'a> Stack<'a> {
    fn new(
        who: Who,
        workspace: &'a Path,
        (rivals, node): (&'a Path, &'a Path),
        servers: &[Real],
    ) -> anyhow::Result<Self> {
        let home = tempfile::Builder::new()
            .prefix("mux-bench-")
            .tempdir_in("/tmp")?;
        let (mut toml, mut entries) = (String::new(), serde_json::Map::new());
        let memory = home.path().join("memory.jsonl");
        for server in servers {
            let (name, program, args) = (server.name, &server.program, &server.args);
            toml += &format!(
                "[servers.{name}]\ncommand = {program:?}\nargs = {args:?}\nenv = {{ MEMORY_FILE_PATH = {memory:?}, HOME = {:?} }}\n",
                home.path()
            );
            let entry = json!({
                "command": program, "args": args, "lifecycle": "keep-alive",
                "env": { "MEMORY_FILE_PATH": memory },
            });
            entries.insert(name.to_owned(), entry);
        }
        fs::write(home.path().join("config.toml"), toml)?;
        let document = json!({ "mcpServers": entries });
        fs::write(home.path().join("mcp.json"), document.to_string())?;
        Ok(Self {
            who,
            home,
            workspace,
            rivals,
            node,
        })
    }

    /// Nothing of it runs, until the answer is there.
    fn cold(&self, server: &Real) -> anyhow::Result<Duration> {
        self.stop();
        let began = Instant::now();
        if self.who == Who::Mcpdo {
            self.run(&["connect", server.name])?;
        }
        self.call(server)?;
        Ok(began.elapsed())
    }

    fn warm(&self, server: &Real) -> anyhow::Result<Duration> {
        let began = Instant::now();
        self.call(server)?;
        Ok(began.elapsed())
    }

    fn after_a_kill(&self, server: &Real) -> anyhow::Result<Duration> {
        self.call(server)?;
        let program = server
            .program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let mut pids = process::mentioning(&self.home.path().to_string_lossy());
        pids.retain(|pid| process::command_line(*pid).contains(&*program));
        ensure!(!pids.is_empty(), "{:?} runs no {program}", self.who);
        for pid in pids {
            process::kill(pid);
            ensure!(process::wait_for_end(pid, GONE), "{pid} does not end");
        }
        let began = Instant::now();
        self.call(server)?;
        Ok(began.elapsed())
    }

    fn call(&self, server: &Real) -> anyhow::Result<()> {
        let arguments = server.arguments.to_string();
        let path = format!("{}.{}", server.name, server.tool);
        match self.who {
            Who::Muxd => self.run(&["call", &path, &arguments]),
            Who::Mcporter => self.run(&["call", &path, "--args", &arguments]),
            Who::Mcpdo => self.run(&[
                "--connection",
                server.name,
                "tools/call",
                server.tool,
                &arguments,
            ]),
        }
    }

    /// One whole command, which must succeed and say something.
    fn run(&self, args: &[&str]) -> anyhow::Result<()> {
        let output = self.command(args).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || said.trim().is_empty() || said.contains("\"error\"") {
            let complaint = String::from_utf8_lossy(&output.stderr);
            bail!(
                "{:?} {args:?}: {} {said:.500} {complaint:.500}",
                self.who,
                output.status
            );
        }
        Ok(())
    }

    fn command(&self, args: &[&str]) -> Command {
        let home = self.home.path();
        let config = home.join("mcp.json");
        let mut command = match self.who {
            Who::Muxd => Command::new(binary("mux")),
            Who::Mcporter | Who::Mcpdo => Command::new(self.node),
        };
        match self.who {
            Who::Muxd => {}
            Who::Mcporter => {
                command
                    .arg(self.rivals.join("mcporter"))
                    .arg("--config")
                    .arg(config);
            }
            Who::Mcpdo => {
                command.arg(self.rivals.join("mcpdo"));
                command
                    .env("MCP_CATALOG_PATH", config)
                    .env("MCP_INSPECTOR_SECRET_STORE", "memory");
            }
        }
        let node = self.node.parent().unwrap_or(self.node);
        command
            .args(args)
            .env_remove("XDG_RUNTIME_DIR")
            .env("MUX_HOME", home)
            .env("HOME", home)
            .env(
                "PATH",
                format!("{}:/usr/local/bin:/usr/bin:/bin", node.display()),
            )
            .current_dir(self.workspace)
            .stdin(Stdio::null());
        command
    }

    /// What does not run is stopped already.
    fn stop(&self) {
        let args: &[&str] = match self.who {
            Who::Muxd => &["stop", "--now"],
            Who::Mcporter | Who::Mcpdo => &["daemon", "stop"],
        };
        drop(self.command(args).output());
        // Servers that stay would be found warm, and counted for nobody.
        for pid in process::mentioning(&self.home.path().to_string_lossy()) {
            if !process::wait_for_end(pid, GONE / 5) {
                process::kill(pid);
            }
        }
    }
}

impl Drop for Stack<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

#[expect(clippy::print_stdout, reason = "figures are what it is for")]
fn say(line: &str) {
    println!("{line}");
}
