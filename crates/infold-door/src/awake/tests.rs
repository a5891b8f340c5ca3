//! Wakes during a poll, between polls, and without end.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;

use super::*;

/// A task's waker that counts.
#[derive(Default)]
struct CountedWakes(AtomicUsize);

impl Wake for CountedWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_future_that_wakes_itself_is_polled_again_and_its_task_is_not_woken() {
    let wakes = Arc::new(CountedWakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut polls = 0;
    let future = poll_fn(|context| {
        polls += 1;
        if polls == 3 {
            return Poll::Ready("done");
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    let polled = pin!(StaysAwake::new(future)).poll(&mut Context::from_waker(&waker));
    assert_eq!((polled, wakes.0.load(Ordering::SeqCst)), (Poll::Ready("done"), 0));
}

#[test]
fn a_wake_between_two_polls_wakes_the_task() {
    let wakes = Arc::new(CountedWakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut kept = None;
    let mut polls = 0;
    let future = poll_fn(|context| {
        kept = Some(context.waker().clone());
        polls += 1;
        Poll::<()>::Pending
    });
    assert!(pin!(StaysAwake::new(future)).poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!((polls, wakes.0.load(Ordering::SeqCst)), (1, 0));
    kept.unwrap().wake();
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
}

#[test]
fn a_future_that_never_stops_waking_itself_lets_others_work() {
    let wakes = Arc::new(CountedWakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut polls = 0;
    let future = poll_fn(|context| {
        polls += 1;
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    assert!(pin!(StaysAwake::new(future)).poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!((polls, wakes.0.load(Ordering::SeqCst)), (POLLS_MAX, 1));
}

#[test]
fn a_task_that_moves_is_woken_where_it_is() {
    let (first, second) = (Arc::new(CountedWakes::default()), Arc::new(CountedWakes::default()));
    let mut kept = None;
    let future = poll_fn(|context| {
        kept = Some(context.waker().clone());
        Poll::<()>::Pending
    });
    let mut future = StaysAwake::new(future);
    for wakes in [&first, &second] {
        let waker = Waker::from(Arc::clone(wakes));
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    drop(future);
    kept.unwrap().wake();
    assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (0, 1));
}
