//! Profiles of whatever origin, in one form.

use tachograph_profile::Profile;

use crate::workload::Failure;

/// A stack and how often it was seen.
pub(crate) struct Stack {
    pub(crate) thread: String,
    pub(crate) task: Option<String>,
    /// Names of functions, leaf first.
    pub(crate) frames: Vec<String>,
    pub(crate) count: f64,
}

/// All stacks of a capture.
#[derive(Default)]
pub(crate) struct Stacks {
    pub(crate) all: Vec<Stack>,
    /// Different addresses in them.
    pub(crate) addresses: usize,
    comments: Vec<String>,
}

impl Stacks {
    pub(crate) fn new(all: Vec<Stack>) -> Self {
        Self {
            all,
            ..Self::default()
        }
    }

    /// Reads a profile in the format of pprof.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub(crate) fn of_profile(bytes: &[u8]) -> Result<Self, Failure> {
        let profile = Profile::decode(bytes, 256 << 20)?;
        let label =
            |key, sample: &tachograph_profile::SampleView<'_>| sample.label(key).map(str::to_owned);
        let all = profile
            .samples()
            .map(|sample| Stack {
                thread: label("thread", &sample).unwrap_or_default(),
                task: label("task", &sample),
                frames: sample.stack().map(str::to_owned).collect(),
                count: sample.value("samples").unwrap_or(0) as f64,
            })
            .collect();
        Ok(Self {
            all,
            addresses: profile.tables().location.len(),
            comments: profile.comments().map(str::to_owned).collect(),
        })
    }

    /// The number of samples of those that `choose` takes.
    pub(crate) fn count(&self, choose: impl Fn(&Stack) -> bool) -> f64 {
        self.all
            .iter()
            .filter(|stack| choose(stack))
            .map(|stack| stack.count)
            .sum()
    }

    /// The number that stands before `what` in the profile's comments.
    pub(crate) fn told(&self, what: &str) -> Option<f64> {
        let before = self
            .comments
            .iter()
            .find_map(|line| Some(line.split_once(what)?.0))?;
        before.trim_end().rsplit([' ', ',']).next()?.parse().ok()
    }
}

impl Stack {
    /// Whether a function with this in its name is on the stack.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| frame.contains(name))
    }

    /// The function at the top.
    pub(crate) fn leaf(&self) -> &str {
        self.frames.first().map_or("", String::as_str)
    }
}
