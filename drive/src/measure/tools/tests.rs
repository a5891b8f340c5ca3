//! The yardstick itself.

use serde_json::json;

use super::sample::SetTool;
use super::*;

fn tool(name: &str, desc: &str) -> SetTool {
    let schema = json!({"properties": {"maxItems": {"description": "how many"}}});
    SetTool { name: name.to_owned(), server: String::new(), desc: desc.to_owned(), schema }
}

#[test]
fn a_share_counts_groups_of_which_one_tool_was_found() {
    let query = ToolQuery { q: String::new(), gold: vec![vec![1, 2], vec![7]] };
    assert_eq!(query.share(&[2, 7, 9], 1), 0.5);
    assert_eq!(query.share(&[2, 7, 9], 10), 1.0);
    assert_eq!(query.share(&[], 5), 0.0);
}

#[test]
fn plain_bm25_finds_rare_words_in_any_field() {
    let index = PlainIndex::of(&[tool("getUser", "one user"), tool("get_page", "one page of a site")]);
    assert_eq!(index.find("get the site", 5), [1, 0]);
    assert_eq!(index.find("USER", 5), [0]);
    assert_eq!(index.find("items", 1), [0]);
    assert!(index.find("nothing", 5).is_empty());
}

#[test]
fn a_set_on_which_plain_bm25_is_as_good_is_a_claim_missed() {
    let times = || QueryTimes { median_ms: 0.1, nearly_all_ms: 0.2, slowest_ms: 4.0, hostile_ms: 1.0, making_ms: 9.0 };
    let claim = SetClaim { file: "", name: "a set", recall_at_5_min: 0.9 };
    let missed = |shares: (f64, f64), times| SetRun { shares: vec![[shares; FIRST.len()]], times }.missed(&claim);
    assert!(missed((0.8, 1.0), times()).is_empty());
    assert_eq!(missed((1.0, 1.0), times()).len(), FIRST.len());
    assert_eq!(missed((0.4, 0.5), times()), ["a set: R@5 is 0.500, 0.9 are claimed"]);
    let slow = QueryTimes { nearly_all_ms: 2.5, ..times() };
    assert_eq!(missed((0.8, 1.0), slow), ["a set: a query takes 2.50 ms, less than 2 are claimed"]);
}

#[test]
fn one_slow_pass_shows_as_the_slowest_run_and_a_slow_query_in_both_figures() {
    let [fast, slow] = [1, 9].map(Duration::from_millis);
    let times = |queries: Vec<[Duration; PASSES]>| QueryTimes::new(queries, Duration::ZERO, Duration::ZERO);
    let waited = times(vec![[fast; PASSES], [fast, slow, fast, fast, fast]]);
    assert_eq!((waited.nearly_all_ms, waited.slowest_ms), (1.0, 9.0));
    assert_eq!(times(vec![[fast; PASSES], [slow; PASSES]]).nearly_all_ms, 9.0);
}
