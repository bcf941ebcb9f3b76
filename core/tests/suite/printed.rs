//! What somebody sees who prints a part: what tells it apart, and no insides.

use std::sync::Arc;

use tachograph_core::testing::InlineOffload;
use tachograph_core::{Application, Connection, Driver, Exhausted, Name, Parts, Reason};

use crate::support::{self, Bench};

#[test]
fn parts_and_a_recorder_show_what_they_were_made_of() {
    let bench = Bench::new();
    let parts: Parts = bench.parts();
    let printed = format!("{parts:?}");
    for shown in ["window", "sampler", "policy", "limits", "compaction"] {
        assert!(printed.contains(shown), "{printed}");
    }
    let (recorder, driver) = support::new(parts);
    let printed = format!("{recorder:?}");
    assert!(printed.contains("compaction"), "{printed}");
    assert_eq!(format!("{driver:?}"), "Driver { .. }");
}

#[test]
fn what_holds_closures_shows_its_name_alone() {
    let application = Application::new(Arc::new(InlineOffload), || 7.into());
    assert_eq!(format!("{application:?}"), "Application { .. }");
    let connection = Connection {
        offload: Arc::new(InlineOffload),
        snapshot_source: None,
        spawn: Box::new(|driver: Driver| drop(driver)),
    };
    assert_eq!(format!("{connection:?}"), "Connection { .. }");
}

#[test]
fn a_name_shows_as_text_that_is_quoted_to_a_programmer() {
    let name = Name::new("compaction").expect("valid");
    assert_eq!(format!("{name} {name:?}"), "compaction \"compaction\"");
    assert_eq!(Reason::Requested(name).to_string(), "compaction");
    assert_eq!(Reason::Periodic.to_string(), "periodic");
}

#[test]
fn an_exhausted_budget_shows_what_was_found_and_what_would_do() {
    for (exhausted, printed) in [
        (
            Exhausted::Entries {
                found: 511,
                allowed: 510,
            },
            "the directory has 511 entries, and a capture is taken at 510 or fewer",
        ),
        (
            Exhausted::Bytes {
                found: 8,
                allowed: 7,
            },
            "the directory has 8 bytes, and a capture is taken at 7 or fewer",
        ),
        (
            Exhausted::FreeSpace { free: 6, needed: 9 },
            "the file system has 6 bytes free, and a full capture may need 9",
        ),
    ] {
        assert_eq!(exhausted.to_string(), printed);
    }
}
