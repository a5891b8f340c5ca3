//! Does what was typed: says words, carries out commands, opens lists over the screen.

use std::time::Instant;

use infold_agent::points::RewindPoint;
use infold_agent::{SpokenBy, ThreadEntry};
use infold_chat::tones::Tone;
use ratatui::text::Line;

use super::attaching::WhichNamed;
use super::items::{ChatItem, ChatLook, NoteKind, ShownAs};
use super::overlay::{Overlay, OverlayKind};
use super::state::ChatState;
use super::{Chat, OpenOverlay};
use crate::agent::{CarriedOut, FilesThen, SayOutcome, SlashCommand, Typed, agent_sessions, carry_out, read_typed};
use crate::commands::sessions::now_ms;
use crate::draw::{ago, one_line};

/// Sessions that are listed.
const SESSIONS_MAX: usize = 200;
/// What `/help` says of keys.
const KEYS: &str = "Keys:
  Enter sends; Alt-Enter or Ctrl-J begins a new line
  Esc or Ctrl-C interrupts; Ctrl-C twice or Ctrl-D leaves
  Ctrl-O or PageUp shows everything that happened, to be unfolded
  Up and Down go through what you said before; Tab takes a word that is offered
  @ offers files; one that is an image is sent with your words, and so is one that you drop here
  Ctrl-V takes the image on the clipboard
While the agent is at work, what you send waits for its next request.";

impl Chat {
    /// Enter was pressed.
    pub(super) async fn submit(&mut self) -> anyhow::Result<()> {
        (self.state.hint, self.state.completion) = (None, None);
        if let Err(why) = self.attach_named(WhichNamed::All) {
            self.state.hint = Some(why);
            return Ok(());
        }
        let text = self.state.editor.text();
        if text.trim().is_empty() {
            self.state.editor.clear();
            return self.go_on();
        }
        match read_typed(&text) {
            Typed::Wrong(why) => self.state.hint = Some(why),
            Typed::Words => {
                let text = self.state.editor.take();
                self.say(text).await;
            }
            Typed::Command(command) => {
                drop(self.state.editor.take());
                self.typed();
                self.command(command).await?;
            }
        }
        Ok(())
    }

    fn go_on(&mut self) -> anyhow::Result<()> {
        if self.state.working_since.is_none() && self.conversation.go_on()? {
            self.state.working_since = Some(Instant::now());
        }
        Ok(())
    }

    /// Says words. If that does not work, they are in the input again.
    pub(super) async fn say(&mut self, text: String) {
        let records = self.conversation.agent().map(|agent| agent.session().records).unwrap_or_default();
        let said =
            ThreadEntry::User { text: text.clone(), by: SpokenBy::Person, images: self.attached.named_in(&text) };
        match self.conversation.say(vec![said]).await {
            Ok(SayOutcome::Started) => {
                self.state.add(ChatItem::Person(text.clone()));
                self.state.working_since = Some(Instant::now());
                self.unsaid = Some((text.clone(), records));
            }
            Ok(SayOutcome::Waiting) => self.state.waiting.push(text.clone()),
            Err(error) => {
                self.state.note(NoteKind::Problem, format!("{error:#}"));
                self.state.editor.set_text(&text);
                self.show_attached();
                return;
            }
        }
        self.typed();
        self.remember(text).await;
    }

    /// Says what was given on the command line. If one of its images cannot be sent, it is in the input.
    pub(super) async fn say_first(&mut self, first: &str) {
        let typed = self.state.editor.text();
        self.state.editor.set_text(first);
        match self.attach_named(WhichNamed::All) {
            Ok(()) => {
                let words = self.state.editor.take();
                self.state.editor.set_text(&typed);
                self.show_attached();
                self.say(words).await;
            }
            Err(why) => self.state.hint = Some(why),
        }
    }

