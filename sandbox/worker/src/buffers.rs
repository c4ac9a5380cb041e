//! Memory of array buffers, which V8 keeps outside its heap and counts in no limit of its own.
//!
//! Resizable buffers are reserved by the engine itself and do not come here; the process's budget of
//! memory holds for them.
//!
//! Invariant: the buffers of one isolate never hold more than its budget at once. One that does not fit
//! becomes a `RangeError` in the program.

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

/// As `malloc` aligns.
const ALIGNMENT: usize = 16;

struct Budget {
    most: usize,
    /// Bytes in use. V8 frees from its own threads too.
    used: AtomicUsize,
    /// Whether the last buffer that was asked for did not fit.
    refused: AtomicBool,
}

/// Tells whether it is the buffers of an isolate that are too many.
#[derive(Clone)]
pub(crate) struct Refusals(Arc<Budget>);

impl Refusals {
    /// V8 asks for more heap, too, before it believes that a buffer cannot be had.
    pub(crate) fn last_was_refused(&self) -> bool {
        self.0.refused.load(Ordering::Relaxed)
    }
}

static CALLS: v8::RustAllocatorVtable<Budget> = v8::RustAllocatorVtable {
    allocate: zeroed,
    allocate_uninitialized: uninitialized,
    free,
    drop: drop_budget,
};

/// An allocator for one isolate, whose buffers may hold so many bytes together.
#[expect(
    unsafe_code,
    reason = "V8 takes an allocator as a table of C functions"
)]
pub(crate) fn allocator(most: usize) -> (v8::UniqueRef<v8::Allocator>, Refusals) {
    let budget = Arc::new(Budget {
        most,
        used: AtomicUsize::new(0),
        refused: AtomicBool::new(false),
    });
    let refusals = Refusals(Arc::clone(&budget));
    let budget = Arc::into_raw(budget);
    // SAFETY: the handle is what all functions of the table take, and lives until `drop_budget`, which V8
    // calls once, after everything that was allocated has been freed.
    let allocator = unsafe { v8::new_rust_allocator(budget, &CALLS) };
    (allocator, refusals)
}

impl Budget {
    /// Counts the bytes, or none of them if they are too many.
    fn take(&self, length: usize) -> Option<Layout> {
        let layout = layout(length)?;
        let fits = |used: usize| used.checked_add(length).filter(|sum| *sum <= self.most);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        self.refused.store(taken.is_err(), Ordering::Relaxed);
        taken.ok().map(|_| layout)
    }

    /// Uncounts what could not be had after all.
    fn settle(&self, length: usize, data: *mut u8) -> *mut c_void {
        if data.is_null() {
            self.used.fetch_sub(length, Ordering::Relaxed);
        }
        data.cast()
    }
}

fn layout(length: usize) -> Option<Layout> {
    // A layout of no bytes must not be asked for.
    Layout::from_size_align(length.max(1), ALIGNMENT).ok()
}

#[expect(unsafe_code, reason = "the signature is V8's")]
unsafe extern "C" fn zeroed(budget: &Budget, length: usize) -> *mut c_void {
    let Some(layout) = budget.take(length) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout has at least one byte.
    budget.settle(length, unsafe { alloc_zeroed(layout) })
}

#[expect(unsafe_code, reason = "the signature is V8's")]
unsafe extern "C" fn uninitialized(budget: &Budget, length: usize) -> *mut c_void {
    let Some(layout) = budget.take(length) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout has at least one byte.
    budget.settle(length, unsafe { alloc(layout) })
}

#[expect(unsafe_code, reason = "the signature is V8's")]
unsafe extern "C" fn free(budget: &Budget, data: *mut c_void, length: usize) {
    let Some(layout) = layout(length).filter(|_| !data.is_null()) else {
        return;
    };
    budget.used.fetch_sub(length, Ordering::Relaxed);
    // SAFETY: V8 gives back what one of the two functions above gave it, with the same length.
    unsafe { dealloc(data.cast(), layout) }
}

#[expect(unsafe_code, reason = "the signature is V8's")]
unsafe extern "C" fn drop_budget(budget: *const Budget) {
    // SAFETY: the pointer came from `Arc::into_raw` in `allocator` and is given back once.
    drop(unsafe { Arc::from_raw(budget) });
}
