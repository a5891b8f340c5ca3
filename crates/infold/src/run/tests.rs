//! How each agent is wired, checked on its command line and its environment.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::settings::{FlagValues, Given, gather, resolve};

/// A home folder with some files, and the environment of an agent in it.
struct Home {
    folder: TempDir,
    surroundings: Surroundings,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let project = folder.path().join("project");
        fs::create_dir_all(&project).unwrap();
        let variables = [("HOME".to_owned(), folder.path().as_os_str().to_owned())].into();
        Self { surroundings: Surroundings { variables, folder: Some(project) }, folder }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.surroundings.variables.insert(name.to_owned(), value.into());
        self
    }

    fn look(&self, agent: Agent, arguments: &[&str]) -> anyhow::Result<FoundAgent> {
        agent.look(&words(arguments), &self.surroundings)
    }

    /// Wires an agent as `infold run` does.
    fn wire(&self, agent: Agent, arguments: &[&str]) -> anyhow::Result<Start> {
        let mut settings = resolve(Given::default())?.settings;
        for own in self.look(agent, arguments)?.own {
            own.take_over(&mut settings, &crate::settings::Origin::Default);
        }
        let wires = Wires {
            daemon_url: "http://127.0.0.1:7",
            guard: Guard { program: "/opt/in fold".into(), data: self.folder.path().to_owned() },
            surroundings: &self.surroundings,
            settings: &settings,
            tools: ToolListing::Loaded,
            servers: None,
        };
        agent.wire(&words(arguments), &wires)
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn argument(start: &Start, option: &str) -> Value {
    let found = start.arguments.iter().find_map(|word| word.to_str()?.strip_prefix(option)?.strip_prefix('='));
    serde_json::from_str(found.unwrap()).unwrap()
}

fn variable<'a>(start: &'a Start, name: &str) -> Option<&'a str> {
    start.environment.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str())
}

fn urls(found: &FoundAgent) -> Vec<&str> {
    found.own.iter().map(|own| own.url.as_str()).collect()
}

#[test]
fn claude_code_learns_where_its_model_and_tools_are_and_what_to_ask_before_writing() {
    let start = Home::new(&[]).wire(Agent::Claude, &["-p", "hello"]).unwrap();

    assert_eq!(variable(&start, "ANTHROPIC_BASE_URL"), Some("http://127.0.0.1:7/anthropic"));
    assert_eq!(variable(&start, "ENABLE_TOOL_SEARCH"), Some("true"));
    let servers = argument(&start, "--mcp-config");
    let server = json!({"type": "http", "url": "http://127.0.0.1:7/mcp", "alwaysLoad": true});
    assert_eq!(servers, json!({"mcpServers": {"infold": server}}));
    let settings = argument(&start, "--settings");
    assert_eq!(settings["env"]["ANTHROPIC_BASE_URL"], "http://127.0.0.1:7/anthropic");
    let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(command.starts_with("'/opt/in fold' hook --data /"), "{command}");
    assert_eq!(&start.arguments[2..], words(&["-p", "hello"]));
}

#[test]
fn the_users_own_settings_for_claude_code_stay_in_force_beside_ours() {
    let own = json!({"env": {"FOO": "1"}, "hooks": {"PreToolUse": [{"matcher": "Bash"}]}, "model": "opus"});
    for arguments in [vec!["--settings", "OWN", "-p", "x"], vec!["--settings=OWN", "-p", "x"]] {
        let arguments: Vec<String> = arguments.iter().map(|word| word.replace("OWN", &own.to_string())).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let start = Home::new(&[]).wire(Agent::Claude, &arguments).unwrap();

        let settings = argument(&start, "--settings");
        assert_eq!((&settings["env"]["FOO"], &settings["model"]), (&json!("1"), &json!("opus")));
        assert_eq!(settings["hooks"]["PreToolUse"].as_array().map(Vec::len), Some(2));
        assert_eq!(&start.arguments[2..], words(&["-p", "x"]));
    }
}

#[test]
fn settings_for_claude_code_may_lie_in_a_file_and_must_be_sound() {
    let home = Home::new(&[("own.json", "{\"model\": \"opus\"}"), ("broken.json", "{\"model\"")]);
    let file = |name: &str| home.folder.path().join(name).to_string_lossy().into_owned();
    let start = home.wire(Agent::Claude, &["--settings", &file("own.json")]).unwrap();
    assert_eq!(argument(&start, "--settings")["model"], "opus");

    let refused = home.wire(Agent::Claude, &["--settings", &file("broken.json")]).unwrap_err().to_string();
    assert!(refused.contains("broken.json is not JSON"), "{refused}");
    let refused = home.wire(Agent::Claude, &["--settings", &file("none.json")]).unwrap_err().to_string();
    assert!(refused.contains("no file "), "{refused}");
}

