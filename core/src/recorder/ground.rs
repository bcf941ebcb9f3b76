//! What must be given back in the end, and in which order.
//!
//! The driver may be dropped at any await point, on an executor thread, while
//! offloaded work still runs. So everything that holds something (the store's
//! lock, a staged capture, a running session) sits in a guard, and every guard
//! and every piece of offloaded work keeps the ground alive. Whoever is last
//! closes the store, which therefore is released after everything else.

use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::oneshot;

use super::Shared;
use crate::offload::{self, Offload, spawn_surely};
use crate::{End, Error, Store};

/// The store and the means to work on it.
pub(super) struct Ground {
    /// Always there until the drop.
    store: Option<Box<dyn Store>>,
    end_signal: Option<EndSignal>,
    offload: Arc<dyn Offload>,
    shared: Arc<Shared>,
}

impl Ground {
    pub(super) fn new(
        store: Box<dyn Store>,
        offload: Arc<dyn Offload>,
        shared: Arc<Shared>,
        sender: oneshot::Sender<()>,
    ) -> Arc<Self> {
        Arc::new(Self {
            store: Some(store),
            end_signal: Some(EndSignal {
                shared: Arc::clone(&shared),
                end: Mutex::new(None),
                _sender: sender,
            }),
            offload,
            shared,
        })
    }

    /// Why recording is over; told to everybody once all is given back.
    pub(super) fn set_end(&self, end: End) {
        if let Some(signal) = &self.end_signal {
            *signal.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
        }
    }

    /// Runs `work` on the store where it may block.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&dyn Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let ground = Arc::clone(self);
        offload::run(&*self.offload, move || match &ground.store {
            Some(store) => work(&**store),
            None => unreachable!("the store is there until the drop of the ground"),
        })
        .await?
    }

    /// The same for work that returns something which must not be dropped on
    /// an executor thread.
    pub(super) async fn run_guarded<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&dyn Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<Guarded<T>, Error> {
        let ground = Arc::clone(self);
        self.run(move |store| {
            let value = work(store)?;
            Ok(Guarded::new(value, ground))
        })
        .await
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let store = self.store.take();
        let end_signal = self.end_signal.take();
        if !self.shared.is_own_process() {
            // The lock and the files are the parent's.
            std::mem::forget((store, end_signal));
            return;
        }
        spawn_surely(&*self.offload, move || {
            // Also told if the store panics.
            let _end_signal = end_signal;
            if let Some(store) = store {
                store.close();
            }
        });
    }
}

/// Tells everybody, when it is dropped, that recording is over.
struct EndSignal {
    shared: Arc<Shared>,
    end: Mutex<Option<End>>,
    _sender: oneshot::Sender<()>,
}

impl Drop for EndSignal {
    fn drop(&mut self) {
        let end = self
            .end
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let end = end.unwrap_or_else(|| {
            // The loop, which logs every other end, was dropped on its way.
            tracing::info!(target: "tachograph", why = %End::Abandoned, "recording ended");
            End::Abandoned
        });
        self.shared.end(end);
    }
}

/// Something whose drop may block: dropped by the driver it is sent where
/// blocking is allowed.
pub(super) struct Guarded<T: Send + 'static> {
    value: Option<T>,
    ground: Arc<Ground>,
}

impl<T: Send + 'static> Guarded<T> {
    pub(super) fn new(value: T, ground: Arc<Ground>) -> Self {
        Self {
            value: Some(value),
            ground,
        }
    }

    /// The value itself, for offloaded work.
    pub(super) fn into_inner(mut self) -> T {
        match self.value.take() {
            Some(value) => value,
            None => unreachable!("the value is there until the guard is consumed"),
        }
    }

    /// Looks at the value where that may block.
    pub(super) async fn inspect(
        self,
        look: impl FnOnce(&T) -> Result<(), Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let ground = Arc::clone(&self.ground);
        ground
            .run(move |_| {
                if let Some(value) = &self.value {
                    look(value)?;
                }
                Ok(self)
            })
            .await
    }

    /// Drops the value where that may block, and returns when it is done.
    pub(super) async fn discard(self) -> Result<(), Error> {
        let ground = Arc::clone(&self.ground);
        ground
            .run(move |_| {
                drop(self.into_inner());
                Ok(())
            })
            .await
    }
}

impl<T: Send + 'static> Drop for Guarded<T> {
    fn drop(&mut self) {
        let Some(value) = self.value.take() else {
            return;
        };
        if !self.ground.shared.is_own_process() {
            std::mem::forget(value);
            return;
        }
        let ground = Arc::clone(&self.ground);
        spawn_surely(&*self.ground.offload, move || {
            drop(value);
            drop(ground);
        });
    }
}
