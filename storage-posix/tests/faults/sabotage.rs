//! That the table would notice: a store that is broken on purpose, in each way
//! that it watches for, turns it red.

use std::io;
use std::sync::{Arc, Mutex};

use rustix::fs::AtFlags;
use rustix::io::Errno;
use tachograph_core::store::{CaptureName, EntryKind};
use tachograph_storage_posix::seam::{self, Call, Hook, Operation};

use crate::faulty::{Fault, Faulty, How, System};
use crate::judgement::{Judgement, judge_cleaning, judge_later, judge_outcome, judge_rest};
use crate::script::{self, Place, Start};

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sabotage {
    /// Nothing: the table is green.
    Nothing,
    /// What is to be removed stays.
    ForgetRemoval,
    /// The profile gets its name before the sidecar does.
    ProfileFirst,
    /// The lock outlives the store.
    KeepLock,
    /// A foreign file is removed too.
    RemoveForeign,
    /// An error is passed over.
    SwallowError,
    /// An error is another one than the system's.
    ChangeError,
    /// A call that was interrupted is not made again.
    GiveUpWhenInterrupted,
}

/// Sabotages what a faulty system does.
struct Saboteur {
    sabotage: Sabotage,
    faulty: Arc<Faulty>,
    kept: Mutex<Vec<std::os::fd::OwnedFd>>,
}

impl Hook for Saboteur {
    fn before(&self, call: &mut Call<'_>) -> io::Result<()> {
        let kind = |name: Option<&std::path::Path>| {
            let name = name?.to_str()?;
            CaptureName::parse(name)
        };
        match (self.sabotage, call.operation) {
            (Sabotage::ForgetRemoval, Operation::Remove) => {
                self.faulty.before(call)?;
                return Err(Errno::NOENT.into());
            }
            (Sabotage::ProfileFirst, Operation::Rename) => match kind(call.new_name) {
                Some((capture, EntryKind::Sidecar)) => {
                    let partial = capture.entry(EntryKind::PartialProfile);
                    let profile = capture.profile();
                    let at = call.descriptor;
                    rustix::fs::linkat(at, &*partial, at, &*profile, AtFlags::empty())?;
                }
                Some((capture, EntryKind::Profile)) => {
                    let profile = capture.profile();
                    rustix::fs::unlinkat(call.descriptor, &*profile, AtFlags::empty())?;
                }
                _ => {}
            },
            (Sabotage::KeepLock, Operation::Lock) => {
                let descriptor = call.descriptor.try_clone_to_owned()?;
                self.kept.lock().expect("unpoisoned").push(descriptor);
            }
            (Sabotage::KeepLock, Operation::Unlock) => return Err(Errno::IO.into()),
            (Sabotage::RemoveForeign, Operation::Create) => {
                let _ = rustix::fs::unlinkat(call.descriptor, "notes.txt", AtFlags::empty());
            }
            _ => {}
        }
        match (self.sabotage, self.faulty.before(call)) {
            (Sabotage::SwallowError, Err(_)) => Ok(()),
            (Sabotage::ChangeError, Err(_)) => Err(Errno::BADF.into()),
            (Sabotage::GiveUpWhenInterrupted, Err(error))
                if error.kind() == io::ErrorKind::Interrupted =>
            {
                Err(Errno::CANCELED.into())
            }
            (_, outcome) => outcome,
        }
    }

    fn after(&self, call: &Call<'_>, outcome: io::Result<()>) -> io::Result<()> {
        self.faulty.after(call, outcome)
    }
}

/// A row of the table, under sabotage.
fn judge_one(sabotage: Sabotage, fault: Fault) -> Judgement {
    let place = Place::new(Start::Leftovers);
    let faulty = Faulty::new(System::Ordinary, [fault]);
    let saboteur = Arc::new(Saboteur {
        sabotage,
        faulty: Arc::clone(&faulty),
        kept: Mutex::default(),
    });
    let outcome = script::run_under(&place.path, &faulty, saboteur.clone());
    let seen = faulty.seen();
    let judgement = match seen.get(fault.at) {
        Some(hit) => judge_outcome(&place, hit, fault, &outcome)
            .and_then(|()| judge_cleaning(&place, hit, fault.how, &outcome)),
        // It is over sooner than an honest one.
        None => Ok(()),
    };
    let judgement = judgement.and_then(|()| judge_rest(&place));
    let _installed = seam::install(saboteur);
    judgement.and_then(|()| judge_later(&place))
}

#[test]
fn each_sabotage_is_noticed() {
    for (sabotage, is_noticed) in [
        (Sabotage::Nothing, false),
        (Sabotage::ForgetRemoval, true),
        (Sabotage::ProfileFirst, true),
        (Sabotage::KeepLock, true),
        (Sabotage::RemoveForeign, true),
        (Sabotage::SwallowError, true),
        (Sabotage::ChangeError, true),
        (Sabotage::GiveUpWhenInterrupted, true),
    ] {
        let rows = crate::calls(Start::Leftovers, System::Ordinary).len();
        let mut faults = (0..rows).flat_map(|at| {
            [Errno::IO, Errno::INTR].map(|errno| Fault {
                at,
                how: How::Once,
                errno,
            })
        });
        let red = faults.find_map(|fault| judge_one(sabotage, fault).err());
        assert_eq!(red.is_some(), is_noticed, "{sabotage:?}: {red:?}");
    }
}