#[test]
fn what_follows_two_dashes_is_the_users_prompt() {
    let start = Home::new(&[]).wire(Agent::Claude, &["--", "--settings", "x"]).unwrap();
    assert_eq!(&start.arguments[2..], words(&["--", "--settings", "x"]));
}

#[test]
fn an_address_for_claude_codes_model_is_found_where_claude_code_would_find_it() {
    let environment = Home::new(&[]).env("ANTHROPIC_BASE_URL", "http://gate.example/x/");
    assert_eq!(urls(&environment.look(Agent::Claude, &[]).unwrap()), ["http://gate.example/x"]);

    let settings = "{\"env\": {\"ANTHROPIC_BASE_URL\": \"http://user.example\"}}";
    let user = Home::new(&[(".claude/settings.json", settings)]).env("ANTHROPIC_BASE_URL", "http://gate.example");
    let found = user.look(Agent::Claude, &[]).unwrap();
    assert_eq!(urls(&found), ["http://user.example"]);
    assert!(found.own[0].place.ends_with(".claude/settings.json"), "{:?}", found.own);

    let given = "{\"env\": {\"ANTHROPIC_BASE_URL\": \"http://given.example\"}}";
    assert_eq!(urls(&user.look(Agent::Claude, &["--settings", given]).unwrap()), ["http://given.example"]);
}

#[test]
fn a_daemon_of_infolds_own_is_no_upstream() {
    let home = Home::new(&[]).env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9090/anthropic");
    assert!(home.look(Agent::Claude, &[]).unwrap().own.is_empty());
    let home = Home::new(&[]).env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9090");
    assert_eq!(urls(&home.look(Agent::Claude, &[]).unwrap()), ["http://127.0.0.1:9090"]);
}

#[test]
fn whoever_has_chosen_how_claude_code_searches_for_tools_keeps_it() {
    let start = Home::new(&[]).env("ENABLE_TOOL_SEARCH", "false").wire(Agent::Claude, &[]).unwrap();
    assert_eq!(variable(&start, "ENABLE_TOOL_SEARCH"), None);
    assert_eq!(argument(&start, "--settings")["env"]["ENABLE_TOOL_SEARCH"], Value::Null);
}

#[test]
fn claude_codes_model_is_found_where_claude_code_would_find_it() {
    let home = Home::new(&[(".claude/settings.json", "{\"model\": \"opus[1m]\"}")]);
    assert_eq!(home.look(Agent::Claude, &[]).unwrap().model.as_deref(), Some("opus[1m]"));
    assert_eq!(home.look(Agent::Claude, &["--model=haiku"]).unwrap().model.as_deref(), Some("haiku"));
    let home = home.env("ANTHROPIC_MODEL", "sonnet");
    assert_eq!(home.look(Agent::Claude, &[]).unwrap().model.as_deref(), Some("sonnet"));
}

#[test]
fn claude_code_that_would_go_past_infold_is_refused() {
    let home = Home::new(&[]).env("CLAUDE_CODE_USE_BEDROCK", "1");
    let refused = home.look(Agent::Claude, &[]).unwrap_err().to_string();
    assert!(refused.contains("CLAUDE_CODE_USE_BEDROCK"), "{refused}");
    assert!(Home::new(&[]).env("CLAUDE_CODE_USE_BEDROCK", "0").look(Agent::Claude, &[]).is_ok());
}

const CODEX_LOCAL: &str = "model_provider = \"local\"\nmodel = \"gpt-5.5\"\n\
    [model_providers.local]\nbase_url = \"http://gate.example/v1\"\nenv_key = \"KEY\"\n\
    [model_providers.other]\nbase_url = \"http://other.example/api\"\n[profiles.second]\nmodel_provider = \"other\"\n";

#[test]
fn codexs_provider_stays_and_only_its_address_changes() {
    let home = Home::new(&[(".codex/config.toml", CODEX_LOCAL)]);
    let found = home.look(Agent::Codex, &["exec", "x"]).unwrap();
    assert_eq!((urls(&found), found.model.as_deref()), (vec!["http://gate.example/v1"], Some("gpt-5.5")));

    let start = home.wire(Agent::Codex, &["exec", "x"]).unwrap();
    let server = "mcp_servers.infold={url=\"http://127.0.0.1:7/mcp\",default_tools_approval_mode=\"approve\"}";
    let address = "model_providers.local.base_url=\"http://127.0.0.1:7/openai/v1\"";
    let listed = "features.code_mode.direct_only_tool_namespaces=[\"mcp__infold\"]";
    assert_eq!(&start.arguments[..6], words(&["-c", address, "-c", server, "-c", listed]));
    let hook = start.arguments[7].to_str().unwrap();
    assert!(hook.starts_with("hooks.PreToolUse=[{matcher='") && hook.contains("'/opt/in fold' hook"), "{hook}");
    assert!(start.arguments[9].to_str().unwrap().starts_with("hooks.state={"), "{:?}", start.arguments);
    assert_eq!(&start.arguments[10..], words(&["exec", "x"]));
}

