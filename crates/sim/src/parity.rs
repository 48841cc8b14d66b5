//! Parity as drives compute it inside.

/// The last of so many parities of these.
pub(crate) fn row_of_parity(operands: &[Vec<u8>], rows: usize) -> Vec<u8> {
    let len = operands.first().map_or(0, Vec::len);
    let padded = len.next_multiple_of(cygnus_parity::ALIGNMENT);
    let operands: Vec<Vec<u8>> = operands.iter().map(|one| [&one[..], &vec![0; padded - len]].concat()).collect();
    let sources: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let mut parities = vec![vec![0; padded]; rows];
    cygnus_parity::generate(&sources, &mut parities.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
    let mut last = parities.pop().expect("there is a row");
    last.truncate(len);
    last
}
