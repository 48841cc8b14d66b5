//! Messages between reactors, as they lie in the receiver's inbox.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::task::{Poll, Waker};

/// Anything one reactor may tell another. Rare by design (space grants, flush broadcasts), so the box is no hot path.
pub type Message = Box<dyn Any + Send>;

/// Messages that have arrived and the task that waits for more.
#[derive(Default)]
pub(crate) struct Mailbox {
    inbox: RefCell<VecDeque<Message>>,
    waiter: RefCell<Option<Waker>>,
}

impl Mailbox {
    pub(crate) fn deliver(&self, message: Message) {
        self.inbox.borrow_mut().push_back(message);
        if let Some(waker) = self.waiter.borrow_mut().take() {
            waker.wake();
        }
    }

    /// The next message. One task per reactor reads the mailbox.
    pub(crate) async fn receive(&self) -> Message {
        std::future::poll_fn(|cx| match self.inbox.borrow_mut().pop_front() {
            Some(message) => Poll::Ready(message),
            None => {
                *self.waiter.borrow_mut() = Some(cx.waker().clone());
                Poll::Pending
            }
        })
        .await
    }
}
