//! The scenes: what the model says in each, and what happens to its client meanwhile.

use infold_testkit::agent::Client;
use infold_testkit::model::work::{Work, branch_work, call, fold_branch, load_tools, open_branch, read_file};
use infold_testkit::model::{Call, Decision, Received, Script, Step};
use serde_json::{Value, json};

use super::Scene;
use super::acts::{Act, Habits};
use super::files::{CHANGED, HUGE, LOGS, LONG, SECRETS, changing, log_path, path, secret};

const ASKED: &str = "Look through the files, please.";
const FOUND: &str = "The files define harbour functions; none is called.";
const MODEL_WINDOW_TOKENS: u64 = 20_000;

impl Scene {
    fn new(name: &str, steps: impl IntoIterator<Item = Step>, acts: impl IntoIterator<Item = Act>) -> Self {
        Self {
            name: name.to_owned(),
            clients: Client::ALL.to_vec(),
            settings: Vec::new(),
            habits: Habits::Usual,
            script: Script::new(steps),
            acts: acts.into_iter().collect(),
        }
    }

    fn set(mut self, key: &'static str, value: impl ToString) -> Self {
        self.settings.push((key, value.to_string()));
        self
    }

    fn habits(self, habits: Habits) -> Self {
        Self { habits, ..self }
    }

    fn script(self, change: impl FnOnce(Script) -> Script) -> Self {
        Self { script: change(self.script), ..self }
    }

    /// Only Claude Code plays it.
    fn claude_only(self) -> Self {
        Self { clients: vec![Client::ClaudeCode], ..self }
    }
}

pub fn all() -> Vec<Scene> {
    [folds(), endings(), results(), windows(), words()].concat()
}

fn ask() -> Act {
    Act::Say(ASKED.to_owned())
}

fn say(words: &str) -> Act {
    Act::Say(words.to_owned())
}

fn done() -> [Step; 3] {
    [Step::text("Done.").reasoning("That was it."), Step::text("Yes."), Step::text("Yes, still.")]
}

fn work() -> Work {
    Work::reading("Read two files", [path(1), path(2)], FOUND)
}

/// Reads something, does a sub-task, reads something else.
fn sub_task() -> Vec<Step> {
    let work = Work::reading("Read three files", (1..=3).map(path), FOUND).budget_tokens(12_345);
    let mut steps = vec![read_file(&path(11))];
    steps.extend(branch_work(&work));
    steps.push(read_file(&path(12)));
    steps.extend(done());
    steps
}

/// Scenes with branches that return.
fn folds() -> Vec<Scene> {
    let family = [
        calling(
            "context_branch",
            |_| json!({"project_path": "/p", "description": "Read one file", "prompt": "Read it."}),
        ),
        read_file(&path(1)),
        calling(
            "context_return",
            |received| json!({"project_path": "/p", "branch_id": received.own_branch(), "message": FOUND}),
        ),
    ];
    let opening = |what: &str| json!({"session_id": "s", "description": what});
    let several = [
        load_tools(),
        at_once(vec![("branch_create", opening("Read the first")), ("branch_create", opening("Read the second"))]),
        read_file(&path(1)),
        open_branch(&Work::reading("Look below", [], "")),
        read_file(&path(2)),
        fold_branch("Below it is fine."),
        fold_branch("The first is fine."),
        read_file(&path(3)),
        fold_branch("The second is fine."),
    ];
    vec![
        Scene::new("fold", sub_task(), [ask(), say("Is that all?")]),
        Scene::new("fold-listed", sub_task(), [ask(), say("Is that all?")]).habits(Habits::Inline),
        Scene::new("fold-nameless", sub_task(), [ask(), say("Is that all?")]).habits(Habits::Nameless),
        Scene::new("fold-inherit", sub_task(), [ask()]).set("folding.isolation", "inherit"),
        Scene::new("fold-lean", sub_task(), [ask()]).set("mcp.tools", "[\"lean\"]").set("mcp.session", "proxy"),
        Scene::new("fold-pool", sub_task(), [ask()])
            .set("folding.allocation", "pool")
            .set("folding.session_budget", 30_000),
        Scene::new("fold-restart", sub_task(), [ask(), Act::Restart, say("Is that all?")]),
        Scene::new("fold-unplanned", sub_task(), [ask()]).set("proxy.plan", "false"),
        Scene::new("family", family.into_iter().chain(done()), [ask()]).habits(Habits::Inline),
        Scene::new("several", several.into_iter().chain(done()), [ask(), say("Is that all?")]),
    ]
}