#[test]
fn hooks_that_the_user_gives_codex_on_the_command_line_stay_theirs() {
    let start = Home::new(&[]).wire(Agent::Codex, &["-c", "hooks.PreToolUse=[]", "exec", "x"]).unwrap();
    let hooks = start.arguments.iter().filter(|word| word.to_string_lossy().starts_with("hooks."));
    assert_eq!(hooks.collect::<Vec<_>>(), ["hooks.PreToolUse=[]"]);
}

#[test]
fn codex_lists_our_tools_beside_those_that_the_user_wants_listed() {
    let listed = |config: &str| {
        let start = Home::new(&[(".codex/config.toml", config)]).wire(Agent::Codex, &[]).unwrap();
        start.arguments[5].to_str().unwrap().to_owned()
    };
    let key = "features.code_mode.direct_only_tool_namespaces";
    let own = "[features.code_mode]\ndirect_only_tool_namespaces = [\"mcp__wiki\", \"mcp__infold\"]\n";
    assert_eq!(listed(own), format!("{key}=[\"mcp__wiki\", \"mcp__infold\"]"));
    assert_eq!(listed("[features.code_mode]\nenabled = true\n"), format!("{key}=[\"mcp__infold\"]"));
    let flag = "features.code_mode={enabled=false,direct_only_tool_namespaces=[\"mcp__infold\"]}";
    assert_eq!(listed("[features]\ncode_mode = false\n"), flag);
}

#[test]
fn a_version_of_codex_that_would_not_start_with_the_setting_is_not_given_it() {
    let lists = ["codex-cli 0.142.0", "codex-cli 0.166.0", "codex-cli 0.143.0-alpha.2", "codex-cli 1.0.0"];
    assert!(lists.iter().all(|version| codex::lists(version)));
    assert!(!["codex-cli 0.141.2", "codex-cli 0.9.0", "codex", ""].iter().any(|version| codex::lists(version)));
}

#[test]
fn another_provider_of_codex_can_be_chosen_on_the_command_line() {
    let home = Home::new(&[(".codex/config.toml", CODEX_LOCAL)]);
    for arguments in [["-c", "model_provider=\"other\""], ["-c", "model_provider=other"], ["--profile", "second"]] {
        assert_eq!(urls(&home.look(Agent::Codex, &arguments).unwrap()), ["http://other.example/api"]);
        let start = home.wire(Agent::Codex, &arguments).unwrap();
        // Its address has no /v1, so the proxy's must not have one either.
        assert_eq!(start.arguments[1], "model_providers.other.base_url=\"http://127.0.0.1:7/openai\"");
    }
}

#[test]
fn codexs_own_provider_goes_where_its_login_says() {
    let start = Home::new(&[]).wire(Agent::Codex, &[]).unwrap();
    assert_eq!(start.arguments[1], "openai_base_url=\"http://127.0.0.1:7/openai/v1\"");

    let auth = "{\"OPENAI_API_KEY\": null, \"tokens\": {}}";
    let home = Home::new(&[(".codex/auth.json", auth)]);
    assert_eq!(urls(&home.look(Agent::Codex, &[]).unwrap()), ["https://chatgpt.com/backend-api/codex"]);
    assert_eq!(home.wire(Agent::Codex, &[]).unwrap().arguments[1], "openai_base_url=\"http://127.0.0.1:7/openai\"");
}

#[test]
fn codex_settings_that_cannot_be_read_are_refused() {
    let home = Home::new(&[(".codex/config.toml", "model = ")]);
    assert!(home.look(Agent::Codex, &[]).unwrap_err().to_string().contains("config.toml is not TOML"));
    assert!(Home::new(&[]).look(Agent::Codex, &["--oss"]).is_err());
}

const OPENCODE_LOCAL: &str = "{
    // The one at home.
    \"model\": \"local/scripted\",
    \"provider\": {
        \"local\": {\"npm\": \"@ai-sdk/openai-compatible\", \"options\": {\"baseURL\": \"http://gate.example/v1\"}},
        \"second\": {\"npm\": \"@ai-sdk/openai-compatible\", \"options\": {\"baseURL\": \"http://other.example/v1\"}},
    },
}";

