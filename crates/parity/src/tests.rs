//! Every kernel this machine can run, against a slow reference that shares only the field's
//! definition.

use super::*;
use crate::kernel::available;
use proptest::prelude::*;

/// Products by logarithm tables built with nothing but repeated doubling.
struct Reference {
    log: [usize; 256],
    exp: [u8; 510],
}

impl Reference {
    fn new() -> Self {
        let (mut log, mut exp) = ([0; 256], [0; 510]);
        let mut x = 1u16;
        for i in 0..255 {
            (exp[i], exp[i + 255], log[x as usize]) = (x as u8, x as u8, i);
            x <<= 1;
            if x > 255 {
                x ^= 0x11D;
            }
        }
        Self { log, exp }
    }

    fn mul(&self, a: u8, b: u8) -> u8 {
        if a == 0 || b == 0 { 0 } else { self.exp[self.log[a as usize] + self.log[b as usize]] }
    }

    fn parity(&self, data: &[Vec<u8>], height: usize) -> [Vec<u8>; 3] {
        let mut parity = [const { Vec::new() }; 3].map(|_: Vec<u8>| vec![0; height]);
        for (index, column) in data.iter().enumerate() {
            for (at, &byte) in column.iter().enumerate() {
                parity[0][at] ^= byte;
                parity[1][at] ^= self.mul(self.exp[index % 255], byte);
                parity[2][at] ^= self.mul(self.exp[2 * index % 255], byte);
            }
        }
        parity
    }
}

fn fill(buffer: &mut [u8], seed: u64) {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for byte in buffer {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        *byte = (x >> 32) as u8;
    }
}

/// k columns of the given lengths with seeded contents.
fn columns(lengths: &[usize], seed: u64) -> Vec<Vec<u8>> {
    lengths
        .iter()
        .enumerate()
        .map(|(index, &len)| {
            let mut column = vec![0; len];
            fill(&mut column, seed + index as u64);
            column
        })
        .collect()
}

fn slices(columns: &[Vec<u8>]) -> Vec<&[u8]> {
    columns.iter().map(Vec::as_slice).collect()
}

/// All subsets of `0..width` with at most `m` members.
fn erasures(width: usize, m: usize) -> Vec<Vec<usize>> {
    let mut patterns = vec![vec![]];
    if m >= 1 {
        patterns.extend((0..width).map(|a| vec![a]));
    }
    if m >= 2 {
        patterns.extend((0..width).flat_map(|a| (a + 1..width).map(move |b| vec![a, b])));
    }
    if m >= 3 {
        let pairs = |a: usize| (a + 1..width).flat_map(move |b| (b + 1..width).map(move |c| vec![a, b, c]));
        patterns.extend((0..width).flat_map(pairs));
    }
    patterns
}

#[test]
fn generates_what_the_reference_does() {
    let reference = Reference::new();
    for kernel in available() {
        for k in 0..=16 {
            for height in [0, 64, 128, 192, 256, 320, 448, 4096, 4096 + 192] {
                let data = columns(&vec![height; k], (k * height) as u64);
                let expected = reference.parity(&data, height);
                for m in 1..=MAX_PARITY_COLUMNS {
                    let mut made = vec![vec![0xEE; height]; m];
                    let mut outputs: Vec<&mut [u8]> = made.iter_mut().map(Vec::as_mut_slice).collect();
                    generate_with(&kernel, &slices(&data), &mut outputs);
                    assert_eq!(made, expected[..m], "{} {k}x{height}", kernel.name);
                }
            }
        }
    }
}

#[test]
fn no_parity_is_no_work() {
    generate(&[&[1; 64]], &mut []);
    assert!(verify(&[&[1; 64]], &[]));
}

#[test]
fn every_erasure_pattern_is_repaired() {
    let reference = Reference::new();
    let height = 192;
    for kernel in available() {
        for k in 1..=16 {
            let data = columns(&vec![height; k], k as u64);
            let parity = reference.parity(&data, height);
            for m in 0..=MAX_PARITY_COLUMNS {
                let whole: Vec<&[u8]> = data.iter().chain(&parity).take(k + m).map(Vec::as_slice).collect();
                for lost in erasures(k + m, m) {
                    let present: Vec<Option<&[u8]>> =
                        (0..k + m).map(|column| (!lost.contains(&column)).then_some(whole[column])).collect();
                    for &wanted in &lost {
                        let mut out = vec![0xEE; height];
                        reconstruct_with(&kernel, k, &present, wanted, &mut out).unwrap();
                        assert_eq!(out, whole[wanted], "{} k={k} m={m} lost {lost:?} wanted {wanted}", kernel.name);
                    }
                }
            }
        }
    }
}

#[test]
fn one_loss_too_many_is_an_error_that_counts() {
    let column = [0u8; 64];
    for (k, m) in [(1, 0), (4, 1), (4, 2), (16, 2), (6, 3)] {
        for lost in 0..k + m {
            // Losing m + 1 columns in a row that include the wanted one.
            let gone: Vec<usize> = (0..=m).map(|i| (lost + i) % (k + m)).collect();
            let present: Vec<Option<&[u8]>> = (0..k + m).map(|c| (!gone.contains(&c)).then_some(&column[..])).collect();
            let result = reconstruct(k, &present, lost, &mut [0; 64]);
            // Parity can be remade while all data is there, however much parity is gone.
            if gone.iter().all(|&c| c >= k) {
                assert_eq!(result, Ok(()));
            } else {
                assert_eq!(result, Err(ReconstructError { wanted: lost, missing: m + 1, parity: m }));
            }
        }
    }
}

