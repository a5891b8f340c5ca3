//! What became of errors, by carrier and by error, and the tables of it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::PlantedEnd;

/// Outcomes, by carrier and error in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct PlantedCounts {
    carriers: Vec<String>,
    errors: Vec<&'static str>,
    outcomes: BTreeMap<(usize, usize), Vec<PlantedEnd>>,
}

impl PlantedCounts {
    pub fn add(&mut self, carrier: &str, error: &'static str, outcome: PlantedEnd) {
        let carrier = place_of(&mut self.carriers, |known| known == carrier, || carrier.to_owned());
        let error = place_of(&mut self.errors, |known| *known == error, || error);
        self.outcomes.entry((carrier, error)).or_default().push(outcome);
    }

    /// How many of a hundred are visible.
    pub fn visible_percent(&self) -> f64 {
        percent(self.of(|_| true), |outcome| outcome == PlantedEnd::Visible)
    }

    /// How many are neither visible nor found.
    pub fn lost(&self) -> usize {
        self.of(|_| true).filter(|outcome| *outcome == PlantedEnd::Lost).count()
    }

    /// A table of the carriers, each with the spread over the errors, and one of the errors, with that over the carriers.
    pub fn tables(&self, name: &str) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "| {name} | cases | visible, % | over errors: median, worst tenth, worst | of the rest: found at once, on later pages, lost |\n|---|---|---|---|---|"
        );
        text.push_str(&self.row("**all**", |_| true, |(_, error)| error));
        for (at, carrier) in self.carriers.iter().enumerate() {
            text.push_str(&self.row(carrier, |(carrier, _)| carrier == at, |(_, error)| error));
        }
        let _ = writeln!(
            text,
            "\n| {name} | cases | visible, % | over carriers: median, worst tenth, worst | of the rest: found at once, on later pages, lost |\n|---|---|---|---|---|"
        );
        for (at, error) in self.errors.iter().enumerate() {
            text.push_str(&self.row(error, |(_, error)| error == at, |(carrier, _)| carrier));
        }
        text.push('\n');
        text
    }

    fn row(
        &self,
        name: &str,
        is_of: impl Fn((usize, usize)) -> bool + Copy,
        group: impl Fn((usize, usize)) -> usize,
    ) -> String {
        let mut groups: BTreeMap<usize, Vec<PlantedEnd>> = BTreeMap::new();
        for (key, outcomes) in self.outcomes.iter().filter(|(key, _)| is_of(**key)) {
            groups.entry(group(*key)).or_default().extend(outcomes);
        }
        let is_visible = |outcome| outcome == PlantedEnd::Visible;
        let mut shares: Vec<f64> = groups.values().map(|of| percent(of.iter().copied(), is_visible)).collect();
        shares.sort_by(f64::total_cmp);
        let at = |tenth: usize| shares.get(shares.len() * tenth / 10).copied().unwrap_or(0.0);
        let count = |wanted: PlantedEnd| self.of(is_of).filter(|outcome| *outcome == wanted).count();
        format!(
            "| {name} | {} | {:.1} | {:.0}, {:.0}, {:.0} | {}, {}, {} |\n",
            self.of(is_of).count(),
            percent(self.of(is_of), is_visible),
            at(5),
            at(1),
            at(0),
            count(PlantedEnd::FoundAtOnce),
            count(PlantedEnd::Found),
            count(PlantedEnd::Lost),
        )
    }

    fn of(&self, is_of: impl Fn((usize, usize)) -> bool) -> impl Iterator<Item = PlantedEnd> {
        self.outcomes.iter().filter(move |(key, _)| is_of(**key)).flat_map(|(_, outcomes)| outcomes).copied()
    }
}

/// Where something is in a list, which it is added to if it is not there.
fn place_of<T>(list: &mut Vec<T>, is_it: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> usize {
    list.iter().position(is_it).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    })
}

fn percent(outcomes: impl Iterator<Item = PlantedEnd>, counts: impl Fn(PlantedEnd) -> bool) -> f64 {
    let (mut all, mut counted) = (0, 0);
    for outcome in outcomes {
        all += 1;
        counted += usize::from(counts(outcome));
    }
    counted as f64 * 100.0 / all.max(1) as f64
}
