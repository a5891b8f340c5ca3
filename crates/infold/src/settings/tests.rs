//! Layering, as text in and text out: the text of each layer goes in, and what differs from the defaults comes out.

use std::path::PathBuf;

use insta::assert_snapshot;

use super::sources::SettingsFile;
use super::*;

/// Resolves layers given as text. Lines after a heading belong to that layer: `user`, `project`, `environment`
/// (NAME=value) or `flags` (KEY=value).
fn check(layers: &str) -> String {
    let mut given = Given { data_home: Some(PathBuf::from("/home/ann/.local/share/infold")), ..Given::default() };
    let (mut user, mut project) = (None::<String>, None::<String>);
    let mut layer = "";
    for line in layers.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let heading = line.strip_suffix(':').filter(|name| !name.contains(['=', ' ']));
        match (heading, layer) {
            (Some(name), _) => layer = name,
            (None, "user") => user.get_or_insert_default().push_str(&format!("{line}\n")),
            (None, "project") => project.get_or_insert_default().push_str(&format!("{line}\n")),
            (None, "environment") => {
                let (name, value) = line.split_once('=').unwrap();
                given.variables.insert(name.to_owned(), value.to_owned());
            }
            (None, "flags") => given.flags.push(line.parse().unwrap()),
            (None, other) => panic!("no layer is called {other:?}"),
        }
    }
    let file = |path: &str, text: String| SettingsFile { path: PathBuf::from(path), text };
    given.user = user.map(|text| file("settings.toml", text));
    given.project = project.map(|text| file(".infold.toml", text));
    match resolve(given) {
        Ok(in_force) => in_force
            .entries
            .iter()
            .filter(|entry| entry.origin != Origin::Default)
            .map(|entry| format!("{} = {} ({})\n", entry.key, entry.shown(), entry.origin))
            .collect(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn later_layers_win_and_each_value_says_where_it_came_from() {
    assert_snapshot!(check("
        user:
            [folding]
            max_depth = 5
            default_budget = 4096
            max_budget = 16384
        project:
            [folding]
            max_depth = 2
        environment:
            INFOLD_FOLDING__DEFAULT_BUDGET=2048
            INFOLD_MCP__TOOLS=branch
            INFOLD_LISTEN=127.0.0.1:0
        flags:
            folding.default_budget=1_024
            auth.allowed_hosts=['a.example', 'b.example:1']
    "), @r#"
    server.listen = "127.0.0.1:0" (INFOLD_LISTEN)
    folding.default_budget = 1024 (--set)
    folding.max_budget = 16384 (settings.toml:4)
    folding.max_depth = 2 (.infold.toml:2)
    mcp.tools = ["branch"] (INFOLD_MCP__TOOLS)
    auth.allowed_hosts = ["a.example", "b.example:1"] (--set)
    "#);
}

#[test]
fn the_name_that_scripts_rely_on_wins_over_the_general_one() {
    assert_snapshot!(check("
        environment:
            INFOLD_LISTEN=127.0.0.1:1
            INFOLD_SERVER__LISTEN=127.0.0.1:2
            INFOLD_DATA=/srv/infold
    "), @r#"
    data = "/srv/infold" (INFOLD_DATA)
    server.listen = "127.0.0.1:1" (INFOLD_LISTEN)
    "#);
}

#[test]
fn unknown_keys_name_their_layer_and_the_key_that_was_probably_meant() {
    assert_snapshot!(check("
        user:
            colour = 3
            [folding]
            max_dpth = 5
            [foldign]
        environment:
            INFOLD_FOLDING__MAXDEPTH=2
            INFOLD_LISTN=127.0.0.1:0
        flags:
            max_depth=3
            entirely.else=3
    "), @"
    unknown key `colour` in settings.toml:1
      hint: `infold settings` lists every key
    unknown key `folding.max_dpth` in settings.toml:3
      hint: did you mean `folding.max_depth`?
    unknown key `foldign` in settings.toml:4
      hint: did you mean `folding`?
    unknown setting INFOLD_FOLDING__MAXDEPTH in the environment
      hint: did you mean INFOLD_FOLDING__MAX_DEPTH?
    unknown setting INFOLD_LISTN in the environment
      hint: did you mean INFOLD_LISTEN?
    unknown key `max_depth` in --set
      hint: did you mean `folding.max_depth`?
    unknown key `entirely.else` in --set
      hint: `infold settings` lists every key
    ");
}

#[test]
fn a_value_of_the_wrong_kind_says_what_is_wanted() {
    assert_snapshot!(check("
        user:
            folding = 3
            [server]
            listen = 9090
            [store]
            readers = 'two'
            [mcp]
            tools = 'branch'
        environment:
            INFOLD_FOLDING__MAX_DEPTH=deep
            INFOLD_CONTEXT__CONTEXT_HARD_LIMIT=yes
    "), @r#"
    `folding` in settings.toml:1 is a section, not a value
      hint: write [folding] on its own line, and its keys below
    `server.listen` in settings.toml:3 must be text in quotes
    `store.readers` in settings.toml:5 must be a whole number
    `mcp.tools` in settings.toml:7 must be a list, such as ["a", "b"]
    `folding.max_depth` in INFOLD_FOLDING__MAX_DEPTH must be a whole number
    `context.context_hard_limit` in INFOLD_CONTEXT__CONTEXT_HARD_LIMIT must be true or false
    "#);
}

#[test]
fn a_file_that_is_not_toml_names_the_line() {
    assert_snapshot!(check("
        user:
            [folding]
            max_depth = = 3
    "), @"
    settings.toml: line 2: extra `=`, expected nothing
    ");
}

#[test]
fn numbers_are_held_to_their_range() {
    assert_snapshot!(check("
        flags:
            folding.max_depth=0
            store.live_hours=-1
    "), @"
    `folding.max_depth` = 0 in --set is out of range
      hint: give a whole number from 1 to 64
    `store.live_hours` = -1 in --set is out of range
      hint: give a whole number from 1 to 87600
    ");
}

#[test]
fn choices_name_the_ones_there_are() {
    assert_snapshot!(check("
        user:
            [store]
            synchronous = 'ful'
    "), @"`store.synchronous` in settings.toml:2: unknown value `ful`, expected `full` or `normal`");
    assert_snapshot!(check("
        environment:
            INFOLD_MCP__TOOLS=branch,contxt
    "), @"`mcp.tools` in INFOLD_MCP__TOOLS: unknown value `contxt`, expected one of `branch`, `context`, `memory`, `lean`");
}

#[test]
fn settings_that_contradict_each_other_name_both() {
    assert_snapshot!(check("
        project:
            [folding]
            max_budget = 4096
        flags:
            server.listen=0.0.0.0:9090
            auth.allowed_hosts=x
            mcp.tools=
            telemetry.otlp_endpoint=collector:4318
    "), @r#"
    `folding.default_budget` = 8192 in default is above `folding.max_budget` = 4096 in .infold.toml:2
      hint: lower the first to at most 4096, or raise the second
    `mcp.tools` in --set is empty
      hint: list "branch", "context" or both, or "lean"
    `server.listen` = "0.0.0.0:9090" in --set: other machines could connect, but [auth.jwt] is empty
      hint: listen on 127.0.0.1, or fill in [auth.jwt]
    `telemetry.otlp_endpoint` in --set is not an HTTP address
      hint: write it as http://127.0.0.1:4318
    "#);
    assert_snapshot!(check("
        flags:
            auth.jwt.algorithm=ES256
            server.listen=localhost
    "), @r#"
    `server.listen` = "localhost" in --set is not an address and port
      hint: write it as 127.0.0.1:9090 or [::1]:9090; port 0 means any free port
    `auth.jwt.issuer` is empty, but other keys of [auth.jwt] are not
      hint: set algorithm, issuer and audience, all three
    `auth.jwt.audience` is empty, but other keys of [auth.jwt] are not
      hint: set algorithm, issuer and audience, all three
    [auth.jwt] needs exactly one of `key_file` and `jwks_file`
      hint: set one of them to the file with the key or with the JWK set
    "#);
}

#[test]
fn a_project_may_only_narrow() {
    assert_snapshot!(check("
        user:
            [folding]
            session_budget = 1000
            [context]
            context_hard_limit = true
            [mcp]
            tools = ['branch']
        project:
            data = '/tmp/elsewhere'
            [server]
            listen = '127.0.0.1:1'
            [folding]
            max_depth = 4
            session_budget = 0
            [context]
            context_hard_limit = false
            [mcp]
            tools = ['branch', 'context']
            [telemetry]
            otlp_endpoint = 'http://evil.example'
            [testing]
            scrub_fault = 'panic'
    "), @r#"
    `data` in .infold.toml:1 cannot be set by a project file: those may only lower limits
      hint: move it to your own settings; a project file may lower limits of [folding], [context] and [memory] and list fewer mcp.tools
    `server.listen` in .infold.toml:3 cannot be set by a project file: those may only lower limits
      hint: move it to your own settings; a project file may lower limits of [folding], [context] and [memory] and list fewer mcp.tools
    `folding.max_depth` in .infold.toml:5 changes 3 to 4, but a project file may only lower limits
      hint: set it to at most 3, or raise it in your own settings
    `folding.session_budget` in .infold.toml:6 changes 1000 to 0, but a project file may only lower limits
      hint: set it to at most 1000; 0 would mean no limit
    `context.context_hard_limit` in .infold.toml:8 changes true to false, but a project file may only lower limits
      hint: remove the line, or turn it off in your own settings
    `mcp.tools` in .infold.toml:10 changes ["branch"] to ["branch", "context"], but a project file may only lower limits
      hint: list some of ["branch"]
    `telemetry.otlp_endpoint` in .infold.toml:12 cannot be set by a project file: those may only lower limits
      hint: move it to your own settings; a project file may lower limits of [folding], [context] and [memory] and list fewer mcp.tools
    `testing.scrub_fault` in .infold.toml:14 cannot be set by a project file: those may only lower limits
      hint: move it to your own settings; a project file may lower limits of [folding], [context] and [memory] and list fewer mcp.tools
    "#);
}

#[test]
fn a_project_can_lower_what_the_user_set() {
    assert_snapshot!(check("
        project:
            [folding]
            max_depth = 1
            session_budget = 50000
            [context]
            context_limit = 20000
            context_hard_limit = true
            [mcp]
            tools = ['context']
    "), @r#"
    folding.max_depth = 1 (.infold.toml:2)
    folding.session_budget = 50000 (.infold.toml:3)
    context.context_limit = 20000 (.infold.toml:5)
    context.context_hard_limit = true (.infold.toml:6)
    mcp.tools = ["context"] (.infold.toml:8)
    "#);
}

#[test]
fn credentials_in_an_address_are_not_shown() {
    assert_snapshot!(check("
        flags:
            telemetry.otlp_endpoint=https://ann:hunter2@collector.example:4318/otlp?api-key=s3cret
    "), @r#"
    telemetry.otlp_endpoint = "https://...@collector.example:4318/otlp?..." (--set)
    "#);
}

#[test]
fn upstreams_are_addresses_and_hold_no_keys() {
    assert_snapshot!(check("
        flags:
            proxy.anthropic.upstream=https://key@api.example
            proxy.openai.upstream=api.example
            proxy.retry_statuses=[404]
    "), @"
    `proxy.anthropic.upstream` in --set holds a name or password: leave it out, keys come from the client
    `proxy.openai.upstream` in --set is not an http or https address: write it as https://host or https://host:port/path
    `proxy.retry_statuses` in --set: requests cannot be retried after 404
      hint: list any of 429, 500, 504 and 529
    ");
}

#[test]
fn a_path_that_is_not_searched_is_a_providers_and_none_by_which_results_are_sent() {
    assert_snapshot!(check(r#"
        flags:
            proxy.unsearched_paths=["/v1/files", "/openai/v1/files", "/anthropic/v1/messages"]
    "#), @r#"
    `proxy.unsearched_paths` in --set: "/v1/files" is no path of a provider
      hint: write it as clients do, for example "/openai/v1/files"
    `proxy.unsearched_paths` in --set: "/anthropic/v1/messages" is searched in any case
      hint: leave it out; tool results are sent there
    "#);
}

#[test]
fn every_number_has_a_range_that_its_default_lies_in() {
    for entry in entry::defaults(DEFAULT_TOML).unwrap() {
        if let toml::Value::Integer(number) = entry.value {
            let range = check::RANGES.iter().find(|(key, _)| *key == entry.key).map(|(_, range)| range);
            assert!(range.is_some_and(|range| range.contains(&number)), "{} = {number}", entry.key);
        }
        if let toml::Value::Float(share) = entry.value {
            let range = check::SHARES.iter().find(|(key, _)| *key == entry.key).map(|(_, range)| range);
            assert!(range.is_some_and(|range| range.contains(&share)), "{} = {share}", entry.key);
        }
    }
    for key in check::RANGES.iter().map(|(key, _)| key).chain(check::SHARES.iter().map(|(key, _)| key)) {
        assert!(entry::find(&entry::defaults(DEFAULT_TOML).unwrap(), key).is_some(), "{key}");
    }
}

#[test]
fn every_default_has_a_sentence_above_it() {
    let lines: Vec<&str> = DEFAULT_TOML.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        // A list goes on over several lines.
        let goes_on = line.starts_with([' ', ']']);
        if !line.is_empty() && !line.starts_with('#') && !goes_on {
            assert!(at > 0 && lines[at - 1].starts_with("# "), "line {}: {line}", at + 1);
        }
    }
}

#[test]
fn settings_that_were_renamed_say_what_they_are_called_now() {
    let given = |key: &str| {
        let assignment: Assignment = format!("{key}=[]").parse().unwrap();
        let flags = FlagValues { set: vec![assignment], listen: None, data: None };
        let given = gather(&Surroundings::default(), flags).unwrap();
        resolve(given).unwrap_err().to_string()
    };
    assert_eq!(
        given("replay.prices"),
        "`replay.prices` in --set is now called `prices.models`\n  hint: rename it to `prices.models`"
    );
    assert!(given("proxy.windows").contains("`windows.models`"));
    assert!(given("proxy.window_tokens").contains("`windows.default_tokens`"));
}

#[test]
fn a_share_has_a_range_and_a_project_may_only_ask_for_less_memory() {
    assert_snapshot!(check(r#"
        flags:
            memory.injection_budget_ratio=0.9
            memory.memory_min_confidence=nan
            memory.relevance_min=high
    "#), @r"
    `memory.relevance_min` in --set must be a number
    `memory.injection_budget_ratio` = 0.9 in --set is out of range
      hint: give a number from 0.0 to 0.5
    `memory.memory_min_confidence` = nan in --set is out of range
      hint: give a number from 0.0 to 1.0
    ");
    assert_snapshot!(check(r#"
        project:
            [memory]
            learn = "lessons"
            inject = false
            memory_min_confidence = 0.9
            memory_max_items = 3
    "#), @r#"
    memory.learn = "lessons" (.infold.toml:2)
    memory.inject = false (.infold.toml:3)
    memory.memory_max_items = 3 (.infold.toml:5)
    memory.memory_min_confidence = 0.9 (.infold.toml:4)
    "#);
    assert_snapshot!(check(r#"
        user:
            [memory]
            learn = "lessons"
            inject = false
        project:
            [memory]
            learn = "all"
            inject = true
            memory_min_confidence = 0.1
            injection_budget_ratio = 0.4
            suspicious = "quote"
    "#), @r#"
    `memory.learn` in .infold.toml:2 changes "lessons" to "all", but a project file may only lower limits
      hint: write one of all, lessons, off that comes after "lessons"
    `memory.inject` in .infold.toml:3 changes false to true, but a project file may only lower limits
      hint: remove the line, or turn it on in your own settings
    `memory.memory_min_confidence` in .infold.toml:4 changes 0.7 to 0.1, but a project file may only lower limits
      hint: set it to at least 0.7, or lower it in your own settings
    `memory.injection_budget_ratio` in .infold.toml:5 changes 0.2 to 0.4, but a project file may only lower limits
      hint: set it to at most 0.2, or raise it in your own settings
    `memory.suspicious` in .infold.toml:6 cannot be set by a project file: those may only lower limits
      hint: move it to your own settings; a project file may lower limits of [folding], [context] and [memory] and list fewer mcp.tools
    "#);
}
