//! An inert recorder costs nothing that can be counted: wrapping and polling a
//! task on it allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tachograph_core::{Recorder, Task};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all of it is the system's allocator; counting in a thread-local that
// is initialised by a constant allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_task_on_an_inert_recorder_allocates_nothing() {
    let recorder = Recorder::inert();
    let before = ALLOCATIONS.get();
    for _ in 0..1000 {
        let mut task = pin!(recorder.task("compaction", async { black_box(7) }));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(task.as_mut().poll(&mut context), Poll::Ready(7));
        assert_eq!(recorder.blocking_task("compaction", || black_box(7)), 7);
        recorder.request("compaction").expect("accepted");
        black_box(recorder.status());
    }
    assert_eq!(ALLOCATIONS.get(), before);
    // Nor is anything but an empty label carried along.
    assert!(size_of::<Task<[u64; 8]>>() <= size_of::<[u64; 8]>() + 40);
}
