//! `infold chat --plain`: the same conversation line by line, for screen readers and for terminals that can do no more. The
//! cursor never moves back, and nothing is drawn.
//!
//! What must hold: everything that the other face shows is said here in words; a line that was read is never dropped.

use std::collections::VecDeque;
use std::io::Write as _;

use infold_agent::Stop;
use infold_agent::setup::ApprovalReply;
use infold_agent::watch::AgentEvent;
use infold_chat::{visible, visible_in_line};
use infold_core::{Thread, grouped};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::mpsc;

use super::items::{ChatItem, compact_words, of_log, what};
use crate::agent::{
    CarriedOut, Conversation, FaceEvent, PendingQuestion, RunEnding, SlashCommand, Typed, agent_sessions, attach_named,
    carry_out, read_typed,
};
use crate::draw::{ago, one_line};
use crate::signals::Stops;

/// Lines of a failed call that are said.
const FAILED_LINES: usize = 4;
/// Items of a session that are said when it is opened.
const SAID_ITEMS: usize = 10;
/// Sessions and points that are listed.
const LISTED_MAX: usize = 20;
/// What `/help` says of keys.
const KEYS: &str = "Each line that you type is sent, with the image files that it names as @FILE. While the agent is at work, it waits for its next request.
Ctrl-C interrupts the agent, or leaves if it rests; the end of the input (Ctrl-D) leaves.";

/// A conversation, line by line.
struct PlainChat {
    conversation: Conversation,
    questions: VecDeque<PendingQuestion>,
    /// Words of the model without a line end so far.
    line: String,
    is_working: bool,
    has_input: bool,
}

/// Talks until the input ends and the agent rests.
pub async fn run(
    conversation: Conversation,
    mut events: mpsc::UnboundedReceiver<FaceEvent>,
    first: Option<String>,
) -> anyhow::Result<()> {
    let mut stops = Stops::catch()?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let (questions, line) = (VecDeque::new(), String::new());
    let mut chat = PlainChat { conversation, questions, line, is_working: false, has_input: true };
    chat.greet().await?;
    if let Some(first) = first {
        chat.say(first).await?;
    }
    let mut is_over = false;
    while !is_over && (chat.has_input || chat.is_working) {
        tokio::select! {
            event = events.recv() => match event {
                Some(event) => chat.event(event).await?,
                None => is_over = true,
            },
            line = lines.next_line(), if chat.has_input => match line? {
                Some(line) => is_over = chat.typed(line).await?,
                None => chat.input_ended(),
            },
            () = stops.next() => match chat.is_working {
                true => chat.conversation.interrupt(),
                false => is_over = true,
            },
        }
    }
    chat.leave().await
}

impl PlainChat {
    async fn greet(&mut self) -> anyhow::Result<()> {
        let id = self.conversation.session_id()?;
        print(&format!("infold chat, session {id}. {}. /help lists commands.", self.conversation.sandbox()))?;
        self.show_session().await
    }

    async fn show_session(&mut self) -> anyhow::Result<()> {
        let agent = self.conversation.agent()?;
        if agent.session().records > 0 {
            let items = of_log(&infold_agent::session::live(self.conversation.log().await?.log));
            for item in items.iter().skip(items.len().saturating_sub(SAID_ITEMS)) {
                print_item(item)?;
            }
        }
        drop(agent);
        let waited = self.conversation.take_back().await?;
        for words in waited.iter().filter_map(super::state::words_of) {
            print(&format!("You had typed, and the model has not seen: {words}"))?;
        }
        if self.conversation.has_work()? {
            print("The work here broke off: an empty line goes on with it.")?;
        }
        Ok(())
    }

    /// A line was typed. Returns whether the person wants to leave.
    async fn typed(&mut self, line: String) -> anyhow::Result<bool> {
        if let Some(pending) = self.questions.pop_front() {
            self.reply(pending, line.trim())?;
            return Ok(false);
        }
        match read_typed(&line) {
            _ if line.trim().is_empty() => {
                self.is_working |= self.conversation.go_on()?;
            }
            Typed::Wrong(why) => print(&why)?,
            Typed::Words => self.say(line).await?,
            Typed::Command(command) => return self.command(command).await,
        }
        Ok(false)
    }

