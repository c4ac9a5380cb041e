//! The link to a remote server: streamable HTTP, or HTTP+SSE of 2024-11-05, with the headers and the token of its entry.

#[cfg(test)]
mod fuzz;
mod http_exchange;
mod kept_messages;
mod response_body;
mod sse_backoff;
mod sse_decoder;
mod sse_transport;
mod streamable_http;
mod token_provider;

pub(super) use self::{
    http_exchange::HttpExchange,
    sse_transport::SseTransport,
    streamable_http::{StreamableHttpTransport, streamable_transport},
};
