//! What lies between captures, and why nothing was captured there. Pure, but for
//! [`usage`].

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tachograph_core::store::Usage;
use tachograph_core::{Limits, Policy};

use super::facts::Facts;

/// A stretch of time without a capture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gap {
    pub(super) from: SystemTime,
    pub(super) to: SystemTime,
    /// How many cores the process used meanwhile on average, by its own counter.
    pub(super) cores: Option<f64>,
    /// What there is to say of it; nothing for one as long as usual.
    pub(super) why: Vec<Why>,
}

/// Something that explains a gap, or fell into it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(super) enum Why {
    /// The process's CPU time began anew: it is another process.
    Restarted,
    /// Another build of the binary runs.
    Rebuilt { before: String, after: String },
    /// The operator set another deadline.
    Reopened,
    /// Requests came and led to no capture.
    Dropped {
        cooldown: u64,
        busy: u64,
        pending: u64,
    },
    /// Longer than periodic captures are usually apart.
    #[serde(rename_all = "camelCase")]
    Long { usual_ms: f64 },
    /// The directory has no room for another capture.
    Exhausted { text: String },
    /// The recorder is still at work.
    Recording,
    /// Nothing was captured until the deadline, and nothing here says why.
    Silent,
}

/// How much longer than usual a gap is before that is worth a word. The first tick of a
/// recorder comes one cooldown later than usual, and that is not.
const LONG: f64 = 1.5;

/// The gaps between captures, which must be in the order of their starts.
pub(super) fn between(captures: &[Facts]) -> Vec<Gap> {
    let usual = usual_distance(captures);
    captures
        .windows(2)
        .map(|pair| gap(&pair[0], &pair[1], usual))
        .collect()
}

fn gap(earlier: &Facts, later: &Facts, usual: Option<Duration>) -> Gap {
    let mut why = Vec::new();
    let counter = earlier.cpu_after().zip(later.cpu_before());
    let used = counter.map(|(after, before)| before - after);
    if used.is_some_and(|it| it < 0.0) {
        why.push(Why::Restarted);
    }
    if let (Some(before), Some(after)) = (earlier.build_id(), later.build_id())
        && before != after
    {
        why.push(Why::Rebuilt {
            before: before.to_owned(),
            after: after.to_owned(),
        });
    }
    if let (Some(one), Some(two)) = (&earlier.sidecar, &later.sidecar)
        && one.until != two.until
    {
        why.push(Why::Reopened);
    }
    let distance = later
        .start
        .duration_since(earlier.start)
        .unwrap_or_default();
    if let Some(usual) = usual.filter(|&it| distance > it.mul_f64(LONG)) {
        why.push(Why::Long {
            usual_ms: usual.as_secs_f64() * 1e3,
        });
    }
    if let Some(requests) = later.sidecar.as_ref().map(|it| it.requests)
        && (requests.cooldown, requests.busy, requests.pending) != (0, 0, 0)
    {
        why.push(Why::Dropped {
            cooldown: requests.cooldown,
            busy: requests.busy,
            pending: requests.pending,
        });
    }
    let length = later.start.duration_since(earlier.end).unwrap_or_default();
    let cores = used.map(|it| it / length.as_secs_f64());
    Gap {
        from: earlier.end,
        to: later.start.max(earlier.end),
        cores: cores.filter(|it| it.is_finite() && *it >= 0.0),
        why,
    }
}

/// How far apart the starts of periodic captures are, in the middle; `None` if there are
/// too few to tell.
fn usual_distance(captures: &[Facts]) -> Option<Duration> {
    let periodic: Vec<SystemTime> = captures
        .iter()
        .filter(|it| it.is_periodic())
        .map(|it| it.start)
        .collect();
    let mut distances: Vec<Duration> = periodic
        .windows(2)
        .filter_map(|pair| pair[1].duration_since(pair[0]).ok())
        .collect();
    distances.sort_unstable();
    (distances.len() >= 3).then(|| distances[distances.len() / 2])
}

/// What is in `directory`, as a recorder counts it; nothing of what cannot be looked at.
pub(super) fn usage(directory: &Path) -> Usage {
    let mut usage = Usage::default();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        usage.entries += 1;
        usage.bytes += match entry.metadata() {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            _ => 0,
        };
    }
    usage
}

/// From the last capture to the deadline of its window, if there was room for more
/// captures in between. Budgets are taken to be the default ones: a capture does not
/// say which it had.
pub(super) fn at_the_end(captures: &[Facts], usage: &Usage, is_recording: bool) -> Option<Gap> {
    let last = captures.last()?;
    let until = last.deadline()?;
    let left = until.duration_since(last.end).ok()?;
    let usual = usual_distance(captures).unwrap_or_else(|| Policy::default().interval());
    if left <= usual.mul_f64(LONG) {
        return None;
    }
    let why = match Limits::default().judge(usage) {
        _ if is_recording => Why::Recording,
        Err(exhausted) => Why::Exhausted {
            text: exhausted.to_string(),
        },
        Ok(()) => Why::Silent,
    };
    Some(Gap {
        from: last.end,
        to: until,
        cores: None,
        why: vec![why],
    })
}

#[cfg(test)]
mod tests {
    use tachograph_core::{ProcessCpu, Sidecar};

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(minutes: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + MINUTE * (1_000_000 + minutes)
    }