    async fn say(&mut self, text: String) -> anyhow::Result<()> {
        let (folder, bytes_max) = (self.conversation.folder().to_owned(), self.conversation.image_bytes_max());
        let said = match attach_named(&text, &folder, bytes_max) {
            Ok(said) => said,
            Err(error) => return print(&format!("That was not said: {error:#}")),
        };
        for image in (1..).zip(said.images()).map(|(number, image)| image.label(number)) {
            print(&format!("With it goes {image}."))?;
        }
        match self.conversation.say(vec![said]).await {
            Ok(crate::agent::SayOutcome::Started) => self.is_working = true,
            Ok(crate::agent::SayOutcome::Waiting) => print("This waits for the model's next request.")?,
            Err(error) => print(&format!("That was not said: {error:#}"))?,
        }
        Ok(())
    }

    async fn command(&mut self, command: SlashCommand) -> anyhow::Result<bool> {
        let columns = self.conversation.invocation().output.style.width;
        match carry_out(command, &mut self.conversation, KEYS, columns).await {
            Ok(CarriedOut::Said(text)) => print(&text)?,
            Ok(CarriedOut::Moved(text)) => {
                print(&text)?;
                self.show_session().await?;
            }
            Ok(CarriedOut::Begun) => self.is_working = true,
            Ok(CarriedOut::ChooseSession) => self.list_sessions().await?,
            Ok(CarriedOut::ChoosePoint { .. }) => self.list_points().await?,
            Ok(CarriedOut::Leave) => return Ok(true),
            Err(error) => print(&format!("{error:#}"))?,
        }
        Ok(false)
    }

    async fn list_sessions(&self) -> anyhow::Result<()> {
        let now = crate::commands::sessions::now_ms();
        for row in agent_sessions(self.conversation.engine(), LISTED_MAX).await? {
            print(&format!("{}  {}  {}", row.short_id, ago(now, row.last_at_ms), one_line(&row.first_words)))?;
        }
        print("/sessions ID goes to one.")
    }

    async fn list_points(&self) -> anyhow::Result<()> {
        if self.conversation.agent()?.session().records == 0 {
            return print("Nothing was said here yet.");
        }
        for point in self.conversation.log().await?.points().iter().rev().take(LISTED_MAX) {
            print(&format!("{}  {}  {}", point.record, point.kind.word(), one_line(&point.words)))?;
        }
        print("/rewind N goes back to one.")
    }

    /// A reply to a question: yes, always or no, or words for the model.
    fn reply(&self, pending: PendingQuestion, line: &str) -> anyhow::Result<()> {
        let reply = match line.to_lowercase().as_str() {
            "y" | "yes" => ApprovalReply::Once,
            "a" | "always" if !pending.question.lasting.is_empty() => ApprovalReply::Session,
            "" | "n" | "no" => ApprovalReply::Refused { words: None },
            _ => ApprovalReply::Refused { words: Some(line.to_owned()) },
        };
        // The run may be over by now.
        drop(pending.reply.send(reply));
        self.ask()
    }

    /// Says the question that waits for a reply, if there is one.
    fn ask(&self) -> anyhow::Result<()> {
        let Some(PendingQuestion { question, .. }) = self.questions.front() else { return Ok(()) };
        print(&format!("May it {}? It is asked because {}.", question.what, question.why))?;
        if let Some(file) = &question.edited {
            let before = file.before.as_deref().unwrap_or_default();
            let diff = similar::TextDiff::from_lines(before, &file.after);
            print(diff.unified_diff().context_radius(2).to_string().trim_end())?;
        }
        let reach: Vec<String> = question.lasting.iter().map(ToString::to_string).collect();
        let always = match reach.is_empty() {
            true => String::new(),
            false => format!("always (until this chat ends: {}), ", reach.join(", ")),
        };
        print(&format!("Answer yes, {always}no, or what to do instead."))
    }

    async fn event(&mut self, event: FaceEvent) -> anyhow::Result<()> {
        match event {
            FaceEvent::Agent(event) => self.agent_did(event),
            FaceEvent::Question(pending) if !self.has_input => {
                drop(pending.reply.send(ApprovalReply::Refused { words: None }));
                Ok(())
            }
            FaceEvent::Question(pending) => {
                self.end_line()?;
                self.questions.push_back(pending);
                if self.questions.len() == 1 { self.ask() } else { Ok(()) }
            }
            FaceEvent::CompactEnded(outcome) => {
                if let Err(why) = outcome {
                    print(&format!("Nothing was compacted: {why}"))?;
                }
                self.run_is_over(&Ok(())).await
            }
            FaceEvent::Ended(ended) => self.run_is_over(&ended).await,
        }
    }

