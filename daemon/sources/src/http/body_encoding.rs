//! Encodes request bodies for the wire.

use super::{FormPart, RequestBody};

/// The media type and the encoded body.
pub(super) fn encoded(body: &RequestBody) -> Result<(String, Vec<u8>), String> {
    Ok(match body {
        RequestBody::Json(value) => {
            let text = serde_json::to_vec(value).map_err(|error| error.to_string())?;
            ("application/json".into(), text)
        }
        RequestBody::Form(pairs) => {
            let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
            let text = pairs.collect::<Vec<_>>().join("&");
            (
                "application/x-www-form-urlencoded".into(),
                text.into_bytes(),
            )
        }
        RequestBody::Multipart(parts) => {
            let boundary = boundary(parts);
            let text = multipart(parts, &boundary);
            (format!("multipart/form-data; boundary={boundary}"), text)
        }
        RequestBody::Bytes { media, bytes } => (media.clone(), bytes.clone()),
    })
}

/// A text that occurs in none of the parts: a hash of them.
fn boundary(parts: &[FormPart]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part.name.as_bytes());
        hasher.update(&part.bytes);
    }
    format!("mux-{}", &hasher.finalize().to_hex()[..40])
}

fn multipart(parts: &[FormPart], boundary: &str) -> Vec<u8> {
    let mut text = Vec::new();
    for part in parts {
        let name = quoted(&part.name);
        text.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        text.extend_from_slice(
            format!("Content-Disposition: form-data; name=\"{name}\"").as_bytes(),
        );
        if let Some(file) = &part.file_name {
            text.extend_from_slice(format!("; filename=\"{}\"", quoted(file)).as_bytes());
        }
        text.extend_from_slice(b"\r\n");
        if let Some(media) = &part.media {
            let media = media.replace(['\r', '\n'], "");
            text.extend_from_slice(format!("Content-Type: {media}\r\n").as_bytes());
        }
        text.extend_from_slice(b"\r\n");
        text.extend_from_slice(&part.bytes);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    text
}

/// Escapes a name as browsers do.
fn quoted(name: &str) -> String {
    let name = name.replace('\r', "%0D").replace('\n', "%0A");
    name.replace('"', "%22")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipart_names_are_escaped() {
        let part = |name: &str, file: Option<&str>, bytes: &[u8]| FormPart {
            name: name.into(),
            file_name: file.map(str::to_owned),
            media: file.map(|_| "image/png\r\nX: y".to_owned()),
            bytes: bytes.to_vec(),
        };
        let parts = vec![
            part("a\"\r\nb", None, b"1"),
            part("file", Some("x.png"), b"\x00\xff"),
        ];
        let (media, body) = encoded(&RequestBody::Multipart(parts)).unwrap();
        let boundary = media.split_once("boundary=").unwrap().1;
        let expected = [
            format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"a%22%0D%0Ab\"\r\n\r\n1\r\n\
                 --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.png\"\r\n\
                 Content-Type: image/pngX: y\r\n\r\n"
            )
            .as_bytes(),
            b"\x00\xff",
            format!("\r\n--{boundary}--\r\n").as_bytes(),
        ]
        .concat();
        assert_eq!(body, expected);
    }

    #[test]
    fn form_pairs_are_joined_without_encoding_them_again() {
        let pairs = [("a", "1%202"), ("b", "")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (media, body) = encoded(&RequestBody::Form(pairs.into())).unwrap();
        assert_eq!(media, "application/x-www-form-urlencoded");
        assert_eq!(body, b"a=1%202&b=");
    }
}
