//! A server's own messages: notifications, and requests to the client whose call caused them.

mod client_request_handler;
mod intercepting_transport;
mod notification_router;
mod question_text;
mod server_requests;
mod subscriptions_listen;
mod unanswered_requests;
mod url_elicitation;

pub use self::server_requests::{
    DENIED_BY_DEFAULT, RequestPolicy, ServerRequest, ServerRequestError, ServerRequestPolicy,
};
pub(crate) use self::{
    client_request_handler::ClientRequestHandler,
    intercepting_transport::InterceptingTransport,
    notification_router::NotificationRouter,
    server_requests::{RequestPolicyContext, RequestRecipient, ServerRequests},
    subscriptions_listen::SubscriptionListenHandle,
    url_elicitation::remove_refused_pages,
};
