//! A connection that wakes itself is polled again at once.
//!
//! A request passes through several futures of its connection's task, and one of them often wakes another: a body that is
//! read wakes the connection that reads it. The runtime would put the task behind all others and wake another thread to
//! take it over, which takes longer than what is left to do.
//!
//! Must hold: no wake is lost, and a task that wakes itself for ever lets others work in between.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// How often a task is polled before others get their turn.
const POLLS_MAX: usize = 16;

/// A future that is polled again when it has woken itself.
pub(crate) struct StaysAwake<F> {
    inner: F,
    waking: Option<Waking>,
}

/// What the inner future wakes, and the task that it is in.
struct Waking {
    inner: Waker,
    noted: Arc<NotedWake>,
}

/// A wake that is passed on to the task, unless the task is at work.
struct NotedWake {
    task: Waker,
    is_polled: AtomicBool,
    is_woken: AtomicBool,
}

impl Wake for NotedWake {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Noted first: whoever polls looks at it after it has said that it is done.
        self.is_woken.store(true, Ordering::SeqCst);
        if !self.is_polled.load(Ordering::SeqCst) {
            self.task.wake_by_ref();
        }
    }
}

impl Waking {
    fn of(task: &Waker) -> Self {
        let is_polled = AtomicBool::new(false);
        let noted = Arc::new(NotedWake { task: task.clone(), is_polled, is_woken: AtomicBool::new(false) });
        Self { inner: Waker::from(Arc::clone(&noted)), noted }
    }
}

impl<F> StaysAwake<F> {
    pub(crate) fn new(inner: F) -> Self {
        Self { inner, waking: None }
    }
}

impl<F: Future + Unpin> Future for StaysAwake<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { inner, waking } = &mut *self;
        let known = waking.take().filter(|waking| waking.noted.task.will_wake(context.waker()));
        let waking = waking.insert(known.unwrap_or_else(|| Waking::of(context.waker())));
        for _ in 0..POLLS_MAX {
            waking.noted.is_woken.store(false, Ordering::SeqCst);
            waking.noted.is_polled.store(true, Ordering::SeqCst);
            let polled = Pin::new(&mut *inner).poll(&mut Context::from_waker(&waking.inner));
            waking.noted.is_polled.store(false, Ordering::SeqCst);
            if polled.is_ready() || !waking.noted.is_woken.load(Ordering::SeqCst) {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
