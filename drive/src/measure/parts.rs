//! Divides the sessions into parts, by their source and by chance, and says what shaping does in each part.
//!
//! A sum over all sessions depends on the mix of sources. So each source is looked at by itself, with how much its
//! sessions differ; and the sessions are split by a hash of their names into two halves: the settings were chosen
//! on one of them, and what is claimed has to hold on both.

use std::hash::{DefaultHasher, Hasher};

use infold_core::transcript::Transcript;
use infold_replay::{Measures, Policy, Report, SessionReport};

/// A recorded session with the name of its source.
#[derive(Debug)]
pub struct RecordedSession {
    pub name: String,
    pub source: String,
    pub agent: String,
    pub transcript: Transcript,
}

/// Which half a session is in. The settings were chosen on half 0.
pub(super) fn half_of(session: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(session.as_bytes());
    hasher.finish() % 2
}

/// The parts that a session is in, from all of them down to its own source.
pub(super) fn names_of(recording: &RecordedSession) -> Vec<String> {
    let RecordedSession { name, source, agent, .. } = recording;
    let half = half_of(name);
    vec!["all".to_owned(), format!("half {half}"), agent.clone(), format!("{agent}, half {half}"), source.clone()]
}

/// The names of all parts, in the order of the tables: all and its halves, each agent and its halves, each source.
pub(super) fn all_names(recordings: &[&RecordedSession]) -> Vec<String> {
    let mut levels: [Vec<String>; 5] = Default::default();
    for recording in recordings {
        for (level, name) in levels.iter_mut().zip(names_of(recording)) {
            if !level.contains(&name) {
                level.push(name);
            }
        }
    }
    levels.iter_mut().for_each(|level| level.sort_unstable());
    let [all, halves, agents, agent_halves, sources] = levels;
    let mut names = [all, halves].concat();
    for agent in agents {
        let halves = agent_halves.iter().filter(|name| name.starts_with(&format!("{agent},")));
        names.extend([agent.clone()].into_iter().chain(halves.cloned()));
    }
    names.extend(sources);
    names
}

/// How one figure is distributed over the sessions of a part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Spread {
    /// The figure of all sessions together.
    pub sum: f64,
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
    /// The figure of the worst session: the largest bill, or the smallest recall.
    pub worst: f64,
}

/// Whether more of a figure is better.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
}

impl Spread {
    fn of(sum: f64, mut each: Vec<f64>, better: Better) -> Self {
        each.sort_by(f64::total_cmp);
        let at = |percent: usize| each.get((each.len().saturating_sub(1)) * percent / 100).copied().unwrap_or(sum);
        let worst = match better {
            Better::Less => at(100),
            Better::More => at(0),
        };
        Self { sum, median: at(50), p10: at(10), p90: at(90), worst }
    }
}

/// What shaping does in a part of the sessions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SessionGroup {
    pub name: String,
    pub sessions: usize,
    pub billed_percent: f64,
    /// The bill with what is fetched again, in percent of the bill without shaping.
    pub adjusted: Spread,
    pub recall: Spread,
    pub strict_recall: Spread,
    pub line_recall: Spread,
}

/// Measures of one session, or of several together, without shaping and with it.
type WasNow = (Measures, Measures);

impl SessionGroup {
    fn of(name: &str, each: &[WasNow]) -> Option<Self> {
        let mut sum = WasNow::default();
        each.iter().for_each(|(was, now)| {
            sum.0.add(was);
            sum.1.add(now);
        });
        let spread = |figure: fn(&WasNow) -> Option<f64>, better| {
            let each: Vec<f64> = each.iter().filter_map(figure).collect();
            // A figure that no session has counts as perfect: where nothing was needed, nothing was missed.
            Spread::of(figure(&sum).unwrap_or(100.0), each, better)
        };
        (sum.0.billed > 0.0).then(|| Self {
            name: name.to_owned(),
            sessions: each.len(),
            billed_percent: 100.0 * sum.1.billed / sum.0.billed,
            adjusted: spread(adjusted_percent, Better::Less),
            recall: spread(|(_, now)| now.recall_percent(), Better::More),
            strict_recall: spread(|(_, now)| now.strict_recall_percent(), Better::More),
            line_recall: spread(|(_, now)| now.line_recall_percent(), Better::More),
        })
    }
}

fn adjusted_percent((was, now): &WasNow) -> Option<f64> {
    (was.billed > 0.0).then(|| 100.0 * now.adjusted / was.billed)
}

/// What shaping does in each part of the sessions. `measures` finds a session's measures by its name.
pub(super) fn parts(recordings: &[&RecordedSession], measures: impl Fn(&str) -> Option<WasNow>) -> Vec<SessionGroup> {
    let part = |name: String| {
        let mine = recordings.iter().filter(|recording| names_of(recording).contains(&name));
        SessionGroup::of(&name, &mine.filter_map(|recording| measures(&recording.name)).collect::<Vec<_>>())
    };
    all_names(recordings).into_iter().filter_map(part).collect()
}

/// The measures of a session in a report, without shaping and with it.
pub(super) fn in_report(report: &Report, session: &str) -> Option<WasNow> {
    let shaped_at = report.policies.iter().position(|policy| policy.policy == Policy::SHAPED)?;
    let is_it = |one: &&SessionReport| one.name == session;
    let outcomes = &report.sessions.iter().find(is_it)?.outcomes;
    Some((outcomes.first()?.measures.clone(), outcomes.get(shaped_at)?.measures.clone()))
}
