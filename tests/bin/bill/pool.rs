//! Six real servers in their own home, which contains data to work on.

use std::{fmt::Write as _, fs, path::PathBuf};

use mux_tests::{
    TestEnv,
    env::{npm, pypi, server},
};

/// Log files of the task that calls once for each of them.
pub(crate) const FILES: usize = 40;
const SERVICES: &[&str] = &["billing", "search", "login", "mail", "stock"];

/// The servers, and the files that the tasks read.
pub(crate) struct ServerPool {
    pub(crate) env: TestEnv,
}

impl ServerPool {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let env = TestEnv::new();
        let home = env.home().display().to_string();
        let memory = format!("env = {{ MEMORY_FILE_PATH = \"{home}/memory.jsonl\" }}\n");
        env.write_config(
            &[
                server("everything", &npm("mcp-server-everything"), &["stdio"]),
                server("files", &npm("mcp-server-filesystem"), &[&home]),
                server("memory", &npm("mcp-server-memory"), &[]) + &memory,
                server("thinking", &npm("mcp-server-sequential-thinking"), &[]),
                server("git", &pypi("mcp-server-git"), &[]),
                server("time", &pypi("mcp-server-time"), &[]),
            ]
            .concat(),
        );
        let pool = Self { env };
        pool.fill()?;
        Ok(pool)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.env.path(name)
    }

    fn fill(&self) -> anyhow::Result<()> {
        fs::create_dir(self.path("logs"))?;
        for file in 0..FILES {
            fs::write(self.path(&format!("logs/node-{file}.log")), log(file, 40))?;
        }
        // About 4,000 tokens, and a megabyte.
        fs::write(self.path("service.log"), log(7, 130))?;
        fs::write(self.path("large.log"), log(8, 19_000))?;
        let mut orders = String::from("id,customer,item,amount\n");
        for order in 0..60 {
            let customer = ["Ada", "Grace", "Edsger", "Barbara"][order % 4];
            let amount = 10 + order * 37 % 90;
            writeln!(orders, "{order},{customer},item-{},{amount}", order % 7)?;
        }
        fs::write(self.path("orders.csv"), orders)?;
        fs::write(
            self.path("note.txt"),
            "Owner: Grace. Restart: systemctl restart billing.\n",
        )?;
        Ok(())
    }
}

/// Lines with a time, a level, a service, a request and a duration, the same in every run.
fn log(seed: usize, lines: usize) -> String {
    let mut text = String::new();
    for line in 0..lines {
        let n = (seed * 7919 + line * 104_729) % 100_003;
        let service = SERVICES[n % SERVICES.len()];
        let level = ["INFO", "INFO", "INFO", "WARN", "ERROR"][n / 7 % 5];
        let hour = line % 24;
        let took = 5 + n % 900;
        // Writing to a text cannot fail.
        _ = writeln!(
            text,
            "2026-11-{:02}T{hour:02}:{:02}:00Z {level} {service} /api/v1/{service}/{n} {took}ms",
            1 + seed % 28,
            n % 60
        );
    }
    text
}
