//! A sampler whose profiles are made up, and true to their form.

use std::time::{Duration, SystemTime};

use tachograph::{
    CappedWriter, Error, ErrorKind, LabelChannel, Sampler, SamplerInfo, Samples, Session, Span,
    Truth,
};
use tachograph_profile::{
    Labels, LoadedModules, Module, Names, Profile, ProfileBuilder, ProfileMeta, Segment,
};

const SAMPLES: u64 = 7;

#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeSampler;

impl Sampler for MadeSampler {
    fn info(&self) -> SamplerInfo {
        SamplerInfo {
            name: "made",
            version: "0",
            frequency_hz_max: 1000,
            labels: LabelChannel::ThreadLocal,
        }
    }

    fn start(&self, _frequency_hz: u32) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(*self))
    }
}

impl Session for MadeSampler {
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn stop(self: Box<Self>) -> Result<Box<dyn Samples>, Error> {
        Ok(self)
    }
}

impl Samples for MadeSampler {
    fn encode(self: Box<Self>, span: Span, profile: &mut CappedWriter) -> Result<Truth, Error> {
        made(span.started_at, span.duration)
            .encode_gz(profile)
            .map_err(|error| {
                Error::new(ErrorKind::Sampling, "cannot encode the profile").with_source(error)
            })?;
        Ok(Truth {
            samples: SAMPLES,
            lost: 0,
            executable_build_id: None,
            coverage: None,
        })
    }
}

fn made(started_at: SystemTime, duration: Duration) -> Profile {
    let text = Segment {
        start: 0x5000_1000,
        end: 0x5000_3000,
        file_offset: 0x1000,
    };
    let main = Module::new("/srv/bin/demo", 0x5000_0000, [text]).with_file(None);
    let mut builder = ProfileBuilder::new(ProfileMeta {
        started_at,
        duration,
        frequency_hz: 100,
    });
    builder.add(&[0x5000_1234, 0x5000_1101], Labels::default(), SAMPLES);
    builder.finish(&LoadedModules::new(main, []), Names::SymbolTable, None)
}
