//! Which frames are the application's own.

/// Crates of Rust that run what an application asks for, by the names that paths begin
/// with.
const CRATES: [&str; 33] = [
    "alloc",
    "async_executor",
    "async_global_executor",
    "async_io",
    "async_std",
    "async_task",
    "backtrace",
    "blocking",
    "compiler_builtins",
    "core",
    "crossbeam_deque",
    "crossbeam_epoch",
    "crossbeam_utils",
    "futures",
    "futures_channel",
    "futures_core",
    "futures_executor",
    "futures_lite",
    "futures_util",
    "gimli",
    "hashbrown",
    "mio",
    "parking_lot",
    "parking_lot_core",
    "polling",
    "rayon_core",
    "rustc_demangle",
    "smol",
    "std",
    "tachograph",
    "tokio",
    "tokio_util",
    "tracing",
];

/// First elements of the packages of Go's own libraries.
const GO_PACKAGES: [&str; 45] = [
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "sync",
    "syscall",
    "text",
    "time",
    "unicode",
    "unsafe",
];

/// How functions begin that start programs and threads, unwind them and allocate.
const BEGINNINGS: [&str; 9] = [
    "__libc_",
    "__rust_",
    "__rustc::",
    "_Unwind_",
    "_pthread_",
    "_rust_",
    "pthread_",
    "rust_begin_unwind",
    "rust_panic",
];

/// Functions of C's library that hot code of others, or code that waits, is often seen
/// in; some are known with two underscores before them, too.
const C_FUNCTIONS: [&str; 61] = [
    "_start",
    "accept",
    "accept4",
    "calloc",
    "cfree",
    "clock_gettime",
    "clock_nanosleep",
    "clone",
    "clone3",
    "close",
    "connect",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "fdatasync",
    "free",
    "fsync",
    "getrandom",
    "kevent",
    "madvise",
    "malloc",
    "memchr",
    "memcmp",
    "memcpy",
    "memcpy_chk",
    "memmove",
    "memrchr",
    "memset",
    "mmap",
    "mmap64",
    "mprotect",
    "munmap",
    "nanosleep",
    "open",
    "open64",
    "openat",
    "openat64",
    "poll",
    "ppoll",
    "pread",
    "pread64",
    "pwrite",
    "pwrite64",
    "read",
    "readv",
    "realloc",
    "recv",
    "recvfrom",
    "recvmsg",
    "sched_yield",
    "select",
    "send",
    "sendmsg",
    "sendto",
    "start_thread",
    "strlen",
    "syscall",
    "thread_start",
    "write",
    "writev",
];

/// Types that functions of Rust's core are of, as in `<str>::trim`.
const PRIMITIVES: [&str; 17] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16",
    "u32", "u64", "u128", "usize",
];

/// Whether a function is of neither a runtime nor a standard library, by its name and its
/// source file, if that is known.
///
/// Rust and Go say in a name where it is from; of inlined functions that debug
/// information knows by a bare name, the file tells it. What C has no namespace for is
/// taken for the application's, but for what starts threads; a frame without a name is
/// nobody's.
pub(crate) fn is_app(name: &str, file: &str) -> bool {
    if name.is_empty() || name.contains("+0x") || is_library_source(file) {
        return false;
    }
    if BEGINNINGS.iter().any(|it| name.starts_with(it)) {
        return false;
    }
    // A bare function of Rust may be called `poll` as well.
    if !file.ends_with(".rs") && is_c_function(name) {
        return false;
    }
    if let Some(package) = go_package(name) {
        return !GO_PACKAGES.contains(&package);
    }
    !is_library(first_crate(name))
}

/// Whether a crate runs what an application asks for: ours do, too.
fn is_library(name: &str) -> bool {
    CRATES.contains(&name) || name.starts_with("tachograph_")
}

fn is_c_function(name: &str) -> bool {
    let bare = name.strip_prefix("__").unwrap_or(name);
    C_FUNCTIONS.contains(&bare) || bare.starts_with("pthread_")
}

