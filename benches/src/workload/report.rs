//! What a subject hands back: one line of JSON, an object of numbers.

use std::collections::BTreeMap;
use std::time::Duration;

/// Numbers by name. Times are in seconds, sizes in bytes, unless the name says
/// otherwise.
#[derive(Default)]
pub(crate) struct Report(BTreeMap<String, f64>);

impl Report {
    /// Reports a number. What is none, such as the median of nothing, is left
    /// out.
    pub(crate) fn number(&mut self, name: impl Into<String>, value: f64) {
        if value.is_finite() {
            self.0.insert(name.into(), value);
        }
    }

    pub(crate) fn seconds(&mut self, name: impl Into<String>, value: Duration) {
        self.number(name, value.as_secs_f64());
    }

    /// The line.
    pub(crate) fn line(&self) -> String {
        serde_json::json!(self.0).to_string()
    }
}

/// The value that the part `share` of all values, which get sorted, is not above.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        len => values[((len - 1) as f64 * share).round() as usize],
    }
}