    async fn run_is_over(&mut self, ended: &Result<(), Stop>) -> anyhow::Result<()> {
        self.end_line()?;
        self.questions.clear();
        let ending = if ended.is_ok() { RunEnding::Rested } else { RunEnding::CutShort };
        self.is_working = self.conversation.run_ended(ending).await?;
        match ended {
            Ok(()) => {}
            Err(Stop::Cancelled) => print("Interrupted: say how to go on.")?,
            Err(stop) => print(&format!("It ended early: {stop}"))?,
        }
        for words in self.conversation.take_back().await?.iter().filter_map(super::state::words_of) {
            print(&format!("The model has not seen what you typed; type it again if it is still meant: {words}"))?;
        }
        if !self.is_working
            && let Some((tokens, window, percent)) = self.conversation.figures().await?.fill()
        {
            print(&format!("Context: {} of {} tokens, {percent} %.", grouped(tokens), grouped(window)))?;
        }
        Ok(())
    }

    fn agent_did(&mut self, event: AgentEvent) -> anyhow::Result<()> {
        match event {
            AgentEvent::Text { thread: Thread::Main, text } => self.model_said(&text),
            AgentEvent::Text { .. } | AgentEvent::Started { .. } => Ok(()),
            AgentEvent::Answered { .. } => self.end_line(),
            AgentEvent::WaitingTaken => print("The model gets what waited."),
            AgentEvent::Call { thread, tool, arguments, .. } => {
                self.end_line()?;
                let place = thread.branch().map(|branch| format!("Branch {branch}: ")).unwrap_or_default();
                print(&format!("{place}{tool} {}", visible_in_line(&what(&tool, &arguments))))
            }
            AgentEvent::Result { tool, is_error: true, text, .. } => {
                let first: Vec<&str> = text.lines().take(FAILED_LINES).collect();
                print(&format!("{tool} failed: {}", first.join("\n")))
            }
            AgentEvent::Result { .. } => Ok(()),
            AgentEvent::BranchOpened { branch_id, description, budget_tokens, .. } => {
                print(&format!("Branch {branch_id} opened, {} tokens: {description}", grouped(budget_tokens)))
            }
            AgentEvent::BranchFolded { branch_id, how, result } => {
                print(&format!("Branch {branch_id} {how}: {result}"))
            }
            AgentEvent::Compacted { result, .. } => print(&compact_words(&result)),
            AgentEvent::Warning { message } | AgentEvent::Retrying { message, .. } => {
                self.end_line()?;
                print(&format!("Warning: {message}"))
            }
        }
    }

    /// Words of the model, which are said line by line.
    fn model_said(&mut self, text: &str) -> anyhow::Result<()> {
        self.line.push_str(text);
        while let Some(end) = self.line.find('\n') {
            let rest = self.line.split_off(end + 1);
            let line = std::mem::replace(&mut self.line, rest);
            print(line.trim_end_matches('\n'))?;
        }
        Ok(())
    }

    fn end_line(&mut self) -> anyhow::Result<()> {
        match std::mem::take(&mut self.line) {
            line if line.is_empty() => Ok(()),
            line => print(&line),
        }
    }

    /// Nobody can be asked any more; what is under way is finished.
    fn input_ended(&mut self) {
        self.has_input = false;
        self.questions.clear();
    }

    async fn leave(self) -> anyhow::Result<()> {
        let session = self.conversation.session_id()?;
        let has_said = self.conversation.agent()?.session().records > 0;
        self.conversation.close().await;
        match has_said {
            true => print(&format!("Go on: infold chat --resume {session}")),
            false => Ok(()),
        }
    }
}

fn print_item(item: &ChatItem) -> anyhow::Result<()> {
    match item {
        ChatItem::Person(text) => print(&format!("You: {text}")),
        ChatItem::Model(text) => print(text),
        ChatItem::Call(call) => print(&format!("{} {}", call.tool, what(&call.tool, &call.arguments))),
        ChatItem::Branch { description, how, result } => print(&format!("Branch {description} {how}: {result}")),
        ChatItem::Compacted(result, _) => print(&compact_words(result)),
        ChatItem::Note(_, text) => print(text),
    }
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", visible(text))?;
    Ok(out.flush()?)
}