#[test]
fn opencode_is_wired_by_a_variable_and_the_chosen_models_provider_comes_first() {
    let home = Home::new(&[(".config/opencode/opencode.jsonc", OPENCODE_LOCAL)]).env("ANTHROPIC_API_KEY", "k");
    let found = home.look(Agent::Opencode, &[]).unwrap();
    assert_eq!((urls(&found), found.notes.len()), (vec!["http://gate.example/v1"], 1));

    let start = home.wire(Agent::Opencode, &["run", "x"]).unwrap();
    let content: Value = serde_json::from_str(variable(&start, "OPENCODE_CONFIG_CONTENT").unwrap()).unwrap();
    let address = |id: &str| content["provider"][id]["options"]["baseURL"].clone();
    assert_eq!(address("local"), "http://127.0.0.1:7/openai/v1");
    assert_eq!(address("anthropic"), "http://127.0.0.1:7/anthropic/v1");
    assert_eq!(address("second"), Value::Null);
    assert_eq!(content["mcp"]["infold"]["url"], "http://127.0.0.1:7/mcp");
    assert_eq!(start.arguments, words(&["run", "x"]));

    let chosen = home.look(Agent::Opencode, &["-m", "second/large"]).unwrap();
    assert_eq!(urls(&chosen), ["http://other.example/v1"]);
}

#[test]
fn settings_for_opencode_in_the_environment_are_kept() {
    let home = Home::new(&[]).env("OPENCODE_CONFIG_CONTENT", "{\"theme\": \"x\", \"mcp\": {\"other\": {}}}");
    let start = home.wire(Agent::Opencode, &[]).unwrap();
    let content: Value = serde_json::from_str(variable(&start, "OPENCODE_CONFIG_CONTENT").unwrap()).unwrap();
    assert_eq!(content["theme"], "x");
    assert!(content["mcp"]["other"].is_object() && content["mcp"]["infold"].is_object());
}

#[test]
fn loopback_is_left_out_of_the_users_proxy() {
    let home = Home::new(&[]).env("HTTPS_PROXY", "http://proxy.example").env("NO_PROXY", "a.example");
    let start = home.wire(Agent::Claude, &[]).unwrap();
    assert_eq!(variable(&start, "NO_PROXY"), Some("a.example,127.0.0.1"));
    assert_eq!(variable(&start, "no_proxy"), Some("127.0.0.1"));
    assert_eq!(variable(&Home::new(&[]).wire(Agent::Claude, &[]).unwrap(), "NO_PROXY"), None);
}

#[test]
fn an_address_becomes_the_upstream_unless_the_settings_name_one() {
    let mut settings = resolve(Given::default()).unwrap().settings;
    let own = OwnAddress::new(AgentApi::Anthropic, "http://me:pass@gate.example/x?key=1", "the environment").unwrap();
    let note = own.take_over(&mut settings, &crate::settings::Origin::Default);
    assert_eq!(note, "forwarding to http://gate.example/x (from the environment)");
    assert_eq!(settings.proxy.anthropic.upstream, "http://me:pass@gate.example/x?key=1");

    let mut settings = resolve(Given::default()).unwrap().settings;
    let note = own.take_over(&mut settings, &crate::settings::Origin::Flag { flag: "--set" });
    assert_eq!(settings.proxy.anthropic.upstream, "https://api.anthropic.com");
    assert!(note.contains("ignoring the environment"), "{note}");
}

#[test]
fn limits_follow_the_window_where_nobody_has_set_them() {
    let given = |set: &[&str]| {
        let set = set.iter().map(|text| text.parse().unwrap()).collect();
        let flags = FlagValues { set, ..FlagValues::default() };
        resolve(gather(&Surroundings::default(), flags).unwrap()).unwrap()
    };
    let limits = |set: &[&str], model: Option<&str>| {
        let mut in_force = given(set);
        follow_window(&mut in_force, model);
        in_force.settings
    };
    let settings = limits(&["windows.models=[[\"big*\", 1000000]]"], Some("local/big-one"));
    assert_eq!((settings.folding.default_budget, settings.folding.max_budget), (400_000, 800_000));
    assert_eq!(settings.folding.default_timeout_seconds, 14_400);
    assert_eq!(settings.folding.max_branches_per_minute, 120);

    let settings = limits(&["run.window_tokens=100000", "folding.max_budget=20000"], None);
    assert_eq!((settings.folding.default_budget, settings.folding.max_budget), (20_000, 20_000));
}

#[test]
fn an_agent_that_is_not_installed_is_refused_with_how_to_install_it() {
    let home = Home::new(&[("bin/claude", "not a program")]);
    let home = home.env("PATH", "/nowhere");
    let refused = Agent::Codex.find(&home.surroundings).unwrap_err().to_string();
    assert!(refused.contains("npm install -g @openai/codex"), "{refused}");
    let bin = home.folder.path().join("bin");
    let home = home.env("PATH", &bin.to_string_lossy());
    assert!(Agent::Claude.find(&home.surroundings).is_err(), "a file that is no program was taken for one");
    assert!(Agent::named(Path::new("vim").as_os_str()).is_err());
}
