//! What keys do.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use infold_agent::setup::ApprovalReply;
use infold_chat::editor::EditorOutcome;

use super::attaching::WhichNamed;
use super::completion::{Completion, files_of};
use super::overlay::OverlayOutcome;
use super::{Chat, DRAFT_AFTER};

impl Chat {
    /// Takes a key.
    pub(super) async fn key(&mut self, key: KeyEvent) -> anyhow::Result<()> {
        if self.overlay.is_some() {
            return self.overlay_key(key).await;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return self.end_something().await,
            KeyCode::Char('d') if control && self.state.editor.is_empty() => {
                self.is_over = true;
                return Ok(());
            }
            KeyCode::Char('v') if control => {
                self.paste_image().await;
                return Ok(());
            }
            KeyCode::Char('o') if control => return self.open_transcript(),
            KeyCode::Char('l') if control => return self.redraw(self.screen.size()),
            KeyCode::PageUp => return self.open_transcript(),
            _ => {}
        }
        self.leaving = None;
        if self.completion_key(key) || self.question_key(key) {
            return Ok(());
        }
        if key.code == KeyCode::Esc {
            self.interrupt();
            return Ok(());
        }
        match self.state.editor.key(key) {
            EditorOutcome::Changed => {
                if key.code == KeyCode::Char(' ') {
                    self.attach_finished();
                }
                self.typed();
            }
            EditorOutcome::Submit => self.submit().await?,
            EditorOutcome::Ignored => {}
        }
        Ok(())
    }

    /// Something was typed: it is kept soon, and what it could become is offered.
    pub(super) fn typed(&mut self) {
        self.draft_due.get_or_insert_with(|| Instant::now() + DRAFT_AFTER);
        let word = self.state.editor.word_before_cursor().to_owned();
        if word.starts_with('@') && self.known.files.is_empty() {
            self.known.files = files_of(self.conversation.folder());
        }
        let line = self.state.editor.before_word().to_owned();
        self.state.completion = Completion::of(&line, &word, &self.known);
    }

    /// A blank was typed, or a word was taken: an image file that is named in front of it is attached.
    fn attach_finished(&mut self) {
        if let Err(why) = self.attach_named(WhichNamed::Finished) {
            self.state.hint = Some(why);
        }
    }

    /// A key while words are offered. Returns whether it was meant for them.
    fn completion_key(&mut self, key: KeyEvent) -> bool {
        let Some(completion) = &mut self.state.completion else { return false };
        match key.code {
            KeyCode::Up => completion.mark_previous(),
            KeyCode::Down => completion.mark_next(),
            KeyCode::Esc => self.state.completion = None,
            KeyCode::Tab => {
                let chosen = format!("{} ", completion.chosen());
                self.state.editor.replace_word(&chosen);
                self.attach_finished();
                self.typed();
            }
            KeyCode::Enter if self.state.editor.text().trim_start().starts_with('/') && key.modifiers.is_empty() => {
                let chosen = completion.chosen().to_owned();
                self.state.editor.replace_word(&chosen);
                self.state.completion = None;
                return false;
            }
            _ => return false,
        }
        true
    }

    /// A key while a question is asked. Returns whether it was meant for it.
    fn question_key(&mut self, key: KeyEvent) -> bool {
        let is_empty = self.state.editor.is_empty();
        let Some(asked) = self.state.questions.front_mut() else { return false };
        let replies = asked.replies();
        let reply = match key.code {
            KeyCode::Up if is_empty => {
                asked.marked = Some(asked.marked.unwrap_or(1).saturating_sub(1));
                return true;
            }
            KeyCode::Down if is_empty => {
                asked.marked = Some(asked.marked.map_or(0, |marked| (marked + 1).min(replies.len() - 1)));
                return true;
            }
            KeyCode::Char(digit) if is_empty && key.modifiers.is_empty() => {
                let number = digit.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1));
                match number.and_then(|number| replies.into_iter().nth(number)) {
                    Some((reply, _)) => reply,
                    None => return false,
                }
            }
            KeyCode::Enter if is_empty && key.modifiers.is_empty() => match asked.marked {
                Some(marked) => match replies.into_iter().nth(marked) {
                    Some((reply, _)) => reply,
                    None => return true,
                },
                None => return true,
            },
            KeyCode::Enter if key.modifiers.is_empty() => {
                let words = self.state.editor.take();
                self.keep_draft();
                ApprovalReply::Refused { words: Some(words) }
            }
            _ => return false,
        };
        self.state.reply(reply);
        true
    }

    /// Ends what is under way.
    fn interrupt(&mut self) {
        if self.state.working_since.is_some() {
            self.state.is_interrupted = true;
            self.conversation.interrupt();
        }
    }

    /// Ctrl-C: ends the work, else the line, else the chat if it is pressed twice.
    async fn end_something(&mut self) -> anyhow::Result<()> {
        if self.state.working_since.is_some() && !self.state.is_interrupted {
            self.interrupt();
        } else if !self.state.editor.is_empty() {
            self.state.editor.clear();
            self.state.completion = None;
            self.typed();
        } else if self.leaving.is_some() {
            self.is_over = true;
        } else {
            self.leaving = Some(Instant::now());
            self.state.hint = Some("Ctrl-C once more leaves".to_owned());
        }
        Ok(())
    }

    async fn overlay_key(&mut self, key: KeyEvent) -> anyhow::Result<()> {
        let count = self.overlay_count();
        let Some(open) = &mut self.overlay else { return Ok(()) };
        match open.overlay.key(key, count) {
            OverlayOutcome::Stay => Ok(()),
            OverlayOutcome::Close => self.close_overlay(),
            OverlayOutcome::Chosen { entry, files } => {
                let kind = open.overlay.kind;
                let chosen = open.leads_to.get(entry).cloned();
                self.close_overlay()?;
                match chosen {
                    Some(chosen) => self.chosen(kind, &chosen, files).await,
                    None => Ok(()),
                }
            }
        }
    }
}
