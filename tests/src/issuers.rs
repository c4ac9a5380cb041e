//! Authorization servers that others wrote, with the small programs of `tests/issuers` that configure them.
//!
//! Invariant: the program of an [`Issuer`] has exited, and its state is deleted, when it is dropped.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{Running, authority::visit, clients::node, editors::source, env::variable, left_out};

/// The folder where `scripts/setup` installed the stacks.
const FOLDER: &str = "MUX_TEST_ISSUERS";

/// An authorization server of others.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// The name in tables.
    pub name: &'static str,
    /// The program in `tests/issuers`.
    program: &'static str,
    /// Installed only by `scripts/issuers`.
    is_scripted: bool,
}

pub const OIDC_PROVIDER: Stack = stack("oidc-provider", "oidc-provider.mjs");
pub const TYPESCRIPT_SDK: Stack = stack("TypeScript SDK", "typescript-sdk.mjs");
pub const PYTHON_SDK: Stack = stack("Python SDK", "python-sdk.py");
pub const FAST_MCP: Stack = stack("FastMCP", "fast_mcp.py");
pub const AUTHLIB: Stack = stack("Authlib", "authlib_flask.py");

pub const BETTER_AUTH: Stack = scripted("better-auth", "better-auth.mjs");
pub const WORKERS_OAUTH_PROVIDER: Stack =
    scripted("workers-oauth-provider", "workers-oauth-provider.mjs");
pub const DJANGO_OAUTH_TOOLKIT: Stack = scripted("django-oauth-toolkit", "django_oauth_toolkit.py");

const fn stack(name: &'static str, program: &'static str) -> Stack {
    Stack {
        name,
        program,
        is_scripted: false,
    }
}

const fn scripted(name: &'static str, program: &'static str) -> Stack {
    Stack {
        is_scripted: true,
        ..stack(name, program)
    }
}

impl Stack {
    fn folder(self) -> Result<PathBuf, String> {
        let hint = if self.is_scripted {
            "scripts/issuers"
        } else {
            "scripts/setup --issuers"
        };
        let missing = || format!("it is not installed ({hint})");
        let folder = PathBuf::from(variable(FOLDER).ok_or_else(missing)?);
        let folder = if self.is_scripted {
            folder.join("more")
        } else {
            folder
        };
        let packages = if self.is_python() {
            folder.join("py")
        } else {
            folder.join("node_modules")
        };
        if packages.exists() {
            Ok(folder)
        } else {
            Err(missing())
        }
    }

    fn is_python(self) -> bool {
        Path::new(self.program)
            .extension()
            .is_some_and(|e| e == "py")
    }
}

/// A running stack: an authorization server and two MCP servers behind it, `one` and `two`.
pub struct Issuer {
    stack: Stack,
    args: Vec<String>,
    ports: [u16; 3],
    /// Copies of the programs, beside which their packages are found.
    programs: tempfile::TempDir,
    running: Option<Running>,
    /// The line that the program printed: its URLs.
    urls: Value,
}

impl Issuer {
    /// Starts a stack with options of its program. `None`, after a message, if the stack is not installed.
    #[track_caller]
    pub fn start(stack: Stack, args: &[&str]) -> Option<Self> {
        let folder = match stack.folder() {
            Ok(folder) => folder,
            // CI does not install it: scripts/issuers runs its tests.
            Err(_) if stack.is_scripted => return None,
            Err(why) => {
                left_out(stack.name, &why);
                return None;
            }
        };
        let programs = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(source("tests/issuers")).unwrap().flatten() {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), programs.path().join(entry.file_name())).unwrap();
            }
        }
        for packages in ["node_modules", "py"] {
            symlink(folder.join(packages), programs.path().join(packages)).unwrap();
        }
        let mut issuer = Self {
            stack,
            args: args.iter().copied().map(str::to_owned).collect(),
            ports: free_ports(),
            programs,
            running: None,
            urls: Value::Null,
        };
        issuer.restart();
        Some(issuer)
    }

    /// Ends the program and starts it on the same ports, without anything that it knew: clients, logins, tokens.
    #[track_caller]
    pub fn restart(&mut self) {
        self.running = None;
        let program = if self.stack.is_python() {
            self.programs.path().join("py/bin/python")
        } else {
            node()
        };
        let ports = self.ports.map(|port| port.to_string()).join(",");
        let mut command = Command::new(program);
        command
            .arg(self.programs.path().join(self.stack.program))
            .args(["--ports", &ports])
            .args(&self.args)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let mut running = Running::start(&mut command);
        let line = running.next_line_of_output();
        let Ok(urls) = serde_json::from_str(&line) else {
            panic!(
                "{} did not start: {line:?} {:#?}",
                self.stack.name,
                running.wait()
            );
        };
        self.urls = urls;
        self.running = Some(running);
    }

    pub fn stack(&self) -> Stack {
        self.stack
    }

    pub fn url(&self) -> &str {
        self.urls["issuer"].as_str().unwrap()
    }

    /// `[servers.NAME]` for `one` or `two`, with `more` lines.
    pub fn server(&self, name: &str, more: &str) -> String {
        format!(
            "[servers.{name}]\nurl = {}\ncalls_at_once = 20\n{more}\n",
            self.urls[name]
        )
    }

    /// Expires every access token that an MCP server has seen. Refresh tokens stay valid.
    pub fn expire(&self) {
        self.control("expire");
    }

    /// How often an event happened: `register`, `code`, `refresh`.
    pub fn count(&self, what: &str) -> u64 {
        self.control("")[what].as_u64().unwrap()
    }

    /// The refusals of the issuer, in its own words.
    pub fn refusals(&self) -> Vec<String> {
        serde_json::from_value(self.control("")["refused"].take()).unwrap()
    }

    fn control(&self, path: &str) -> Value {
        let page = visit(
            "GET",
            &format!("{}/{path}", self.urls["control"].as_str().unwrap()),
        );
        serde_json::from_str(&page.text).unwrap_or_else(|e| panic!("{e}: {page:?}"))
    }
}

/// Ports that were free a moment ago.
pub fn free_ports() -> [u16; 3] {
    let bound = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    bound.map(|listener| listener.local_addr().unwrap().port())
}
