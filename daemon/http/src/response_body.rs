//! Reads the body of a response into memory.
//!
//! Invariant: a body takes at most as much memory as the caller allows, regardless of `Content-Length`.

use reqwest::Response;

/// The body of a response, or `None` if it is longer than `most` bytes.
pub async fn read_body(
    mut response: Response,
    most: usize,
) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let announced = response.content_length().unwrap_or(0);
    if announced > most as u64 {
        return Ok(None);
    }
    let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
