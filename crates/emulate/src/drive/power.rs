//! The power of a drive: on, off or dead, and what its power cuts did to it as a whole.

use super::command::Refused;
use super::status::{Cut, Power};
use crate::honesty::Fault;

/// A drive's power supply, which is on at first.
#[derive(Debug)]
pub(super) struct PowerSupply {
    state: Power,
    read_only: bool,
    cuts: u64,
    last_cut: Option<Cut>,
}

impl PowerSupply {
    pub(super) const fn on() -> PowerSupply {
        PowerSupply { state: Power::On, read_only: false, cuts: 0, last_cut: None }
    }

    #[inline]
    pub(super) const fn state(&self) -> Power {
        self.state
    }

    pub(super) const fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(super) const fn cuts(&self) -> u64 {
        self.cuts
    }

    /// The effects of the last completed cut.
    pub(super) const fn last_cut(&self) -> Option<&Cut> {
        self.last_cut.as_ref()
    }

    #[inline]
    pub(super) fn expect_on(&self) -> Result<(), Refused> {
        if self.state == Power::On { Ok(()) } else { Err(Refused::NoPower) }
    }

    #[inline]
    pub(super) const fn expect_writable(&self) -> Result<(), Refused> {
        if self.read_only { Err(Refused::ReadOnly) } else { Ok(()) }
    }

    /// Begins a cut. The drive is dead until [`PowerSupply::survive`] knows better.
    pub(super) const fn fail(&mut self) {
        self.cuts += 1;
        self.state = Power::Dead;
    }

    /// Ends a cut whose effects are known: among them may be faults of the whole drive.
    pub(super) fn survive(&mut self, cut: Cut) {
        let struck = |fault| cut.injected.iter().any(|injected| injected.fault == fault);
        self.read_only |= struck(Fault::ReadOnly);
        self.state = if struck(Fault::Dead) { Power::Dead } else { Power::Off };
        self.last_cut = Some(cut);
    }

    /// Switches the drive on, unless it is dead.
    pub(super) const fn switch_on(&mut self) -> Result<(), Refused> {
        match self.state {
            Power::On | Power::Off => {
                self.state = Power::On;
                Ok(())
            }
            Power::Dead => Err(Refused::NoPower),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::faults::InjectedFault;

    fn cut(faults: &[Fault]) -> Cut {
        let injected = |&fault| InjectedFault { fault, offset: 0, bytes: 0, landed_at: None };
        Cut { injected: faults.iter().map(injected).collect(), ..Cut::default() }
    }

    #[test]
    fn a_drive_that_survives_can_be_switched_on_again() {
        let mut power = PowerSupply::on();
        power.fail();
        assert!(power.expect_on().is_err());
        power.survive(cut(&[Fault::Shorn]));
        assert_eq!((power.state(), power.cuts()), (Power::Off, 1));
        assert!(power.switch_on().is_ok() && power.expect_on().is_ok());
        assert!(power.expect_writable().is_ok());
    }

    #[test]
    fn read_only_is_for_ever() {
        let mut power = PowerSupply::on();
        for faults in [&[Fault::ReadOnly][..], &[]] {
            power.fail();
            power.survive(cut(faults));
            power.switch_on().unwrap();
            assert!(matches!(power.expect_writable(), Err(Refused::ReadOnly)));
        }
        assert_eq!(power.last_cut(), Some(&Cut::default()));
    }

    #[test]
    fn a_dead_drive_stays_dead() {
        let mut power = PowerSupply::on();
        power.fail();
        power.survive(cut(&[Fault::Dead, Fault::ReadOnly]));
        assert!(matches!(power.switch_on(), Err(Refused::NoPower)));
        assert_eq!(power.state(), Power::Dead);
        // So does one for which it was never found out what the cut left.
        let mut power = PowerSupply::on();
        power.fail();
        assert!(power.switch_on().is_err() && power.last_cut().is_none());
    }
}
