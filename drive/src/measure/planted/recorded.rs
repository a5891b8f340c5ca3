//! Recorded results as carriers: those of one tool in one session, one after the other, until they are long enough.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use infold_core::transcript::Kind;
use infold_testkit::planted::TrialHalf;

use crate::measure::parts::half_of;

const TEXT_BYTES: usize = 200_000;
/// How many texts of each tool are used.
const TEXTS_MAX: usize = 3;

/// A recorded text.
pub(super) struct RecordedText {
    pub name: String,
    pub tool: String,
    pub text: String,
}

/// The texts of a half; none if nothing was recorded.
pub(super) fn texts(half: TrialHalf, data: &Path) -> Result<Vec<RecordedText>> {
    let Some(sessions) = super::super::recorded(data)? else { return Ok(Vec::new()) };
    let wanted = match half {
        TrialHalf::Chosen => 0,
        TrialHalf::Checked => 1,
    };
    let mut found: Vec<RecordedText> = Vec::new();
    for session in sessions {
        let session = session?;
        if half_of(&session.name) != wanted {
            continue;
        }
        let mut tools: BTreeMap<String, String> = BTreeMap::new();
        for item in &session.transcript.items {
            let Kind::Result { tool, text, .. } = &item.kind else { continue };
            let all = tools.entry(tool.clone()).or_default();
            if all.len() < TEXT_BYTES {
                all.push_str(text);
                all.push('\n');
            }
        }
        for (tool, text) in tools.into_iter().filter(|(_, text)| text.len() >= TEXT_BYTES) {
            let name = format!("recorded {tool}");
            if found.iter().filter(|text| text.name == name).count() < TEXTS_MAX {
                found.push(RecordedText { name, tool, text });
            }
        }
    }
    Ok(found)
}
