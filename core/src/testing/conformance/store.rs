use std::time::{Duration, SystemTime};

use crate::store::{CaptureName, EntryKind, Store};
use crate::{Error, ErrorKind};

/// A place that stores can be opened on, seen from outside. It exists before
/// the first store is opened.
pub trait StoreFixture {
    /// Opens a store on the place, again and again.
    ///
    /// # Errors
    ///
    /// As the store's own constructor.
    fn open(&self) -> Result<Box<dyn Store>, Error>;

    /// Puts a regular file there.
    fn put(&self, name: &str, bytes: &[u8]);

    /// Reads a regular file.
    fn read(&self, name: &str) -> Option<Vec<u8>>;

    /// The names of all entries, sorted.
    fn names(&self) -> Vec<String>;
}

/// The contract of [`Store`]. `make` makes a new, empty place.
///
/// # Panics
///
/// If a store breaks it.
pub fn store<F: StoreFixture>(make: &dyn Fn() -> F) {
    one_at_a_time(&make());
    a_capture_is_whole(&make());
    a_dropped_capture_leaves_nothing(&make());
    for taken in [
        EntryKind::Profile,
        EntryKind::Sidecar,
        EntryKind::PartialSidecar,
    ] {
        nothing_is_replaced(&make(), taken);
    }
    a_taken_partial_is_refused(&make());
    leftovers_are_put_away(&make());
    usage_counts_everything(&make());
}

fn name(second: u64) -> CaptureName {
    CaptureName::new(SystemTime::UNIX_EPOCH + Duration::from_secs(second))
}

fn open(fixture: &impl StoreFixture) -> Box<dyn Store> {
    let store = fixture.open().expect("the place is free");
    store.recover().expect("the place can be looked at");
    store
}

fn publish(store: &dyn Store, name: CaptureName) {
    let staged = store.stage(name).expect("the name is free");
    staged.publish(b"{}", b"profile").expect("published");
}

fn one_at_a_time(fixture: &impl StoreFixture) {
    let store = open(fixture);
    let second = fixture.open().err().expect("the place is taken");
    assert_eq!(second.kind(), ErrorKind::InUse);
    store.close();
    let second = open(fixture);
    drop(store);
    let third = fixture.open().err().expect("the place is taken again");
    assert_eq!(third.kind(), ErrorKind::InUse);
    drop(second);
    drop(open(fixture));
    assert!(fixture.names().is_empty(), "opening left something");
}

fn a_capture_is_whole(fixture: &impl StoreFixture) {
    let store = open(fixture);
    let name = name(1);
    let staged = store.stage(name).expect("the name is free");
    assert_eq!(
        fixture.names(),
        [name.entry(EntryKind::PartialProfile)],
        "a crash must be seen from the moment a capture is staged"
    );
    staged.publish(b"sidecar", b"profile").expect("published");
    assert_eq!(fixture.names(), [name.profile(), name.sidecar()]);
    assert_eq!(
        fixture.read(&name.profile()).as_deref(),
        Some(&b"profile"[..])
    );
    assert_eq!(
        fixture.read(&name.sidecar()).as_deref(),
        Some(&b"sidecar"[..])
    );
    store.close();
    let recovery = fixture.open().expect("free").recover().expect("recovered");
    assert_eq!(recovery.newest, Some(name.start()));
    assert!(recovery.interrupted.is_empty());
}

fn a_dropped_capture_leaves_nothing(fixture: &impl StoreFixture) {
    let store = open(fixture);
    drop(store.stage(name(1)).expect("the name is free"));
    assert!(fixture.names().is_empty());
}

fn nothing_is_replaced(fixture: &impl StoreFixture, taken: EntryKind) {
    let store = open(fixture);
    let name = name(1);
    let staged = store.stage(name).expect("the name is free");
    fixture.put(&name.entry(taken), b"somebody else's");
    let result = staged.publish(b"sidecar", b"profile");
    if taken == EntryKind::PartialSidecar && result.is_ok() {
        // A store that needs no partial sidecar has no use for the name.
        return;
    }
    result.expect_err("the name is taken");
    assert_eq!(fixture.names(), [name.entry(taken)]);
    assert_eq!(
        fixture.read(&name.entry(taken)).as_deref(),
        Some(&b"somebody else's"[..])
    );
}

fn a_taken_partial_is_refused(fixture: &impl StoreFixture) {
    let store = open(fixture);
    let partial = name(1).entry(EntryKind::PartialProfile);
    fixture.put(&partial, b"somebody else's");
    assert!(store.stage(name(1)).is_err());
    assert_eq!(fixture.names(), [partial]);
}

fn leftovers_are_put_away(fixture: &impl StoreFixture) {
    let interrupted = name(3).entry(EntryKind::PartialProfile);
    for (entry, bytes) in [
        (name(1).profile(), "whole"),
        (name(1).sidecar(), "whole"),
        (name(2).sidecar(), "alone"),
        (interrupted.clone(), "half"),
        (name(3).entry(EntryKind::PartialSidecar), "half"),
        ("notes.pprof.json".to_owned(), "foreign"),
        ("20261130.pprof.partial".to_owned(), "foreign"),
    ] {
        fixture.put(&entry, bytes.as_bytes());
    }
    let kept = [
        name(1).profile(),
        name(1).sidecar(),
        "20261130.pprof.partial".to_owned(),
        "notes.pprof.json".to_owned(),
    ];
    let with = |more: &[String]| {
        let mut names = [&kept[..], more].concat();
        names.sort();
        names
    };

    let store = fixture.open().expect("the place is free");
    let recovery = store.recover().expect("recovered");
    assert_eq!(recovery.newest, Some(name(3).start()));
    assert_eq!(recovery.interrupted, std::slice::from_ref(&interrupted));
    assert_eq!(fixture.names(), with(std::slice::from_ref(&interrupted)));
    assert_eq!(fixture.read(&interrupted).as_deref(), Some(&b""[..]));

    // A capture that comes to nothing changes nothing about that.
    drop(store.stage(name(4)).expect("the name is free"));
    assert_eq!(fixture.names(), with(&[interrupted]));

    publish(&*store, name(5));
    assert_eq!(
        fixture.names(),
        with(&[name(5).profile(), name(5).sidecar()])
    );
    assert_eq!(
        fixture.read("notes.pprof.json").as_deref(),
        Some(&b"foreign"[..])
    );
}

fn usage_counts_everything(fixture: &impl StoreFixture) {
    let store = open(fixture);
    publish(&*store, name(1));
    fixture.put("foreign", &[0; 1000]);
    let usage = store.usage(512).expect("counted");
    assert_eq!(usage.entries, 3);
    assert_eq!(usage.bytes, 1000 + 2 + 7);
    for number in 0..10 {
        fixture.put(&format!("foreign-{number}"), b"");
    }
    let usage = store.usage(5).expect("counted");
    assert!(usage.entries > 5, "counting stopped too early");
    let usage = store.usage(13).expect("counted");
    assert_eq!(usage.entries, 13);
}