/// Scenes with branches that end without a return, and with branches that are opened again.
fn endings() -> Vec<Scene> {
    let failing = calling(
        "branch_return",
        |received| json!({"branch_id": received.own_branch(), "message": "The pier is gone.", "failed": true}),
    );
    let failed = [load_tools(), open_branch(&work()), read_file(&path(1)), failing];
    let back = || {
        calling(
            "context_rollback",
            |received| json!({"project_path": "/p", "branch_id": received.branch_ids().first().cloned().unwrap_or_default()}),
        )
    };
    let rolled_back = [
        open_branch(&work()),
        read_file(&path(1)),
        fold_branch("the first end"),
        back(),
        read_file(&path(2)),
        fold_branch("the second end"),
    ];
    let discarding = [
        open_branch(&work()),
        read_file(&path(1)),
        fold_branch("the first"),
        open_branch(&work()),
        read_file(&path(2)),
        fold_branch("the second"),
        back(),
        Step::text("In the first again."),
    ];
    let interrupted = [load_tools(), open_branch(&work()), read_file(&path(1)), Step::text("One file is read.")];
    let little = Work::reading("Read many files", [], FOUND).budget_tokens(2_000);
    let budget = [load_tools(), open_branch(&little)].into_iter().chain((1..=8).map(read_in_branch));
    let back_inside = [Act::SayUntil(ASKED, "file-01"), Act::GoOn, Act::Back(6), say("Stop."), say("And now?")];
    vec![
        Scene::new("budget", budget.clone().chain(done()), [ask(), say("And now?"), Act::Restart, say("Sure?")])
            .set("proxy.shape", "false"),
        Scene::new("budget-back", budget.chain(done()), back_inside).set("proxy.shape", "false"),
        Scene::new("failed", failed.into_iter().chain(done()), [ask()]),
        Scene::new(
            "interrupted",
            interrupted.into_iter().chain(done()),
            [ask(), say("Stop, what have you got?"), say("So?")],
        ),
        Scene::new("rollback", rolled_back.into_iter().chain(done()), [ask()]).habits(Habits::Inline),
        Scene::new("discard", discarding.into_iter().chain(done()), [ask(), say("Go on.")]).habits(Habits::Inline),
    ]
}

/// Scenes with results that are too long, are read again, or have secrets in them.
fn results() -> Vec<Scene> {
    let read_back = |pattern: Option<&'static str>| {
        calling("read_result", move |received| {
            let shown: String = received.shown().into_iter().map(|piece| piece.text + "\n").collect();
            let handle = shown.split("ref_id=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
            match pattern {
                Some(pattern) => json!({"ref_id": handle, "pattern": pattern}),
                None => json!({"ref_id": handle, "offset": 100, "limit": 900}),
            }
        })
    };
    let referenced = [load_tools(), read_file(LONG), read_back(None), read_back(Some("crane|entry 99:"))];
    let again = [read_file(CHANGED), read_file(CHANGED), read_file(CHANGED)];
    let changing_acts = [
        Act::SayUntil(ASKED, "harbour"),
        Act::File(CHANGED, changing("has a visitor from abroad")),
        Act::Until("harbour"),
        Act::GoOn,
    ];
    let huge = |budget_tokens: u64| {
        let work = Work::reading("Read a log", [], FOUND).budget_tokens(budget_tokens);
        [load_tools(), open_branch(&work), read_file(HUGE), fold_or_go_on()].into_iter().chain(done())
    };
    let secrets = [
        load_tools(),
        read_file(SECRETS),
        open_branch(&Work::reading("Look closer", [], "")),
        read_file(SECRETS),
        fold_branch(&format!("The key is {}.", secret(1))),
    ];
    vec![
        Scene::new("referenced", referenced.into_iter().chain(done()), [ask(), Act::Restart, say("Sure?")]),
        Scene::new("read-again", again.into_iter().chain(done()), changing_acts),
        Scene::new("huge", huge(8_000), [ask()]),
        Scene::new("huge-in-little", huge(150), [ask()]),
        Scene::new("secrets", secrets.into_iter().chain(done()), [ask(), say(&format!("Mine is {}.", secret(2)))]),
    ]
}

