//! Ops for the web's globals: random bytes, base64, UTF-8 and URLs. All but the first are pure functions.

use deno_core::{op2, url::Url};
use deno_error::JsErrorBox;

#[op2(fast)]
pub(super) fn op_mux_random(#[buffer] bytes: &mut [u8]) -> Result<(), JsErrorBox> {
    getrandom::fill(bytes).map_err(|e| JsErrorBox::generic(e.to_string()))
}

/// Decodes base64 to a binary string by the web's forgiving rules. Null if the input is not base64.
#[op2]
#[string]
pub(super) fn op_mux_atob(#[string] text: &str) -> Option<String> {
    let compact: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = base64_simd::forgiving_decode_to_vec(compact.as_bytes()).ok()?;
    Some(bytes.into_iter().map(char::from).collect())
}

#[op2]
#[string]
pub(super) fn op_mux_btoa(#[string] text: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).ok())
        .collect();
    Some(base64_simd::STANDARD.encode_to_string(bytes?))
}

#[op2]
#[string]
pub(super) fn op_mux_utf8_decode(
    #[buffer] bytes: &[u8],
    fatal: bool,
    keep_bom: bool,
) -> Result<String, JsErrorBox> {
    let bytes = if keep_bom {
        bytes
    } else {
        bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
    };
    if fatal {
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|_| JsErrorBox::type_error("the data is not valid UTF-8"))
    } else {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

#[op2]
#[string]
pub(super) fn op_mux_url_parse(
    #[string] url: &str,
    #[string] base: Option<String>,
) -> Option<String> {
    let base = match base {
        Some(base) => Some(Url::parse(&base).ok()?),
        None => None,
    };
    Url::options()
        .base_url(base.as_ref())
        .parse(url)
        .ok()
        .map(|url| url_parts(&url))
}

#[op2]
#[string]
pub(super) fn op_mux_url_set(
    #[string] href: &str,
    #[string] part: &str,
    #[string] value: &str,
) -> Option<String> {
    use deno_core::url::quirks;
    let mut url = Url::parse(href).ok()?;
    match part {
        "href" => url = Url::parse(value).ok()?,
        "protocol" => quirks::set_protocol(&mut url, value).ok()?,
        "username" => quirks::set_username(&mut url, value).ok()?,
        "password" => quirks::set_password(&mut url, value).ok()?,
        "host" => quirks::set_host(&mut url, value).ok()?,
        "hostname" => quirks::set_hostname(&mut url, value).ok()?,
        "port" => quirks::set_port(&mut url, value).ok()?,
        "pathname" => quirks::set_pathname(&mut url, value),
        "search" => quirks::set_search(&mut url, value),
        "hash" => quirks::set_hash(&mut url, value),
        _ => return None,
    }
    Some(url_parts(&url))
}

fn url_parts(url: &Url) -> String {
    use deno_core::url::quirks;
    deno_core::serde_json::json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    })
    .to_string()
}
