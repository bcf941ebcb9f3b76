//! A believable recording: a service on tokio over 72 hours, 250 captures, with what
//! happens to services meanwhile. The same on every run.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tachograph_core::Timestamp;
use tachograph_core::store::{CaptureName, EntryKind};

use crate::recording::{Capture, Sample, morning};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// When the service was deployed anew, with a compaction that is slower.
const DEPLOYED: u64 = 40 * HOUR + 11 * MINUTE;
/// When nothing was recorded: the service was down.
const DOWN: std::ops::Range<u64> = 28 * HOUR..31 * HOUR + 20 * MINUTE;
/// How many captures are readable.
pub(crate) const CAPTURES: usize = 250;

/// All captures that can be read, in the order of their starts.
pub(crate) fn captures() -> Vec<Capture> {
    let mut random = Random(0x7ac4_06a9);
    let mut captures = Vec::new();
    let mut used = 0.0;
    let mut before = 0;
    let mut is_new = true;
    for (at, reason) in starts() {
        if captures.len() == CAPTURES {
            break;
        }
        let deployed = at >= DEPLOYED;
        if (before < DOWN.start && at >= DOWN.end) || (before < DEPLOYED && deployed) {
            (used, is_new) = (3.0, true);
        }
        let hours = at as f64 / HOUR as f64;
        // Calm at night: 08:00 is where it begins.
        let load = 0.30 - 0.22 * ((hours + 2.0) / 24.0 * std::f64::consts::TAU).sin();
        let load = load * random.between(0.85, 1.15);
        if !is_new {
            used += load * 0.9 * (at - before - 30) as f64;
        }
        let compaction = match reason {
            "compaction" if deployed => 0.95,
            "compaction" => 0.55,
            "nightly-report" => 0.10,
            _ => 0.04,
        };
        let report = if reason == "nightly-report" { 0.9 } else { 0.0 };
        let samples = samples(&mut random, load, compaction, report, deployed);
        let start = morning() + Duration::from_secs(at) + random.nanos();
        let mut capture = Capture::new(start, Duration::from_secs(30), reason, samples);
        let nanos = capture.nanos();
        let took = nanos as f64 / 1e9 * random.between(0.99, 1.02);
        let pool =
            |random: &mut Random| json!({ "open": random.below(24) + 8, "idle": random.below(8) });
        capture.set(
            "/Until",
            json!(Timestamp::from(morning() + Duration::from_secs(72 * HOUR)).to_string()),
        );
        capture.set("/Before", json!({
            "ProcessCPU": { "UserSeconds": used * 0.93, "SystemSeconds": used * 0.07 },
            "Tasks": 40 + random.below(60), "Threads": 11, "Workers": 4, "QueueDepth": random.below(5),
            "Pool": pool(&mut random),
        }));
        used += took;
        capture.set("/After", json!({
            "ProcessCPU": { "UserSeconds": used * 0.93, "SystemSeconds": used * 0.07 },
            "Tasks": 40 + random.below(60), "Threads": 11, "Workers": 4, "QueueDepth": random.below(5),
            "Pool": pool(&mut random),
        }));
        capture.sidecar["Executable"] = json!({ "BuildId": match deployed {
            true => "5c0f6bd21e7a94d3b0a8e1cc27d94a60f1b3579e",
            false => "1d3abf24ef9f7a7ff1b0640e62ab99158d76cf84",
        } });
        if reason == "periodic" && random.below(9) == 0 {
            capture.set("/Requests/Cooldown", json!(1 + random.below(3)));
        }
        // One capture in which the samples went missing.
        if captures.len() == 77 {
            capture.samples.truncate(capture.samples.len() / 3);
            let count: i64 = capture.samples.iter().map(|it| it.count).sum();
            let lost = capture.sidecar["Samples"].as_i64().expect("a number") - count;
            capture.set("/Samples", json!(count));
            capture.set("/Lost", json!(lost));
        }
        captures.push(capture);
        (before, is_new) = (at, false);
    }
    assert_eq!(captures.len(), CAPTURES, "72 hours are long enough");
    captures
}

