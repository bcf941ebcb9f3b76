//! Libraries.

use std::ffi::CStr;
use std::mem;
use std::time::Duration;

use super::{Figures, Subject, on_threads};
use crate::thread_cpu;

/// A library that is loaded, used for some milliseconds and unloaded.
pub fn libraries(subject: Subject<'_>, time: Duration) -> Figures {
    // The gamma function of 5, and its logarithm.
    let functions = [(c"tgamma", 24.0), (c"lgamma", 24.0_f64.ln())];
    subject.sample(|| {
        on_threads(1, time, || {
            let is_right = |(function, at_five)| work_in(c"libm.so.6", function, at_five);
            functions.into_iter().all(is_right)
        })
    })
}

/// Whether `function` is `at_five` at 5, always.
fn work_in(library: &CStr, function: &CStr, at_five: f64) -> bool {
    // SAFETY: the library is the C library's own; the function takes and
    // returns a double, and is called while it is loaded.
    unsafe {
        let library = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            return false;
        }
        let function = libc::dlsym(library, function.as_ptr());
        if function.is_null() {
            return false;
        }
        let function: extern "C" fn(f64) -> f64 = mem::transmute(function);
        let until = thread_cpu() + Duration::from_millis(5);
        let mut is_right = true;
        while thread_cpu() < until {
            for _ in 0..2_000 {
                is_right &= (function(std::hint::black_box(5.0)) - at_five).abs() < 1e-9;
            }
        }
        libc::dlclose(library) == 0 && is_right
    }
}
