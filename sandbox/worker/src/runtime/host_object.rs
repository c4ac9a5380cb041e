//! Calls the functions of the host object that the prelude provides.
//!
//! Invariant: the object is removed from the global object before any guest code runs, and the host calls no other
//! function of the prelude.

use deno_core::v8;
use mux_wire::Program;

/// Seals the realm and returns the host object. Call this after the isolate is built, from the scripts or from a
/// snapshot: until then the runtime needs its own handles on the global object.
pub(super) fn take_host(scope: &mut v8::PinScope<'_, '_>) -> Option<v8::Global<v8::Object>> {
    let global = scope.get_current_context().global(scope);
    let key = v8::String::new(scope, "__muxHost")?;
    let host = global.get(scope, key.into())?.try_cast::<v8::Object>();
    let host = host.ok()?;
    let seal = host_method(scope, host, "seal")?;
    seal.call(scope, host.into(), &[])?;
    Some(v8::Global::new(scope, host))
}

/// Passes the program its input and calls it. `None` if the engine threw.
pub(super) fn start_guest_program<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    host: &v8::Global<v8::Object>,
    function: &v8::Global<v8::Value>,
    program: &Program,
    limits: &str,
) -> Option<v8::Local<'s, v8::Promise>> {
    let host = v8::Local::new(scope, host);
    let input = v8::String::new(scope, &program.input)?;
    let names = v8::String::new(scope, &program.names)?;
    let limits = v8::String::new(scope, limits)?;
    let limits = v8::json::parse(scope, limits)?;
    let prepare = host_method(scope, host, "prepare")?;
    prepare.call(scope, host.into(), &[input.into(), names.into(), limits])?;
    let start = host_method(scope, host, "start")?;
    let function = v8::Local::new(scope, function);
    let promise = start.call(scope, host.into(), &[function])?;
    promise.try_cast::<v8::Promise>().ok()
}

/// The fault that the prelude attached to this error, as JSON.
pub(super) fn attached_fault(
    scope: &mut v8::PinScope<'_, '_>,
    host: &v8::Global<v8::Object>,
    exception: v8::Local<'_, v8::Value>,
) -> Option<String> {
    let host = v8::Local::new(scope, host);
    let fault_of = host_method(scope, host, "faultOf")?;
    let marked = fault_of.call(scope, host.into(), &[exception])?;
    marked
        .is_string()
        .then(|| marked.to_rust_string_lossy(scope))
}

pub(super) fn host_method<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    host: v8::Local<'s, v8::Object>,
    name: &str,
) -> Option<v8::Local<'s, v8::Function>> {
    let key = v8::String::new(scope, name)?;
    host.get(scope, key.into())?.try_cast::<v8::Function>().ok()
}
