//! `infold chat` on a terminal: a conversation with infold's agent, in which one sees how the context is kept small.
//!
//! Finished text goes to the terminal's own scrollback and stays there; below it is a region that changes: what happens
//! now, what is being typed, the figures. This file is the loop: keys, events of the agent and the clock go in, frames
//! come out. `state` is what is shown, `live` and `overlay` draw it, `doing` carries out what was typed.
//!
//! What must hold: no key is lost, however much comes in; however it ends, the terminal is as it was before, and what was
//! typed is kept.

mod attached;
mod attaching;
mod bar;
mod clipboard;
mod completion;
pub mod demo;
mod doing;
mod items;
mod kept;
mod keys;
mod live;
mod overlay;
pub mod plain;
mod state;
mod terminal;

use std::io::Stdout;
use std::time::{Duration, Instant};

use crossterm::event::{Event, EventStream, KeyEventKind};
use futures::{FutureExt as _, StreamExt as _};
use infold_agent::Stop;
use infold_agent::session::live as live_records;
use infold_chat::editor::{Editor, History};
use infold_chat::highlight::Highlighter;
use infold_chat::inline::InlineScreen;
use infold_chat::tones::Palette;
use ratatui::layout::Size;
use tokio::sync::mpsc;

use crate::agent::{Conversation, FaceEvent, RunEnding, SessionFigures};
use crate::draw::Paint;
use crate::recognised::short_folder;
use crate::signals::Stops;
use attached::AttachedImages;
use attaching::WhichNamed;
use completion::KnownWords;
use items::{ChatLook, NoteKind};
use kept::KeptTyping;
use overlay::Overlay;
use state::{ChatState, SessionAbout};
use terminal::TakenTerminal;

/// The shortest time between two frames that nobody has pressed a key for.
const FRAME_EVERY: Duration = Duration::from_millis(33);
/// How often what turns is turned while the agent is at work.
const TICK: Duration = Duration::from_millis(120);
/// Events that are taken in before a frame is drawn.
const EVENTS_MAX: usize = 2_000;
/// Items of a session that are printed when it is opened.
const PRINTED_ITEMS: usize = 40;
/// Characters of a session's id that are shown.
const SHOWN_ID_CHARS: usize = 13;
/// How long after the last key a draft is kept.
const DRAFT_AFTER: Duration = Duration::from_millis(400);
/// The shortest time between two looks at the figures.
const FIGURES_EVERY: Duration = Duration::from_millis(250);

/// A chat on a terminal.
pub struct Chat {
    conversation: Conversation,
    events: mpsc::UnboundedReceiver<FaceEvent>,
    state: ChatState,
    screen: InlineScreen<Stdout>,
    overlay: Option<OpenOverlay>,
    kept: KeptTyping,
    known: KnownWords,
    figures: FiguresLoader,
    /// When the draft has to be kept.
    draft_due: Option<Instant>,
    /// When Ctrl-C was pressed with nothing to end.
    leaving: Option<Instant>,
    is_over: bool,
    /// What was said last, and how many records there were then: if there are no more, it was not kept.
    unsaid: Option<(String, u64)>,
    /// Images that were attached.
    attached: AttachedImages,
}

/// A list over the screen, with what its entries lead to.
struct OpenOverlay {
    overlay: Overlay,
    /// For sessions their names, for points their records; empty for a transcript.
    leads_to: Vec<String>,
    lines: Vec<String>,
}

/// Loads figures in the background, one at a time.
struct FiguresLoader {
    loaded: mpsc::UnboundedReceiver<SessionFigures>,
    done: mpsc::UnboundedSender<SessionFigures>,
    is_loading: bool,
    wanted: bool,
    not_before: Instant,
}

/// Talks until the person leaves. `first` is said at once.
pub async fn run(
    conversation: Conversation,
    events: mpsc::UnboundedReceiver<FaceEvent>,
    first: Option<String>,
) -> anyhow::Result<()> {
    let mut stops = Stops::catch()?;
    let data = conversation.invocation().data_folder()?;
    let mut kept = KeptTyping::of(data.path(), conversation.folder())?;
    let terminal = TakenTerminal::take()?;
    let (width, height) = crossterm::terminal::size()?;
    let palette = match conversation.invocation().output.style.paint {
        Paint::Colour => Palette::coloured(),
        Paint::Plain => Palette::plain(),
    };
    let shape = ChatLook { width: usize::from(width).max(1), palette, highlighter: Highlighter::in_background() };
    let mut editor = Editor::new(palette, History::new(kept.history()));
    let draft = kept.draft();
    editor.set_text(&draft);
    let mut chat = Chat {
        conversation,
        events,
        state: ChatState::new(editor, shape),
        screen: InlineScreen::new(std::io::stdout(), Size { width, height }),
        overlay: None,
        kept,
        known: KnownWords::default(),
        figures: FiguresLoader::new(),
        draft_due: None,
        leaving: None,
        is_over: false,
        unsaid: None,
        attached: AttachedImages::new(data.path()),
    };
    chat.greet().await?;
    if !draft.is_empty() {
        chat.state.hint = Some("what you had typed is here again".to_owned());
        if let Err(why) = chat.attach_named(WhichNamed::All) {
            chat.state.hint = Some(why);
        }
    }
    if let Some(first) = first {
        chat.say_first(&first).await;
    }
    let outcome = chat.talk(&mut stops).await;
    let left = chat.leave(terminal).await;
    outcome.and(left)
}

