//! What must hold for any tools and any query.

use proptest::prelude::*;

use super::super::*;

/// A tool that owns its texts.
type OwnedTool = (String, String, String, Value);

fn texts() -> impl Strategy<Value = String> {
    // Few words, so that tools share them and fit equally well.
    let word = prop_oneof![
        6 => prop::sample::select(vec!["get", "Issue", "web", "search", "GitHub", "検索", "the", "v2", "_"]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ];
    proptest::collection::vec(word, 0..5).prop_map(|words| words.join(" "))
}

fn names() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["get_issue", "webSearch", "search", "search_github", "v2", ""]).prop_map(str::to_owned)
}

fn tools() -> impl Strategy<Value = Vec<OwnedTool>> {
    let schema = (texts(), texts())
        .prop_map(|(name, says)| serde_json::json!({"properties": {name: {"description": says, "enum": ["web", 1]}}}));
    let server = prop::sample::select(vec!["github", "web", ""]).prop_map(str::to_owned);
    proptest::collection::vec((names(), server, texts(), schema), 0..12)
}

fn index(tools: &[OwnedTool]) -> ToolIndex {
    ToolIndex::of(tools.iter().map(|(name, server, description, schema)| SearchedTool {
        name,
        server,
        description,
        schema,
    }))
}

/// What is found, as names with servers and scores: what can be compared between indexes.
fn found(tools: &[OwnedTool], query: &str, limit: usize) -> Vec<(String, String, u32)> {
    let hits = index(tools).find(query, limit);
    hits.iter().map(|hit| (tools[hit.tool].0.clone(), tools[hit.tool].1.clone(), hit.score.to_bits())).collect()
}

proptest! {
    #[test]
    fn each_tool_is_found_once_and_the_best_are_first(tools in tools(), query in texts(), limit in 0_usize..15) {
        let hits = index(&tools).find(&query, limit);
        prop_assert!(hits.len() <= limit.min(tools.len()));
        let positions: BTreeSet<usize> = hits.iter().map(|hit| hit.tool).collect();
        prop_assert_eq!(positions.len(), hits.len());
        for pair in hits.windows(2) {
            prop_assert!((pair[0].is_named, pair[0].score) >= (pair[1].is_named, pair[1].score), "{:?}", pair);
        }
        prop_assert!(hits.iter().all(|hit| hit.score.is_finite() && (hit.is_named || hit.score > 0.0)), "{:?}", hits);
    }

    #[test]
    fn a_higher_limit_only_adds_to_the_end(tools in tools(), query in texts(), limit in 0_usize..10) {
        let all = index(&tools).find(&query, usize::MAX);
        prop_assert_eq!(&index(&tools).find(&query, limit)[..], &all[..limit.min(all.len())]);
    }

    #[test]
    fn the_order_in_which_tools_are_given_makes_no_difference(
        (tools, shuffled) in tools().prop_flat_map(|tools| (Just(tools.clone()), Just(tools).prop_shuffle())),
        query in texts(),
    ) {
        prop_assert_eq!(found(&tools, &query, 5), found(&shuffled, &query, 5));
    }

    #[test]
    fn the_words_of_a_query_may_be_in_any_order_and_case(
        tools in tools(),
        (words, shuffled) in Just(["get", "issue", "web", "github", "検索"]).prop_flat_map(|words| {
            (Just(words), Just(words.to_vec()).prop_shuffle())
        }),
    ) {
        let upper = shuffled.join(" ").to_uppercase();
        prop_assert_eq!(found(&tools, &words.join(" "), 20), found(&tools, &upper, 20));
    }

    #[test]
    fn a_tool_is_first_for_its_own_name_with_its_server(tools in tools(), which in any::<prop::sample::Index>()) {
        let named: Vec<&OwnedTool> = tools.iter().filter(|(name, server, ..)| !name.is_empty() && !server.is_empty()).collect();
        prop_assume!(!named.is_empty());
        let (name, server, ..) = which.get(&named);
        for query in [format!("{server}__{name}"), format!("{server}/{name}")] {
            let hits = index(&tools).find(&query, 1);
            prop_assert_eq!((&tools[hits[0].tool].0, &tools[hits[0].tool].1), (name, server), "{}", query);
        }
    }

    #[test]
    fn any_text_is_a_query(tools in tools(), query in "\\PC{0,300}") {
        prop_assert!(index(&tools).find(&query, 5).len() <= 5);
    }
}
