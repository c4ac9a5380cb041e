//! Secrets of the user that no program has asked for: in the daemon's environment, in the file `env`, in
//! the environment of a server. They may be in the daemon, in its keeper and in that server, and nowhere
//! else.
//!
//! Invariant: the search finds what a program holds in plain and in 16-bit characters, so that finding
//! nothing means something.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use mux_tests::{Output, TestEnv, process};
use nix::libc;

/// What every secret of one test begins with: no other test and no binary holds it.
fn mark() -> String {
    format!(
        "canary-{:x}-{:?}",
        std::process::id(),
        std::time::Instant::now()
    )
    .chars()
    .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
    .collect()
}

/// As an engine keeps a string: one byte for each character, and two.
fn spellings(text: &str) -> [Vec<u8>; 2] {
    let wide = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    [text.as_bytes().to_vec(), wide]
}

#[expect(
    unsafe_code,
    reason = "hundreds of megabytes, in a build without optimisation"
)]
fn holds(bytes: &[u8], text: &[u8]) -> bool {
    // SAFETY: both pointers are of slices with these lengths, and the call only reads.
    let found = unsafe {
        libc::memmem(
            bytes.as_ptr().cast(),
            bytes.len(),
            text.as_ptr().cast(),
            text.len(),
        )
    };
    !found.is_null()
}

/// Everything that a process has written or may write, and what of its files it has in memory privately.
/// `None` if this user may not look.
fn memory(pid: i32) -> Option<Vec<u8>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let file = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut all = Vec::new();
    let mut piece = vec![0; 1 << 20];
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next()?, words.next()?);
        let (from, to) = range.split_once('-')?;
        let number = |hex| u64::from_str_radix(hex, 16).ok();
        let (mut from, to) = (number(from)?, number(to)?);
        // A file that nobody writes to in memory is what it is on disk.
        if !rights.starts_with('r') || (line.contains(" /") && !rights.contains('w')) {
            continue;
        }
        while from < to {
            let length = usize::try_from(to - from).unwrap_or(usize::MAX);
            let length = length.min(piece.len());
            // The process lives on: a piece may have gone since its line was written.
            let Ok(count @ 1..) = file.read_at(&mut piece[..length], from) else {
                break;
            };
            all.extend_from_slice(&piece[..count]);
            from += count as u64;
        }
    }
    Some(all)
}

fn named(pid: i32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
}

fn workers(env: &TestEnv) -> Vec<i32> {
    let mut children = process::descendants(env.daemon().unwrap());
    children.retain(|pid| named(*pid, "mux-worker"));
    children
}

/// Every file below a folder, but for those that the secrets were written to.
fn files(folder: &Path, but: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path(), but));
        } else if kind.is_file() && !but.contains(&entry.path()) {
            found.push(entry.path());
        }
    }
    found
}

/// A home whose daemon, and whose server `fix`, are told secrets.
fn home(mark: &str) -> TestEnv {
    let env = TestEnv::new();
    let secret = |name: &str| format!("{mark}-{name}");
    fs::write(
        env.dirs.env_file(),
        format!("MUX_TEST_TOKEN={}\n", secret("file")),
    )
    .unwrap();
    let variables = format!(
        "env = {{ PLAIN = \"{}\", NAMED = \"${{MUX_TEST_TOKEN}}\" }}\n",
        secret("entry")
    );
    let broken = mux_tests::env::server("broken", Path::new("/bin/false"), &[]);
    env.write_config(&format!(
        "{}{variables}{broken}{variables}",
        env.fixture("fix", &[])
    ));
    let mut start = env.command("mux");
    start
        .args(["run", "-e", "return 1"])
        .env("MUX_TEST_SECRET", secret("daemon"));
    mux_tests::env::output(&mut start).ok();
    env
}

fn holds_mark(bytes: &[u8], mark: &str) -> bool {
    spellings(mark).iter().any(|text| holds(bytes, text))
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a test that is left out must say so where people look"
)]
fn a_secret_is_in_no_worker_and_in_nothing_that_is_said_or_kept() {
    let mark = mark();
    let env = home(&mark);
    // It is where it belongs, or else this test says nothing.
    env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    let server = env.starts("fix")[0];
    for (pid, secret) in [
        (env.daemon().unwrap(), "daemon"),
        (server, "entry"),
        (server, "file"),
    ] {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
        let text = format!("{mark}-{secret}");
        assert!(
            holds(&environment, text.as_bytes()),
            "{secret} was not told"
        );
    }

    let says = |args: &[&str]| env.mux(["--json"].iter().chain(args));
    let mut said: Vec<Output> = vec![
        says(&["run", "-e", "return mux.fix.add({ a: 1, b: 2 })"]),
        says(&["run", "-e", "return mux.fix.fail({ message: 'no' })"]),
        says(&["run", "-e", "return mux.broken.anything()"]),
        says(&[
            "run",
            "-e",
            "return Object.keys(globalThis).concat(Object.keys(mux))",
        ]),
        says(&[
            "run",
            "-e",
            "console.log(mux, mux.fix); throw new Error('no')",
        ]),
        says(&["run", "-e", "const x: = 1"]),
        says(&["call", "broken.anything"]),
        says(&["status"]),
        says(&["servers"]),
        says(&["tools"]),
        says(&["logs"]),
        env.mux(["status"]),
        env.mux(["servers"]),
    ];

    // Programs that hold something, and wait while they are looked at.
    let narrow = format!("held-{mark}");
    let narrow = narrow.replace("canary", "control");
    let halves = narrow.split_at(narrow.len() / 2);
    let program = format!(
        "const narrow = ['{}', '{}'].join('');\n\
         const wide = narrow + String.fromCharCode(0x2603);\n\
         const kept = {{ narrow: narrow.split('').join(''), wide: wide.split('').join('') }};\n\
         console.log('it is held');\n\
         await mux.fix.barrier({{ name: 'looked', parties: 2 }});\n\
         return kept.narrow.length + kept.wide.length",
        halves.0, halves.1
    );
    let mut holder = env.begin(["run", "-e", &program]);
    holder.hear("it is held");
    let pids = workers(&env);
    assert!(!pids.is_empty(), "no worker to look at");
    let mut controls = [false; 2];
    for pid in pids {
        let Some(memory) = memory(pid) else {
            eprintln!("LEFT OUT: this user may not read the memory of worker {pid}");
            continue;
        };
        assert!(memory.len() > 1 << 20, "{} bytes of {pid}", memory.len());
        assert!(!holds_mark(&memory, &mark), "worker {pid} holds a secret");
        for (found, text) in controls.iter_mut().zip(spellings(&narrow)) {
            *found |= holds(&memory, &text);
        }
    }
    env.mux(["call", "fix.barrier", "name=looked", "parties=2"])
        .ok();
    said.push(holder.wait().ok());
    if nix::unistd::geteuid().is_root() {
        assert_eq!(controls, [true; 2], "what a program held was not found");
    }

    for output in said {
        assert_ne!(output.code, 2, "a command that does not exist: {output:?}");
        let text = format!("{output:?}");
        assert!(!holds_mark(text.as_bytes(), &mark), "{text}");
    }
    env.stop();
    let told = [env.dirs.config_file(), env.dirs.env_file()];
    let kept = files(env.home(), &told);
    assert!(!kept.is_empty(), "no file to look at");
    for file in kept {
        let bytes = fs::read(&file).unwrap();
        assert!(!holds_mark(&bytes, &mark), "{file:?} holds a secret");
    }
}
