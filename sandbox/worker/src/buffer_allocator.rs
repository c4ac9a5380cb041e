//! The allocator of array buffers, which V8 keeps outside its heap and does not limit.
//!
//! Resizable buffers are allocated by the engine itself and do not use this allocator. They are limited by the memory
//! limit of the process.
//!
//! Invariant: the buffers of one isolate never exceed its budget. A buffer that does not fit becomes a `RangeError` in
//! the program.

use std::{
    alloc::{Layout, alloc, alloc_zeroed, dealloc},
    ffi::c_void,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use deno_core::v8;

/// The alignment of `malloc`.
const BUFFER_ALIGNMENT: usize = 16;

struct BufferBudget {
    most: usize,
    /// Bytes in use. V8 frees from its own threads too.
    used: AtomicUsize,
    /// Whether the last requested buffer did not fit.
    refused: AtomicBool,
}

/// Reports whether the buffers of an isolate have reached their budget.
#[derive(Clone)]
pub(crate) struct BufferBudgetStatus(Arc<BufferBudget>);

impl BufferBudgetStatus {
    /// Returns true if the last buffer did not fit. V8 then also asks for more heap before it gives up on the buffer.
    pub(crate) fn last_was_refused(&self) -> bool {
        self.0.refused.load(Ordering::Relaxed)
    }
}

static ALLOCATOR_VTABLE: v8::RustAllocatorVtable<BufferBudget> = v8::RustAllocatorVtable {
    allocate: zeroed,
    allocate_uninitialized: uninitialized,
    free,
    drop: drop_budget,
};

/// An allocator for one isolate, whose buffers may have `most` bytes in total.
#[expect(
    unsafe_code,
    reason = "V8 takes an allocator as a table of C functions"
)]
pub(crate) fn buffer_allocator(most: usize) -> (v8::UniqueRef<v8::Allocator>, BufferBudgetStatus) {
    let budget = Arc::new(BufferBudget {
        most,
        used: AtomicUsize::new(0),
        refused: AtomicBool::new(false),
    });
    let refusals = BufferBudgetStatus(Arc::clone(&budget));
    let budget = Arc::into_raw(budget);
    // SAFETY: all functions of the table take this handle, which lives until `drop_budget`, which V8 calls once, after
    // all allocations have been freed.
    let allocator = unsafe { v8::new_rust_allocator(budget, &ALLOCATOR_VTABLE) };
    (allocator, refusals)
}

impl BufferBudget {
    /// Reserves the bytes, or returns `None` if they do not fit.
    fn reserve(&self, length: usize) -> Option<Layout> {
        let layout = layout(length)?;
        let fits = |used: usize| used.checked_add(length).filter(|sum| *sum <= self.most);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        self.refused.store(taken.is_err(), Ordering::Relaxed);
        taken.ok().map(|_| layout)
    }

    /// Releases the reserved bytes if the allocation failed.
    fn release_if_null(&self, length: usize, data: *mut u8) -> *mut c_void {
        if data.is_null() {
            self.used.fetch_sub(length, Ordering::Relaxed);
        }
        data.cast()
    }
}

fn layout(length: usize) -> Option<Layout> {
    // An allocation of zero bytes is not allowed.
    Layout::from_size_align(length.max(1), BUFFER_ALIGNMENT).ok()
}

#[expect(unsafe_code, reason = "the signature is V8's")]
unsafe extern "C" fn zeroed(budget: &BufferBudget, length: usize) -> *mut c_void {
    let Some(layout) = budget.reserve(length) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout has at least one byte.
    budget.release_if_null(length, unsafe { alloc_zeroed(layout) })
}

#[expect(unsafe_code, reason = "the signature is V8's")]
unsafe extern "C" fn uninitialized(budget: &BufferBudget, length: usize) -> *mut c_void {
    let Some(layout) = budget.reserve(length) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout has at least one byte.
    budget.release_if_null(length, unsafe { alloc(layout) })
}

#[expect(unsafe_code, reason = "the signature is V8's")]
unsafe extern "C" fn free(budget: &BufferBudget, data: *mut c_void, length: usize) {
    let Some(layout) = layout(length).filter(|_| !data.is_null()) else {
        return;
    };
    budget.used.fetch_sub(length, Ordering::Relaxed);
    // SAFETY: V8 frees a pointer that one of the two functions above returned, with the same length.
    unsafe { dealloc(data.cast(), layout) }
}

#[expect(unsafe_code, reason = "the signature is V8's")]
unsafe extern "C" fn drop_budget(budget: *const BufferBudget) {
    // SAFETY: the pointer came from `Arc::into_raw` in `allocator` and is converted back once.
    drop(unsafe { Arc::from_raw(budget) });
}
