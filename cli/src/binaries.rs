//! Binaries on this machine that profiles are of.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use tachograph_profile::reader::Binary;
use tachograph_profile::{MappingView, Profile};

/// Opens what profiles say was mapped, if it is still there and the same build.
pub(crate) struct Binaries {
    is_allowed: bool,
    /// By path, whatever builds profiles say it has; `None` if it is not there.
    opened: HashMap<String, Option<Rc<RefCell<Binary>>>>,
}

impl Binaries {
    pub(crate) fn new(is_allowed: bool) -> Self {
        Self {
            is_allowed,
            opened: HashMap::new(),
        }
    }

    /// Opens nothing.
    pub(crate) fn none() -> Self {
        Self::new(false)
    }

    /// The profile with the lines and inlined calls that the binaries on this machine
    /// know of it.
    pub(crate) fn symbolized(&mut self, profile: Profile) -> Profile {
        if !self.is_allowed {
            return profile;
        }
        let mut known: HashMap<u64, Rc<RefCell<Binary>>> = HashMap::new();
        for mapping in profile.mappings() {
            if profile.lacks_lines(&mapping)
                && let Some(binary) = self.of(&mapping)
            {
                known.insert(mapping.message().id, binary);
            }
        }
        if known.is_empty() {
            return profile;
        }
        // What cannot be read after all leaves the profile as it is.
        let (profile, _) =
            profile.symbolized(|mapping| known.get(&mapping.message().id).map(Rc::clone));
        profile
    }

    fn of(&mut self, mapping: &MappingView<'_>) -> Option<Rc<RefCell<Binary>>> {
        let build_id = mapping.build_id()?;
        let path = Path::new(mapping.path());
        if !path.is_absolute() {
            return None;
        }
        let opened = self.opened.entry(mapping.path().to_owned());
        let binary =
            opened.or_insert_with(|| Some(Rc::new(RefCell::new(Binary::open(path).ok()?))));
        binary
            .clone()
            .filter(|it| it.borrow().build_id() == build_id)
    }
}
