//! Tasks that wait for an event.

use std::task::{Context, Waker};

/// Tasks that wait for one stream.
#[derive(Default)]
pub(super) struct StreamWaiters {
    pub read: Option<Waker>,
    pub write: Option<Waker>,
    /// Waits for the last acknowledgement.
    pub acknowledged: Option<Waker>,
}

impl StreamWaiters {
    pub fn is_empty(&self) -> bool {
        self.read.is_none() && self.write.is_none() && self.acknowledged.is_none()
    }

    pub fn wake_all(self) {
        self.read.into_iter().chain(self.write).chain(self.acknowledged).for_each(Waker::wake);
    }
}

/// Adds the task of `cx` to `waiters`, unless it waits already.
pub(super) fn wait(waiters: &mut Vec<Waker>, cx: &Context<'_>) {
    if !waiters.iter().any(|waker| waker.will_wake(cx.waker())) {
        waiters.push(cx.waker().clone());
    }
}

pub(super) fn wake_all(waiters: &mut Vec<Waker>) {
    waiters.drain(..).for_each(Waker::wake);
}
