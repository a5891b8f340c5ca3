use infold_core::Scrubbed;
use infold_core::record::{MainFill, TokenBreakdown};

use super::*;

fn drawn(tokens: u64, window_tokens: u64, cells: usize) -> String {
    let sent = TokenBreakdown { system_tokens: 100, user_tokens: 100, assistant_tokens: 200, ..TokenBreakdown::default() };
    let main = MainFill { tokens, window_tokens, model: Scrubbed::default() };
    let figures = SessionFigures { main: Some(main), sent: Some(sent), ..SessionFigures::default() };
    bar(&figures, cells).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn components_share_what_is_full_and_the_rest_is_free() {
    assert_eq!(drawn(500, 1_000, 16), "ssuuaaaa········");
    assert_eq!(drawn(1_000, 1_000, 8), "ssuuaaaa");
}

#[test]
fn it_is_as_long_as_asked_for_whatever_the_figures_are() {
    for tokens in [0, 1, 999, 1_000, 5_000, u64::MAX / 2] {
        for cells in [0, 1, 7, 48] {
            assert_eq!(drawn(tokens, 1_000, cells).chars().count(), cells, "{tokens} in {cells}");
        }
    }
    assert_eq!(bar(&SessionFigures::default(), 3)[0].1, "···");
}
