//! What stands in the directory, and what the operator takes away.

use std::sync::Arc;

use super::World;
use crate::parts::millis;
use crate::record::{Inventory, Seen};

impl World<'_> {
    pub(super) fn collect(&mut self) {
        let running = self.running.as_ref().map(|it| it.notes.clone());
        let directory = self.directory.clone();
        let collect = |seen: &mut Seen| {
            for attempt in &mut seen.attempts {
                if let Some((_, published)) = &attempt.saved
                    && !attempt.collected
                {
                    attempt.collected = true;
                    directory.remove(&published.name.profile());
                    directory.remove(&published.name.sidecar());
                }
            }
        };
        for life in &mut self.record.lives {
            collect(&mut life.seen);
        }
        if let Some(notes) = running {
            notes.with(collect);
        }
    }

    pub(super) fn take_inventory(&mut self, life: Option<usize>) {
        let names = self.directory.names().into_iter();
        let entries = names.map(|name| {
            let bytes = self.directory.read(&name);
            (name, bytes)
        });
        let mut saved = Vec::new();
        let mut add = |seen: &Seen| {
            let standing = seen.attempts.iter().filter(|attempt| !attempt.collected);
            saved.extend(
                standing.filter_map(|attempt| Some(Arc::clone(&attempt.saved.as_ref()?.1))),
            );
        };
        self.record.lives.iter().for_each(|life| add(&life.seen));
        if let Some(running) = &self.running {
            running.notes.with(|seen| add(seen));
        }
        self.record.inventories.push(Inventory {
            at_ms: millis(&self.clock),
            life,
            entries: entries.collect(),
            foreign: self.foreign.clone(),
            saved,
        });
    }
}

/// What somebody else's file holds.
pub(crate) fn foreign_bytes(bytes: u64) -> Vec<u8> {
    vec![b'f'; bytes as usize]
}
