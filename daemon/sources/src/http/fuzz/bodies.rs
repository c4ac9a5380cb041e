//! Bodies of responses: in any pieces, framing and compression, cut, damaged, and of any media type and character set.

use std::{
    fmt::Write as _,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use mux_chance::{
    broken,
    damage::{Damage, cuts, damage, damaged, pieces},
    holds, json,
};
use mux_http::http_client::client_builder;
use mux_settings::NetworkSettings;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
use tokio::runtime;

use super::super::{
    api_response::{ApiResponse, MAX_RESPONSE_BYTES, ResponseReadError},
    tests::{api, get},
};

/// The responses of [`Server`], in pieces. After the last, the connection ends.
type Prepared = Arc<Mutex<Vec<Vec<u8>>>>;

/// A server that answers every request with the prepared response.
struct Server {
    address: SocketAddr,
    prepared: Prepared,
    client: reqwest::Client,
    runtime: runtime::Runtime,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let prepared = Prepared::default();
        let answers = Arc::clone(&prepared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut request = Vec::new();
                let mut part = [0; 1024];
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read(&mut part).unwrap() {
                        0 => break,
                        count => request.extend_from_slice(&part[..count]),
                    }
                }
                let pieces = answers.lock().unwrap().clone();
                // The client may have refused the response before its end.
                let _written = pieces.iter().try_for_each(|piece| stream.write_all(piece));
            }
        });
        let client = client_builder(&NetworkSettings::default(), None).unwrap();
        Self {
            address,
            prepared,
            client: client
                .no_proxy()
                .timeout(Duration::from_secs(30))
                .build()
                .unwrap(),
            runtime: runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    /// The response as read, or the reason it cannot be read.
    fn read(&self, pieces: Vec<Vec<u8>>) -> Result<ApiResponse, String> {
        *self.prepared.lock().unwrap() = pieces;
        let url = format!("http://{}/", self.address);
        self.runtime.block_on(async {
            let response = self.client.get(url).send().await;
            let response = response.map_err(|error| error.to_string())?;
            ApiResponse::read(response)
                .await
                .map_err(|error| match error {
                    ResponseReadError::TooLong => "too long".to_owned(),
                    ResponseReadError::TooMany => "too many values".to_owned(),
                    ResponseReadError::Broken(error) => error.to_string(),
                    ResponseReadError::Encoded(encoding) => format!("encoded with {encoding}"),
                })
        })
    }
}

/// The way in which a body's length is conveyed.
#[derive(Clone, Copy, Debug)]
enum Framing {
    Length,
    Chunked,
    End,
}

/// The compression of a body, and its form in the header.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Encoding {
    Plain,
    Gzip(&'static str),
    Deflate,
    Brotli,
    Zstd,
}

impl Encoding {
    fn header(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip(word) => Some(word),
            Self::Deflate => Some("deflate"),
            Self::Brotli => Some("br"),
            Self::Zstd => Some("zstd"),
        }
    }

    fn encode(self, body: &[u8]) -> Vec<u8> {
        match self {
            Self::Plain => body.to_vec(),
            Self::Gzip(_) => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(body).unwrap();
                encoder.finish().unwrap()
            }
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(body).unwrap();
                encoder.finish().unwrap()
            }
            // One uncompressed block, and an empty last block.
            Self::Brotli if body.is_empty() => vec![0x3b],
            Self::Brotli => {
                let length = u32::try_from(body.len() - 1).unwrap();
                let head = 0x0b | length << 7 | 1 << 23;
                [&head.to_le_bytes()[..3], body, &[0x03]].concat()
            }
            // A frame of one uncompressed block, with the length in four bytes.
            Self::Zstd => {
                let length = u32::try_from(body.len()).unwrap();
                let magic = [0x28, 0xb5, 0x2f, 0xfd, 0xa0];
                let block = (length << 3 | 1).to_le_bytes();
                [&magic[..], &length.to_le_bytes(), &block[..3], body].concat()
            }
        }
    }
}

fn encoding() -> impl Strategy<Value = Encoding> {
    select(
        &[
            Encoding::Plain,
            Encoding::Gzip("gzip"),
            Encoding::Gzip("x-gzip"),
            Encoding::Gzip("GZIP"),
            Encoding::Deflate,
            Encoding::Brotli,
            Encoding::Zstd,
        ][..],
    )
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => json::value().prop_map(|value| value.to_string().into_bytes()),
        2 => ("[ -~\u{e9}\n]{0,40}", 1..200_usize).prop_map(|(text, times)| text.repeat(times).into_bytes()),
        1 => vec(any::<u8>(), 0..300),
    ]
}

