//! Steps of a model that several scenes play: a command in the client's own shell, and a return with
//! something else beside it.

use infold_testkit::model::work::Work;
use infold_testkit::model::{Call, Decision, Received, Step};
use serde_json::{Value, json};

/// A branch whose brief is `prompt`, as the scripted model opens it.
pub fn work(prompt: &str) -> Work {
    Work { prompt: prompt.to_owned(), ..Work::reading("Look closer", [], "") }
}

/// Runs a command in the client's own shell.
pub fn shell(command: &str) -> Step {
    let command = command.to_owned();
    Step::seeing(move |received| match shell_call(received, &command) {
        Some(call) => Decision::Say(Step::calling_one("Running it.", call.tool, call.input).reasoning("A command.")),
        None => Decision::Stuck("the client lists no shell".to_owned()),
    })
}

/// Folds the branch that the model works in, with a command beside the return in the same message.
pub fn fold_beside(command: &str, message: &str) -> Step {
    let (command, message) = (command.to_owned(), message.to_owned());
    Step::seeing(move |received| {
        let (Some(branch), Some(tool)) = (received.own_branch(), received.spelled("branch_return")) else {
            return Decision::Stuck("no branch to fold, or no tool to fold it with".to_owned());
        };
        let Some(beside) = shell_call(received, &command) else {
            return Decision::Stuck("the client lists no shell".to_owned());
        };
        let input = json!({"branch_id": branch, "message": message});
        let mut step = Step::text("Both at once.").reasoning("The last of it.");
        step.calls = vec![beside, Call { tool, input }];
        Decision::Say(step)
    })
}

fn shell_call(received: &Received, command: &str) -> Option<Call> {
    let known: [(&str, Value); 3] = [
        ("Bash", json!({"command": command, "description": "Run it"})),
        ("exec_command", json!({"cmd": command})),
        ("bash", json!({"command": command, "description": "Run it"})),
    ];
    let tools = received.tools();
    let listed = |name: &str| tools.iter().any(|tool| tool.spelled() == name);
    known.into_iter().find(|(name, _)| listed(name)).map(|(name, input)| Call { tool: name.to_owned(), input })
}
