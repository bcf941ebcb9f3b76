//! Things that go wrong on purpose.

use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::store::{CaptureName, Recovery, StagedCapture, Store, Usage};
use crate::{Error, ErrorKind, Snapshot, SnapshotSource};

/// How something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It returns an error of this kind.
    Error(ErrorKind),
    /// It panics.
    Panic,
}

impl Fault {
    /// Goes wrong.
    pub(super) fn strike(self, at: &str) -> Result<(), Error> {
        match self {
            Self::Error(kind) => Err(Error::new(kind, format!("injected fault: {at}"))),
            Self::Panic => panic!("injected fault: {at}"),
        }
    }
}

/// A call into a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreCall {
    /// [`Store::recover`].
    Recover,
    /// [`Store::usage`].
    Usage,
    /// [`Store::stage`].
    Stage,
    /// [`StagedCapture::publish`].
    Publish,
    /// [`Store::close`]. It returns nothing, so only a panic can strike here.
    Close,
}

/// A store that goes wrong at chosen calls, and does not do then what was
/// asked of it.
pub struct FaultyStore<S> {
    inner: S,
    plan: Arc<Plan>,
}

#[derive(Default)]
struct Plan {
    /// By call and how many times it was made, counted from 1.
    faults: BTreeMap<(StoreCall, u64), Fault>,
    calls: Mutex<BTreeMap<StoreCall, u64>>,
}

impl Plan {
    fn call(&self, call: StoreCall) -> Result<(), Error> {
        let nth = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            let count = calls.entry(call).or_default();
            *count += 1;
            *count
        };
        match self.faults.get(&(call, nth)) {
            None => Ok(()),
            Some(fault) => fault.strike(&format!("{call:?}, time {nth}")),
        }
    }
}

impl<S: Store> FaultyStore<S> {
    /// `inner`, going wrong at each of `faults`: a call, which time it is made
    /// (counted from 1), and how it goes wrong.
    pub fn new(inner: S, faults: impl IntoIterator<Item = (StoreCall, u64, Fault)>) -> Self {
        let faults = faults
            .into_iter()
            .map(|(call, nth, fault)| ((call, nth), fault))
            .collect();
        Self {
            inner,
            plan: Arc::new(Plan {
                faults,
                calls: Mutex::default(),
            }),
        }
    }
}

impl<S: Store> Store for FaultyStore<S> {
    fn recover(&self) -> Result<Recovery, Error> {
        self.plan.call(StoreCall::Recover)?;
        self.inner.recover()
    }

    fn usage(&self, entries_enough: u64) -> Result<Usage, Error> {
        self.plan.call(StoreCall::Usage)?;
        self.inner.usage(entries_enough)
    }

    fn stage(&self, name: CaptureName) -> Result<Box<dyn StagedCapture>, Error> {
        self.plan.call(StoreCall::Stage)?;
        Ok(Box::new(FaultyStaged {
            inner: self.inner.stage(name)?,
            plan: Arc::clone(&self.plan),
        }))
    }

    fn close(&self) {
        // Closed in any case: a store that panics has still let go.
        self.inner.close();
        let _ = self.plan.call(StoreCall::Close);
    }
}

impl<S> fmt::Debug for FaultyStore<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore")
            .field("faults", &self.plan.faults)
            .finish_non_exhaustive()
    }
}

struct FaultyStaged {
    inner: Box<dyn StagedCapture>,
    plan: Arc<Plan>,
}

impl StagedCapture for FaultyStaged {
    fn publish(self: Box<Self>, sidecar: &[u8], profile: &[u8]) -> Result<(), Error> {
        self.plan.call(StoreCall::Publish)?;
        self.inner.publish(sidecar, profile)
    }
}

/// A snapshot source that goes wrong the nth time it is asked: with a fault,
/// or by never answering.
#[derive(Debug)]
pub struct FaultySnapshot {
    nth: u64,
    fault: Option<Fault>,
    asked: AtomicU64,
}

impl FaultySnapshot {
    /// A source that knows nothing and goes wrong the `nth` time, counted from
    /// 1. Without a fault it does not answer then.
    pub fn new(nth: u64, fault: Option<Fault>) -> Self {
        Self {
            nth,
            fault,
            asked: AtomicU64::new(0),
        }
    }
}

#[async_trait]
impl SnapshotSource for FaultySnapshot {
    async fn snapshot(&self) -> Result<Snapshot, Error> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if asked == self.nth {
            match self.fault {
                Some(fault) => fault.strike(&format!("snapshot {asked}"))?,
                None => pending().await,
            }
        }
        Ok(Snapshot::default())
    }
}