/// Writes them all, and what else is left after three days.
pub(crate) fn write(directory: &Path) -> Vec<Capture> {
    let captures = captures();
    for capture in &captures {
        capture.write(directory);
    }
    let at = |seconds| CaptureName::new(morning() + Duration::from_secs(seconds));
    let write = |entry, bytes: &[u8]| {
        std::fs::write(directory.join(entry), bytes).expect("an entry");
    };
    // The process died in a capture, and was down for a while.
    write(
        at(DOWN.start + 5 * MINUTE).entry(EntryKind::PartialProfile),
        b"",
    );
    // Somebody cut a profile short while copying.
    let cut = at(52 * HOUR + 17 * MINUTE);
    let whole = std::fs::read(directory.join(captures[3].name().profile())).expect("a profile");
    write(cut.profile(), &whole[..whole.len() / 2]);
    write(cut.sidecar(), captures[3].sidecar.to_string().as_bytes());
    captures
}

/// Moments in seconds and reasons: every half hour, and when jobs start.
fn starts() -> Vec<(u64, &'static str)> {
    let mut wanted: Vec<(u64, &str)> = Vec::new();
    let mut push = |first: u64, every: u64, reason| {
        wanted.extend(
            (0..)
                .map(|number| (first + number * every, reason))
                .take_while(|(at, _)| *at < 72 * HOUR),
        );
    };
    push(0, 30 * MINUTE, "periodic");
    push(13 * MINUTE, 26 * MINUTE, "compaction");
    push(18 * HOUR + 4 * MINUTE, 24 * HOUR, "nightly-report");
    wanted.sort_unstable();
    let mut starts: Vec<(u64, &str)> = Vec::new();
    for (at, reason) in wanted {
        let is_cool = starts
            .last()
            .is_none_or(|(last, _)| at - last >= 5 * MINUTE);
        if is_cool && !DOWN.contains(&at) {
            starts.push((at, reason));
        }
    }
    starts
}

/// Samples of half a minute, in which `load` cores serve requests, and the jobs use theirs.
fn samples(
    random: &mut Random,
    load: f64,
    compaction: f64,
    report: f64,
    deployed: bool,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    let words = if deployed { 2.1 } else { 1.0 };
    for &(task, cores, stacks) in &[
        (Some("http"), load * 0.62, HTTP),
        (Some("checksum"), load * 0.11, CHECKSUM),
        (None, load * 0.27, RUNTIME),
        (Some("compaction"), compaction, COMPACTION),
        (Some("nightly-report"), report, REPORT),
    ] {
        let weight = |stack: &str, weight: f64| match stack.contains("count_words") {
            true => weight * words,
            false => weight,
        };
        let whole: f64 = stacks.iter().map(|(stack, it)| weight(stack, *it)).sum();
        for &(stack, it) in stacks {
            let mean = 3000.0 * cores * weight(stack, it) / whole;
            for thread in 0..4 {
                let thread_name = match task {
                    None if stack.starts_with("main") => "service".to_owned(),
                    _ => format!("tokio-rt-worker-{thread}"),
                };
                let count = (mean / 4.0 * random.between(0.6, 1.4)).round() as i64;
                if count > 0 {
                    samples.push(Sample {
                        stack: expand(stack, task),
                        task: task.map(str::to_owned),
                        thread: Some(thread_name),
                        count,
                        nanos: count * 10_000_000,
                    });
                }
            }
        }
    }
    samples
}

/// The frames below `stack`, which is that of a task on a worker of tokio's.
fn expand(stack: &str, task: Option<&str>) -> Vec<String> {
    let under: &[&str] = match task {
        Some(_) => &WORKER[..],
        None if stack.starts_with("main") => &[],
        None => &WORKER[..6],
    };
    let above = stack.split(" > ");
    under
        .iter()
        .copied()
        .chain(above)
        .map(str::to_owned)
        .collect()
}