    /// A capture of one minute, of a process that had used `cpu` seconds by then and uses 6
    /// in it.
    fn capture(minutes: u32, reason: &str, cpu: f64) -> Facts {
        let text = |minutes| tachograph_core::Timestamp::from(at(minutes)).to_string();
        let json = serde_json::json!({
            "Reason": reason,
            "StartedAt": text(minutes),
            "FinishedAt": text(minutes + 1),
            "Until": text(1_000),
            "RustVersion": "1.89.0",
            "Sampler": { "Name": "linux", "Version": "0.1.0", "FrequencyHz": 100 },
            "Samples": 600,
            "Lost": 0,
            "Bytes": 1,
            "Sha256": "",
            "Requests": { "Cooldown": 0, "Busy": 0, "Pending": 0 },
            "Before": { "ProcessCPU": { "UserSeconds": cpu, "SystemSeconds": 0.0 } },
            "After": { "ProcessCPU": { "UserSeconds": cpu, "SystemSeconds": 6.0 } },
        });
        Facts {
            start: at(minutes),
            end: at(minutes + 1),
            sampled: MINUTE,
            sidecar: Some(Sidecar::from_json(json.to_string().as_bytes()).expect("a sidecar")),
        }
    }

    fn sidecar(facts: &mut Facts) -> &mut Sidecar {
        facts.sidecar.as_mut().expect("it has one")
    }

    /// Half-hourly captures; between them the process uses 174 s in 29 minutes.
    fn regular() -> Vec<Facts> {
        (0..5)
            .map(|number| capture(30 * number, "periodic", 180.0 * f64::from(number)))
            .collect()
    }

    #[test]
    fn a_regular_gap_has_nothing_to_tell_but_its_cpu() {
        for (number, gap) in between(&regular()).iter().enumerate() {
            let number = u32::try_from(number).expect("few");
            assert_eq!(gap.from, at(30 * number + 1));
            assert_eq!(gap.to, at(30 * (number + 1)));
            assert_eq!(gap.cores, Some(0.1));
            assert_eq!(gap.why, []);
        }
    }

    #[test]
    fn a_counter_that_begins_anew_is_another_process() {
        let mut captures = regular();
        sidecar(&mut captures[3]).before.process_cpu = Some(ProcessCpu {
            user_seconds: 0.5,
            system_seconds: 0.0,
        });
        let gaps = between(&captures);
        assert_eq!(gaps[2].why, [Why::Restarted]);
        assert_eq!(gaps[2].cores, None);
        assert_eq!(gaps[1].why, []);
    }

    #[test]
    fn each_cause_is_told() {
        let mut captures = regular();
        sidecar(&mut captures[1]).requests.cooldown = 3;
        sidecar(&mut captures[2]).until = at(2_000).into();
        let build = |id: &str| {
            Some(tachograph_core::SidecarExecutable {
                build_id: id.into(),
            })
        };
        sidecar(&mut captures[2]).executable = build("aa");
        sidecar(&mut captures[3]).executable = build("bb");
        sidecar(&mut captures[3]).until = at(2_000).into();
        sidecar(&mut captures[4]).until = at(2_000).into();
        captures.push(capture(120 + 46, "periodic", 10_000.0));
        sidecar(&mut captures[5]).until = at(2_000).into();
        let whys: Vec<_> = between(&captures).into_iter().map(|it| it.why).collect();
        assert_eq!(
            whys[0],
            [Why::Dropped {
                cooldown: 3,
                busy: 0,
                pending: 0
            }]
        );
        assert_eq!(whys[1], [Why::Reopened]);
        assert_eq!(
            whys[2],
            [Why::Rebuilt {
                before: "aa".into(),
                after: "bb".into()
            }]
        );
        assert_eq!(whys[3], []);
        assert_eq!(
            whys[4],
            [Why::Long {
                usual_ms: 1_800_000.0
            }]
        );
    }

    #[test]
    fn one_and_a_half_times_the_usual_is_not_long() {
        let mut captures = regular();
        captures.push(capture(120 + 45, "periodic", 10_000.0));
        assert_eq!(between(&captures)[4].why, []);
    }

    #[test]
    fn without_a_sidecar_nothing_is_made_up() {
        let mut captures = regular();
        captures[2].sidecar = None;
        let gaps = between(&captures);
        assert_eq!((gaps[1].cores, gaps[2].cores), (None, None));
        assert!(gaps.iter().all(|it| it.why.is_empty()));
    }

    #[test]
    fn captures_that_overlap_make_no_gap_of_negative_length() {
        let mut captures = regular();
        captures[0].end = at(40);
        let gap = &between(&captures)[0];
        assert_eq!((gap.from, gap.to), (at(40), at(40)));
        assert_eq!(gap.cores, None);
    }

    #[test]
    fn the_end_is_told_by_the_budget_or_not_at_all() {
        let captures = regular();
        let usage = |entries, bytes| Usage {
            entries,
            bytes,
            bytes_free: None,
        };
        let end = at_the_end(&captures, &usage(510, 0), false).expect("long before the deadline");
        assert_eq!((end.from, end.to), (at(121), at(1_000)));
        assert_eq!(end.why, [Why::Silent]);
        let end = at_the_end(&captures, &usage(511, 0), false).expect("long before the deadline");
        let [Why::Exhausted { text }] = &end.why[..] else {
            panic!("{:?}", end.why)
        };
        assert!(text.contains("511 entries"), "{text}");

        let end = at_the_end(&captures, &usage(511, 0), true).expect("long before the deadline");
        assert_eq!(end.why, [Why::Recording]);

        let mut captures = captures;
        sidecar(&mut captures[4]).until = at(121 + 45).into();
        assert_eq!(at_the_end(&captures, &usage(511, 0), false), None);
        sidecar(&mut captures[4]).until = at(121 + 72 * 60 + 1).into();
        assert_eq!(
            at_the_end(&captures, &usage(511, 0), false),
            None,
            "no window is so long"
        );
        assert_eq!(at_the_end(&[], &usage(511, 0), false), None);
    }
}
