//! Random reals on top of the runtime's generator.

use cygnus_runtime::Rng;

/// True with this probability.
pub(crate) fn chance(rng: &mut Rng, share: f64) -> bool {
    rng.unit() < share
}

/// From the exponential distribution with mean 1.
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - rng.unit())
}

/// From the standard normal distribution (Marsaglia's polar method; its second value is not kept, so that every call
/// stands for itself).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let s = x * x + y * y;
        if s > 0.0 && s < 1.0 {
            return x * libm::sqrt(-2.0 * libm::log(s) / s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        const N: u32 = 100_000;
        let values: Vec<f64> = (0..N).map(|_| draw()).collect();
        let mean = values.iter().sum::<f64>() / f64::from(N);
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / f64::from(N);
        (mean, variance)
    }

    #[test]
    fn means_and_variances() {
        let close = |(mean, variance): (f64, f64), expect: (f64, f64)| {
            (mean - expect.0).abs() < 0.02 && (variance - expect.1).abs() < 0.04
        };
        let mut rng = Rng::new(1);
        assert!(close(moments(|| rng.unit()), (0.5, 1.0 / 12.0)));
        assert!(close(moments(|| exponential(&mut rng)), (1.0, 1.0)));
        assert!(close(moments(|| normal(&mut rng)), (0.0, 1.0)));
    }
}
