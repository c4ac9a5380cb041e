//! The words of servers that do not know a session.
//!
//! Invariant: a match is only a suspicion, because tools have other kinds of sessions.

/// Phrases in lower case, in which `session` stands for any name of the session's id.
const PHRASES: [&str; 22] = [
    "session not found",
    "session was not found",
    "session could not be found",
    "could not find session",
    "no session found",
    "no such session",
    "no valid session",
    "no active session",
    "unknown session",
    "invalid session",
    "session is invalid",
    "invalid or expired session",
    "invalid or missing session",
    "missing session",
    "expired session",
    "session expired",
    "session has expired",
    "session does not exist",
    "session terminated",
    "session has been terminated",
    "not initialized",
    "before initialization",
];
const SPELLINGS: [&str; 5] = [
    "mcp-session-id",
    "session-id",
    "session_id",
    "session id",
    "sessionid",
];

/// Returns true if the text says that a session is unknown.
pub(crate) fn names_lost_session(text: &str) -> bool {
    let mut text = text.to_lowercase();
    for spelling in SPELLINGS {
        text = text.replace(spelling, "session");
    }
    PHRASES.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_session_is_recognized_in_the_words_of_many_servers() {
        for text in [
            "Session not found",
            "Bad Request: No valid session ID provided",
            "Invalid session ID",
            "Invalid or missing session ID",
            "Could not find session",
            "mcp-session-id: unknown session",
            "Unknown sessionId 7",
            "Your session has expired.",
            "Session does not exist",
            "Bad Request: Server not initialized",
            "Received request before initialization was complete",
        ] {
            assert!(names_lost_session(text), "{text}");
        }
        for text in ["no such tool", "the session is busy", "Unauthorized", ""] {
            assert!(!names_lost_session(text), "{text}");
        }
    }
}
