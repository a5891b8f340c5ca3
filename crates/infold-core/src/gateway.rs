//! The gateway's decisions: which servers of others may be used, what their tools are called and look like, which of
//! them a model is shown, and what a call must look like. Starting servers and speaking to them is `infold-mcp`'s work.

mod canonical;
mod definition;
mod entry;
mod health;
mod latency;
mod listed;
mod name;
mod parameters;
mod pins;
mod rights;
mod search;
mod select;
mod tool;
mod validate;

pub use definition::{Definition, DefinitionFate, DefinitionHash, DefinitionProblem, DefinitionsRead, ToolHints};
pub use entry::{
    CallLimits, EntryOrigin, EntryProblem, HintTrust, LoginHints, NamedValues, PinKey, ServerEntry, ServerKey,
    ServerKind, ServerWay, Sharing, SourceClient, duplicate_names,
};
pub use health::{HealthAction, HealthEvent, HealthMoment, HealthRules, ServerHealth, ServerState};
pub use latency::LatencyCounts;
pub use listed::{ListedTool, SchemaForm, Unlistable, list_tool, reference_schema};
pub use name::{OfferedTool, ToolName, Unnamed, name_tools};
pub use pins::{NewTools, PinState, PinStep, PinnedTool, Withholding, decide_pins};
pub use rights::{ApprovalMode, Lane, Rights, RightsAction, RightsRule, RightsSource, RightsTarget, RightsVerdict};
pub use search::{SearchedTool, ToolHit, ToolIndex};
pub use select::{Deferrable, DeferralMode, DeferralRules, Selection, ToolGroup, deferral_note, select_listed};
pub use tool::GatewayTool;
pub use validate::{ArgumentProblem, ArgumentWrong, FoundArgument, SchemaBounds, problems_of, refuse_arguments};
