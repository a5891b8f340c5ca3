//! Keywords are found as by a search of each at each place.

use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn every_keyword_is_found_wherever_it_is(
        words in proptest::collection::btree_set("[a-d_ -]{3,7}|[sz\u{e9}$]{2}[a-c]", 1..40),
        text in "[a-dA-D_ \n-]{0,120}|[a-cszSZ\u{e9}$]{0,60}",
    ) {
        let numbered: Vec<(String, Vec<usize>)> =
            words.into_iter().enumerate().map(|(index, word)| (word, vec![index])).collect();
        let text = text.as_bytes();
        let begins = |at: usize, word: &str| {
            text.get(at..at + word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word.as_bytes()))
        };
        let mut expected = Vec::new();
        for at in 0..text.len() {
            let here = numbered.iter().filter(|(word, _)| begins(at, word));
            expected.extend(here.map(|(word, rules)| (at..at + word.len(), rules.clone())));
        }

        let mut found = Vec::new();
        let Ok(()) = Keywords::new(numbered.clone().into_iter()).each(text, |place, rules| {
            found.push((place, rules.to_vec()));
            Ok::<(), Infallible>(())
        });

        let by_place = |found: &(Range<usize>, Vec<usize>)| (found.0.start, found.0.end, found.1.clone());
        found.sort_by_key(by_place);
        expected.sort_by_key(by_place);
        prop_assert_eq!(found, expected);
    }
}
