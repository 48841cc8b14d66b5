//! Zeros that everybody recognises by their address, without looking at them.

/// How many there are: more than the tallest column of a stripe, in ordinary arrays.
const LEN: usize = 1 << 20;

static ZEROS: [u8; LEN] = [0; LEN];

/// `len` zeros, for which [`are_known`] says yes; `None` if that is more than there are.
#[inline]
pub fn of_len(len: usize) -> Option<&'static [u8]> {
    ZEROS.get(..len)
}

/// Whether these bytes are some of the zeros that [`of_len`] gives. `false` says nothing about their contents.
#[inline]
pub fn are_known(bytes: &[u8]) -> bool {
    // A borrow that begins inside the static lies inside it as a whole.
    (bytes.as_ptr() as usize).wrapping_sub(ZEROS.as_ptr() as usize) < LEN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_known_by_where_they_lie() {
        let zeros = of_len(4096).expect("there are that many");
        assert!(are_known(zeros) && are_known(&zeros[100..200]) && zeros.iter().all(|&b| b == 0));
        assert!(!are_known(&[0; 16]));
        assert_eq!(of_len(LEN + 1), None);
    }
}