/// A response, cut into pieces.
fn response(
    media: Option<&str>,
    encoding: Option<&str>,
    framing: Framing,
    body: &[u8],
    cuts: &[Index],
) -> Vec<Vec<u8>> {
    let mut head = "HTTP/1.1 200 OK\r\nConnection: close\r\n".to_owned();
    if let Some(media) = media {
        _ = write!(head, "Content-Type: {media}\r\n");
    }
    if let Some(encoding) = encoding {
        _ = write!(head, "Content-Encoding: {encoding}\r\n");
    }
    let parts = pieces(body, cuts);
    match framing {
        Framing::Length => _ = write!(head, "Content-Length: {}\r\n\r\n", body.len()),
        Framing::Chunked => head.push_str("Transfer-Encoding: chunked\r\n\r\n"),
        Framing::End => head.push_str("\r\n"),
    }
    let mut written = vec![head.into_bytes()];
    for part in parts {
        match framing {
            Framing::Chunked if part.is_empty() => {}
            Framing::Chunked => {
                let length = format!("{:x}\r\n", part.len());
                written.push([length.as_bytes(), part, b"\r\n"].concat());
            }
            Framing::Length | Framing::End => written.push(part.to_vec()),
        }
    }
    if matches!(framing, Framing::Chunked) {
        written.push(b"0\r\n\r\n".to_vec());
    }
    written
}

fn framing() -> impl Strategy<Value = Framing> {
    select(&[Framing::Length, Framing::Chunked, Framing::End][..])
}

#[test]
fn fuzz_body_is_read_whole_in_any_pieces_or_not_at_all() {
    let server = Server::start();
    let values = (
        body(),
        encoding(),
        framing(),
        cuts(),
        any::<Index>(),
        vec(damage(), 0..3),
    );
    holds(
        "bodies",
        60,
        values,
        |(body, encoding, framing, cuts, cut, damages): (_, _, _, _, _, Vec<Damage>)| {
            let text = Some("text/plain");
            let encoded = encoding.encode(&body);
            let whole = server.read(response(text, encoding.header(), framing, &encoded, &cuts));
            let whole = whole.map_err(|why| broken(format!("{encoding:?} {framing:?}: {why}")))?;
            prop_assert_eq!(&whole.body, &body, "{:?} {:?}", encoding, framing);
            if encoding == Encoding::Plain {
                return Ok(());
            }
            // Only the end of a compressed body shows that it ended early.
            let short = &encoded[..cut.index(encoded.len())];
            if let Ok(read) = server.read(response(text, encoding.header(), framing, short, &cuts))
            {
                let is_empty = short.is_empty() && read.body.is_empty();
                prop_assert!(
                    is_empty || read.body == body,
                    "{} of {} bytes of {encoding:?} are read as {} of {}",
                    short.len(),
                    encoded.len(),
                    read.body.len(),
                    body.len()
                );
            }
            let damaged = damaged(encoded, &damages);
            if let Ok(read) =
                server.read(response(text, encoding.header(), framing, &damaged, &cuts))
            {
                prop_assert!(read.body.len() <= MAX_RESPONSE_BYTES);
            }
            Ok(())
        },
    );
}

const MEDIA: &[&str] = &[
    "application/json",
    "text/plain",
    "text/html; charset=utf-8",
    "text/plain; charset=\"latin1\"",
    "text/csv;charset=utf-16",
    "application/problem+json",
    "application/x-ndjson",
    "image/png",
    "audio/ogg",
    "application/octet-stream",
    "nonsense",
    "TEXT/PLAIN ; CHARSET = utf-8",
    "text/plain; charset=",
    "text/plain; charset=x;charset=utf-8",
    "/",
    ";",
    "text/",
    "application/xml",
    "text/event-stream",
    "multipart/form-data; boundary=x",
];

#[test]
fn fuzz_any_body_of_any_media_type_gives_a_result() {
    let server = Server::start();
    let api = api("https://api.example");
    let request = get("/");
    let encodings = select(
        &[
            "",
            "utf-8",
            "identity",
            "none",
            "x",
            "gzip, gzip",
            "br",
            "zstd",
        ][..],
    );
    let values = (
        body(),
        proptest::option::of(select(MEDIA)),
        encodings,
        framing(),
        cuts(),
    );
    holds(
        "bodies_results",
        100,
        values,
        |(body, media, encoding, framing, cuts)| {
            let encoding = Some(encoding).filter(|encoding| !encoding.is_empty());
            let whole = server.read(response(media, encoding, framing, &body, &[]));
            let cut = server.read(response(media, encoding, framing, &body, &cuts));
            let (Ok(whole), Ok(cut)) = (&whole, &cut) else {
                // Bytes after the end of compressed data are an error only if they come in a separate piece.
                let is_decoded = matches!(encoding, Some("br" | "zstd"));
                prop_assert!(
                    is_decoded || whole.is_err() == cut.is_err(),
                    "only in some pieces"
                );
                return Ok(());
            };
            prop_assert_eq!(&whole.body, &cut.body);
            let result = api.result(&request, whole);
            prop_assert_eq!(&result, &api.result(&request, cut));
            let blocks = result["content"].as_array();
            let blocks = blocks.ok_or_else(|| broken(format!("{result} has no content")))?;
            for block in blocks {
                prop_assert!(block["type"].is_string(), "{block}");
            }
            Ok(())
        },
    );
}
