//! The plots with policies as points: what each costs against how much of what was used later it kept in the prompt.

use super::Page;
use super::labels::places;
use super::write::{escape, of};
use crate::Measures;

struct Point<'p> {
    class: String,
    label: &'p str,
    x: f64,
    y: f64,
}

/// Both plots side by side; empty with fewer than two policies.
pub(super) fn section(page: &Page<'_>) -> String {
    if page.report.policies.len() < 2 {
        return String::new();
    }
    let recall = plot(
        page,
        "Bill against recall",
        "Reference recall, %. Up and to the left is better.",
        Measures::recall_percent,
    );
    let lines = plot(
        page,
        "Bill against edited lines",
        "Edit lines, %. Up and to the left is better.",
        Measures::line_recall_percent,
    );
    format!("<div class=\"pair\">{recall}{lines}</div>\n")
}

fn plot(page: &Page<'_>, title: &str, what: &str, recall: fn(&Measures) -> Option<f64>) -> String {
    let points = points(page, recall);
    let xs = Range::around(points.iter().map(|point| point.x));
    let ys = Range::around(points.iter().map(|point| point.y));
    let mut inside = String::new();
    for tick in ys.ticks() {
        let at = ys.percent(tick);
        inside += &format!(
            "<i class=\"grid\" style=\"bottom:{at:.1}%\"></i><span class=\"tick y\" style=\"top:{:.1}%\">{tick}</span>",
            100.0 - at
        );
    }
    for tick in xs.ticks() {
        inside += &format!("<span class=\"tick x\" style=\"left:{:.1}%\">{tick}</span>", xs.percent(tick));
    }
    inside += "<span class=\"axis\">adjusted bill, % of as it was</span>";
    let dots: Vec<(f64, f64)> = points.iter().map(|point| (xs.percent(point.x), ys.percent(point.y))).collect();
    let labels: Vec<&str> = points.iter().map(|point| point.label).collect();
    for ((point, (x, y)), place) in points.iter().zip(&dots).zip(places(&dots, &labels)) {
        inside += &format!(
            "<i class=\"dot {class}\" style=\"left:{x:.1}%;top:{top:.1}%\" title=\"{label}: {value_x:.0} %, {value_y:.1} %\"></i>\
             <span class=\"tag {class} {side}\" style=\"left:{x:.1}%;top:{label_top:.1}%\">{label}</span>",
            class = point.class,
            top = 100.0 - y,
            label = escape(point.label),
            value_x = point.x,
            value_y = point.y,
            side = place.side,
            label_top = 100.0 - place.y,
        );
    }
    format!(
        "<section class=\"card\"><h2>{title}</h2><p class=\"note\">{what}</p><div class=\"plot\">{inside}</div></section>"
    )
}

fn points<'p>(page: &Page<'p>, recall: fn(&Measures) -> Option<f64>) -> Vec<Point<'p>> {
    let Some(was) = page.report.policies.first() else { return Vec::new() };
    let whole = was.total.measures.adjusted;
    let rows = page.report.policies.iter().enumerate();
    rows.filter_map(|(at, row)| {
        let measures = &row.total.measures;
        Some(Point {
            class: format!("{} {}", page.key(at), page.emphasis(at)),
            label: &row.label,
            x: of(measures.adjusted, whole),
            y: recall(measures)?,
        })
    })
    .collect()
}

/// The range of values that an axis shows.
struct Range {
    low: f64,
    high: f64,
    step: f64,
}

impl Range {
    fn around(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        if !low.is_finite() || !high.is_finite() {
            return Self { low: 0.0, high: 100.0, step: 20.0 };
        }
        let span = (high - low).max(2.0);
        let step =
            [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0].into_iter().find(|step| span / step <= 6.0).unwrap_or(200.0);
        Self { low: ((low - span * 0.06) / step).floor() * step, high: high + span * 0.06, step }
    }

    fn percent(&self, value: f64) -> f64 {
        100.0 * (value - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> Vec<f64> {
        let count = ((self.high - self.low) / self.step).floor() as usize;
        (0..=count).map(|at| self.low + at as f64 * self.step).collect()
    }
}
