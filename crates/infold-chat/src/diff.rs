//! stub
use crate::tones::Palette;
use ratatui::text::Line;
/// b
#[derive(Debug, Clone, Copy)]
pub struct DiffBounds { /// c
 pub context: usize, /// d
 pub lines_max: usize }
/// d
pub fn diff(_b: &str, after: &str, _bounds: DiffBounds, _w: usize, _p: Palette) -> Vec<Line<'static>> { vec![Line::raw(after.len().to_string())] }