/// Scenes with requests that do not fit a window.
fn windows() -> Vec<Scene> {
    let scene = |name: &str, window_tokens: u64| {
        let steps = (1..=LOGS).map(|number| read_file(&log_path(number))).chain(done());
        Scene::new(name, steps, [ask(), say("Sure?"), Act::Back(8), say("Again?")])
            .habits(Habits::Inline)
            .set("proxy.shape", "false")
            .set("windows.default_tokens", window_tokens)
            .set("windows.models", "[]")
            .script(|script| script.window_tokens(MODEL_WINDOW_TOKENS))
    };
    let hopeless = [say(&"The person has a lot to say. ".repeat(5_000))];
    vec![
        scene("too-long", 1_000_000),
        scene("too-long-in-stream", 1_000_000).script(Script::refusing_in_stream),
        scene("too-long-known", 22_000),
        Scene::new("hopeless", done(), hopeless).script(|script| script.window_tokens(MODEL_WINDOW_TOKENS)),
    ]
}

/// Scenes in which something is said while a branch works, or requests are only counted.
fn words() -> Vec<Scene> {
    let typed = "The user sent a new message while you were working:\nCount the cranes.\n\nAddress it as you go on.";
    let acts = [Act::SayUntil(ASKED, "file-01"), Act::Beside(typed), Act::GoOn, say("And?")];
    let counted = [Act::SayUntil(ASKED, "file-02"), Act::Count, Act::GoOn, Act::Count];
    vec![
        Scene::new("beside", sub_task(), acts).claude_only(),
        Scene::new("counted", sub_task(), counted).claude_only(),
        Scene::new("untold", sub_task(), [ask(), say("And?")]).script(Script::without_usage),
    ]
}

/// A step that calls one of infold's tools with arguments that are made from the request.
fn calling(name: &'static str, arguments: impl Fn(&Received) -> Value + Send + Sync + 'static) -> Step {
    Step::seeing(move |received| call(received, name, "Now this.", arguments(received)))
}

/// A step that makes several calls at once.
pub fn at_once(calls: Vec<(&'static str, Value)>) -> Step {
    Step::seeing(move |received| {
        let mut step = Step::text("Several things at once.").reasoning("They do not depend on each other.");
        for (name, input) in &calls {
            match received.spelled(name) {
                Some(tool) => step.calls.push(Call { tool, input: input.clone() }),
                None => return Decision::Stuck(format!("{name} is not within reach")),
            }
        }
        Decision::Say(step)
    })
}

/// Reads a file in a branch; in the main thread, the branch is over.
fn read_in_branch(number: usize) -> Step {
    let reading = read_file(&path(number));
    Step::seeing(move |received| {
        if received.holds(ASKED) { Decision::Say(Step::text("It is over.")) } else { reading.decision(received) }
    })
}

/// Folds the branch, unless it is over already.
fn fold_or_go_on() -> Step {
    let folding = fold_branch(FOUND);
    Step::seeing(move |received| if received.holds(ASKED) { Decision::Skip } else { folding.decision(received) })
}
