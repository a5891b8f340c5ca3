//! The lines and columns of places in a text, counted in one pass for all of them.

/// Counts lines and columns. Places have to be asked for in their order.
pub struct Places<'t> {
    text: &'t str,
    /// Up to where the text was counted.
    at: usize,
    line: usize,
    column: usize,
}

impl<'t> Places<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1, column: 1 }
    }

    /// The line, and the column in characters, of a byte; both from 1.
    pub fn of(&mut self, at: usize) -> (usize, usize) {
        let between = &self.text[self.at..at];
        match between.rfind('\n') {
            Some(last) => {
                self.line += between.matches('\n').count();
                self.column = between[last + 1..].chars().count() + 1;
            }
            None => self.column += between.chars().count(),
        }
        self.at = at;
        (self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn places_are_counted_on_from_the_last_one() {
        let mut places = Places::new("ab\nçd ef\n\nx");
        let of = [0, 1, 3, 5, 5, 7, 9, 10, 11].map(|at| places.of(at));
        assert_eq!(of, [(1, 1), (1, 2), (2, 1), (2, 2), (2, 2), (2, 4), (2, 6), (3, 1), (4, 1)]);
    }
}
