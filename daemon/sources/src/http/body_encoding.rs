//! Encodes request bodies for the wire.

use std::fmt::Write as _;

use super::{FormPart, MultipartBody, RequestBody};

const FORM_DATA: &str = "multipart/form-data";

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
        RequestBody::Multipart(body) => {
            let boundary = boundary(&body.parts);
            let bytes = multipart(body, &boundary);
            let mut media = format!("{}; boundary={boundary}", body.media);
            if is_related(body)
                && let Some(root) = body.parts.first()
            {
                // RFC 2387: the type of the first part.
                _ = write!(media, "; type=\"{}\"", quoted(part_media(root)));
            }
            (media, bytes)
        }
        RequestBody::Bytes { media, bytes } => (media.clone(), bytes.clone()),
    })
}

/// A string that occurs in none of the parts: a hash of them.
fn boundary(parts: &[FormPart]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part.name.as_bytes());
        hasher.update(&part.bytes);
    }
    format!("mux-{}", &hasher.finalize().to_hex()[..40])
}

fn multipart(body: &MultipartBody, boundary: &str) -> Vec<u8> {
    let mut text = Vec::new();
    for part in &body.parts {
        let name = quoted(&part.name);
        let mut head = format!("--{boundary}\r\n");
        if is_related(body) {
            _ = write!(head, "Content-ID: <{name}>\r\n");
        } else {
            _ = write!(head, "Content-Disposition: form-data; name=\"{name}\"");
            if let Some(file) = &part.file_name {
                _ = write!(head, "; filename=\"{}\"", quoted(file));
            }
            head.push_str("\r\n");
        }
        // Without a type, a form's text has the form's type.
        if part.media.is_some() || body.media != FORM_DATA {
            let media = part_media(part).replace(['\r', '\n'], "");
            _ = write!(head, "Content-Type: {media}\r\n");
        }
        head.push_str("\r\n");
        text.extend_from_slice(head.as_bytes());
        text.extend_from_slice(&part.bytes);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    text
}

fn is_related(body: &MultipartBody) -> bool {
    body.media == "multipart/related"
}

fn part_media(part: &FormPart) -> &str {
    part.media.as_deref().unwrap_or("text/plain; charset=utf-8")
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
        let body = MultipartBody {
            media: FORM_DATA.into(),
            parts,
        };
        let (media, body) = encoded(&RequestBody::Multipart(body)).unwrap();
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
    fn related_parts_have_types_and_ids() {
        let part = |name: &str, media: Option<&str>| FormPart {
            name: name.into(),
            file_name: None,
            media: media.map(str::to_owned),
            bytes: name.as_bytes().to_vec(),
        };
        let body = |media: &str| {
            let parts = vec![part("meta", Some("application/json")), part("note", None)];
            let media = media.into();
            encoded(&RequestBody::Multipart(MultipartBody { media, parts })).unwrap()
        };
        let (media, related) = body("multipart/related");
        assert!(
            media.starts_with("multipart/related; boundary=mux-"),
            "{media}"
        );
        assert!(media.ends_with("; type=\"application/json\""), "{media}");
        let related = String::from_utf8(related).unwrap();
        for head in [
            "Content-ID: <meta>\r\nContent-Type: application/json\r\n\r\nmeta\r\n",
            "Content-ID: <note>\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nnote\r\n",
        ] {
            assert!(related.contains(head), "{related}");
        }
        let (media, mixed) = body("multipart/mixed");
        assert!(media.starts_with("multipart/mixed; boundary="), "{media}");
        let mixed = String::from_utf8(mixed).unwrap();
        assert!(
            mixed.contains("name=\"note\"\r\nContent-Type: text/plain"),
            "{mixed}"
        );
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
