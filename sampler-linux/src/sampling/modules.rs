//! What is loaded, over the time of a capture.
//!
//! A module that was unloaded stays known until another one takes its place,
//! since samples of it may still be in the ring, and for its name. Each frame
//! is kept with the number of its module, so that two modules that had the same
//! addresses one after the other stay apart.

use std::ops::Range;

use framehop::{ExplicitModuleSectionInfo, Module as UnwindModule, Unwinder};
use tachograph_profile::{LoadedModules, Module, Segment};

use super::elf::{self, Bytes, Changes, Object};
use super::machine::{Machine, Native};

/// Addresses in user space have fewer bits.
const ADDRESS_BITS: u32 = 48;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

/// Where the addresses of modules that had to make room go in the profile:
/// beyond all that a process can have.
const ELSEWHERE: u64 = 1 << 56;

/// An address and the number of its module, from 1; 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Frame(u64);

#[cfg(test)]
impl Frame {
    pub(crate) fn for_test(byte: u8) -> Self {
        Self(byte.into())
    }

    pub(crate) fn to_test(self) -> u8 {
        self.0 as u8
    }
}

type Unwinding = <Native as Machine>::Unwinder;

/// A module and whether its addresses still mean it.
#[derive(Debug)]
struct Known {
    module: Module,
    replaced: bool,
}

/// All modules that a capture has met.
pub(crate) struct Modules {
    known: Vec<Known>,
    /// Segments of the modules that were not replaced, by address, with their
    /// module's place.
    index: Vec<(Range<u64>, usize)>,
    objects: Vec<Object>,
    changes: Changes,
    unwinder: Unwinding,
}

impl Modules {
    pub(crate) fn new() -> tachograph_profile::Result<Self> {
        let mut modules = Self {
            known: Vec::new(),
            index: Vec::new(),
            objects: Vec::new(),
            changes: Changes::now(),
            unwinder: Unwinding::new(),
        };
        modules.meet(&LoadedModules::current()?);
        Ok(modules)
    }

    /// Whether something was loaded or unloaded since the last look.
    pub(crate) fn have_changed(&self) -> bool {
        Changes::now() != self.changes
    }

    /// Looks again.
    pub(crate) fn refresh(&mut self) {
        let changes = Changes::now();
        if let Ok(loaded) = LoadedModules::current() {
            self.meet(&loaded);
            self.changes = changes;
        }
    }

    pub(crate) fn unwinder(&self) -> &Unwinding {
        &self.unwinder
    }

    pub(crate) fn frame(&self, address: u64) -> Frame {
        let number = self.find(address).map_or(0, |place| place as u64 + 1);
        Frame(number << ADDRESS_BITS | address & ADDRESS_MASK)
    }

    /// The modules for a profile, and the address in it of each frame.
    pub(crate) fn into_profile(self) -> (LoadedModules, Addresses) {
        let mut elsewhere = ELSEWHERE;
        let mut shifts = vec![0];
        let mut modules = Vec::new();
        for known in self.known {
            if known.replaced {
                let (module, shift, end) = moved(&known.module, elsewhere);
                elsewhere = end;
                shifts.push(shift);
                modules.push(module);
            } else {
                shifts.push(0);
                modules.push(known.module);
            }
        }
        let mut modules = modules.into_iter();
        let main = modules
            .next()
            .unwrap_or_else(|| Module::new("[unknown]", 0, []).with_file(None));
        (LoadedModules::new(main, modules), Addresses { shifts })
    }

    fn find(&self, address: u64) -> Option<usize> {
        let after = self
            .index
            .partition_point(|(range, _)| range.start <= address);
        let (range, place) = self.index.get(after.checked_sub(1)?)?;
        (address < range.end).then_some(*place)
    }

    fn meet(&mut self, loaded: &LoadedModules) {
        self.objects = elf::objects(&self.objects);
        for module in loaded.iter() {
            let is_known = self
                .known
                .iter()
                .any(|known| !known.replaced && known.module == *module);
            if is_known {
                continue;
            }
            self.make_room(module.segments());
            let place = self.known.len();
            for segment in module.segments() {
                self.index.push((segment.start..segment.end, place));
                self.unwinder
                    .add_module(unwind_module(module, segment, &self.objects));
            }
            self.index.sort_by_key(|(range, _)| range.start);
            self.known.push(Known {
                module: module.clone(),
                replaced: false,
            });
        }
    }

    /// Gives up every module that has addresses of `segments`.
    fn make_room(&mut self, segments: &[Segment]) {
        let overlaps = |range: &Range<u64>| {
            segments
                .iter()
                .any(|it| it.start < range.end && range.start < it.end)
        };
        let mut gone: Vec<usize> = self
            .index
            .iter()
            .filter(|(range, _)| overlaps(range))
            .map(|(_, place)| *place)
            .collect();
        gone.dedup();
        for place in gone {
            if let Some(known) = self.known.get_mut(place) {
                known.replaced = true;
            }
            for (range, _) in self.index.iter().filter(|(_, it)| *it == place) {
                self.unwinder.remove_module(range.start);
            }
            self.index.retain(|(_, it)| *it != place);
        }
    }
}