impl Chat {
    async fn talk(&mut self, stops: &mut Stops) -> anyhow::Result<()> {
        let mut keys = EventStream::new();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut frame_at = Some(Instant::now());
        while !self.is_over {
            let due = frame_at.map(tokio::time::Instant::from_std);
            tokio::select! {
                biased;
                () = stops.next() => return Ok(()),
                event = keys.next() => {
                    let Some(Ok(event)) = event else { return Ok(()) };
                    self.terminal_said(event).await?;
                    for _ in 0..EVENTS_MAX {
                        let Some(Some(Ok(event))) = keys.next().now_or_never() else { break };
                        self.terminal_said(event).await?;
                    }
                    frame_at = Some(Instant::now());
                }
                () = async { tokio::time::sleep_until(due.unwrap_or_else(tokio::time::Instant::now)).await }, if due.is_some() => {
                    self.draw()?;
                    frame_at = None;
                }
                event = self.events.recv() => {
                    let Some(event) = event else { return Ok(()) };
                    self.agent_said(event).await?;
                    for _ in 0..EVENTS_MAX {
                        let Ok(event) = self.events.try_recv() else { break };
                        self.agent_said(event).await?;
                    }
                    frame_at = frame_at.or_else(|| Some(Instant::now() + FRAME_EVERY));
                }
                Some(figures) = self.figures.loaded.recv() => {
                    self.figures.is_loading = false;
                    self.state.figures = figures;
                    frame_at = frame_at.or_else(|| Some(Instant::now()));
                }
                _ = ticks.tick() => {
                    self.pass_time();
                    if self.state.working_since.is_some() {
                        frame_at = frame_at.or_else(|| Some(Instant::now()));
                    }
                }
            }
            self.load_figures();
        }
        Ok(())
    }

    /// What the clock is for: drafts, and a second Ctrl-C that does not come.
    fn pass_time(&mut self) {
        if self.draft_due.is_some_and(|due| due <= Instant::now()) {
            self.keep_draft();
        }
        if self.leaving.is_some_and(|since| since.elapsed() > Duration::from_secs(2)) {
            self.leaving = None;
            self.state.hint = None;
        }
    }

    fn keep_draft(&mut self) {
        self.draft_due = None;
        let typed = self.attached.as_typed(&self.state.editor.text());
        if let Err(error) = self.kept.save_draft(&typed) {
            self.state.hint = Some(format!("what you type is not kept: {error}"));
        }
    }

