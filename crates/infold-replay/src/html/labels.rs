//! Places the labels of points in a plot, so that they cover neither each other nor a point.
//!
//! All places are in percent of the plot's width and height, from its lower left corner. Only the browser knows how
//! wide a label is; here the width is guessed, which is good enough to separate them.

/// The approximate width of a character in a plot of the usual width.
const CHAR_PERCENT: f64 = 1.5;
const HEIGHT_PERCENT: f64 = 5.5;
/// The distance from a point's centre to its label.
const GAP_PERCENT: f64 = 2.5;
/// The radius of a point.
const DOT_PERCENT: f64 = 1.8;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LabelPlace {
    /// The CSS class for the side of the point that the label is on.
    pub side: &'static str,
    /// The height of the label's centre.
    pub y: f64,
}

struct Area {
    left: f64,
    right: f64,
    bottom: f64,
    top: f64,
}

impl Area {
    fn is_free_of(&self, other: &Self) -> bool {
        self.right <= other.left || other.right <= self.left || self.top <= other.bottom || other.top <= self.bottom
    }
}

/// Finds a place for each label: right of its point, or else the nearest free place beside it.
pub(super) fn places(dots: &[(f64, f64)], labels: &[&str]) -> Vec<LabelPlace> {
    let dot = |&(x, y): &(f64, f64)| Area {
        left: x - DOT_PERCENT,
        right: x + DOT_PERCENT,
        bottom: y - DOT_PERCENT,
        top: y + DOT_PERCENT,
    };
    let mut taken: Vec<Area> = dots.iter().map(dot).collect();
    let mut places = Vec::with_capacity(dots.len());
    for (at, (&(x, y), label)) in dots.iter().zip(labels).enumerate() {
        let width = label.chars().count() as f64 * CHAR_PERCENT;
        let area = |(side, above): &(&str, f64)| {
            let left = if *side == "left" { x - GAP_PERCENT - width } else { x + GAP_PERCENT };
            let middle = y + above;
            let (bottom, top) = (middle - HEIGHT_PERCENT / 2.0, middle + HEIGHT_PERCENT / 2.0);
            Area { left, right: left + width, bottom, top }
        };
        let is_free = |area: &Area| {
            let others = taken.iter().enumerate().filter(|(other, _)| *other != at);
            area.left > -1.0 && area.right < 101.0 && others.into_iter().all(|(_, other)| area.is_free_of(other))
        };
        let sides = [0.0, 1.0, -1.0, 2.0, -2.0]
            .map(|lines| lines * HEIGHT_PERCENT)
            .map(|above| [("right", above), ("left", above)]);
        let choice = sides.into_iter().flatten().find(|side| is_free(&area(side)));
        // If no place is free, the label goes where it is at least inside the plot.
        let choice = choice.unwrap_or((if x > 50.0 { "left" } else { "right" }, 0.0));
        taken.push(area(&choice));
        places.push(LabelPlace { side: choice.0, y: y + choice.1 });
    }
    places
}
