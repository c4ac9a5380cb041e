//! Calls on their way to a server: their permits, callers and progress, and the reasons they have no result.

mod call_error;
mod call_limiter;
mod cancel_on_drop;
mod in_flight;
mod progress_meter;

pub use self::{
    call_error::{BackChannelRemedy, CallError, NoBackChannel},
    call_limiter::PermitSlot,
};
pub(crate) use self::{
    call_limiter::{CallLimiter, CallPermit},
    cancel_on_drop::CancelOnDrop,
    in_flight::{CallingClient, InFlight, InFlightId, InFlightRequest, SendState},
    progress_meter::ProgressMeter,
};
