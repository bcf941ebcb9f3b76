//! Clocks that show a time before 1970, which no profile's format knows.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tachograph_core::store::{CaptureName, EntryKind};
use tachograph_core::{End, Sidecar, Store as _, Timestamp};
use tachograph_storage_posix::PosixStore;

use crate::recording::{Recording, some_day};
use crate::whole;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn time(text: &str) -> SystemTime {
    let time: Timestamp = text.parse().expect("well formed");
    time.system_time()
}

fn started(path: &Path, wall: SystemTime) -> Recording {
    Recording::start(PosixStore::open(path).expect("it is free"), wall)
}

/// Insists that a capture of `start` stands there and says so.
fn stands(path: &Path, start: SystemTime) -> Sidecar {
    let name = CaptureName::new(start);
    assert_eq!(
        CaptureName::parse(&name.profile()),
        Some((name, EntryKind::Profile))
    );
    assert!(whole(path).contains(&name.profile()));
    let json = fs::read(path.join(name.sidecar())).expect("it stands there");
    let sidecar = Sidecar::from_json(&json).expect("readable");
    assert_eq!(sidecar.started_at.system_time(), start);
    sidecar
}

/// Captures like any, and the next recorder finds them.
pub(crate) fn before_1970(place: &Path) -> u64 {
    // The first capture ends after 1970 began.
    let starts = [
        "1969-12-31T23:59:45Z",
        "1901-12-13T20:45:51.999999999Z",
        "0000-01-01T00:00:00Z",
    ];
    for start in starts {
        let path = place.join(start);
        let wall = time(start);
        let mut recording = started(&path, wall);
        assert!(recording.is_sampling());
        recording.a_minute_passes();
        assert_eq!(recording.saved(), 1, "{:?}", recording.end());
        let sidecar = stands(&path, wall);
        let lasted = sidecar.finished_at.system_time().duration_since(wall);
        assert_eq!(lasted.expect("after its start"), Duration::from_secs(30));
        assert_eq!(recording.stop(), End::Stopped);

        // The cooldown goes on.
        let second = started(&path, wall + Duration::from_secs(61));
        assert!(!second.is_sampling());
        assert_eq!(second.stop(), End::Stopped);
        assert!(started(&path, wall + Duration::from_secs(300)).is_sampling());
    }
    starts.len() as u64
}

/// No name and no sidecar can tell such a time. The nearest that they can tell is
/// that of one capture, and the next is refused its name.
pub(crate) fn before_the_year_0(place: &Path) -> u64 {
    let path = place.join("profiles");
    let year_0 = time("0000-01-01T00:00:00Z");
    let wall = year_0 - DAY;
    let mut recording = started(&path, wall);
    recording.a_minute_passes();
    assert_eq!(recording.saved(), 1, "{:?}", recording.end());
    stands(&path, year_0);
    assert_eq!(recording.stop(), End::Stopped);

    // It is in the future, and so counts as taken now.
    let mut second = started(&path, wall + Duration::from_secs(3600));
    for _ in 0..5 {
        assert!(!second.is_sampling());
        second.a_minute_passes();
    }
    second.a_minute_passes();
    let why = second.failure();
    assert!(why.contains("File exists"), "{why}");
    assert_eq!(whole(&path).len(), 2);

    // What a crash leaves is known again.
    let interrupted = CaptureName::new(wall).entry(EntryKind::PartialProfile);
    fs::write(path.join(&interrupted), "unfinished").expect("write");
    let store = PosixStore::open(&path).expect("it is free");
    let recovery = store.recover().expect("recovered");
    assert_eq!(recovery.interrupted, [interrupted]);
    1
}

/// The clock is stepped back while recording goes on.
pub(crate) fn stepped_back(place: &Path) -> u64 {
    let to = ["1969-12-31T23:00:00Z", "0000-01-01T00:00:00Z"];
    for to in to {
        let path = place.join(to);
        let mut recording = started(&path, some_day());
        assert!(recording.is_sampling());
        recording.clock.set_wall(time(to));
        recording.a_minute_passes();
        assert_eq!(recording.saved(), 1, "{:?}", recording.end());
        let sidecar = stands(&path, some_day());
        assert!(sidecar.finished_at.system_time() < SystemTime::UNIX_EPOCH);

        // A capture of then, which follows the deadline by neither clock.
        recording.recorder.request("by hand").expect("well formed");
        recording.a_minute_passes();
        let dropped = recording.recorder.status().dropped;
        assert_eq!((recording.saved(), dropped.cooldown), (1, 1));
        for _ in 0..4 {
            recording.a_minute_passes();
        }
        recording.recorder.request("by hand").expect("well formed");
        recording.a_minute_passes();
        assert_eq!(recording.saved(), 2, "{:?}", recording.end());
        let start = time(to) + Duration::from_secs(6 * 60);
        stands(&path, start);
        assert_eq!(whole(&path).len(), 4);
        assert_eq!(recording.stop(), End::Stopped);
    }
    to.len() as u64
}
