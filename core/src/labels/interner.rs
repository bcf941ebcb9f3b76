//! Names interned once, and at most so many.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use super::{LABELS, Label, NAMES_MAX};
use crate::Name;

struct Interner {
    names: Vec<Name>,
    labels: HashMap<Name, Label>,
    names_max: usize,
}

/// The labels below this one have a meaning of their own.
const FIRST_NAMED: u16 = 2;

const _: () = assert!(NAMES_MAX + FIRST_NAMED as usize == LABELS);
const _: () = assert!(LABELS <= u16::MAX as usize);

impl Interner {
    fn new(names_max: usize) -> Self {
        Self {
            names: Vec::new(),
            labels: HashMap::new(),
            names_max,
        }
    }

    fn find(&self, name: &str) -> Option<Label> {
        if name == Label::OTHER_NAME {
            return Some(Label::OTHER);
        }
        self.labels.get(name).copied()
    }

    fn intern(&mut self, name: &Name) -> Label {
        if let Some(label) = self.find(name.as_str()) {
            return label;
        }
        if self.names.len() >= self.names_max {
            return Label::OTHER;
        }
        let label = Label(FIRST_NAMED + self.names.len() as u16);
        self.names.push(name.clone());
        self.labels.insert(name.clone(), label);
        label
    }

    fn name(&self, label: Label) -> Option<&str> {
        match label {
            Label::OTHER => Some(Label::OTHER_NAME),
            Label(number) => {
                let index = number.checked_sub(FIRST_NAMED)?;
                self.names.get(usize::from(index)).map(Name::as_str)
            }
        }
    }
}

static INTERNER: LazyLock<RwLock<Interner>> =
    LazyLock::new(|| RwLock::new(Interner::new(NAMES_MAX)));

pub(super) fn intern(name: &Name) -> Label {
    let known = INTERNER
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .find(name.as_str());
    known.unwrap_or_else(|| {
        INTERNER
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .intern(name)
    })
}

pub(super) fn name(label: Label) -> Option<String> {
    INTERNER
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .name(label)
        .map(str::to_owned)
}

/// The number after the last that was given out.
pub(super) fn end() -> u16 {
    let interner = INTERNER.read().unwrap_or_else(PoisonError::into_inner);
    FIRST_NAMED + interner.names.len() as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_after_the_last_that_fits_are_other() {
        let mut interner = Interner::new(2);
        let name = |text| Name::new(text).expect("valid");
        let first = interner.intern(&name("first"));
        let second = interner.intern(&name("second"));
        assert_ne!(first, second);
        assert_eq!(interner.intern(&name("first")), first);
        assert_eq!(interner.intern(&name("third")), Label::OTHER);
        assert_eq!(interner.intern(&name("(other)")), Label::OTHER);
        assert_eq!(interner.name(first), Some("first"));
        assert_eq!(interner.name(second), Some("second"));
        assert_eq!(interner.name(Label::OTHER), Some("(other)"));
        assert_eq!(interner.name(Label::NONE), None);
    }
}
