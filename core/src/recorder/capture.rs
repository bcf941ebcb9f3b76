//! One capture, from the budget to the published pair of files.

use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{Either, select};
use sha2::{Digest, Sha256};

use super::driver::Recording;
use super::ground::Guarded;
use crate::offload::panicked;
use crate::schedule::{Action, Event};
use crate::store::CaptureName;
use crate::{
    CappedWriter, Error, ErrorKind, Exhausted, Now, Reason, Requests, Session, Sidecar,
    SidecarExecutable, SidecarSampler, Snapshot, Span, Truth, clock,
};

/// How long all snapshot sources together may take.
pub const SNAPSHOT_TIME_MAX: Duration = Duration::from_secs(5);

/// Why there is no capture.
pub(super) enum NotSaved {
    /// Recording ended before sampling began.
    Abandoned,
    /// Somebody else is profiling.
    Busy(Error),
    /// There is no room for it.
    BudgetExhausted(Exhausted),
    /// Something went wrong.
    Failed(Error),
}

impl From<Error> for NotSaved {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Recording {
    /// Takes a capture that was decided on at `decided`, which is also its
    /// start: so the starts of two captures, by their names, are as far apart
    /// as the decisions.
    pub(super) async fn capture(
        &mut self,
        reason: &Reason,
        decided: Now,
        dropped: Requests,
    ) -> Result<(), NotSaved> {
        let ground = Arc::clone(&self.parts.ground);
        let limits = self.parts.limits;

        let usage = ground
            .run(move |store| store.usage(limits.entries_max()))
            .await?;
        limits.judge(&usage).map_err(NotSaved::BudgetExhausted)?;

        let name = CaptureName::new(decided.wall);
        let staged = ground.run_guarded(move |store| store.stage(name)).await?;
        tracing::info!(
            target: "tachograph",
            file = %name.profile(),
            reason = reason.as_str(),
            "capture started"
        );
        let before = self.snapshot().await?;

        if self.step(Event::Prepared) == Action::Abandon {
            staged.discard().await?;
            return Err(NotSaved::Abandoned);
        }
        let frequency_hz = self.parts.policy.frequency_hz();
        let session = match self.start_sampler(frequency_hz).await {
            Ok(Some(session)) => session,
            Ok(None) => {
                staged.discard().await?;
                return Err(NotSaved::Abandoned);
            }
            Err(error) if error.kind() == ErrorKind::Busy => {
                staged.discard().await?;
                return Err(NotSaved::Busy(error));
            }
            Err(error) => return Err(error.into()),
        };
        let sampling_since = self.parts.clock.now();
        let session = self.sample(session).await?;
        let samples = ground
            .run_guarded(move |_| session.into_inner().stop())
            .await?;
        let finished_at = self.parts.clock.wall();
        let span = Span {
            started_at: decided.wall,
            duration: self.parts.clock.now().saturating_since(sampling_since),
        };
        let after = self.snapshot().await?;

        let bytes_max = limits.profile_bytes_max();
        let encoded = ground
            .run(move |_| encode(samples, span, bytes_max))
            .await?;
        let info = self.parts.sampler.info();
        let sidecar = Sidecar {
            reason: reason.as_str().to_owned(),
            started_at: decided.wall.into(),
            finished_at: finished_at.into(),
            until: self.parts.window.end().into(),
            rust_version: env!("TACHOGRAPH_RUST_VERSION").to_owned(),
            sampler: SidecarSampler {
                name: info.name.to_owned(),
                version: info.version.to_owned(),
                frequency_hz,
            },
            samples: encoded.truth.samples,
            lost: encoded.truth.lost,
            coverage: encoded.truth.coverage,
            executable: encoded
                .truth
                .executable_build_id
                .map(|build_id| SidecarExecutable { build_id }),
            bytes: encoded.profile.len() as u64,
            sha256: encoded.sha256,
            requests: dropped,
            before,
            after,
        };
        let (bytes, samples) = (sidecar.bytes, sidecar.samples);
        let profile = encoded.profile;
        ground
            .run(move |_| {
                // Of any size until it is written: the application's snapshot
                // is in it.
                let json = sidecar.to_json(limits.sidecar_bytes_max())?;
                staged.into_inner().publish(&json, &profile)
            })
            .await?;
        tracing::info!(
            target: "tachograph",
            file = %name.profile(),
            reason = reason.as_str(),
            duration = ?span.duration,
            bytes,
            samples,
            "capture saved"
        );
        Ok(())
    }

