//! The machine, and how quiet it was.

use std::fs;
use std::process::Command;
use std::time::Instant;

use super::subjects::{Subjects, succeed};
use super::{go, perf};
use crate::workload::clock::tick_hz;

/// What the numbers depend on.
pub(crate) struct Machine {
    pub(crate) facts: Vec<(&'static str, String)>,
}

impl Machine {
    pub(crate) fn look(subjects: &Subjects) -> Self {
        let mut facts = Vec::new();
        let mut fact = |name, value: Option<String>| {
            facts.push((name, value.unwrap_or_else(|| "not known".into())));
        };
        fact(
            "date",
            Some(jiff::Timestamp::now().strftime("%F %H:%M UTC").to_string()),
        );
        fact("processor", processor());
        fact("memory", memory());
        fact("kernel", kernel());
        fact(
            "Rust",
            succeed(Command::new("rustc").arg("--version"))
                .ok()
                .map(|version| version.trim().to_owned()),
        );
        fact("Go", go::version());
        fact("perf", perf::version());
        fact(
            "this program",
            fs::metadata(&subjects.own)
                .ok()
                .map(|own| format!("{:.1} MB with line tables", own.len() as f64 / 1e6)),
        );
        Self { facts }
    }
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let value = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
    };
    let count = std::thread::available_parallelism().ok()?;
    let model = value("model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let is_virtual = value("flags").is_some_and(|flags| flags.contains("hypervisor"));
    let place = if is_virtual { ", virtual machine" } else { "" };
    Some(format!("{count} × {model}{place}"))
}

fn memory() -> Option<String> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: f64 = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok())?;
    Some(format!("{:.0} GiB", kib / 1024.0 / 1024.0))
}

fn kernel() -> Option<String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(format!(
        "Linux {}, tick of {:.0} Hz",
        release.trim(),
        tick_hz()
    ))
}

/// What else the machine did.
pub(crate) struct Load {
    start: Instant,
    before: Ticks,
    pub(crate) average: String,
}

/// How quiet it was in the meantime.
pub(crate) struct Quiet {
    /// CPUs that other processes kept busy, on average.
    pub(crate) others: f64,
    /// CPUs that the hypervisor gave to others.
    pub(crate) stolen: f64,
    pub(crate) average: String,
}

#[derive(Clone, Copy, Default)]
struct Ticks {
    busy: f64,
    stolen: f64,
    own: f64,
}

impl Load {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            before: Ticks::now(),
            average: load_average(),
        }
    }

    pub(crate) fn since(&self) -> Quiet {
        let now = Ticks::now();
        let wall = self.start.elapsed().as_secs_f64();
        let busy = now.busy - self.before.busy - (now.own - self.before.own);
        Quiet {
            others: (busy / wall).max(0.0),
            stolen: (now.stolen - self.before.stolen) / wall,
            average: self.average.clone(),
        }
    }
}

impl Ticks {
    /// Seconds since the machine started, of all CPUs together.
    fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let numbers: Vec<f64> = text
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect();
        let at = |place: usize| numbers.get(place).copied().unwrap_or(0.0) / 100.0;
        Self {
            // user, nice, system, irq, softirq
            busy: at(0) + at(1) + at(2) + at(5) + at(6),
            stolen: at(7),
            own: super::bench::children_cpu() + crate::workload::clock::process_cpu().as_secs_f64(),
        }
    }
}

fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut numbers = text.split_whitespace();
    numbers.next().unwrap_or("not known").to_owned()
}