/// Where the frames of a capture are in its profile.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// By the number of the module; what to add.
    shifts: Vec<u64>,
}

impl Addresses {
    pub(crate) fn of(&self, frame: Frame) -> u64 {
        let number = (frame.0 >> ADDRESS_BITS) as usize;
        let shift = self.shifts.get(number).copied().unwrap_or(0);
        (frame.0 & ADDRESS_MASK).wrapping_add(shift)
    }
}

/// The module at `start` instead of where it was, by how much it moved, and
/// where the next one may begin.
fn moved(module: &Module, start: u64) -> (Module, u64, u64) {
    let first = module.segments().first().map_or(0, |it| it.start);
    let shift = start.wrapping_sub(first);
    let segments: Vec<Segment> = module
        .segments()
        .iter()
        .map(|it| Segment {
            start: it.start.wrapping_add(shift),
            end: it.end.wrapping_add(shift),
            file_offset: it.file_offset,
        })
        .collect();
    let end = segments.last().map_or(start, |it| it.end);
    let bias = module.bias().wrapping_add(shift);
    let there =
        Module::new(module.path(), bias, segments).with_file(module.file().map(ToOwned::to_owned));
    let there = match module.build_id() {
        Some(build_id) => there.with_build_id(build_id),
        None => there,
    };
    (there, shift, end.next_multiple_of(1 << 20))
}

pub(crate) fn unwind_module(
    module: &Module,
    segment: &Segment,
    objects: &[Object],
) -> UnwindModule<Bytes> {
    let range = segment.start..segment.end;
    let object = objects.iter().find(|object| {
        object
            .code
            .iter()
            .any(|code| code.start < range.end && range.start < code.end)
    });
    let (bias, base) = object.map_or((module.bias(), 0), |object| (object.bias, object.base));
    let mut sections = ExplicitModuleSectionInfo {
        base_svma: base,
        ..Default::default()
    };
    if let Some(tables) = object.and_then(|object| object.tables.clone()) {
        sections.eh_frame_hdr_svma = Some(tables.header_range);
        sections.eh_frame_hdr = Some(tables.header);
        sections.eh_frame_svma = Some(tables.frames_range);
        sections.eh_frame = Some(tables.frames);
    }
    let name = module.path().to_string_lossy().into_owned();
    UnwindModule::new(name, range, bias.wrapping_add(base), sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(path: &str, start: u64) -> Module {
        let segment = Segment {
            start,
            end: start + 0x1000,
            file_offset: 0x1000,
        };
        Module::new(path, start - 0x1000, [segment]).with_build_id("ab")
    }

    fn loaded(libraries: &[Module]) -> LoadedModules {
        LoadedModules::new(library("/main", 0x10_0000), libraries.iter().cloned())
    }

    fn empty() -> Modules {
        Modules {
            known: Vec::new(),
            index: Vec::new(),
            objects: Vec::new(),
            changes: Changes::default(),
            unwinder: Unwinding::new(),
        }
    }

    #[test]
    fn an_unloaded_module_is_known_until_its_place_is_taken() {
        let mut modules = empty();
        modules.meet(&loaded(&[library("/first.so", 0x50_0000)]));
        let main = modules.frame(0x10_0010);
        let first = modules.frame(0x50_0010);
        let nowhere = modules.frame(0x90_0000);

        modules.meet(&loaded(&[]));
        assert_eq!(modules.frame(0x50_0010), first);

        modules.meet(&loaded(&[library("/second.so", 0x50_0800)]));
        assert_eq!(modules.find(0x50_0010), None);
        let second = modules.frame(0x50_0810);
        assert_ne!(second, first);

        let (profile, addresses) = modules.into_profile();
        let shown = |frame| {
            let address = addresses.of(frame);
            let module = profile.find(address)?;
            Some((
                module.path().to_str()?.to_owned(),
                module.link_address(address),
            ))
        };
        assert_eq!(shown(main), Some(("/main".into(), 0x1010)));
        assert_eq!(shown(first), Some(("/first.so".into(), 0x1010)));
        assert_eq!(shown(second), Some(("/second.so".into(), 0x1010)));
        assert_eq!(addresses.of(nowhere), 0x90_0000);
        assert_eq!(profile.main().path().to_str(), Some("/main"));
        assert!(profile.iter().all(|it| it.build_id() == Some("ab")));
    }

    #[test]
    fn the_same_module_at_the_same_place_is_the_same() {
        let mut modules = empty();
        let library = [library("/plugin.so", 0x50_0000)];
        modules.meet(&loaded(&library));
        let frame = modules.frame(0x50_0010);
        modules.meet(&loaded(&[]));
        modules.meet(&loaded(&library));
        assert_eq!(modules.frame(0x50_0010), frame);
        assert_eq!(modules.known.len(), 2);
    }

    #[test]
    fn this_process_knows_its_own_code() {
        let modules = Modules::new().expect("a list");
        assert!(!modules.have_changed());
        assert_eq!(modules.find(ours as *const () as usize as u64), Some(0));
        assert_eq!(modules.find(8), None);
    }

    fn ours() {}
}
