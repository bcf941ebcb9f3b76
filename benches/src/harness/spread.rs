//! A number that was measured several times.

use crate::workload::report::quantile;

/// What was measured, each time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spread(Vec<f64>);

impl Spread {
    /// Adds one measurement; what is no number is none.
    pub(crate) fn push(&mut self, value: f64) {
        if value.is_finite() {
            self.0.push(value);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn median(&self) -> f64 {
        quantile(&mut self.0.clone(), 0.5)
    }

    pub(crate) fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn most(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// `median (least to most)` with so many decimals.
    pub(crate) fn show(&self, decimals: usize) -> String {
        let number = |value: f64| {
            // No minus before a zero.
            let text = format!("{value:.decimals$}");
            if text
                .trim_start_matches('-')
                .chars()
                .all(|c| c == '0' || c == '.')
            {
                text.trim_start_matches('-').to_owned()
            } else {
                text
            }
        };
        let (least, median, most) = (
            number(self.least()),
            number(self.median()),
            number(self.most()),
        );
        match self.0.len() {
            0 => "–".to_owned(),
            _ if least == most => median,
            _ => format!("{median} ({least} to {most})"),
        }
    }
}

impl FromIterator<f64> for Spread {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        let mut spread = Self::default();
        values.into_iter().for_each(|value| spread.push(value));
        spread
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn it_shows_the_median_and_both_ends() {
        let spread = |values: &[f64]| values.iter().copied().collect::<Spread>();
        assert_eq!(spread(&[]).show(1), "–");
        assert_eq!(spread(&[f64::NAN, 2.0]).show(1), "2.0");
        assert_eq!(spread(&[3.0, 1.0, 2.0]).show(1), "2.0 (1.0 to 3.0)");
        assert_eq!(spread(&[-0.001, 0.001]).show(1), "0.0");
    }
}
