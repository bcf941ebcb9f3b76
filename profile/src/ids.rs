//! Where in its list each id is.

use std::collections::HashMap;

use crate::error::{Error, Result};

/// Nearly every writer numbers from 1 in the order of the list. Then an id says where
/// it is by itself, and a stack is followed without hashing.
#[derive(Clone, Debug)]
pub(crate) enum Ids {
    Dense(usize),
    Sparse(HashMap<u64, usize>),
}

impl Ids {
    /// Fails for an id that is 0 or used twice. `what` names what has the ids.
    pub(crate) fn of(what: &str, ids: impl ExactSizeIterator<Item = u64> + Clone) -> Result<Self> {
        if ids.clone().zip(1..).all(|(id, number)| id == number) {
            return Ok(Self::Dense(ids.len()));
        }
        let mut places = HashMap::with_capacity(ids.len());
        for (place, id) in ids.enumerate() {
            if id == 0 {
                return Err(Error::malformed(format!(
                    "a {what} has the id 0; ids begin at 1"
                )));
            }
            if places.insert(id, place).is_some() {
                return Err(Error::malformed(format!(
                    "two {what}s have the id {id}; each id may be used once"
                )));
            }
        }
        Ok(Self::Sparse(places))
    }

    /// The bytes that so many ids take that are not dense.
    #[cfg(feature = "reader")]
    pub(crate) fn sparse_bytes(count: usize) -> u64 {
        // A power of two, an eighth of which stays free. Each has a byte beside it.
        let entries = (count as u64 * 8 / 7).next_power_of_two().max(4);
        (entries + 1) * (size_of::<(u64, usize)>() as u64 + 1)
    }

    /// Where `id` is in its list; `None` for 0 and for one that is not in it.
    pub(crate) fn place(&self, id: u64) -> Option<usize> {
        match self {
            Self::Dense(len) => {
                let place = usize::try_from(id.checked_sub(1)?).ok()?;
                (place < *len).then_some(place)
            }
            Self::Sparse(places) => places.get(&id).copied(),
        }
    }

    /// Where an id is that was checked to be in the list.
    pub(crate) fn at(&self, id: u64) -> usize {
        self.place(id)
            .expect("ids are checked before they are used")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_ids_lead_to_the_same_places() {
        let dense = Ids::of("location", [1, 2, 3].into_iter()).expect("fine");
        assert!(matches!(dense, Ids::Dense(3)));
        let sparse = Ids::of("location", [1, 3, u64::MAX].into_iter()).expect("fine");
        assert_eq!(
            [0, 1, 3, 4, u64::MAX].map(|id| dense.place(id)),
            [None, Some(0), Some(2), None, None]
        );
        assert_eq!(
            [0, 1, 2, 3, u64::MAX].map(|id| sparse.place(id)),
            [None, Some(0), None, Some(1), Some(2)]
        );
        assert_eq!(
            Ids::of("location", [].into_iter()).expect("fine").place(1),
            None
        );
    }

    #[test]
    fn bad_ids_are_named() {
        for (ids, message) in [
            ([1, 0], "a mapping has the id 0"),
            ([7, 7], "two mappings have the id 7"),
        ] {
            let error = Ids::of("mapping", ids.into_iter()).expect_err("bad");
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
