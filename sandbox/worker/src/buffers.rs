//! Memory of array buffers, which V8 keeps outside its heap and counts in no limit of its own.
//!
//! Resizable buffers are reserved by the engine itself and do not come here; the process's budget of
//! memory holds for them.
//!
//! Invariant: the buffers of one isolate never hold more than [`MOST`] at once. One that does not fit
//! becomes a `RangeError` in the program.

use std::{
    alloc::{Layout, alloc, alloc_zeroed, dealloc},
    ffi::c_void,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use deno_core::v8;

/// Bytes in all the array buffers of one program.
pub(crate) const MOST: usize = 64 << 20;

/// As `malloc` aligns.
const ALIGNMENT: usize = 16;

/// Bytes in use. V8 frees from its own threads too.
struct Budget(AtomicUsize);

static CALLS: v8::RustAllocatorVtable<Budget> = v8::RustAllocatorVtable {
    allocate: zeroed,
    allocate_uninitialized: uninitialized,
    free,
    drop: drop_budget,
};

/// An allocator for one isolate, with the whole budget left.
#[expect(
    unsafe_code,
    reason = "V8 takes an allocator as a table of C functions"
)]
pub(crate) fn allocator() -> v8::UniqueRef<v8::Allocator> {
    let budget = Arc::into_raw(Arc::new(Budget(AtomicUsize::new(0))));
    // SAFETY: the handle is what all functions of the table take, and lives until `drop_budget`, which V8
    // calls once, after everything that was allocated has been freed.
    unsafe { v8::new_rust_allocator(budget, &CALLS) }
}

impl Budget {
    /// Counts the bytes, or none of them if they are too many.
    fn take(&self, length: usize) -> Option<Layout> {
        let layout = layout(length)?;
        let fits = |used: usize| used.checked_add(length).filter(|sum| *sum <= MOST);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .ok()?;
        Some(layout)
    }

    /// Uncounts what could not be had after all.
    fn settle(&self, length: usize, data: *mut u8) -> *mut c_void {
        if data.is_null() {
            self.0.fetch_sub(length, Ordering::Relaxed);
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
    budget.0.fetch_sub(length, Ordering::Relaxed);
    // SAFETY: V8 gives back what one of the two functions above gave it, with the same length.
    unsafe { dealloc(data.cast(), layout) }
}

#[expect(unsafe_code, reason = "the signature is V8's")]
unsafe extern "C" fn drop_budget(budget: *const Budget) {
    // SAFETY: the pointer came from `Arc::into_raw` in `allocator` and is given back once.
    drop(unsafe { Arc::from_raw(budget) });
}