    /// Keeps what was said for the next chat, without secrets.
    async fn remember(&mut self, text: String) {
        let text = self.attached.as_typed(&text);
        let kept = match self.conversation.engine().scrub([text]).await {
            Ok([text]) => self.kept.add_to_history(text.as_str()),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = kept {
            tracing::warn!(%error, "what was said is not kept for the next chat");
        }
    }

    async fn command(&mut self, command: SlashCommand) -> anyhow::Result<()> {
        let columns = self.state.shape.width;
        match carry_out(command, &mut self.conversation, KEYS, columns).await {
            Ok(CarriedOut::Said(text)) => self.state.note(NoteKind::Answer, text),
            Ok(CarriedOut::Moved(text)) => {
                self.state.note(NoteKind::Answer, text);
                self.show_session().await?;
            }
            Ok(CarriedOut::Begun) => self.state.working_since = Some(Instant::now()),
            Ok(CarriedOut::ChooseSession) => self.open_sessions().await?,
            Ok(CarriedOut::ChoosePoint { .. }) => self.open_points().await?,
            Ok(CarriedOut::Leave) => self.is_over = true,
            Err(error) => self.state.note(NoteKind::Problem, format!("{error:#}")),
        }
        self.name_session();
        Ok(())
    }

    /// Everything that happened, to be unfolded.
    pub(super) fn open_transcript(&mut self) -> anyhow::Result<()> {
        let overlay = Overlay::open(OverlayKind::Transcript, "What happened", self.state.items.len())?;
        self.overlay = Some(OpenOverlay { overlay, leads_to: Vec::new(), lines: Vec::new() });
        Ok(())
    }

    async fn open_sessions(&mut self) -> anyhow::Result<()> {
        let sessions = agent_sessions(self.conversation.engine(), SESSIONS_MAX).await?;
        self.known.sessions = sessions.iter().map(|row| (row.short_id.clone(), row.first_words.clone())).collect();
        let now = now_ms();
        let line = |row: &crate::agent::ListedAgentSession| {
            format!("{}  {}  {}  {}", row.short_id, ago(now, row.last_at_ms), row.folder, one_line(&row.first_words))
        };
        let overlay = Overlay::open(OverlayKind::Sessions, "Sessions", sessions.len())?;
        let leads_to = sessions.iter().map(|row| row.id.to_string()).collect();
        self.overlay = Some(OpenOverlay { overlay, leads_to, lines: sessions.iter().map(line).collect() });
        Ok(())
    }

    async fn open_points(&mut self) -> anyhow::Result<()> {
        if self.conversation.agent()?.session().records == 0 {
            self.state.note(NoteKind::Answer, "nothing was said here yet");
            return Ok(());
        }
        let mut points = self.conversation.log().await?.points();
        points.reverse();
        let line =
            |point: &RewindPoint| format!("{:>5}  {:<9}  {}", point.record, point.kind.word(), one_line(&point.words));
        let overlay = Overlay::open(OverlayKind::Points, "Points to go back to", points.len())?;
        let leads_to = points.iter().map(|point| point.record.to_string()).collect();
        self.overlay = Some(OpenOverlay { overlay, leads_to, lines: points.iter().map(line).collect() });
        Ok(())
    }

    /// An entry of a list was chosen.
    pub(super) async fn chosen(&mut self, kind: OverlayKind, chosen: &str, files: FilesThen) -> anyhow::Result<()> {
        let command = match kind {
            OverlayKind::Transcript => return Ok(()),
            OverlayKind::Sessions => SlashCommand::Sessions { named: Some(chosen.to_owned()) },
            OverlayKind::Points => {
                SlashCommand::Rewind { to: chosen.parse().ok(), keep_files: files == FilesThen::Stay }
            }
        };
        self.command(command).await
    }

    pub(super) fn overlay_count(&self) -> usize {
        match &self.overlay {
            Some(open) if open.overlay.kind == OverlayKind::Transcript => self.state.items.len(),
            Some(open) => open.lines.len(),
            None => 0,
        }
    }

    /// Closes the list; what is below it may have another width by now.
    pub(super) fn close_overlay(&mut self) -> anyhow::Result<()> {
        self.overlay = None;
        let (width, height) = crossterm::terminal::size()?;
        let size = ratatui::layout::Size { width, height };
        if size != self.screen.size() {
            self.redraw(size)?;
        }
        Ok(())
    }
}

/// Draws a list.
pub(super) fn draw_overlay(open: &mut OpenOverlay, state: &ChatState) -> anyhow::Result<()> {
    let shape = &state.shape;
    match open.overlay.kind {
        OverlayKind::Transcript => {
            let entry = |at: usize, shape: &ChatLook, folding: ShownAs| match state.items.get(at) {
                Some(item) => item.lines(shape, folding),
                None => Vec::new(),
            };
            open.overlay.draw(state.items.len(), shape, &entry)
        }
        OverlayKind::Sessions | OverlayKind::Points => {
            let lines = &open.lines;
            let entry = |at: usize, shape: &ChatLook, _: ShownAs| -> Vec<Line<'static>> {
                vec![shape.fitted(&[(Tone::Plain, lines.get(at).cloned().unwrap_or_default())])]
            };
            open.overlay.draw(lines.len(), shape, &entry)
        }
    }
}
