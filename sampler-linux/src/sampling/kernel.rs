//! Questions to the kernel that a handler may ask, too.

use super::timer::clock_of;

/// The id of the calling thread.
pub(crate) fn thread_id() -> i32 {
    // SAFETY: it takes nothing and cannot fail.
    let id = unsafe { libc::syscall(libc::SYS_gettid) };
    id as i32
}

/// The id of this process.
pub(crate) fn process_id() -> i32 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::getpid() }
}

/// The name of the calling thread, ended by a zero byte.
pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: the call writes at most 16 bytes, and there are as many.
    unsafe { libc::syscall(libc::SYS_prctl, libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// An address at the top of the calling thread's stack, where the C library
/// keeps what it knows of the thread.
pub(crate) fn thread_pointer() -> u64 {
    // SAFETY: it only reads the thread's register.
    let pointer = unsafe { libc::pthread_self() };
    pointer as u64
}

/// Copies this process's own memory from `from` to `to`, as far as it is
/// mapped; returns how many bytes there were.
///
/// # Safety
///
/// `to` must have room for `bytes` bytes that nobody else accesses.
pub(crate) unsafe fn copy_if_mapped(process: i32, from: u64, to: *mut u8, bytes: usize) -> usize {
    let local = libc::iovec {
        iov_base: to.cast(),
        iov_len: bytes,
    };
    let remote = libc::iovec {
        iov_base: from as usize as *mut libc::c_void,
        iov_len: bytes,
    };
    // SAFETY: the kernel checks what it reads, and writes to what the caller
    // promised.
    let copied = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            process,
            &raw const local,
            1_usize,
            &raw const remote,
            1_usize,
            0_usize,
        )
    };
    usize::try_from(copied).unwrap_or(0)
}

/// The CPU time of the clock `clock`, in nanoseconds; 0 if there is none.
pub(crate) fn clock_nanos(clock: libc::clockid_t) -> u64 {
    read_clock(clock).unwrap_or(0)
}

/// Whether this process has a thread with this id: then it has a CPU clock.
pub(crate) fn is_alive(thread: i32) -> bool {
    read_clock(clock_of(thread)).is_some()
}

fn read_clock(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to a place that is ours.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Whether the kernel's version is `major.minor` or a later one.
pub(crate) fn is_at_least(major: u32, minor: u32) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    version(&release) >= (major, minor)
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|it: char| !it.is_ascii_digit())
        .map(|it| it.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_strange_ones_are_old() {
        assert_eq!(version("6.18.44-fc-v595"), (6, 18));
        assert_eq!(version("7.0"), (7, 0));
        assert_eq!(version("strange"), (0, 0));
        assert_eq!(version(""), (0, 0));
    }

    #[allow(clippy::print_stdout, reason = "what was skipped")]
    #[test]
    fn copying_stops_where_nothing_is_mapped() {
        let pages = super::super::memory::Pages::new(2 * 4096).expect("memory");
        let start = pages.start().as_ptr();
        // SAFETY: the second page is ours and nobody uses it.
        unsafe {
            start.write_bytes(7, 4096);
            libc::mprotect(start.add(4096).cast(), 4096, libc::PROT_NONE);
        }
        let mut to = vec![0; 8192];
        // SAFETY: there is room for as much.
        let copied =
            unsafe { copy_if_mapped(process_id(), start as u64, to.as_mut_ptr(), to.len()) };
        let error = std::io::Error::last_os_error();
        if copied == 0 && error.raw_os_error() == Some(libc::ENOSYS) {
            println!("SKIPPED: this kernel, or an emulator of one, has no process_vm_readv");
            return;
        }
        assert_eq!(copied, 4096);
        assert!(to[..4096].iter().all(|byte| *byte == 7));
        // SAFETY: there is room for as much.
        let nothing = unsafe { copy_if_mapped(process_id(), 8, to.as_mut_ptr(), to.len()) };
        assert_eq!(nothing, 0);
    }
}
