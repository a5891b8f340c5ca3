//! What queries find among a few tools, and what holds for any tools and queries.

mod laws;

use serde_json::json;

use super::*;

/// Tools, one a line: `server/name: description (parameters)`.
fn index(tools: &str) -> (ToolIndex, Vec<String>) {
    let lines: Vec<&str> = tools.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let schemas: Vec<Value> = lines.iter().map(|line| schema(line)).collect();
    let searched = lines.iter().zip(&schemas).map(|(line, schema)| {
        let (id, rest) = line.split_once(": ").unwrap();
        let (server, name) = id.split_once('/').unwrap_or(("", id));
        SearchedTool { name, server, description: rest.split(" (").next().unwrap(), schema }
    });
    let ids = lines.iter().map(|line| line.split(": ").next().unwrap().to_owned()).collect();
    (ToolIndex::of(searched), ids)
}

fn schema(line: &str) -> Value {
    let parameters = line.split_once(" (").map_or("", |(_, parameters)| parameters.trim_end_matches(')'));
    let parameters = parameters.split(", ").filter(|name| !name.is_empty());
    json!({"type": "object", "properties": parameters.map(|name| (name.to_owned(), json!({}))).collect::<serde_json::Map<_, _>>()})
}

const TOOLS: &str = "
    github/create_issue: Opens a new issue in a GitHub repository. (title, body, labels)
    github/search_code: Finds code in repositories. (query, language)
    gitlab/create_issue: Opens a new issue in a project. (title)
    files/read_file: Returns what is in a file. (path, encoding)
    files/listDirectory: Names the files in a folder. (path)
    web/search: Searches the web and returns pages. (query)
    maps/geocode: Converts an address to coordinates. (address)
    bing/必应: 使用必应搜索指定的关键词 (关键词)
";

fn found(query: &str) -> Vec<String> {
    let (index, ids) = index(TOOLS);
    index.find(query, 3).iter().map(|hit| ids[hit.tool].clone()).collect()
}

fn first(query: &str) -> String {
    found(query).into_iter().next().unwrap_or_default()
}

#[test]
fn a_wish_finds_the_tool_that_does_it() {
    assert_eq!(first("open a ticket or issue on github"), "github/create_issue");
    assert_eq!(first("what are the coordinates of this address?"), "maps/geocode");
    assert_eq!(first("looking for some code"), "github/search_code");
    assert_eq!(first("listing directories"), "files/listDirectory");
    assert_eq!(first("搜索"), "bing/必应");
}

#[test]
fn the_server_and_the_parameters_are_searched_too() {
    assert_eq!(first("gitlab"), "gitlab/create_issue");
    assert_eq!(first("labels"), "github/create_issue");
    assert_eq!(first("encodings"), "files/read_file");
}

#[test]
fn a_name_wins_over_what_its_words_would_find() {
    let (index, ids) = index(
        "a/search: Does something.
         b/search_search_search: Search, search and search again.
         b/web_search: Something else.
         c/web_search: Search the web: a web search, a search on the web, web, search.",
    );
    let found = |query: &str| index.find(query, 9).iter().map(|hit| ids[hit.tool].as_str()).collect::<Vec<_>>();
    assert_eq!(found("search")[0], "a/search");
    assert_eq!(found(" `Search` ")[0], "a/search");
    assert_eq!(found("b/web_search")[0], "b/web_search");
    assert_eq!(found("b__web_search")[0], "b/web_search");
    assert_eq!(found("mcp__b__web_search")[0], "b/web_search");
    assert_eq!(found("a search with mcp__b__web_search, please")[0], "b/web_search");
    assert_eq!(found("web_search")[..2], ["c/web_search", "b/web_search"], "both have the name: the better one first");
    assert_ne!(found("please search the web")[0], "a/search", "a wish, and no name");
}

#[test]
fn tools_that_a_query_names_are_marked() {
    let (index, _) = index(TOOLS);
    let named = |query: &str| index.find(query, 9).iter().filter(|hit| hit.is_named).count();
    assert_eq!(named("create_issue"), 2);
    assert_eq!(named("github/create_issue"), 1);
    assert_eq!(named("create an issue"), 0);
}

#[test]
fn tools_that_fit_equally_well_are_in_the_order_of_their_names() {
    let (index, ids) = index(
        "z/same: One thing.
         b/same: One thing.
         a/same: One thing.",
    );
    let found: Vec<&str> = index.find("thing", 9).iter().map(|hit| ids[hit.tool].as_str()).collect();
    assert_eq!(found, ["a/same", "b/same", "z/same"]);
}

#[test]
fn what_no_tool_has_finds_nothing() {
    for query in ["", "  \n", "?!%&/()=", "the of and", "zyzzyva", "\u{202e}\u{0}\u{feff}", "🦀🦀", "__", "/"] {
        assert!(found(query).is_empty(), "{query:?}");
    }
    assert!(ToolIndex::of([]).find("anything", 5).is_empty());
    let (index, _) = index(TOOLS);
    assert!(index.find("github", 0).is_empty());
}

#[test]
fn of_a_very_long_query_the_beginning_counts() {
    let padding = "filler ".repeat(150_000);
    assert_eq!(first(&format!("geocode {padding}")), "maps/geocode");
    assert!(found(&format!("{padding} geocode")).is_empty());
    let signs = "é_".repeat(500_000);
    assert!(found(&signs).is_empty());
}

#[test]
fn a_tool_is_found_by_the_beginning_of_a_very_long_description() {
    let description = format!("parse {} geocode", "filler ".repeat(150_000));
    let tool = SearchedTool { name: "x", server: "", description: &description, schema: &Value::Null };
    let index = ToolIndex::of([tool]);
    assert_eq!(index.find("parse", 5).len(), 1);
    assert!(index.find("geocode", 5).is_empty());
}

#[test]
fn more_of_the_name_in_the_query_is_better() {
    // Both have the word once, in names of the same length; `list` says little, because other tools have it too.
    let (index, ids) = index(
        "aardvark_stock: Data.
         list_stock: Data.
         list_users: Data.
         list_pages: Data.",
    );
    assert_eq!(ids[index.find("stock", 1)[0].tool], "list_stock");
}
