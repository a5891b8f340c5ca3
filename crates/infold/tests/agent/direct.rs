//! The agent put together by hand, for parts that fail and that the program cannot be given.

use std::sync::{Arc, Mutex};

use futures::{FutureExt as _, stream};
use infold_agent::instructions::Instructions;
use infold_agent::provider::{Effort, IncomingAnswer, OutgoingRequest, ProviderApi, SendModel, ToolDefinition};
use infold_agent::record::Beginning;
use infold_agent::session::AgentSession;
use infold_agent::setup::{AgentLimits, AgentSetup, ListedTools, ModelSetup, OtherResult, OtherTools};
use infold_agent::tools::approval::{ApprovalMode, ApprovalRules, ShellConfinement};
use infold_agent::tools::fence::Fence;
use infold_agent::tools::sandbox::{Confinement, NetworkAccess};
use infold_agent::tools::shell::{CleanEnvironment, ShellSetup};
use infold_agent::tools::{ToolLimits, Workplace};
use infold_agent::watch::AgentEvent;
use infold_agent::{CodingAgent, SpokenBy, ThreadEntry};
use infold_core::fork::{ForkLimits, Profile};
use infold_core::{
    CompactionThresholds, Counter, Family, Isolation, ModelWindows, Prices, Principal, SessionId, ShapeRules,
};
use infold_engine::{
    Clock, ContextNotes, Engine, EngineSettings, ForkSettings, KeptCalls, MemoryModels, ScrubFault, ScrubSettings,
    Shaping, TimerSettings, TurnSettings,
};
use infold_store::{Store, StoreSettings, Synchronous};
use infold_testkit::model::{Model, Script, Step};
use infold_testkit::{documented_limits, documented_memory_rules};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::scene::calls;

fn engine(folder: &TempDir) -> Engine {
    let store = StoreSettings {
        synchronous: Synchronous::Normal,
        busy_timeout_ms: 5_000,
        readers_max: 2,
        checkpoint_pages: 1_000,
    };
    let settings = EngineSettings {
        limits: documented_limits(),
        counter: Counter::new(Family::Claude),
        scrub: ScrubSettings { timeout_ms: 2_000, bytes_max: 1 << 20, rules: None, fault: ScrubFault::None },
        shape: ShapeRules::USUAL,
        isolation: Isolation::Isolated,
        fork: ForkSettings {
            profile: Profile::Seed,
            limits: ForkLimits::with_char_budget(200_000),
            log_bytes_max: 64 << 20,
        },
        timers: TimerSettings { live_ms: 24 * 3_600_000, retention_ms: 90 * 24 * 3_600_000 },
        prices: Prices::default(),
        turn: TurnSettings {
            shaping: Shaping::On,
            windows: ModelWindows { default_tokens: 200_000, models: Vec::new() },
            reserve_tokens: 60_000,
            kept_results_tokens: 8_000,
            context_notes: ContextNotes::Off,
            sessions_max: 16,
            sessions_bytes_max: 1 << 20,
            kept_calls: KeptCalls::Own,
        },
        memory: documented_memory_rules(),
        memory_models: MemoryModels::none(),
        folder: None,
        home: None,
        programs: None,
    };
    Engine::new(Store::open(&folder.path().join("infold.db"), &store).unwrap(), settings, Clock::System)
}

/// Sends requests to a scripted model.
fn sender(model: &Model) -> SendModel {
    let base = model.base_url().to_owned();
    Arc::new(move |OutgoingRequest { api, body }| {
        let request = reqwest::Client::new().post(format!("{base}{}", api.path())).body(body);
        async move {
            let answer = request.header("content-type", "application/json").send().await.unwrap();
            let status = answer.status().as_u16();
            let bytes = answer.bytes().await.unwrap();
            Ok(IncomingAnswer { status, retry_after_ms: None, pieces: Box::pin(stream::iter([Ok(bytes)])) })
        }
        .boxed()
    })
}

fn workplace(folder: &TempDir) -> Workplace {
    let limits = ToolLimits {
        read_lines_max: 100,
        shown_bytes_max: 10_000,
        line_bytes_max: 100,
        file_bytes_max: 10_000,
        list_entries_max: 100,
        search_lines_max: 100,
        search_files_max: 100,
        shell_bytes_max: 10_000,
        shell_usual_seconds: 10,
        shell_seconds_max: 10,
    };
    let shell = ShellSetup {
        program: env!("CARGO_BIN_EXE_infold").into(),
        sandbox: Err("there is none here".to_owned()),
        confinement: Confinement { writable: Vec::new(), hidden: Vec::new(), network: NetworkAccess::Closed },
        temporary: folder.path().to_owned(),
        environment: CleanEnvironment { kept: Vec::new(), taken_out: Vec::new() },
    };
    Workplace { fence: Fence::new(folder.path(), &[]).unwrap(), limits, shell, scrubber: None }
}

