//! A server of ours that tries everything gets nothing.

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
};

use mux_tests::TestEnv;

use super::{attempt, has_bubblewrap, server};

/// What is worth attacking, around one home.
struct AttackTargets {
    tcp: TcpListener,
    udp: UdpSocket,
    abstract_name: String,
    /// Kept open.
    _sockets: [UnixListener; 2],
}

impl AttackTargets {
    fn new(env: &TestEnv) -> Self {
        fs::create_dir_all(env.path(".ssh")).unwrap();
        fs::write(env.path(".ssh/id_ed25519"), "a key").unwrap();
        let bus = UnixListener::bind(env.path("bus")).unwrap();
        let abstract_name = format!("mux-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp,
            abstract_name,
            _sockets: [bus, UnixListener::bind_addr(&address).unwrap()],
        }
    }

    /// Each attempt with its target.
    fn attempts(&self, env: &TestEnv) -> Vec<(&'static str, String)> {
        let home = env.home().display();
        let daemon = env.daemon().unwrap();
        let tcp = self.tcp.local_addr().unwrap();
        let udp = self.udp.local_addr().unwrap();
        vec![
            ("read", format!("{home}/.ssh/id_ed25519")),
            ("read", format!("{home}/config.toml")),
            ("list", format!("{home}/state")),
            ("write", format!("{home}/config.toml.new")),
            ("write", escaped()),
            ("environ", String::new()),
            ("read", format!("/proc/{daemon}/cmdline")),
            ("unix", env.dirs.socket().display().to_string()),
            ("unix", format!("{home}/bus")),
            ("abstract", self.abstract_name.clone()),
            ("tcp", tcp.to_string()),
            ("udp", udp.to_string()),
            ("kill", daemon.to_string()),
            ("kill", std::process::id().to_string()),
        ]
    }
}

/// A file outside of the home.
fn escaped() -> String {
    format!("/tmp/mux-escaped-{}", std::process::id())
}

/// The attempts that get through for this server, without those that write where nobody else sees it.
fn met(env: &TestEnv, targets: &AttackTargets) -> Vec<String> {
    let attempts = targets.attempts(env);
    let met = attempts.iter().map(|(what, target)| {
        let met = attempt(env, what, target);
        let outside = match *what {
            // A private folder takes it, and nothing of it is outside.
            "write" => fs::exists(target).unwrap(),
            // Sent within a network of its own, it reaches nobody. Elsewhere it was here before the answer.
            "udp" => targets.udp.recv(&mut [0; 8]).is_ok(),
            _ => met.starts_with("got through"),
        };
        fs::remove_file(escaped()).ok();
        (outside, format!("{what} {target}: {met}"))
    });
    met.filter(|(outside, _)| *outside)
        .map(|(_, met)| met)
        .collect()
}

fn home(sandbox: &str) -> TestEnv {
    let env = TestEnv::new();
    let victim = env.fixture("victim", &[]);
    let config = format!(
        "{victim}env = {{ SECRET = \"of another server\" }}\nstart = \"eager\"\nshare = \"user\"\n{}",
        server(sandbox)
    );
    env.write_config(&config);
    env.mux(["call", "victim.echo", "text=here"]).ok();
    env
}

#[test]
fn hostile_server_gets_nothing_of_the_user() {
    if !has_bubblewrap() {
        return;
    }
    let bare = home("false");
    let targets = AttackTargets::new(&bare);
    let possible = met(&bare, &targets).len();
    assert_eq!(possible, targets.attempts(&bare).len());
    drop(targets);

    let env = home("{}");
    let targets = AttackTargets::new(&env);
    assert_eq!(met(&env, &targets), [""; 0]);
    for (what, target) in [
        ("resolve", "example.com"),
        ("ptrace", "1"),
        ("io_uring", ""),
        ("userns", ""),
        ("fill_disk", "/tmp/fill"),
    ] {
        let met = attempt(&env, what, target);
        assert!(met.starts_with("refused"), "{what}: {met}");
    }
}

#[test]
fn hostile_server_without_namespaces_still_gets_no_file_socket_or_process() {
    // As on a machine without bubblewrap.
    let env = home("{}");
    let path = env.path("bin");
    fs::create_dir(&path).unwrap();
    env.mux(["stop"]).ok();
    let mut start = env.command("mux");
    start.env("PATH", &path).args(["servers"]);
    assert!(start.status().unwrap().success());
    let targets = AttackTargets::new(&env);
    // The list of processes is not hidden without namespaces; their memory and environment are.
    let found = met(&env, &targets);
    let daemon = format!("read /proc/{}/cmdline", env.daemon().unwrap());
    assert!(
        found.iter().all(|met| met.starts_with(&daemon)),
        "{found:#?}"
    );
}

#[test]
fn server_that_exceeds_a_limit_is_ended_and_the_error_says_so() {
    if !has_bubblewrap() {
        return;
    }
    for (sandbox, what, key) in [
        ("{ processes = 40 }", "fork", "sandbox.processes"),
        ("{ memory = \"64MiB\" }", "fill_memory", ""),
    ] {
        let env = TestEnv::new();
        env.write_config(&server(sandbox));
        let arguments = format!("{{\"what\":\"{what}\"}}");
        let output = env.mux(["call", "box.attempt", &arguments]);
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(!text.contains("got through"), "{what}: {text}");
        assert!(text.contains(key), "{what}: {text}");
    }
}
