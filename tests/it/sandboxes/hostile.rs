//! A fixture server that tries every attack fails at each.

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::{MetadataExt as _, symlink},
            net::{SocketAddr, UnixListener},
        },
    },
    path::Path,
};

use mux_tests::TestEnv;

use super::{attempt, has_bubblewrap, server};

/// The targets of attacks, around one home.
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

/// The attempts that succeed for this server, except for writes that nobody else can see.
fn met(env: &TestEnv, targets: &AttackTargets) -> Vec<String> {
    let attempts = targets.attempts(env);
    let met = attempts.iter().map(|(what, target)| {
        let met = attempt(env, what, target);
        let outside = match *what {
            // A private folder receives the file, and no part of it is outside.
            "write" => fs::exists(target).unwrap(),
            // Within a separate network, the packet reaches nobody. Otherwise it arrived here before the
            // answer.
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
    // The process that made the sandbox reveals nothing about its surroundings.
    let script = "tr '\\0' ' ' < /proc/1/cmdline; ls -l /proc/self/fd /proc/1/fd 2>&1; true";
    let told = attempt(&env, "sh", script);
    assert!(told.contains("bwrap --args"), "{told}");
    assert!(!told.contains(env.home().to_str().unwrap()), "{told}");
    assert!(!told.contains("memfd"), "{told}");
}

#[test]
fn server_that_may_read_everything_does_not_see_muxds_own_folders() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    let other = tempfile::tempdir().unwrap();
    let file = other.path().join("own.txt").display().to_string();
    fs::write(&file, "text").unwrap();
    env.write_config(&server("{ read = [\"/\"] }"));
    assert_eq!(attempt(&env, "read", &file), "got through: 4 bytes");
    assert!(attempt(&env, "write", &file).starts_with("refused"));
    // The configuration is in the home of this test, which is hidden with it.
    let home = env.home().display().to_string();
    let listed = attempt(&env, "list", &home);
    assert!(!listed.contains("config.toml"), "{listed}");
    for own in ["state", "run"] {
        let folder = env.path(own).display().to_string();
        assert_eq!(attempt(&env, "list", &folder), "got through: ", "{own}");
    }
}

/// As on a machine without bubblewrap.
fn without_bubblewrap(env: &TestEnv) {
    let path = env.path("empty-path");
    fs::create_dir(&path).unwrap();
    env.mux(["stop"]).ok();
    let mut start = env.command("mux");
    start.env("PATH", &path).args(["servers"]);
    assert!(start.status().unwrap().success());
}

/// The attributes of a file that others see.
fn looks(path: &Path) -> (u32, u32, u32, i64, i64) {
    let found = fs::symlink_metadata(path).unwrap();
    // Every change of a file's metadata, also of its attributes, sets this time.
    let changed = found.ctime() * 1_000_000_000 + found.ctime_nsec();
    (
        found.mode(),
        found.uid(),
        found.gid(),
        found.mtime(),
        changed,
    )
}

#[test]
fn server_without_namespaces_changes_modes_times_and_attributes_only_where_it_may_write() {
    let home = |sandbox: &str| {
        let env = TestEnv::new();
        for (folder, file) in [(".ssh", "id"), ("notes", "read"), ("mine", "own")] {
            fs::create_dir_all(env.path(folder)).unwrap();
            fs::write(env.path(folder).join(file), "text").unwrap();
        }
        symlink("../.ssh/id", env.path("mine/link")).unwrap();
        env.write_config(&server(sandbox));
        env
    };
    let tried = |env: &TestEnv, path: &str| {
        let target = env.path(path).display().to_string();
        attempt(env, "metadata", &target)
    };
    let bare = home("false");
    let possible = tried(&bare, "mine/own");
    assert!(possible.contains("fchmodat") && possible.contains("utimensat"));

    let env = home("{ read = [\"~/notes\"], write = [\"~/mine\"] }");
    without_bubblewrap(&env);
    // The daemon itself changes its state.
    let outside = [".ssh/id", ".ssh", "config.toml", "notes/read"].map(|it| env.path(it));
    let before = outside.clone().map(|path| looks(&path));
    for path in [
        ".ssh/id",
        ".ssh",
        "config.toml",
        "state",
        "mine/link",
        "mine/../.ssh/id",
    ] {
        // The link itself is the server's own.
        let met = tried(&env, path);
        let of_link = ["fchownat", "lchown"];
        let calls = met.strip_prefix("got through: ").unwrap_or_default();
        let other = calls
            .split(' ')
            .find(|call| !call.is_empty() && !of_link.contains(call));
        assert!(other.is_none(), "{path}: {met}");
        assert!(
            path == "mine/link" || met.starts_with("refused"),
            "{path}: {met}"
        );
    }
    // Files that it may read can be watched, and stay unchanged.
    assert_eq!(tried(&env, "notes/read"), "got through: inotify");
    assert_eq!(outside.map(|path| looks(&path)), before);
    assert_eq!(tried(&env, "mine/own"), possible);
    // As programs do it, by other names of the same file.
    let own = env.path("mine").display().to_string();
    let script = format!(
        "cd {own} && chmod 600 own && touch -d @5 ./own && cp -p own copy && stat -c '%a %Y' copy"
    );
    assert_eq!(attempt(&env, "sh", &script), "got through: 600 5");
    let script = format!("exec 3<{own}/own; chmod 640 /proc/self/fd/3; stat -c %a {own}/own");
    assert_eq!(attempt(&env, "sh", &script), "got through: 640");
    let missing = attempt(&env, "sh", &format!("chmod 600 {own}/none"));
    assert!(missing.contains("No such file"), "{missing}");
}

#[test]
fn no_server_makes_a_set_user_id_file() {
    for namespaces in [true, false] {
        if namespaces && !has_bubblewrap() {
            continue;
        }
        let env = TestEnv::new();
        fs::create_dir(env.path("mine")).unwrap();
        let target = env.path("mine/file").display().to_string();
        env.write_config(&server("false"));
        let possible = attempt(&env, "set_id", &target);
        assert!(possible.contains("fchmodat2"), "{possible}");
        for file in ["mine/file", "mine/file.new"] {
            fs::remove_file(env.path(file)).unwrap();
        }
        env.write_config(&server("{ write = [\"~/mine\"] }"));
        env.mux(["reload"]).ok();
        if !namespaces {
            without_bubblewrap(&env);
        }
        assert_eq!(attempt(&env, "set_id", &target), "refused: every call");
        assert_eq!(looks(&env.path("mine/file")).0 & 0o4000, 0);
        assert!(!env.path("mine/file.new").exists());
        // Folders that a group shares have the group's bit, and git sets it on the folders that it creates.
        let mine = env.path("mine").display().to_string();
        let script =
            format!("mkdir {mine}/shared && chmod 2775 {mine}/shared && stat -c %a {mine}/shared");
        assert_eq!(attempt(&env, "sh", &script), "got through: 2775");
    }
}

#[test]
fn hostile_server_without_namespaces_still_gets_no_file_socket_or_process() {
    let env = home("{}");
    without_bubblewrap(&env);
    let targets = AttackTargets::new(&env);
    // The list of processes is not hidden without namespaces. Their memory and environment are.
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
