//! Waiting for the first of two things.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Which of two futures ended first.
pub(crate) enum Either<A, B> {
    First(A),
    Second(B),
}

/// Waits for either; the first wins a tie. Neither is dropped, so the loser can be awaited again.
pub(crate) async fn first_of<A, B>(a: &mut A, b: &mut B) -> Either<A::Output, B::Output>
where
    A: Future + Unpin,
    B: Future + Unpin,
{
    poll_fn(|cx| {
        if let Poll::Ready(value) = Pin::new(&mut *a).poll(cx) {
            return Poll::Ready(Either::First(value));
        }
        Pin::new(&mut *b).poll(cx).map(Either::Second)
    })
    .await
}
