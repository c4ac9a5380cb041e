//! A daemon that answers each request with a prepared message.
//!
//! To clients it looks like a real one: it holds the lock of its home, listens on the home's socket, and implements the
//! frame protocol.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::PathBuf,
    process, thread,
};

use mux_proto::endpoint::{Dirs, Signature};
use serde_json::{Value, json};

/// The response to each method, by its name on the wire.
pub type Answers = BTreeMap<String, Value>;

/// Accepts connections until the process ends.
pub struct FakeDaemon {
    /// Keeps clients from starting a daemon.
    _lock: File,
    lock_path: PathBuf,
}

impl FakeDaemon {
    pub fn start(dirs: &Dirs, answers: Answers) -> Self {
        dirs.prepare().unwrap();
        let signature = Signature {
            pid: process::id(),
            socket: dirs.socket(),
        };
        let path = dirs.instance_lock();
        fs::write(&path, serde_json::to_string(&signature).unwrap()).unwrap();
        let lock = File::open(&path).unwrap();
        lock.try_lock().unwrap();
        let listener = UnixListener::bind(dirs.socket()).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let answers = answers.clone();
                thread::spawn(move || serve(stream, &answers));
            }
        });
        Self {
            _lock: lock,
            lock_path: path,
        }
    }
}

impl Drop for FakeDaemon {
    fn drop(&mut self) {
        // The lock names this process, and `TestEnv` would kill it.
        fs::remove_file(&self.lock_path).unwrap();
    }
}

/// Answers requests until the client disconnects.
fn serve(mut stream: UnixStream, answers: &Answers) {
    while let Some(frame) = receive(&mut stream) {
        let request: Value = serde_json::from_slice(&frame).unwrap();
        // Any other frame cancels a request that was answered already.
        let Some(message) = request["Request"]["message"].as_object() else {
            continue;
        };
        let method = message.keys().next().unwrap();
        let answer = answers
            .get(method)
            .unwrap_or_else(|| panic!("no answer to {method}"));
        let id = &request["Request"]["id"];
        let frame = json!({ "request_id": id, "message": { "Ok": { method: answer } } });
        let frame = frame.to_string();
        let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
        // The client may have disconnected.
        if stream.write_all(&length).is_err() || stream.write_all(frame.as_bytes()).is_err() {
            return;
        }
    }
}

fn receive(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame).ok()?;
    Some(frame)
}
