//! Tests that respect zones, and the refusal of others on a zoned drive.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use drive::{Queue, report_zones};
use measurement::TargetKind;
use rustix::fs::OFlags;
use workload::{Parts, Workload, Zoning, format_bytes};

use super::{NotRun, Run};
use crate::error::EngineError;
use crate::part::Part;
use crate::prepare::open_part;
use crate::zones::Zones;

impl Run<'_> {
    /// The queue of a device that is the target itself, not the storage of a file.
    fn queue(&self) -> Option<&Queue> {
        let device = self.target.place()?.block_device()?;
        (self.target.kind() == TargetKind::BlockDevice).then_some(&device.queue)
    }

    /// Refuses a test that writes all over a drive that must be written zone by zone.
    pub(super) fn expect_no_zones(&self, writes: bool) -> Result<(), NotRun> {
        if !writes || !self.queue().is_some_and(Queue::is_host_managed) {
            return Ok(());
        }
        Err(NotRun::Skip(format!(
            "{} is a zoned drive (host-managed), which is only written at the write pointers of \
             its zones; use a fio job file with zonemode=zbd",
            self.target.given()
        )))
    }

    /// Refuses a workload that does not fit the target's zones, before anything is prepared.
    pub(super) fn check_zoning(&self, workload: &Workload) -> Result<(), NotRun> {
        let refused = |because: String| Err(NotRun::Skip(because));
        let Some(zoning) = &workload.zoning else {
            // Conventional zones can be written like any other drive.
            return if workload.precondition || !self.is_conventional(workload) {
                self.expect_no_zones(workload.pattern.writes())
            } else {
                Ok(())
            };
        };
        let queue = self.queue().filter(|queue| queue.zoned.is_some());
        match self.target.kind() {
            TargetKind::Null => return refused("it writes zones, but null: has none".to_owned()),
            TargetKind::Nbd => {
                return refused(
                    "it writes zones, but the protocol NBD has no commands for zones".to_owned(),
                );
            }
            TargetKind::Image | TargetKind::Objects => {
                return refused("it writes zones, which Ceph does not have".to_owned());
            }
            _ => {}
        }
        let Some(queue) = queue else {
            return match zoning.zone_bytes {
                Some(_) => Ok(()),
                None => refused(format!(
                    "{} has no zones, so zonemode=zbd requires a zonesize",
                    self.target.given()
                )),
            };
        };
        if workload.precondition {
            return refused("a zoned drive cannot be written once beforehand".to_owned());
        }
        if queue.is_host_managed() && workload.pattern.writes() && !workload.direct {
            let transfers = workload.pattern.transfers();
            if transfers {
                return refused(format!(
                    "{} is a zoned drive, which requires direct writes: set direct=1",
                    self.target.given()
                ));
            }
        }
        Ok(())
    }

    /// Returns `true` if all zones that a workload uses are conventional.
    fn is_conventional(&self, workload: &Workload) -> bool {
        let Some(queue) = self.queue().filter(|queue| queue.is_host_managed()) else {
            return true;
        };
        let (Ok((file, _)), Some(zone_bytes)) =
            (open_part(self.target, "", false, OFlags::empty()), queue.zone_bytes)
        else {
            return false;
        };
        workload.parts(false, self.target.room()).jobs.iter().all(|part| {
            let first = part.start / zone_bytes;
            let count = (part.start + part.bytes).div_ceil(zone_bytes) - first;
            report_zones(&file, part.start, count as usize)
                .is_ok_and(|zones| zones.iter().all(|zone| !zone.sequential))
        })
    }

    /// The zones of each file of a workload, and the jobs' parts reduced to whole zones.
    pub(super) fn zones(
        &self,
        workload: &Workload,
        zoning: &Zoning,
        parts: &mut Parts,
        files: &[Part],
    ) -> Result<Vec<Arc<Zones>>, NotRun> {
        let mut zones = Vec::new();
        for (file, &bytes) in files.iter().zip(&parts.files) {
            zones.push(self.zones_of(workload, zoning, file, bytes)?);
        }
        let refused = |because: String| Err(NotRun::Skip(because));
        for part in &mut parts.jobs {
            let Some(of_file) = zones.get(part.file) else { continue };
            let (table, file) = (of_file.table(), &files[part.file]);
            let zone_bytes = table.zone_bytes();
            let block_bytes = u64::from(workload.block_bytes.get());
            if workload.pattern.trims() && block_bytes != zone_bytes {
                return refused(format!(
                    "a trim resets a whole zone: set bs to the size of the zones, {}",
                    format_bytes(zone_bytes)
                ));
            }
            if workload.pattern.writes() {
                let end = (part.start + part.bytes) / zone_bytes * zone_bytes;
                part.start = part.start.next_multiple_of(zone_bytes);
                part.bytes = end.saturating_sub(part.start);
            }
            if part.bytes < zone_bytes.min(block_bytes) || part.bytes == 0 {
                return refused(format!(
                    "its part of {} has no whole zone of {}; use a larger size",
                    self.target.given(),
                    format_bytes(zone_bytes)
                ));
            }
            let range = part.start..part.start + part.bytes;
            // A reset empties a zone whatever it can hold.
            let transfers = workload.pattern.transfers();
            let smallest = table
                .within(range.clone())
                .filter(|_| transfers)
                .map(|zone| zone.end - zone.start)
                .min();
            if smallest.is_some_and(|smallest| smallest < u64::from(workload.largest_bytes())) {
                return refused(format!(
                    "a block of {} is larger than a zone",
                    format_bytes(workload.largest_bytes().into())
                ));
            }
            if workload.verify.is_some() && !zone_bytes.is_multiple_of(block_bytes) {
                return refused(format!(
                    "verify requires a bs that divides the size of the zones, {}",
                    format_bytes(zone_bytes)
                ));
            }
            let used: Vec<u64> = table
                .within(range)
                .filter(|zone| table.is_used(zone.start))
                .map(|zone| zone.start)
                .collect();
            drop(table);
            // Full zones are not reset while data is to be checked.
            if workload.verify.is_some() && workload.pattern.writes() {
                self.empty(of_file, file, &used)?;
            }
        }
        Ok(zones)
    }

    /// Resets zones before a test.
    fn empty(&self, zones: &Zones, file: &Part, used: &[u64]) -> Result<(), NotRun> {
        let file = self.opened(file)?;
        for &zone in used {
            zones.reset(&file, zone).map_err(|errno| {
                let path = self.target.path().to_owned();
                EngineError::Call { action: "reset the zones of", path, errno }
            })?;
            zones.table().emptied(zone);
        }
        Ok(())
    }

    fn opened(&self, file: &Part) -> Result<OwnedFd, NotRun> {
        let opened = open_part(self.target, &file.name, false, OFlags::empty());
        Ok(opened.map_err(|errno| EngineError::opening(self.target.path(), errno))?.0)
    }

    /// The zones of one file: those of earlier tests on it, or new ones.
    fn zones_of(
        &self,
        workload: &Workload,
        zoning: &Zoning,
        file: &Part,
        bytes: u64,
    ) -> Result<Arc<Zones>, NotRun> {
        let refused = |because: String| Err(NotRun::Skip(because));
        // Names of files that do not stay are used again for new ones.
        let name = match self.target.kind() {
            TargetKind::Directory => workload.kept_file.map(|_| file.name.as_str()),
            _ => Some(""),
        };
        let known = name.and_then(|name| self.target.zones_of(name));
        let is_known = known.is_some();
        let zones = match known {
            Some(zones) => zones,
            None => Arc::new(self.new_zones(zoning, file, bytes)?),
        };
        let zone_bytes = zones.table().zone_bytes();
        if let Some(wanted) = zoning.zone_bytes.filter(|&wanted| wanted != zone_bytes) {
            return refused(format!(
                "zonesize {} differs from that of the zones, {}",
                format_bytes(wanted),
                format_bytes(zone_bytes)
            ));
        }
        if is_known && zoning.max_open.is_some_and(|most| zones.limit != Some(most)) {
            return refused(
                "max_open_zones differs from that of an earlier section; use the same in all"
                    .to_owned(),
            );
        }
        if zoning.job_max_open.is_some() && zones.limit.is_none() {
            return refused(
                "job_max_open_zones requires max_open_zones, because the target has no limit"
                    .to_owned(),
            );
        }
        if let Some(name) = name {
            self.target.keep_zones(name, Arc::clone(&zones));
        }
        Ok(zones)
    }

    fn new_zones(&self, zoning: &Zoning, file: &Part, bytes: u64) -> Result<Zones, NotRun> {
        let Some(queue) = self.queue().filter(|queue| queue.zoned.is_some()) else {
            let zone_bytes = zoning.zone_bytes.unwrap_or(bytes.max(1));
            // The zones of a device or an existing file are those of all sections.
            let bytes = match self.target.room() {
                workload::Room::Whole(bytes) => bytes,
                _ => bytes,
            };
            return Ok(Zones::imagined(zone_bytes, bytes, zoning.max_open));
        };
        let limit = match (queue.max_open_zones, zoning.max_open) {
            _ if zoning.ignore_drive_limit || !queue.is_host_managed() => zoning.max_open,
            (Some(most), Some(wanted)) if u64::from(wanted) > most => {
                return Err(NotRun::Skip(format!(
                    "max_open_zones={wanted} exceeds the limit of {}, {most}; use a lower one, or \
                     ignore_zone_limits=1",
                    self.target.given()
                )));
            }
            (most, wanted) => wanted.or(most.and_then(|most| u32::try_from(most).ok())),
        };
        let file = self.opened(file)?;
        let reported = report_zones(&file, 0, usize::MAX).map_err(|errno| {
            let path = self.target.path().to_owned();
            EngineError::Call { action: "report the zones of", path, errno }
        })?;
        let zones = Zones::reported(&reported, limit, queue.max_active_zones.is_some());
        let zones = zones
            .ok_or_else(|| NotRun::Skip(format!("{} reports no zones", self.target.given())))?;
        if limit.is_some_and(|limit| zones.table().open_zones() > limit as usize) {
            return Err(NotRun::Skip(format!(
                "{} zones of {} are open already, more than max_open_zones; reset them first \
                 (blkzone reset)",
                zones.table().open_zones(),
                self.target.given()
            )));
        }
        Ok(zones)
    }
}
