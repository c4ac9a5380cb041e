//! A client finds a daemon of another contract.

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    sync::{Arc, Mutex},
    thread,
};

use mux_proto::version;
use mux_tests::TestEnv;
use serde_json::{Value, json};

/// A daemon of another build, which answers only `hello` and `retire`.
struct Foreign(Arc<Mutex<Vec<String>>>);

impl Foreign {
    /// The daemon holds the lock of the home, and releases it and its socket when it is asked to retire.
    fn start(env: &TestEnv, contract: u32) -> Self {
        env.dirs.prepare().unwrap();
        let mut lock = fs::File::create(env.dirs.instance_lock()).unwrap();
        lock.lock().unwrap();
        let socket = env.dirs.socket();
        writeln!(lock, "{}", json!({ "pid": 1, "socket": socket })).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        let welcome = json!({ "contract": contract, "build": "9.9.9", "pid": 1, "features": [] });
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if serve(&mut stream.unwrap(), &welcome, &seen) {
                    break;
                }
            }
            fs::remove_file(socket).unwrap();
            drop((listener, lock));
        });
        Self(asked)
    }

    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Serves one connection to its end. Returns whether the daemon was asked to retire.
fn serve(stream: &mut UnixStream, welcome: &Value, seen: &Mutex<Vec<String>>) -> bool {
    while let Some(frame) = frame(stream) {
        let request = &frame["Request"];
        let Some((method, _)) = request["message"].as_object().and_then(|m| m.iter().next()) else {
            continue;
        };
        seen.lock().unwrap().push(method.clone());
        let answer = match method.as_str() {
            "Hello" => json!({ "Hello": { "Ok": welcome } }),
            "Retire" => json!({ "Retire": { "Ok": null } }),
            // An unknown method ends the connection.
            _ => return false,
        };
        let response = json!({ "request_id": request["id"], "message": { "Ok": answer } });
        let text = response.to_string();
        let length = u32::try_from(text.len()).unwrap();
        // The client may have disconnected.
        drop(stream.write_all(&length.to_be_bytes()));
        drop(stream.write_all(text.as_bytes()));
        if method == "Retire" {
            return true;
        }
    }
    false
}

fn frame(stream: &mut UnixStream) -> Option<Value> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[test]
fn daemon_of_another_contract_makes_room_for_the_current_one() {
    for contract in [version::CONTRACT - 1, version::CONTRACT + 1] {
        let env = TestEnv::with_fixtures(&[("fix", &[])]);
        let foreign = Foreign::start(&env, contract);
        assert_eq!(super::count(&env, "fix"), 1);
        assert_eq!(foreign.asked(), ["Hello", "Retire"], "{contract}");
        assert!(env.daemon().is_some());
    }
}