const WORKER: [&str; 9] = [
    "clone3",
    "start_thread",
    "std::sys::pal::unix::thread::Thread::new::thread_start",
    "std::panicking::try",
    "tokio::runtime::blocking::pool::Inner::run",
    "tokio::runtime::scheduler::multi_thread::worker::Context::run",
    "tokio::runtime::scheduler::multi_thread::worker::Context::run_task",
    "tokio::runtime::task::harness::Harness<T,S>::poll",
    "<tachograph_core::task::Task<F> as core::future::future::Future>::poll",
];

const HTTP: &[(&str, f64)] = &[
    (
        "<hyper::server::conn::http1::Connection<I,S> as core::future::future::Future>::poll > hyper::proto::h1::dispatch::Dispatcher<D,Bs,I,T>::poll_read > hyper::proto::h1::role::Server::parse > httparse::Request::parse_with_config",
        9.0,
    ),
    (
        "<hyper::server::conn::http1::Connection<I,S> as core::future::future::Future>::poll > hyper::proto::h1::dispatch::Dispatcher<D,Bs,I,T>::poll_read > hyper::proto::h1::role::Server::parse > http::header::map::HeaderMap<T>::try_append2",
        6.0,
    ),
    (
        "<hyper::server::conn::http1::Connection<I,S> as core::future::future::Future>::poll > hyper::proto::h1::dispatch::Dispatcher<D,Bs,I,T>::poll_catch > service::library::Library::answer::{{closure}} > service::library::Shelves::find > <alloc::string::String as core::cmp::Ord>::cmp > __memcmp_avx2_movbe",
        16.0,
    ),
    (
        "<hyper::server::conn::http1::Connection<I,S> as core::future::future::Future>::poll > hyper::proto::h1::dispatch::Dispatcher<D,Bs,I,T>::poll_catch > service::library::Library::answer::{{closure}} > service::library::Shelves::find",
        11.0,
    ),
    (
        "<hyper::server::conn::http1::Connection<I,S> as core::future::future::Future>::poll > hyper::proto::h1::dispatch::Dispatcher<D,Bs,I,T>::poll_catch > service::library::Library::answer::{{closure}} > serde_json::ser::to_vec > serde_json::ser::format_escaped_str",
        12.0,
    ),
    (
        "<hyper::server::conn::http1::Connection<I,S> as core::future::future::Future>::poll > hyper::proto::h1::dispatch::Dispatcher<D,Bs,I,T>::poll_catch > service::library::Library::answer::{{closure}} > serde_json::ser::to_vec > alloc::raw_vec::RawVec<T,A>::grow_amortized > __libc_realloc",
        4.0,
    ),
    (
        "<hyper::server::conn::http1::Connection<I,S> as core::future::future::Future>::poll > hyper::proto::h1::dispatch::Dispatcher<D,Bs,I,T>::poll_catch > service::auth::Session::verify > ring::digest::Digest::finish > ring_core_sha256_block_data_order",
        14.0,
    ),
    (
        "<hyper::server::conn::http1::Connection<I,S> as core::future::future::Future>::poll > hyper::proto::h1::conn::Conn<I,B,T>::poll_flush > <tokio::net::tcp::stream::TcpStream as tokio::io::async_write::AsyncWrite>::poll_write_vectored > __writev",
        18.0,
    ),
    (
        "<hyper::server::conn::http1::Connection<I,S> as core::future::future::Future>::poll > hyper::proto::h1::conn::Conn<I,B,T>::poll_read_head > <tokio::net::tcp::stream::TcpStream as tokio::io::async_read::AsyncRead>::poll_read > __recv",
        10.0,
    ),
];