    async fn terminal_said(&mut self, event: Event) -> anyhow::Result<()> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key).await,
            Event::Paste(text) => {
                self.pasted(&text);
                Ok(())
            }
            Event::Resize(width, height) => self.resized(Size { width, height }),
            Event::Key(_) | Event::Mouse(_) | Event::FocusGained | Event::FocusLost => Ok(()),
        }
    }

    fn resized(&mut self, size: Size) -> anyhow::Result<()> {
        self.state.shape.width = usize::from(size.width).max(1);
        match &mut self.overlay {
            Some(open) => open.overlay.resized(),
            None => self.redraw(size),
        }
    }

    /// Writes the visible part anew.
    fn redraw(&mut self, size: Size) -> anyhow::Result<()> {
        let rows = usize::from(size.height);
        let tail = self.state.tail(rows);
        let view = live::draw(&mut self.state, rows, Instant::now());
        Ok(self.screen.resize(size, &tail, &view.lines, view.cursor)?)
    }

    async fn agent_said(&mut self, event: FaceEvent) -> anyhow::Result<()> {
        match event {
            FaceEvent::Agent(event) => {
                self.figures.wanted = true;
                self.state.agent_did(event);
            }
            FaceEvent::Question(pending) => self.state.asked(pending),
            FaceEvent::CompactEnded(outcome) => {
                self.run_is_over(&Ok(())).await?;
                if let Err(why) = outcome {
                    self.state.note(NoteKind::Problem, format!("nothing was compacted: {why}"));
                }
            }
            FaceEvent::Ended(ended) => self.run_is_over(&ended).await?,
        }
        Ok(())
    }

    async fn run_is_over(&mut self, ended: &Result<(), Stop>) -> anyhow::Result<()> {
        let is_cut_short = self.state.is_interrupted || ended.is_err();
        let ending = if is_cut_short { RunEnding::CutShort } else { RunEnding::Rested };
        self.state.ended(ended);
        self.figures.wanted = true;
        if self.conversation.run_ended(ending).await? {
            self.state.working_since = Some(Instant::now());
            return Ok(());
        }
        // Words that the model has not seen are the person's again, and so are those that could not be stored.
        let records = self.conversation.agent()?.session().records;
        let unsaid = self.unsaid.take().filter(|(_, before)| ended.is_err() && records <= *before);
        let refused = match ended {
            Err(Stop::ImagesRefused { words, .. }) => Some(words.clone()),
            _ => None,
        };
        let waited = match self.conversation.take_back().await {
            Ok(waited) => {
                for entry in &waited {
                    self.attached.know_again(&state::words_of(entry).unwrap_or_default(), entry.images());
                }
                waited.iter().filter_map(state::words_of).collect()
            }
            Err(_) => std::mem::take(&mut self.state.waiting),
        };
        let back: Vec<String> = unsaid.map(|(words, _)| words).or(refused).into_iter().chain(waited).collect();
        if !back.is_empty() {
            self.state.waiting.clear();
            let typed = self.state.editor.text();
            let all: Vec<String> = back.into_iter().chain((!typed.is_empty()).then_some(typed)).collect();
            self.state.editor.set_text(&all.join("\n"));
            self.state.hint = Some("what waited is in the input again".to_owned());
            if let Err(why) = self.attach_named(WhichNamed::All) {
                self.state.hint = Some(why);
            }
            self.typed();
        }
        Ok(())
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        match &mut self.overlay {
            Some(open) => doing::draw_overlay(open, &self.state)?,
            None => {
                let size = self.screen.size();
                let finished = self.state.take_finished();
                let view = live::draw(&mut self.state, usize::from(size.height), began);
                self.screen.frame(&finished, &view.lines, view.cursor)?;
            }
        }
        tracing::debug!(micros = began.elapsed().as_micros() as u64, "frame");
        Ok(())
    }

    fn load_figures(&mut self) {
        let loader = &mut self.figures;
        if !loader.wanted || loader.is_loading || Instant::now() < loader.not_before {
            return;
        }
        (loader.wanted, loader.is_loading) = (false, true);
        loader.not_before = Instant::now() + FIGURES_EVERY;
        let Ok(session) = self.conversation.session_id() else { return };
        let engine = self.conversation.engine().clone();
        let settings = self.conversation.invocation().in_force.settings.clone();
        let done = loader.done.clone();
        tokio::spawn(async move {
            match SessionFigures::load(&engine, &session, &settings).await {
                Ok(figures) => drop(done.send(figures)),
                Err(error) => {
                    tracing::warn!(%error, "figures could not be loaded");
                    drop(done.send(SessionFigures::default()));
                }
            }
        });
    }

    /// Says where the person is, and shows what was said there.
    async fn greet(&mut self) -> anyhow::Result<()> {
        let sandbox = self.conversation.sandbox().to_owned();
        self.state.note(NoteKind::Answer, format!("infold chat. {sandbox}. /help shows commands and keys."));
        self.show_session().await
    }

    /// Shows the session that is talked in, from its log.
    async fn show_session(&mut self) -> anyhow::Result<()> {
        let agent = self.conversation.agent()?;
        let is_new = agent.session().records == 0;
        let items = match is_new {
            true => Vec::new(),
            false => items::of_log(&live_records(self.conversation.log().await?.log)),
        };
        self.state.show_session(items, &agent.session().waiting);
        self.state.print_last(PRINTED_ITEMS);
        drop(agent);
        self.name_session();
        self.figures.wanted = true;
        let has_work = self.conversation.has_work()?;
        if has_work && !is_new {
            self.state.hint = Some("the work here broke off: Enter goes on with it".to_owned());
        }
        Ok(())
    }

    fn name_session(&mut self) {
        let invocation = self.conversation.invocation();
        let agent = &invocation.in_force.settings.agent;
        let id = self.conversation.session_id().map(|id| id.to_string()).unwrap_or_default();
        let home = invocation.surroundings.text("HOME");
        self.state.about = SessionAbout {
            short_id: id.chars().take(SHOWN_ID_CHARS).collect(),
            model: agent.model.clone(),
            approval: agent.approval.name().to_owned(),
            folder: short_folder(&self.conversation.folder().display().to_string(), home, &invocation.output.style),
        };
    }

    /// Puts the terminal back, and waits until everything is on disk.
    async fn leave(mut self, terminal: TakenTerminal) -> anyhow::Result<()> {
        self.keep_draft();
        self.overlay = None;
        let finished = self.state.take_finished();
        let drawn = self.screen.frame(&finished, &[], None).and_then(|()| self.screen.leave().map(drop));
        drop(terminal);
        let session = self.conversation.session_id()?;
        let has_said = self.conversation.agent()?.session().records > 0;
        self.conversation.close().await;
        if has_said {
            crate::failure::tell("note", format_args!("go on: infold chat --resume {session}"));
        }
        Ok(drawn?)
    }
}

impl FiguresLoader {
    fn new() -> Self {
        let (done, loaded) = mpsc::unbounded_channel();
        Self { loaded, done, is_loading: false, wanted: true, not_before: Instant::now() }
    }
}
