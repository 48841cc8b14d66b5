//! Where the rows of a segment are: still in the memory of the reactor that fills it, or on the devices.

use cygnus_types::ReactorId;

use crate::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Where a segment is in its life: free -> open -> sealed -> (cleaned ->) pending -> free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SegState {
    /// Holds nothing that anybody needs.
    Free = 0,
    /// A reactor appends stripes to it, or some of them are not written yet.
    Open = 1,
    /// Written; a victim once enough of it is garbage.
    Sealed = 2,
    /// Holds no current block any more, but what replaced its blocks may not be durable yet.
    Pending = 3,
    /// Holds pages of a checkpoint that is still needed.
    Meta = 4,
    /// Holds blocks that cleaning could not read; left alone so that what is readable stays so, until they are overwritten
    /// or a scrub finds nothing wrong any more.
    Damaged = 5,
    /// Free, and not given out: its group is on its way into the array or out of it.
    Withheld = 6,
}

impl SegState {
    /// For people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Open => "open",
            Self::Sealed => "sealed",
            Self::Pending => "pending",
            Self::Meta => "meta",
            Self::Damaged => "damaged",
            Self::Withheld => "withheld",
        }
    }

    /// Whether a segment in service may go from this state to that one. What holds data is given out again only by way of
    /// [`Pending`](Self::Pending), where somebody makes sure that nothing there is needed.
    pub(crate) fn may_become(self, next: Self) -> bool {
        use SegState::{Damaged, Free, Meta, Open, Pending, Sealed, Withheld};
        match self {
            Free => matches!(next, Free | Open | Withheld),
            // A grant that was not used goes back.
            Open => matches!(next, Sealed | Meta | Free | Withheld),
            Sealed => matches!(next, Sealed | Pending | Damaged),
            // What replaced its blocks was lost with a device's cache: they are current again.
            Pending => matches!(next, Pending | Sealed | Free | Withheld),
            Meta => matches!(next, Sealed | Pending),
            Damaged => matches!(next, Damaged | Sealed | Pending),
            Withheld => matches!(next, Withheld | Free),
        }
    }

    fn from_byte(byte: u8) -> Self {
        match byte {
            0 => Self::Free,
            1 => Self::Open,
            2 => Self::Sealed,
            3 => Self::Pending,
            4 => Self::Meta,
            5 => Self::Damaged,
            6 => Self::Withheld,
            _ => unreachable!("only SegState values are stored"),
        }
    }
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Residence {
    state: AtomicU8,
    owner: AtomicU16,
    /// While it is open: the row below which all its stripes are on the devices.
    landed: AtomicU32,
    /// Which life of the segment this is, counted over the array; 0 if it was not opened in this session.
    life: AtomicU64,
}

impl Residence {
    pub(crate) fn state(&self) -> SegState {
        SegState::from_byte(self.state.load(Ordering::SeqCst))
    }

    /// Sequentially consistent: a change of state is marked afterwards, see [`Changed`](crate::space::changed::Changed).
    pub(crate) fn set_state(&self, state: SegState) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    /// A new life begins, in which `owner` fills it.
    pub(crate) fn open(&self, owner: ReactorId, life: u64) {
        self.owner.store(owner.0, Ordering::Relaxed);
        self.landed.store(0, Ordering::Relaxed);
        self.life.store(life, Ordering::Relaxed);
        self.set_state(SegState::Open);
    }

    pub(crate) fn life(&self) -> u64 {
        self.life.load(Ordering::Relaxed)
    }

    /// The reactor that may have a row in memory and not yet on the devices; `None` if it is on the devices. For whoever
    /// has the row's address from a map: then it is in the segment's present life, in which rows only go from memory to the
    /// devices. The owner keeps a row until after it has told so, by [`Residence::set_landed`] or by sealing the segment;
    /// so whoever asks it and hears that it has the row no more finds it on the devices.
    #[inline]
    pub(crate) fn keeper(&self, row: u32) -> Option<ReactorId> {
        let kept = self.state() == SegState::Open && row >= self.landed.load(Ordering::Acquire);
        kept.then(|| ReactorId(self.owner.load(Ordering::Relaxed)))
    }

    /// Every stripe below `row` is on the devices.
    pub(crate) fn set_landed(&self, row: u32) {
        self.landed.store(row, Ordering::Release);
    }

    /// Whether what it held in a life is still there: that ends when it is given back.
    pub(crate) fn still_holds(&self, life: u64) -> bool {
        let given_back = matches!(self.state(), SegState::Free | SegState::Pending | SegState::Withheld);
        !given_back && self.life() == life
    }
}

#[cfg(test)]
mod tests {
    use super::SegState::{self, Damaged, Free, Meta, Open, Pending, Sealed, Withheld};

    const ALL: [SegState; 7] = [Free, Open, Sealed, Pending, Meta, Damaged, Withheld];

    #[test]
    fn what_holds_data_is_given_out_again_only_by_way_of_pending() {
        for state in [Sealed, Meta, Damaged] {
            assert!(state.may_become(Pending));
            let leads_out = |next: &SegState| matches!(next, Free | Open | Withheld) && state.may_become(*next);
            assert_eq!(ALL.iter().copied().find(leads_out), None, "{state:?}");
        }
    }

    #[test]
    fn only_what_is_free_is_opened() {
        let opens: Vec<_> = ALL.into_iter().filter(|state| state.may_become(Open)).collect();
        assert_eq!(opens, [Free]);
    }
}