const COMPACTION: &[(&str, f64)] = &[
    (
        "service::jobs::run::{{closure}} > service::library::Library::compact::{{closure}} > service::library::count_words > alloc::str::<impl str>::to_lowercase > core::unicode::conversions::to_lower",
        14.0,
    ),
    (
        "service::jobs::run::{{closure}} > service::library::Library::compact::{{closure}} > service::library::count_words > alloc::collections::btree::map::BTreeMap<K,V,A>::entry > alloc::collections::btree::search::<impl alloc::collections::btree::node::NodeRef<BorrowType,K,V,alloc::collections::btree::node::marker::LeafOrInternal>>::search_tree > __memcmp_avx2_movbe",
        21.0,
    ),
    (
        "service::jobs::run::{{closure}} > service::library::Library::compact::{{closure}} > service::library::count_words > alloc::collections::btree::map::BTreeMap<K,V,A>::entry > alloc::collections::btree::search::<impl alloc::collections::btree::node::NodeRef<BorrowType,K,V,alloc::collections::btree::node::marker::LeafOrInternal>>::search_tree",
        15.0,
    ),
    (
        "service::jobs::run::{{closure}} > service::library::Library::compact::{{closure}} > service::library::count_words > __libc_malloc > _int_malloc",
        9.0,
    ),
    (
        "service::jobs::run::{{closure}} > service::library::Library::compact::{{closure}} > <alloc::vec::Vec<T,A> as core::clone::Clone>::clone > __memcpy_avx_unaligned_erms",
        13.0,
    ),
    (
        "service::jobs::run::{{closure}} > service::library::Library::compact::{{closure}} > service::storage::Segment::write > service::storage::compress > lz4_flex::block::compress::compress_internal",
        24.0,
    ),
    (
        "service::jobs::run::{{closure}} > service::library::Library::compact::{{closure}} > service::storage::Segment::write > service::storage::compress > service::storage::checksum",
        4.0,
    ),
];

const CHECKSUM: &[(&str, f64)] = &[
    (
        "service::jobs::run::{{closure}} > service::library::Library::check::{{closure}} > service::storage::checksum",
        9.0,
    ),
    (
        "service::jobs::run::{{closure}} > service::library::Library::check::{{closure}} > <alloc::vec::Vec<T,A> as core::clone::Clone>::clone > __memcpy_avx_unaligned_erms",
        2.0,
    ),
];

const REPORT: &[(&str, f64)] = &[
    (
        "service::jobs::nightly_report::{{closure}} > service::report::Tree::walk > service::report::Tree::walk > service::report::Tree::walk > service::report::Leaf::score",
        8.0,
    ),
    (
        "service::jobs::nightly_report::{{closure}} > service::report::Tree::walk > service::report::Tree::walk > service::report::Leaf::score",
        5.0,
    ),
    (
        "service::jobs::nightly_report::{{closure}} > service::report::Tree::walk > service::report::Tree::walk > service::report::Tree::walk",
        2.0,
    ),
    (
        "service::jobs::nightly_report::{{closure}} > service::report::render > core::fmt::write > <f64 as core::fmt::Display>::fmt",
        4.0,
    ),
];

const RUNTIME: &[(&str, f64)] = &[
    (
        "tokio::runtime::scheduler::multi_thread::worker::Context::park > tokio::runtime::io::driver::Driver::turn > __epoll_wait",
        9.0,
    ),
    (
        "tokio::runtime::scheduler::multi_thread::worker::Context::park > tokio::runtime::time::Driver::park_internal",
        4.0,
    ),
    (
        "tokio::runtime::scheduler::multi_thread::worker::Core::steal_work",
        3.0,
    ),
    (
        "main > service::main::{{closure}} > service::metrics::flush > core::fmt::write",
        2.0,
    ),
];

/// Numbers that look random and are the same on every run (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn nanos(&mut self) -> Duration {
        Duration::from_nanos(self.below(900_000_000))
    }
}
