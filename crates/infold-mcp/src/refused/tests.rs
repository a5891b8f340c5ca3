//! How each refusal looks as an error and as a result.

use infold_core::{BranchId, Refusal, ScrubError, SessionId, Status};
use infold_engine::{Error, Failure};

use super::ToolRefused;

fn refusals() -> Vec<Error> {
    let session = SessionId::parse("s").unwrap();
    let branch = BranchId::from_stored("br_1".to_owned());
    let refusals = [
        Refusal::Invalid { field: "message", problem: "must not be empty".to_owned() },
        Refusal::SessionNotFound { session: "s".to_owned() },
        Refusal::SessionOver { session: session.clone() },
        Refusal::SessionExists { session: session.clone() },
        Refusal::NotForked { session: session.clone() },
        Refusal::BranchNotFound { branch: "br_xyz".to_owned() },
        Refusal::NothingActive { session },
        Refusal::NotActive { branch: branch.clone(), status: Status::Completed, result: None },
        Refusal::ParentNotActive { branch, status: Status::Timeout },
        Refusal::TooDeep { depth: 4, depth_max: 3 },
        Refusal::TooManyInSession { open: 10, open_max: 10 },
        Refusal::TooManyInInstance { open_max: 100 },
        Refusal::TooManyOfPrincipal { open: 50 },
        Refusal::TooFast { per_minute_max: 5, retry_after_ms: 1_500 },
        Refusal::BriefTooLarge { brief_tokens: 20, budget_tokens: 10 },
        Refusal::BudgetGone,
        Refusal::ContextLimit { current_tokens: 35_000, limit_tokens: 32_768 },
        Refusal::KeyReused,
        Refusal::ResultNotFound { ref_id: "res_1".to_owned() },
        Refusal::MemoryNotFound { memory: "mem_1".to_owned() },
        Refusal::Cancelled,
    ];
    let failures = [Failure::Scrubbing(ScrubError::Panicked), Failure::Contended];
    refusals.into_iter().map(Error::Refused).chain(failures.into_iter().map(Error::Failed)).collect()
}

#[test]
fn context_tools_answer_with_the_codes_of_their_document() {
    let lines: Vec<String> = refusals()
        .into_iter()
        .map(|error| {
            let error = ToolRefused::from(error).in_context_words().into_rpc_error();
            format!("{} {} {}", error.code.0, error.message, error.data.unwrap())
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn other_tools_answer_with_a_result_that_the_model_reads() {
    let lines: Vec<String> = refusals()
        .into_iter()
        .map(|error| {
            let result = ToolRefused::from(error).into_result();
            assert_eq!(result.is_error, Some(true));
            assert_eq!(result.structured_content, None);
            result.content[0].as_text().unwrap().text.clone()
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}
