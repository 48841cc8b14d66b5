//! GF(2^8) arithmetic over the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11D) with generator 2: the
//! field Linux RAID-6 uses, so a Q column made here is the Q column `mdraid` would make.
//!
//! Everything here is small, constant and evaluated at compile time; the bulk work happens in
//! `kernel`.

/// The field polynomial without its x^8 term.
const POLYNOMIAL: u8 = 0x1D;

/// Order of the multiplicative group: g^255 = 1.
const ORDER: usize = 255;

/// Multiplies by the generator.
const fn double(x: u8) -> u8 {
    (x << 1) ^ (if x & 0x80 != 0 { POLYNOMIAL } else { 0 })
}

/// Multiplies two field elements, bit by bit.
pub(crate) const fn mul(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = double(a);
        b >>= 1;
    }
    product
}

/// `EXP[i]` = g^i.
const EXP: [u8; ORDER] = {
    let mut table = [0; ORDER];
    let mut power = 1;
    let mut i = 0;
    while i < ORDER {
        table[i] = power;
        power = double(power);
        i += 1;
    }
    table
};

/// `LOG[EXP[i]]` = i; `LOG[0]` is meaningless.
const LOG: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < ORDER {
        table[EXP[i] as usize] = i as u8;
        i += 1;
    }
    table
};

/// The generator to the power `exponent`, which may be negative.
pub(crate) fn power(exponent: isize) -> u8 {
    EXP[exponent.rem_euclid(ORDER as isize) as usize]
}

/// The multiplicative inverse.
///
/// # Panics
/// On zero, which has none.
pub(crate) fn inverse(x: u8) -> u8 {
    assert_ne!(x, 0, "zero has no inverse in GF(2^8)");
    EXP[(ORDER - LOG[x as usize] as usize) % ORDER]
}

/// For each coefficient c, the products of c with the 16 low nibbles and then the 16 high nibbles:
/// what a byte shuffle needs to multiply a vector by c.
pub(crate) static NIBBLE_PRODUCTS: [[u8; 32]; 256] = {
    let mut table = [[0; 32]; 256];
    let mut c = 0;
    while c < 256 {
        let mut nibble = 0;
        while nibble < 16 {
            table[c][nibble] = mul(c as u8, nibble as u8);
            table[c][16 + nibble] = mul(c as u8, (nibble as u8) << 4);
            nibble += 1;
        }
        c += 1;
    }
    table
};

/// For each coefficient c, the 8x8 bit matrix that multiplies by c, laid out for GF2P8AFFINEQB: byte
/// 7-i of the word is the row that yields bit i of the product. (GF2P8MULB itself is of no use here:
/// it is fixed to the AES polynomial 0x11B.)
pub(crate) static BIT_MATRIX: [u64; 256] = {
    let mut table = [0; 256];
    let mut c = 0;
    while c < 256 {
        let mut matrix = [0u8; 8];
        let mut input = 0;
        while input < 8 {
            let product = mul(c as u8, 1 << input);
            let mut output = 0;
            while output < 8 {
                matrix[7 - output] |= ((product >> output) & 1) << input;
                output += 1;
            }
            input += 1;
        }
        table[c] = u64::from_le_bytes(matrix);
        c += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_reaches_every_nonzero_element() {
        let mut seen = [false; 256];
        for i in 0..ORDER as isize {
            seen[power(i) as usize] = true;
        }
        assert!(!seen[0] && seen[1..].iter().all(|&s| s));
        assert_eq!(power(8), POLYNOMIAL, "x^8 reduces to the polynomial's tail");
    }

    #[test]
    fn every_nonzero_element_has_its_inverse() {
        for x in 1..=255 {
            assert_eq!(mul(x, inverse(x)), 1);
        }
        assert_eq!(power(-1), inverse(2));
    }

    #[test]
    fn tables_multiply() {
        for c in 0..=255u8 {
            for x in 0..=255u8 {
                let expected = mul(c, x);
                let row = &NIBBLE_PRODUCTS[c as usize];
                assert_eq!(row[(x & 15) as usize] ^ row[16 + (x >> 4) as usize], expected);
                let matrix = BIT_MATRIX[c as usize].to_le_bytes();
                let product =
                    (0..8).fold(0u8, |acc, bit| acc | ((((matrix[7 - bit] & x).count_ones() & 1) as u8) << bit));
                assert_eq!(product, expected);
            }
        }
    }
}