/// Whether a source file is the compiler's, or of one of the crates in a registry.
fn is_library_source(file: &str) -> bool {
    if file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/rust/") {
        return true;
    }
    // .cargo/registry/src/INDEX/NAME-VERSION/src/lib.rs
    let Some((_, path)) = file.split_once("/registry/src/") else {
        return false;
    };
    let directory = path.split('/').nth(1).unwrap_or_default();
    let name = directory
        .rsplit_once('-')
        .map_or(directory, |(name, _)| name);
    is_library(&name.replace('-', "_"))
}

/// The crate that a path of Rust begins in, also behind brackets, references and `dyn`.
fn first_crate(name: &str) -> &str {
    let path = name
        .trim_start_matches(['<', '&', '*', '(', '[', ' '])
        .trim_start_matches("mut ")
        .trim_start_matches("const ")
        .trim_start_matches("dyn ");
    let end = path
        .find(|it: char| !it.is_alphanumeric() && it != '_')
        .unwrap_or(path.len());
    let (first, rest) = path.split_at(end);
    if rest.starts_with("::") {
        first
    } else if PRIMITIVES.contains(&first) && (rest.starts_with('>') || rest.starts_with(']')) {
        "core"
    } else {
        // A bare function has no crate.
        ""
    }
}

/// The first element of the package of a function of Go: `net` of
/// `net/http.(*conn).serve`. `None` for names of other languages.
fn go_package(name: &str) -> Option<&str> {
    if name.contains("::") || name.contains(' ') {
        return None;
    }
    let end = name.find(['/', '.'])?;
    let package = &name[..end];
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    (!package.is_empty() && package.chars().all(is_word)).then_some(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_applications_own_frames_are_told_by_name() {
        for name in [
            "service::compact",
            "<service::Index as core::iter::Iterator>::next",
            "main",
            "str",
            "freedom",
            "main.fib",
            "example.com/shop/cart.(*Cart).Total",
            "compress",
            "hyper::proto::h1::role::parse",
            "tachographer::draw",
        ] {
            assert!(is_app(name, ""), "{name}");
        }
        for name in [
            "",
            "demo+0x1234",
            "core::ptr::drop_in_place<service::Index>",
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
            "<&mut std::io::Stdout as std::io::Write>::write",
            "tokio::runtime::task::raw::poll",
            "__libc_start_main",
            "start_thread",
            "__rustc::__rust_dealloc",
            "malloc",
            "<str>::to_lowercase",
            "<[u8] as core::fmt::Debug>::fmt",
            "runtime.mallocgc",
            "net/http.(*conn).serve",
            "internal/poll.(*FD).Read",
            "tachograph::Tachograph::run",
            "tachograph_core::labels::current::with",
            "tachograph_sampler_linux::sampler::start",
            "epoll_wait",
            "__poll",
            "recvfrom",
            "pthread_cond_wait",
            "__pthread_cond_wait",
        ] {
            assert!(!is_app(name, ""), "{name}");
        }
    }

    #[test]
    fn bare_names_are_told_by_their_files() {
        let registry = "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        for (file, expected) in [
            (
                "/rustc/59807616e1fa2540/library/core/src/iter/range.rs",
                false,
            ),
            ("/usr/lib/rustlib/src/rust/library/std/src/rt.rs", false),
            (
                &format!("{registry}/tokio-1.54.0/src/runtime/mod.rs"),
                false,
            ),
            (
                &format!("{registry}/async-executor-1.13.1/src/lib.rs"),
                false,
            ),
            (&format!("{registry}/serde_json-1.0.154/src/de.rs"), true),
            (
                &format!("{registry}/tachograph-sampler-0.1.0/src/lib.rs"),
                false,
            ),
            ("src/main.rs", true),
        ] {
            for name in ["fold", "poll"] {
                assert_eq!(is_app(name, file), expected, "{name} {file}");
            }
        }
    }
}
