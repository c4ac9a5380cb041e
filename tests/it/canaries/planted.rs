//! A home in which every kind of secret has a unique text.

use std::{fs, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mux_client::{ClientIdentity, within_seconds};
use mux_proto::{LoginRequest, LoginWaitRequest};
use mux_tests::{
    Authority, Running, TestEnv,
    authority::browse,
    env::{binary, output, server},
};

use super::{
    memory::{holds, spellings},
    mirror::Mirror,
};

/// Named secrets, and the endings of their values.
const NAMED: [(&str, &str); 4] = [
    ("FIX_TOKEN", "named-env"),
    ("FAR_TOKEN", "named-header"),
    ("CLIENT_SECRET", "named-client"),
    ("API_KEY", "named-source"),
];

pub(super) struct Planted {
    pub(super) env: TestEnv,
    /// The prefix of every secret of this test, except for the authorization server's.
    mark: String,
    pub(super) authority: Authority,
    /// An API that repeats its requests.
    pub(super) mirror: Mirror,
    _far: Running,
    /// Files outside the home.
    pub(super) theirs: tempfile::TempDir,
}

impl Planted {
    pub(super) fn new() -> Self {
        let mark = format!(
            "canary-{:x}-{:?}",
            std::process::id(),
            std::time::Instant::now()
        );
        let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        let mark: String = mark.chars().filter(plain).collect();
        let secret = |name: &str| format!("{mark}-{name}");
        let env = TestEnv::new();
        let theirs = tempfile::tempdir().unwrap();
        env.dirs.prepare().unwrap();

        fs::write(
            env.path(".profile"),
            format!("export MUX_TEST_SHELL={}\n", secret("shell")),
        )
        .unwrap();
        fs::write(
            env.dirs.env_file(),
            format!(
                "MUX_TEST_TOKEN={}\nMUX_TEST_ARG={}\n",
                secret("file"),
                secret("arg")
            ),
        )
        .unwrap();
        let vault = theirs.path().join("vault");
        fs::write(&vault, secret("command")).unwrap();
        let api = theirs.path().join("api.json");
        fs::write(&api, API).unwrap();

        let authority = Authority::default();
        authority.change(|rules| rules.auth_methods = vec!["client_secret_basic"]);
        // A port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let redirect = format!("http://127.0.0.1:{port}/callback");
        authority.preregister("mine", Some(&secret("named-client")), &redirect);
        let docs = authority.server(
            "docs",
            &format!(
                "oauth = {{ client_id = \"mine\", client_secret = \"${{keyring:CLIENT_SECRET}}\", issuer = {:?}, port = {port} }}",
                authority.issuer()
            ),
        );

        let mut far = env.command("mux-fixture-server");
        far.args(["--http", "--name", "far"]);
        let mut far = Running::start(&mut far);
        let address = far.next_line_of_output();
        let remote = |name: &str, host: &str| {
            format!(
                "[servers.{name}]\nurl = \"http://me:{}@{host}/mcp?key={}\"\n\
                 headers = {{ X-Key = \"{}\", Authorization = \"Bearer ${{keyring:FAR_TOKEN}}\" }}\n",
                secret("password"),
                secret("query"),
                secret("header"),
            )
        };
        let variables = format!(
            "env = {{ PLAIN = \"{}\", FILE = \"${{MUX_TEST_TOKEN}}\", PROFILE = \"${{MUX_TEST_SHELL}}\", \
             COMMAND = \"${{cmd:cat {}}}\", KEYRING = \"${{keyring:FIX_TOKEN}}\" }}\n",
            secret("entry"),
            vault.display()
        );
        // The server prints its environment and arguments before it fails.
        let script = "env >&2; echo \"argument $0 $1\" >&2; exit 3";
        let echoes = server(
            "echoes",
            "/bin/sh".as_ref(),
            &[
                "-c",
                script,
                "${MUX_TEST_ARG}",
                &format!("--api-key={}", secret("literal")),
            ],
        );
        let source = format!(
            "[sources.api]\nopenapi = {api:?}\nheaders = {{ X-Api = \"{}\" }}\n\
             auth = {{ key = \"${{keyring:API_KEY}}\", login = {{ username = \"me\", password = \"{}\" }} }}\n",
            secret("source-header"),
            secret("source-password")
        );
        let mirror = Mirror::open();
        let described = theirs.path().join("mirror.json");
        fs::write(&described, mirror.description()).unwrap();
        let source = format!(
            "{source}[sources.mirror]\nopenapi = {described:?}\nheaders = {{ X-Mirror = \"{}\" }}\n\
             auth = {{ key = \"${{keyring:API_KEY}}\", login = \"me:{}\", query = \"{}\" }}\n",
            secret("mirror-header"),
            secret("mirror-password"),
            secret("mirror-query")
        );
        env.write_config(&format!(
            "{}{variables}{echoes}{variables}{docs}{}{}{source}\
             [[policy]]\nmatch = \"fix.counter\"\naction = \"deny\"\n",
            env.fixture("fix", &[]),
            remote("far", &format!("127.0.0.1:{}", address.trim())),
            remote("gone", "127.0.0.1:1"),
        ));

        // Log everything, and start the daemon with a secret in its environment.
        let mut start = env.command("mux");
        start
            .args(["run", "-e", "return 1"])
            .env("MUX_TEST_SECRET", secret("daemon"))
            .env("MUX_LOG", "trace");
        output(&mut start).ok();
        for (name, ending) in NAMED {
            env.mux_with_input(["secrets", "set", name], secret(ending).as_bytes())
                .ok();
        }
        Self {
            env,
            mark,
            authority,
            mirror,
            _far: far,
            theirs,
        }
    }

    /// Signs in to the server `docs`.
    pub(super) fn sign_in(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let identity = ClientIdentity::new("test", "0");
            let session =
                mux_client::connect_or_spawn(&self.env.dirs, Some(binary("muxd")), &identity);
            let session = session.await.unwrap();
            let server = "docs".into();
            let request = LoginRequest { server };
            let started = session.client.login(within_seconds(60), request);
            let started = started.await.unwrap().unwrap();
            let url = started.url.clone();
            tokio::task::spawn_blocking(move || browse(&url))
                .await
                .unwrap();
            let request = LoginWaitRequest {
                login: started.login,
                wait_ms: 30_000,
            };
            let state = session.client.login_wait(within_seconds(60), request);
            assert_eq!(state.await.unwrap().unwrap().tools, Some(3));
        });
    }

    /// One of the planted secrets.
    pub(super) fn secret(&self, name: &str) -> String {
        format!("{}-{name}", self.mark)
    }

    /// The login of `mirror`, as sent.
    pub(super) fn mirror_login(&self) -> String {
        STANDARD.encode(format!("me:{}", self.secret("mirror-password")))
    }

    /// A text like the secrets that is not one.
    pub(super) fn control(&self) -> String {
        format!("held-{}", self.mark.replace("canary", "control"))
    }

    /// The first secret found in the bytes, if any.
    pub(super) fn found_in(&self, bytes: &[u8]) -> Option<String> {
        let made = self.authority.secrets().into_iter();
        let mut all = made.chain([self.mark.clone(), self.mirror_login()]);
        all.find(|secret| spellings(secret).iter().any(|text| holds(bytes, text)))
    }

    /// The files that may contain secrets: those of the user, the store, and the log of a server that prints them.
    pub(super) fn may_hold(&self) -> [PathBuf; 5] {
        let dirs = &self.env.dirs;
        [
            dirs.config_file(),
            dirs.env_file(),
            self.env.path(".profile"),
            dirs.credentials(),
            dirs.server_log("echoes"),
        ]
    }
}

/// An OpenAPI description of one function that requires a key.
const API: &str = r#"{
  "openapi": "3.1.0",
  "info": { "title": "Api", "version": "1" },
  "servers": [{ "url": "http://127.0.0.1:1" }],
  "security": [{ "key": [] }],
  "paths": { "/ping": { "get": { "operationId": "ping", "responses": { "200": { "description": "ok" } } } } },
  "components": { "securitySchemes": {
    "key": { "type": "http", "scheme": "bearer" },
    "login": { "type": "http", "scheme": "basic" }
  } }
}"#;
