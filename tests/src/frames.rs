//! A client of the daemon's socket without the client library: frames of JSON, or of arbitrary bytes.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};

/// The timeout of one read or write. Longer than every timeout of the daemon for a connection, on a busy machine too.
const HANG_TIMEOUT: Duration = Duration::from_mins(1);

/// One connection to a daemon, without the client library.
pub struct Wire {
    stream: UnixStream,
    next: u64,
}

/// The end of the stream instead of a frame.
#[derive(Debug, PartialEq)]
pub enum Silence {
    /// The daemon has closed the connection.
    Closed,
    /// The connection was closed in the middle of a frame.
    Torn,
}

impl Wire {
    /// Connects without sending anything.
    pub fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(HANG_TIMEOUT)).unwrap();
        Self { stream, next: 1 }
    }

    /// Connects and sends `Hello`.
    pub fn greeted(socket: &Path) -> Self {
        let mut wire = Self::connect(socket);
        let answer = wire.call(&hello(1));
        assert!(
            answer["message"]["Ok"]["Hello"]["Ok"].is_object(),
            "{answer}"
        );
        wire
    }

    /// Sends one request and waits for the next frame.
    pub fn call(&mut self, message: &Value) -> Value {
        self.ask(message);
        self.answer().unwrap()
    }

    /// Like [`call`](Self::call), or `None` if the daemon closes the connection instead.
    pub fn try_call(&mut self, message: &Value) -> Option<Value> {
        self.try_ask(message).ok()?;
        self.answer().ok()
    }

    /// Sends one request.
    pub fn ask(&mut self, message: &Value) {
        self.try_ask(message).unwrap();
    }

    fn try_ask(&mut self, message: &Value) -> io::Result<()> {
        let request = request(self.next, message);
        self.next += 1;
        self.send(request.to_string().as_bytes())
    }

    /// Sends one frame, preceded by its length.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).unwrap();
        self.send_bytes(&length.to_be_bytes())?;
        self.send_bytes(frame)
    }

    /// Sends raw bytes. Fails if the daemon closes the connection before it has read them all.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Shuts down the sending side.
    pub fn finish(&mut self) {
        // The daemon may have closed it already.
        drop(self.stream.shutdown(Shutdown::Write));
    }

    /// Waits for the next frame.
    pub fn answer(&mut self) -> Result<Value, Silence> {
        let bytes = self.answer_bytes()?;
        Ok(serde_json::from_slice(&bytes).unwrap())
    }

    pub fn answer_bytes(&mut self) -> Result<Vec<u8>, Silence> {
        let mut length = [0; 4];
        match self.fill(&mut length) {
            0 => return Err(Silence::Closed),
            4 => {}
            _ => return Err(Silence::Torn),
        }
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        if self.fill(&mut frame) == frame.len() {
            Ok(frame)
        } else {
            Err(Silence::Torn)
        }
    }

    /// All remaining frames until the daemon closes the connection.
    #[track_caller]
    pub fn rest(&mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            match self.answer() {
                Ok(frame) => frames.push(frame),
                Err(Silence::Closed) => return frames,
                Err(Silence::Torn) => panic!("a torn frame after {frames:?}"),
            }
        }
    }

    /// Fills the buffer, and returns how many bytes were read before the end of the stream.
    fn fill(&mut self, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.stream.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                // The daemon closed the connection before it had read everything.
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => break,
                Err(e) => panic!("the daemon neither answered nor hung up: {e}"),
            }
        }
        filled
    }
}

/// The envelope of a request, with zeros as trace ids.
pub fn request(id: u64, message: &Value) -> Value {
    json!({ "Request": {
        "context": {
            "deadline": { "secs": 30, "nanos": 0 },
            "trace_context": {
                "trace_id": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                "span_id": 0,
                "sampling_decision": "Unsampled",
            },
        },
        "id": id,
        "message": message,
    }})
}

/// The first message of a client of this protocol version.
pub fn hello(contract: u32) -> Value {
    let client = json!({ "name": "test", "version": "0" });
    json!({ "Hello": { "hello": { "contract": contract, "build": "test", "client": client } } })
}
