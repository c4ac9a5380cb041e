//! Decides if and when an answered request is retried: only if the API says that it was not accepted.

use std::time::{Duration, SystemTime};

use reqwest::{
    StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};

/// The number of attempts after the first.
pub(super) const MAX_RETRIES: u32 = 3;
/// The delay without `Retry-After`, doubled each time.
const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The delay before the request is retried after the response to attempt `attempt`, counted from 0. `None` if the response
/// is returned: also if the API asks for a longer delay than `patience`.
pub(super) fn after(
    (status, headers): (StatusCode, &HeaderMap),
    (safe, attempt): (bool, u32),
    patience: Duration,
) -> Option<Duration> {
    let said = wait(headers, SystemTime::now());
    let taken = match status.as_u16() {
        // A request over the rate limit was not processed.
        429 => false,
        // The request may have been processed in part, so only an idempotent request is retried.
        503 | 403 => !(safe && said.is_some()),
        _ => true,
    };
    if taken {
        return None;
    }
    let wait = said.unwrap_or(INITIAL_RETRY_DELAY * 2_u32.saturating_pow(attempt));
    (attempt < MAX_RETRIES && wait <= patience).then_some(wait)
}

/// The delay of `Retry-After`, given in seconds or as a date.
pub(super) fn wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = said.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(said).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(said: Option<&str>) -> HeaderMap {
        let said = said.map(|said| (RETRY_AFTER, HeaderValue::from_str(said).unwrap()));
        said.into_iter().collect()
    }

    #[test]
    fn only_requests_that_were_not_accepted_are_retried() {
        const SECOND: Duration = Duration::from_secs(1);
        for (status, said, safe, attempt, expected) in [
            (429, Some("2"), false, 0, Some(SECOND * 2)),
            (429, None, false, 0, Some(SECOND)),
            (429, None, true, 2, Some(SECOND * 4)),
            (429, None, true, 3, None),
            (429, Some("3600"), true, 0, None),
            (429, Some("soon"), true, 0, Some(SECOND)),
            (503, Some("1"), true, 0, Some(SECOND)),
            (503, Some("1"), false, 0, None),
            (503, None, true, 0, None),
            (403, Some("1"), true, 0, Some(SECOND)),
            (403, None, true, 0, None),
            (500, Some("1"), true, 0, None),
            (502, None, true, 0, None),
            (200, Some("1"), true, 0, None),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let headers = headers(said);
            let found = after((status, &headers), (safe, attempt), SECOND * 30);
            assert_eq!(found, expected, "{status} {said:?} {safe} {attempt}");
        }
    }

    #[test]
    fn retry_after_date_is_a_delay_from_now() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        let at = |said| wait(&headers(Some(said)), now);
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(at(date), Some(Duration::from_secs(7)));
        assert_eq!(at("Wed, 06 Nov 1974 08:49:37 GMT"), Some(Duration::ZERO));
        assert_eq!(at("-1"), None);
    }
}