fn limits() -> AgentLimits {
    AgentLimits {
        context_budget_tokens: 100_000,
        max_output_tokens: 4_096,
        thresholds: CompactionThresholds { compact_trigger: 0.95, hard_block: 0.98, summary_reserve_tokens: 8_000 },
        compact_target: 0.3,
        note_at: 0.8,
        words_chars_max: 40_000,
        summary_chars_max: 8_000,
        compactions_max: 3,
        turns_max: 20,
        run_tokens_max: 0,
        attempts_max: 1,
        first_wait_ms: 1,
        retry_after_max_ms: 1,
    }
}

/// Has an agent do something with these tools of other servers; gives its last words and the warnings.
async fn run(model: &Model, folder: &TempDir, others: OtherTools) -> (String, Vec<String>) {
    let warnings: Arc<Mutex<Vec<String>>> = Arc::default();
    let received = Arc::clone(&warnings);
    let setup = AgentSetup {
        engine: engine(folder),
        who: Principal::local(),
        session: SessionId::mint([7; 16]),
        model: ModelSetup {
            api: ProviderApi::Anthropic,
            model: "the-model".to_owned(),
            effort: Effort::Off,
            counter: Counter::new(Family::Claude),
            send: sender(model),
            key_variable: String::new(),
        },
        limits: limits(),
        instructions: Instructions { surroundings: "You work in a folder.".to_owned(), ..Instructions::default() },
        workplace: Arc::new(workplace(folder)),
        approvals: ApprovalRules {
            mode: ApprovalMode::Edits,
            allow: Vec::new(),
            deny: Vec::new(),
            confinement: ShellConfinement::Lacking,
        },
        others,
        watch: Arc::new(move |event| {
            if let AgentEvent::Warning { message } = event {
                received.lock().unwrap().push(message);
            }
        }),
        cancelled: CancellationToken::new(),
    };
    let beginning = Beginning {
        folder: folder.path().display().to_string(),
        provider: "anthropic".to_owned(),
        model: "the-model".to_owned(),
        from: None,
        memories: String::new(),
    };
    let words = vec![ThreadEntry::User { text: "Do it.".to_owned(), by: SpokenBy::Person }];
    let answer = CodingAgent::new(setup, AgentSession::default()).prompt(beginning, Vec::new(), words).await.unwrap();
    let warnings = warnings.lock().unwrap().clone();
    (answer, warnings)
}

#[tokio::test]
async fn enh_8_tools_of_other_servers_that_cannot_be_listed_are_done_without_and_that_is_said_once() {
    let script = Script::new([calls(vec![("list", json!({}))]), calls(vec![("list", json!({}))]), Step::text("Done.")]);
    let model = Model::start(script).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let failing = OtherTools {
        list: Arc::new(|| async { Err("the gateway is gone".to_owned()) }.boxed()),
        call: OtherTools::none().call,
    };
    let (answer, warnings) = run(&model, &folder, failing).await;
    assert_eq!(answer, "Done.");
    assert_eq!(warnings, ["tools of other servers are not there: the gateway is gone"]);
    assert_eq!(model.broken(), Vec::<String>::new());
    assert!(model.turns()[0].tool_count() >= 11, "its own tools are there");
}

#[tokio::test]
async fn enh_5_tools_of_other_servers_are_listed_behind_the_agent_s_own_and_called_by_their_names() {
    let script = Script::new([calls(vec![("weather__today", json!({"place": "here"}))]), Step::text("It rains.")]);
    let model = Model::start(script).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tool = ToolDefinition {
        name: "weather__today".to_owned(),
        description: "Says what the weather is.".to_owned(),
        parameters: json!({"type": "object", "properties": {"place": {"type": "string"}}}),
    };
    let others = OtherTools {
        list: Arc::new(move || {
            let listed = ListedTools { tools: vec![tool.clone()], ..ListedTools::default() };
            async move { Ok(listed) }.boxed()
        }),
        call: Arc::new(|call| {
            let text = format!("rain in {}", call.arguments["place"]);
            async move { OtherResult { text, is_error: false } }.boxed()
        }),
    };
    let (answer, warnings) = run(&model, &folder, others).await;
    assert_eq!((answer.as_str(), warnings.len()), ("It rains.", 0));
    let turns = model.turns();
    let last = turns[0].body["tools"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["name"], "weather__today");
    assert!(turns[1].holds("rain in \"here\""), "{}", turns[1].shape());
}
