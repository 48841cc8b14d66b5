//! What tells runs from one another.

/// The identity of a run: 16 hexadecimal digits that follow from the scenario's text and the seed (FNV-1a of 64 bits).
pub(super) fn identity(scenario: &str, seed: u64) -> String {
    let bytes = scenario.bytes().chain(seed.to_le_bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}