#[test]
fn the_wanted_column_is_not_trusted() {
    let data = columns(&[128; 4], 3);
    let (mut p, mut q) = (vec![0; 128], vec![0; 128]);
    generate(&slices(&data), &mut [&mut p, &mut q]);
    let corrupt = vec![0xBD; 128];
    let mut present: Vec<Option<&[u8]>> = data.iter().map(|c| Some(c.as_slice())).collect();
    present.extend([Some(p.as_slice()), Some(q.as_slice())]);
    present[2] = Some(&corrupt);
    let mut out = vec![0; 128];
    reconstruct(4, &present, 2, &mut out).unwrap();
    assert_eq!(out, data[2]);
}

#[test]
fn widest_stripe() {
    let data = columns(&[64; MAX_DATA_COLUMNS], 11);
    let expected = Reference::new().parity(&data, 64);
    let (mut p, mut q, mut r) = (vec![0; 64], vec![0; 64], vec![0; 64]);
    generate(&slices(&data), &mut [&mut p, &mut q, &mut r]);
    assert_eq!([p, q, r], expected);
}

#[test]
fn parity_matches_what_is_worked_out_by_hand() {
    // D0 = 0x01, D1 = 0x80, D2 = 0x03. g * 0x80 = 0x1D; g^2 * 0x03 = 0x0C; g^2 * 0x80 = 0x3A; g^4 * 0x03 = 0x30.
    let data = [[0x01u8; 64], [0x80; 64], [0x03; 64]];
    let (mut p, mut q, mut r) = ([0; 64], [0; 64], [0; 64]);
    generate(&[&data[0], &data[1], &data[2]], &mut [&mut p, &mut q, &mut r]);
    assert_eq!(r, [0x01 ^ 0x3A ^ 0x30; 64]);
    assert_eq!(p, [0x82; 64]);
    assert_eq!(q, [0x01 ^ 0x1D ^ 0x0C; 64]);
}

#[test]
#[should_panic(expected = "not a multiple of 64")]
fn unaligned_parity_is_a_bug() {
    generate(&[&[0; 64]], &mut [&mut [0; 65]]);
}

#[test]
#[should_panic(expected = "not a multiple of 64")]
fn unaligned_data_is_a_bug() {
    generate(&[&[0; 32]], &mut [&mut [0; 64]]);
}

#[test]
#[should_panic(expected = "a column of 128 bytes in a stripe of 64")]
fn data_longer_than_parity_is_a_bug() {
    generate(&[&[0; 128]], &mut [&mut [0; 64]]);
}

#[test]
#[should_panic(expected = "parity columns differ")]
fn parity_of_two_lengths_is_a_bug() {
    generate(&[], &mut [&mut [0; 64], &mut [0; 128]]);
}

#[test]
#[should_panic(expected = "a data column is longer")]
fn verify_refuses_data_longer_than_parity() {
    verify(&[&[0; 128]], &[&[0; 64]]);
}

#[test]
#[should_panic(expected = "columns")]
fn too_many_columns_is_a_bug() {
    let data = [&[] as &[u8]; MAX_DATA_COLUMNS + 1];
    reconstruct(data.len(), &data.map(Some), 0, &mut []).ok();
}

proptest! {
    /// Columns of any (grain-multiple) lengths: short ones continue with zeros, in generation, in
    /// verification and in recovery.
    #[test]
    fn short_columns_continue_with_zeros(
        grains in prop::collection::vec(0usize..=80, 1..=12),
        extra in 0usize..=5,
        m in 1usize..=3,
        pick: [prop::sample::Index; 3],
        seed: u64,
    ) {
        let lengths: Vec<usize> = grains.iter().map(|g| g * ALIGNMENT).collect();
        let height = lengths.iter().max().unwrap() + extra * ALIGNMENT;
        let data = columns(&lengths, seed >> 8);
        let expected = Reference::new().parity(&data, height);
        let k = data.len();

        let mut parity = vec![vec![0xEE; height]; m];
        generate(&slices(&data), &mut parity.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        prop_assert_eq!(&parity[..], &expected[..m]);
        prop_assert!(verify(&slices(&data), &slices(&parity)));

        let lost: Vec<usize> = pick[..m].iter().map(|i| i.index(k + m)).collect();
        let whole: Vec<&[u8]> = data.iter().chain(&parity).map(Vec::as_slice).collect();
        let present: Vec<Option<&[u8]>> =
            (0..k + m).map(|c| (!lost.contains(&c)).then_some(whole[c])).collect();
        for &wanted in &lost {
            let mut out = vec![0xEE; height];
            reconstruct(k, &present, wanted, &mut out).unwrap();
            let (head, tail) = out.split_at(whole[wanted].len());
            prop_assert_eq!(head, whole[wanted]);
            prop_assert!(tail.iter().all(|&b| b == 0));
        }
    }

    /// Any flipped bit, in data or parity, is seen.
    #[test]
    fn verify_sees_every_flip(
        k in 1usize..=6, m in 1usize..=3, grains in 1usize..=150,
        at: prop::sample::Index, column: prop::sample::Index, bit in 0u8..8, seed: u64,
    ) {
        let height = grains * ALIGNMENT;
        let mut all = columns(&vec![height; k], seed >> 8);
        all.extend(vec![vec![0; height]; m]);
        let (data, parity) = all.split_at_mut(k);
        generate(&slices(data), &mut parity.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        prop_assert!(verify(&slices(data), &slices(parity)));
        all[column.index(k + m)][at.index(height)] ^= 1 << bit;
        let (data, parity) = all.split_at(k);
        prop_assert!(!verify(&slices(data), &slices(parity)));
    }
}
