//! What a model gets before the conversation: the base instructions, the project's rules, memories, skills. The sections
//! come in the order of their cacheability (`PromptBuilder`), and do not change while a thread goes on.

use infold_core::{PromptBuilder, PromptSection, SectionKind};

/// Breakpoints in the instructions. Providers take four in all, and one is at the end of the conversation.
const BREAKPOINTS_MAX: usize = 3;

const BASE: &str = include_str!("instructions/base.txt");

/// What a model gets before the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Words about the place of work: folder, system, how commands are confined.
    pub surroundings: String,
    /// The project's rules: files, with their texts.
    pub rules: Vec<(String, String)>,
    /// Memories of earlier work, quoted; empty if there are none.
    pub memories: String,
    /// Skills that can be activated.
    pub skills: Vec<Skill>,
    /// The schema that the last answer has to keep to, as JSON.
    pub output_schema: Option<String>,
}

/// Instructions for one kind of work, in a file of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// When it is of use.
    pub description: String,
    /// The instructions.
    pub text: String,
}

impl Instructions {
    /// The prompt, and its breakpoints. `active` are the skills whose instructions are part of it.
    pub fn build(&self, active: &[String]) -> (String, Vec<usize>) {
        let mut builder = PromptBuilder::new(BREAKPOINTS_MAX);
        let mut add = |kind, name: &str, content: String| {
            builder.add(kind, PromptSection { name: name.to_owned(), content, cacheable: true });
        };
        add(SectionKind::Base, "base", self.base());
        for (file, text) in &self.rules {
            add(SectionKind::ProjectRules, file, rules_text(file, text));
        }
        add(SectionKind::Memories, "memories", self.memories.clone());
        for skill in self.active(active) {
            add(SectionKind::Skills, &skill.name, skill_text(skill));
        }
        builder.build()
    }

    fn base(&self) -> String {
        let mut base = format!("{}\n\n{}", BASE.trim(), self.surroundings.trim());
        if !self.skills.is_empty() {
            base.push_str("\n\nSkills that you can activate with the tool `skill`:");
            for Skill { name, description, .. } in &self.skills {
                base.push_str(&format!("\n- {name}: {description}"));
            }
        }
        if let Some(schema) = &self.output_schema {
            base.push_str(&format!(
                "\n\nWhen the work is done, your last message is a JSON value that keeps to this schema, and nothing \
                 else:\n{schema}"
            ));
        }
        base.trim_end().to_owned()
    }

    /// The prompt as one text without breakpoints, for the case that sections cannot be built: the same words.
    pub fn plain(&self, active: &[String]) -> String {
        let mut texts = vec![self.base()];
        texts.extend(self.rules.iter().map(|(file, text)| rules_text(file, text)));
        texts.push(self.memories.clone());
        texts.extend(self.active(active).map(skill_text));
        texts.retain(|text| !text.trim().is_empty());
        texts.join("\n\n")
    }

    /// The skills whose instructions are part of the prompt.
    fn active<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a Skill> {
        self.skills.iter().filter(|skill| names.contains(&skill.name))
    }

    /// The skill of this name.
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }
}

fn rules_text(file: &str, text: &str) -> String {
    format!("Rules of the project, from {file}:\n\n{}", text.trim())
}

fn skill_text(skill: &Skill) -> String {
    format!("Skill {}:\n\n{}", skill.name, skill.text.trim())
}