    /// Starts the sampler, unless recording is over by the time there is a
    /// thread for that.
    async fn start_sampler(
        &self,
        frequency_hz: u32,
    ) -> Result<Option<Guarded<Box<dyn Session>>>, Error> {
        let sampler = Arc::clone(&self.parts.sampler);
        let clock = Arc::clone(&self.parts.clock);
        let shared = Arc::clone(&self.parts.shared);
        let deadline = self.schedule.deadline();
        let ground = Arc::clone(&self.parts.ground);
        let guard = Arc::clone(&ground);
        ground
            .run(move |_| {
                if shared.is_stop_asked() || deadline.has_passed(clock::read(&*clock)) {
                    return Ok(None);
                }
                let session = sampler.start(frequency_hz)?;
                Ok(Some(Guarded::new(session, guard)))
            })
            .await
    }

    /// Lets the session sample until the schedule says that it is enough.
    async fn sample(
        &mut self,
        mut session: Guarded<Box<dyn Session>>,
    ) -> Result<Guarded<Box<dyn Session>>, Error> {
        let mut action = self.step(Event::Sampling);
        while let Action::KeepSampling { until } = action {
            let shared = Arc::clone(&self.parts.shared);
            self.sleep_unless(until, || shared.is_stop_asked()).await;
            action = self.step(Event::Wake);
            if matches!(action, Action::KeepSampling { .. }) {
                session = session.inspect(|session| session.check()).await?;
            }
        }
        Ok(session)
    }

    /// Asks every source, within one common time limit.
    async fn snapshot(&self) -> Result<Snapshot, Error> {
        let clock = &self.parts.clock;
        let asked = AssertUnwindSafe(async {
            let mut snapshot = Snapshot::default();
            for source in &self.parts.snapshot_sources {
                snapshot = snapshot.or(source.snapshot().await?);
            }
            Ok(snapshot)
        })
        .catch_unwind();
        let time_out = clock.sleep_until(clock.now().saturating_add(SNAPSHOT_TIME_MAX));
        match select(pin!(asked), time_out).await {
            Either::Left((Ok(snapshot), _)) => snapshot,
            Either::Left((Err(panic), _)) => {
                Err(Error::new(ErrorKind::Snapshot, "a snapshot source failed")
                    .with_source(panicked(&*panic)))
            }
            Either::Right(_) => Err(Error::new(
                ErrorKind::Snapshot,
                format!("the snapshot sources took longer than {SNAPSHOT_TIME_MAX:?}"),
            )),
        }
    }
}

/// A profile, ready to be published.
struct Encoded {
    profile: Vec<u8>,
    sha256: String,
    truth: Truth,
}

fn encode(
    samples: Guarded<Box<dyn crate::Samples>>,
    span: Span,
    bytes_max: u64,
) -> Result<Encoded, Error> {
    let mut writer = CappedWriter::new(usize::try_from(bytes_max).unwrap_or(usize::MAX));
    let truth = samples.into_inner().encode(span, &mut writer);
    if writer.overflowed() {
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!("the profile is over its limit of {bytes_max} bytes"),
        ));
    }
    let truth = truth?;
    let profile = writer.into_bytes();
    let mut sha256 = String::with_capacity(64);
    for byte in Sha256::digest(&profile) {
        // Writing to a string cannot fail.
        let _ = write!(sha256, "{byte:02x}");
    }
    Ok(Encoded {
        profile,
        sha256,
        truth,
    })
}
