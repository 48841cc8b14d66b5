//! What the bytes of a stripe cost: parity, checksums and the copy they are compared with.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use cygnus_parity::checksum::crc32c;
use cygnus_parity::{generate, instruction_set, reconstruct, verify};
use std::hint::black_box;

const BLOCK: usize = 4096;
const CHUNK: usize = 64 * 1024;
const DATA_COLUMNS: usize = 4;

fn parity(c: &mut Criterion) {
    let columns: Vec<Vec<u8>> = (0..DATA_COLUMNS).map(|i| vec![i as u8 + 1; CHUNK]).collect();
    let data: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
    let (mut p, mut q, mut r) = (vec![0; CHUNK], vec![0; CHUNK], vec![0; CHUNK]);
    let mut out = vec![0; CHUNK];

    let mut group = c.benchmark_group(format!("parity 4x64KiB {}", instruction_set()));
    group.throughput(Throughput::Bytes((DATA_COLUMNS * CHUNK) as u64));
    group.bench_function("xor", |b| b.iter(|| generate(black_box(&data), &mut [&mut p])));
    group.bench_function("pq", |b| b.iter(|| generate(black_box(&data), &mut [&mut p, &mut q])));
    group.bench_function("pqr", |b| b.iter(|| generate(black_box(&data), &mut [&mut p, &mut q, &mut r])));
    generate(&data, &mut [&mut p, &mut q]);
    group.bench_function("verify pq", |b| b.iter(|| assert!(verify(black_box(&data), &[&p, &q]))));
    let degraded = [None, None, Some(data[2]), Some(data[3]), Some(&p[..]), Some(&q[..])];
    group.bench_function("rebuild 1 of 2 lost", |b| {
        b.iter(|| reconstruct(DATA_COLUMNS, black_box(&degraded), 0, &mut out).unwrap());
    });
    group.finish();
}

/// The part of a buffer from its first page boundary on: stripe buffers are aligned so.
fn page_aligned(buffer: &mut [u8]) -> &mut [u8] {
    let skip = buffer.as_ptr().align_offset(BLOCK);
    &mut buffer[skip..]
}

/// Hot: the same block again and again. Warm: within the second-level cache. Cold: source and target spread over more
/// than any cache.
fn checksums(c: &mut Criterion) {
    let mut group = c.benchmark_group("block 4KiB");
    group.throughput(Throughput::Bytes(BLOCK as u64));
    for (name, blocks) in [("hot", 1), ("warm", 128), ("cold", 64 * 1024)] {
        let mut src = vec![0x5A; (blocks + 1) * BLOCK];
        let mut dst = vec![0; (blocks + 1) * BLOCK];
        let (src, dst) = (page_aligned(&mut src), page_aligned(&mut dst));
        let mut at = 0;
        let mut next = || {
            at = (at + 40_503) % blocks;
            at * BLOCK..(at + 1) * BLOCK
        };
        let id = |what| BenchmarkId::new(what, name);
        group.bench_function(id("crc32c"), |b| b.iter(|| crc32c(black_box(&src[next()]))));
        group.bench_function(id("copy"), |b| {
            b.iter(|| {
                let at = next();
                black_box(&mut dst[at.clone()]).copy_from_slice(black_box(&src[at]));
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = parity, checksums
}
criterion_main!(benches);
