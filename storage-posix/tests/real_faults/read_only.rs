//! File systems that nobody may write to.

use std::fs;
use std::path::{Path, PathBuf};

use tachograph_core::ErrorKind;
use tachograph_core::store::EntryKind;
use tachograph_storage_posix::PosixStore;

use crate::common::{name, publish, set_mode, snapshot};
use crate::mounts::{bind, in_private_mounts, make_read_only};
use crate::recording::{Recording, some_day};

const READ_ONLY: &str = "Read-only file system";

/// Shows `place/real` at `place/view`, for reading.
fn view(place: &Path) -> PathBuf {
    let view = place.join("view");
    bind(&place.join("real"), &view);
    make_read_only(&view);
    view
}

/// The first capture ends recording, and a directory that is missing is an error
/// at start.
pub(crate) fn all_along(place: &Path) -> u64 {
    let done = in_private_mounts(|| {
        let real = place.join("real");
        let store = PosixStore::open(&real.join("profiles")).expect("it can be made");
        publish(&store, name(1));
        drop(store);
        let view = view(place);
        let before = snapshot(&real);

        let store = PosixStore::open(&view.join("profiles")).expect("it can be read");
        let why = Recording::start(store, some_day()).failure();
        assert!(why.contains("cannot create"), "{why}");
        assert!(why.contains(READ_ONLY), "{why}");

        let missing = view.join("missing");
        let error = PosixStore::open(&missing).expect_err("nobody can make it");
        assert_eq!(error.kind(), ErrorKind::Directory);
        let why = format!("{error:#}");
        assert!(
            why.contains("cannot be created") && why.contains(READ_ONLY),
            "{why}"
        );
        assert_eq!(snapshot(&real), before);
    });
    2 * u64::from(done)
}

/// What a crash left can be put away no more: recording ends before it begins.
pub(crate) fn with_leftovers(place: &Path) -> u64 {
    let done = in_private_mounts(|| {
        for (number, kind, said) in [
            (1, EntryKind::Sidecar, "cannot remove"),
            (2, EntryKind::PartialSidecar, "cannot remove"),
            (3, EntryKind::PartialProfile, "cannot empty"),
        ] {
            let place = place.join(number.to_string());
            let profiles = place.join("real/profiles");
            fs::create_dir_all(&profiles).expect("create");
            set_mode(&profiles, 0o700);
            fs::write(profiles.join(name(1).entry(kind)), "content").expect("write");
            let view = view(&place);
            let before = snapshot(&profiles);

            let store = PosixStore::open(&view.join("profiles")).expect("it can be read");
            let recording = Recording::start(store, some_day());
            assert_eq!(recording.sampler.starts(), 0);
            let why = recording.failure();
            assert!(why.contains(said) && why.contains(READ_ONLY), "{why}");
            assert_eq!(snapshot(&profiles), before);
            drop(recording);

            let store = PosixStore::open(&profiles).expect("all is well beside it");
            let mut recording = Recording::start(store, some_day());
            recording.a_minute_passes();
            assert_eq!(recording.saved(), 1);
        }
    });
    3 * u64::from(done)
}
