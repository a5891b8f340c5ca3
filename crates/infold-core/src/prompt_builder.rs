//! Puts a system prompt together from sections, what never changes first, so that a provider's cache keeps its prefix.
//!
//! The order is fixed, whatever order the sections are added in: base instructions, the project's rules, memories, and
//! skills last, because they come and go in a session. The scratchpad and the note about how full the window is are no
//! sections at all: both change every turn, and a change anywhere in the prompt makes the provider read the whole
//! conversation behind it anew. They are sent at the end of the conversation.
//!
//! What must hold: a breakpoint is the end of a section in bytes of the prompt, and nothing before it changes by itself;
//! so there is none behind a section that cannot be cached. How breakpoints are sent is each provider's form.

#[cfg(test)]
mod tests;

/// What is between two sections.
const BETWEEN: &str = "\n\n";

/// Which part of a system prompt a section is, in the order of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectionKind {
    /// The base instructions, which never change.
    Base,
    /// The rules of the project, which change with their file.
    ProjectRules,
    /// Memories of earlier sessions, which are chosen when a session starts.
    Memories,
    /// What active skills add, which changes when one is switched on or off.
    Skills,
}

impl SectionKind {
    /// Whether a breakpoint may follow it: skills change in mid-session, so what is cached ends in front of them.
    fn takes_breakpoint(self) -> bool {
        match self {
            Self::Base | Self::ProjectRules | Self::Memories => true,
            Self::Skills => false,
        }
    }
}

/// One section of a system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSection {
    /// What people see it called.
    pub name: String,
    /// Its text; a section without any is left out.
    pub content: String,
    /// Whether the text is the same in every turn.
    pub cacheable: bool,
}

/// Collects sections and builds the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptBuilder {
    sections: Vec<(SectionKind, PromptSection)>,
    breakpoints_max: usize,
}

impl PromptBuilder {
    /// A builder without sections. A provider takes only so many breakpoints.
    pub fn new(breakpoints_max: usize) -> Self {
        Self { sections: Vec::new(), breakpoints_max }
    }

    /// Adds a section. Several of one kind keep the order in which they were added.
    pub fn add(&mut self, kind: SectionKind, section: PromptSection) -> &mut Self {
        self.sections.push((kind, section));
        self
    }

    /// The prompt, and its breakpoints: one behind each of the first three kinds, as a byte of the prompt. Where there
    /// are more than the provider takes, the last ones stay: a cached prefix holds the shorter ones.
    pub fn build(&self) -> (String, Vec<usize>) {
        let mut sections: Vec<&(SectionKind, PromptSection)> =
            self.sections.iter().filter(|(_, section)| !section.content.trim().is_empty()).collect();
        sections.sort_by_key(|(kind, _)| *kind);

        let (mut prompt, mut breakpoints, mut is_stable) = (String::new(), Vec::new(), true);
        for (at, (kind, section)) in sections.iter().enumerate() {
            if !prompt.is_empty() {
                prompt.push_str(BETWEEN);
            }
            prompt.push_str(&section.content);
            is_stable &= section.cacheable;
            let is_last_of_kind = sections.get(at + 1).is_none_or(|(next, _)| next != kind);
            if is_stable && is_last_of_kind && kind.takes_breakpoint() {
                breakpoints.push(prompt.len());
            }
        }
        let surplus = breakpoints.len().saturating_sub(self.breakpoints_max);
        (prompt, breakpoints.split_off(surplus))
    }
}
