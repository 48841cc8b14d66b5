//! Which devices of a reactor somebody works with alone: two who wrote to one device would destroy what the other has there.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::DeviceIx;

/// The devices that somebody has.
#[derive(Clone, Default)]
pub(crate) struct Claims(Rc<RefCell<BTreeSet<DeviceIx>>>);

impl Claims {
    /// See [`Runtime::claim`](crate::Runtime::claim).
    pub(crate) fn claim(&self, devices: BTreeSet<DeviceIx>) -> Result<Claim, DeviceIx> {
        let mut all = self.0.borrow_mut();
        if let Some(&taken) = devices.intersection(&all).next() {
            return Err(taken);
        }
        all.extend(&devices);
        Ok(Claim { of: self.clone(), devices })
    }
}

/// Devices that nobody else has while this lives.
pub struct Claim {
    of: Claims,
    devices: BTreeSet<DeviceIx>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.of.0.borrow_mut().retain(|device| !self.devices.contains(device));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_one_owners_until_that_lets_go_of_it() {
        let claims = Claims::default();
        let of = |devices: &[u16]| claims.claim(devices.iter().map(|&ix| DeviceIx(ix)).collect());
        let first = of(&[1, 2]).unwrap_or_else(|_| panic!("nobody has them"));
        assert_eq!(of(&[3, 2]).err(), Some(DeviceIx(2)));
        assert!(of(&[3]).is_ok(), "who was refused has taken nothing");
        drop(first);
        assert!(of(&[1, 2, 3]).is_ok());
    }
}
