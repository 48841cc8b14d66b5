//! A stripe behind the checkpoint, as recovery keeps it in mind: what it is, and what it holds as long as there is memory for that.
//! What there was no room for is read again from its headers: as long as no header of the stripe is missing, those that are lost in
//! between, up to the number of members that its parity covers, take nothing along. A stripe of which one is missing is kept. There are few:
//! a power cut leaves one for each stream that was being written.

use cygnus_format::{Discard, StripeCommon};

use crate::error::ArrayError;
use crate::reactor::Reactor;
use crate::read::scan::{FoundStripe, Scanner};

/// See the module's text.
pub(crate) struct Behind {
    pub common: StripeCommon,
    /// Discards that it tells of.
    pub discards: Vec<Discard>,
    /// Blocks of which it tells.
    pub blocks: u32,
    /// Its blocks have been looked at one by one, and are kept elsewhere.
    pub is_apart: bool,
    /// Columns whose entries are known, as a bit each.
    known: u32,
    /// Columns of which nobody knows what they hold, as a bit each: if all of the stripe must be there, and if not.
    unknown: u32,
    unknown_of_part: u32,
    /// A copy of its header is missing, so that another one may be the last that tells what it holds.
    is_frail: bool,
    /// With its entries, while these are kept. Its discards are above.
    stripe: Option<Box<FoundStripe>>,
}

impl Behind {
    pub(crate) fn of(reactor: &Reactor, mut stripe: FoundStripe) -> Self {
        let bits = |is_whole| stripe.unknown_columns(is_whole).fold(0, |bits, column| bits | 1 << column);
        Self {
            common: stripe.common,
            blocks: stripe.blocks().count() as u32,
            is_apart: false,
            known: known(&stripe),
            unknown: bits(true),
            unknown_of_part: bits(false),
            is_frail: !stripe.has_all_copies(reactor),
            discards: std::mem::take(&mut stripe.discards),
            stripe: Some(Box::new(stripe)),
        }
    }

    /// Forgets what the stripe holds, for want of memory, if its headers will tell that again.
    pub(crate) fn forget(&mut self) {
        if !self.is_frail {
            self.stripe = None;
        }
    }

    /// Its blocks have been looked at one by one, and are kept elsewhere.
    pub(crate) fn set_apart(&mut self) {
        self.is_apart = true;
        self.stripe = None;
    }

    /// Data columns of which nobody knows what they hold; `is_whole` if all of the stripe must be there.
    pub(crate) fn unknown_columns(&self, is_whole: bool) -> impl Iterator<Item = u8> {
        let bits = if is_whole { self.unknown } else { self.unknown_of_part };
        (0..self.common.width()).filter(move |&column| bits & 1 << column != 0)
    }

    /// The stripe with its entries, if these are kept.
    pub(crate) fn kept(&self) -> Option<&FoundStripe> {
        self.stripe.as_deref()
    }

    /// The stripe with its entries for whoever looks at its blocks: what is kept, or how to read that again.
    pub(crate) fn lend(&mut self) -> (Again, Option<Box<FoundStripe>>) {
        (self.again(), self.stripe.take())
    }

    /// Keeps what was lent, or read again.
    pub(crate) fn keep(&mut self, stripe: Box<FoundStripe>) {
        self.stripe = Some(stripe);
    }

    /// What its headers must tell, should they be read again.
    pub(crate) fn again(&self) -> Again {
        Again { common: self.common, known: self.known }
    }
}

/// A stripe whose headers have been read, and are read once more.
#[derive(Clone, Copy)]
pub(crate) struct Again {
    common: StripeCommon,
    /// Columns whose entries were known, as a bit each.
    known: u32,
}

impl Again {
    /// The stripe with its entries, from its headers, all of which is as it was.
    ///
    /// # Errors
    /// When it is not: to go on without it would show older data.
    pub(crate) async fn read(self, reactor: &Reactor) -> Result<FoundStripe, ArrayError> {
        let StripeCommon { group, segment, segment_seq, stripe_seq, start_row, .. } = self.common;
        let found = Scanner::of(reactor).stripe_at(group, segment, start_row, Some(segment_seq)).await;
        let is_same = |stripe: &FoundStripe| stripe.common == self.common && known(stripe) & self.known == self.known;
        let mut stripe = found.filter(is_same).ok_or(ArrayError::HeaderGone { stripe: stripe_seq, group, segment })?;
        // What could not be read before was accounted for as such.
        for (column, entries) in stripe.entries.iter_mut().enumerate() {
            if self.known & 1 << column == 0 {
                *entries = None;
            }
        }
        Ok(stripe)
    }
}

/// Columns whose entries are known, as a bit each.
fn known(stripe: &FoundStripe) -> u32 {
    (0..).zip(&stripe.entries).fold(0, |bits, (column, entries)| bits | u32::from(entries.is_some()) << column)
}
