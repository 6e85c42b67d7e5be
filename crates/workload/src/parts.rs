//! The file and the byte range that each job of a workload works on.

use crate::blocks::{Room, Sharing, Workload};

/// The byte range of one job: the same range of each of its files.
///
/// The bytes of a job with several files are numbered through, file by file: those of the first
/// file have their own offsets, those of the next file follow them. A job's blocks can then be
/// drawn, marked and checked like those of a single file, and only the interface to the kernel
/// translates such an offset ([`JobPart::locate`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobPart {
    /// Index of the first file in [`Parts::files`].
    pub file: usize,
    /// Number of adjacent files, at least 1.
    pub files: u32,
    /// Offset within each file, in bytes.
    pub start: u64,
    /// Length in each file in bytes, a whole number of blocks.
    pub bytes: u64,
}

impl JobPart {
    /// A range of the only file.
    pub const fn within_one_file(start: u64, bytes: u64) -> JobPart {
        JobPart { file: 0, files: 1, start, bytes }
    }

    /// Bytes of all files together.
    pub const fn total_bytes(&self) -> u64 {
        self.bytes * self.files as u64
    }

    /// Returns `true` if the job uses this file of [`Parts::files`].
    fn has(&self, file: usize) -> bool {
        (self.file..self.file + self.files as usize).contains(&file)
    }

    /// Translates an offset of the job to a file, counted from the job's first one, and to the
    /// offset within it.
    ///
    /// ```
    /// let part = workload::JobPart { file: 0, files: 3, start: 4096, bytes: 8192 };
    /// assert_eq!(part.locate(4096), (0, 4096));
    /// assert_eq!(part.locate(4096 + 8192), (1, 4096));
    /// assert_eq!(part.locate(4096 + 3 * 8192 - 1), (2, 4096 + 8191));
    /// ```
    #[inline]
    pub const fn locate(&self, offset: u64) -> (u32, u64) {
        // The only branch of a job with a single file; it is always taken.
        if self.files == 1 {
            return (0, offset);
        }
        let within = offset - self.start;
        ((within / self.bytes) as u32, self.start + within % self.bytes)
    }
}

/// The ranges of all jobs, and the files that contain them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Size of each file in bytes. A device or an existing file counts as one file.
    pub files: Vec<u64>,
    /// One range per job, in job order.
    pub jobs: Vec<JobPart>,
}

impl Parts {
    pub fn files_per_job(&self) -> u32 {
        self.jobs.first().map_or(1, |part| part.files)
    }

    /// Bytes that the jobs touch. Bytes shared by several jobs, and gaps between ranges, count
    /// once.
    pub fn span_bytes(&self) -> u64 {
        let span = |file: usize| {
            let own = || self.jobs.iter().filter(move |part| part.has(file));
            let first = own().map(|part| part.start).min().unwrap_or(0);
            own()
                .map(|part| part.start.saturating_add(part.bytes))
                .max()
                .unwrap_or(0)
                .saturating_sub(first)
        };
        (0..self.files.len()).map(span).sum()
    }
}

impl Workload {
    /// Divides a target among the jobs. `own_files` is set where each job can have separate files,
    /// as in a directory.
    pub fn parts(&self, own_files: bool, room: Room) -> Parts {
        let one_file = !own_files || self.sharing == Sharing::All;
        let files = if one_file { 1 } else { self.files.per_job };
        let (bytes, jobs) = (self.size_per_file_bytes(files, room), self.jobs.get());
        let start = |job: u32| match (self.sharing, own_files) {
            (Sharing::None, true) => self.offset_bytes,
            (Sharing::None, false) => {
                self.offset_bytes.saturating_add(u64::from(job).saturating_mul(bytes))
            }
            (Sharing::Device | Sharing::All, _) => self.part_offset_bytes(job),
        };
        let jobs = (0..jobs).map(|job| {
            let file = if one_file { 0 } else { job as usize * files as usize };
            JobPart { file, files, start: start(job), bytes }
        });
        let jobs: Vec<JobPart> = jobs.collect();
        let end = |file: usize| {
            let own = jobs.iter().filter(|part| part.has(file));
            own.map(|part| part.start.saturating_add(part.bytes)).max().unwrap_or(0)
        };
        let files = (0..if one_file { 1 } else { jobs.len() * files as usize }).map(end).collect();
        Parts { files, jobs }
    }

    /// The same ranges in files that turned out smaller, each still a whole number of blocks.
    /// `None` if a job has no room for one block of each of its streams.
    pub fn parts_within(&self, parts: &Parts, files: &[u64]) -> Option<Parts> {
        let block = self.unit_bytes();
        let jobs = u64::from(self.jobs.get());
        // Adjacent ranges shrink in proportion; others end where their file ends.
        let divided = self.sharing == Sharing::None && parts.files.len() == 1;
        let least = block * self.units_min();
        let mut within = Parts { files: files.to_vec(), jobs: parts.jobs.clone() };
        for (index, part) in within.jobs.iter_mut().enumerate() {
            let file_bytes =
                *files.get(part.file..part.file + part.files as usize)?.iter().min()?;
            if divided {
                let room = file_bytes.saturating_sub(self.offset_bytes) / jobs / block * block;
                part.bytes = part.bytes.min(room);
                part.start = self.offset_bytes + index as u64 * part.bytes;
            } else {
                part.bytes = part.bytes.min(file_bytes.saturating_sub(part.start) / block * block);
            }
            if part.bytes < least {
                return None;
            }
        }
        Some(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{Area, BlockBytes, Jobs};
    use crate::pattern::Pattern;

    const MIB: u64 = 1 << 20;

    fn workload(sharing: Sharing, mib: u64) -> Workload {
        let mut workload = Workload::new(Pattern::Write, BlockBytes::new(4096).unwrap());
        workload.jobs = Jobs::new(4).unwrap();
        workload.size = Area::Bytes(mib * MIB);
        workload.sharing = sharing;
        workload
    }

    fn starts(parts: &Parts) -> Vec<(usize, u64)> {
        parts.jobs.iter().map(|part| (part.file, part.start / MIB)).collect()
    }

    #[test]
    fn each_has_its_own_unless_they_share() {
        let own = workload(Sharing::None, 8);
        assert_eq!(own.parts(true, Room::Unlimited).files, [2 * MIB; 4]);
        let device = own.parts(false, Room::Unlimited);
        assert_eq!(
            (starts(&device), &device.files),
            (vec![(0, 0), (0, 2), (0, 4), (0, 6)], &vec![8 * MIB])
        );
        let mut fio = workload(Sharing::Device, 8);
        assert_eq!(fio.parts(true, Room::Unlimited).files, [8 * MIB; 4]);
        assert_eq!(starts(&fio.parts(false, Room::Unlimited)), [(0, 0); 4]);
        fio.offset_bytes = 3 * MIB;
        fio.offset_increment_bytes = 2 * MIB;
        let apart = fio.parts(false, Room::Unlimited);
        assert_eq!(
            (starts(&apart), &apart.files),
            (vec![(0, 3), (0, 5), (0, 7), (0, 9)], &vec![17 * MIB])
        );
        assert_eq!(apart.span_bytes(), 14 * MIB);
        fio.sharing = Sharing::All;
        assert_eq!(fio.parts(true, Room::Unlimited), apart);
    }

    #[test]
    fn smaller_files_make_smaller_parts() {
        let own = workload(Sharing::None, 8);
        let cut = own.parts_within(&own.parts(false, Room::Unlimited), &[4 * MIB]).unwrap();
        assert_eq!((starts(&cut), cut.jobs[3].bytes), (vec![(0, 0), (0, 1), (0, 2), (0, 3)], MIB));
        // The offset precedes the first part and reduces the space.
        let own = Workload { offset_bytes: MIB, ..own };
        let cut = own.parts_within(&own.parts(false, Room::Unlimited), &[5 * MIB]).unwrap();
        assert_eq!((starts(&cut), cut.jobs[3].bytes), (vec![(0, 1), (0, 2), (0, 3), (0, 4)], MIB));
        assert_eq!((cut.span_bytes(), cut.files), (4 * MIB, vec![5 * MIB]));
        // Each job needs a block and gets whole blocks; files that are large enough change nothing.
        let within = |files: &[u64]| own.parts_within(&own.parts(false, Room::Unlimited), files);
        let bytes = |files| {
            within(files).map(|parts| parts.jobs.iter().map(|part| part.bytes).collect::<Vec<_>>())
        };
        assert_eq!((bytes(&[MIB + 16383]), bytes(&[MIB + 16384])), (None, Some(vec![4096; 4])));
        assert_eq!(
            (bytes(&[MIB + 32767]), bytes(&[MIB + 32768])),
            (Some(vec![4096; 4]), Some(vec![8192; 4]))
        );
        assert_eq!(
            (within(&[100 * MIB]).unwrap().jobs, within(&[])),
            (own.parts(false, Room::Unlimited).jobs, None)
        );
        let apart = workload(Sharing::None, 8);
        let cut = apart
            .parts_within(&apart.parts(true, Room::Unlimited), &[MIB, 2 * MIB, 3 * MIB, 9000])
            .unwrap();
        let bytes: Vec<u64> = cut.jobs.iter().map(|part| part.bytes).collect();
        assert_eq!((bytes, cut.span_bytes()), (vec![MIB, 2 * MIB, 2 * MIB, 8192], 5 * MIB + 8192));
        let mut fio = workload(Sharing::All, 8);
        fio.offset_increment_bytes = MIB;
        let cut = fio.parts_within(&fio.parts(true, Room::Unlimited), &[9 * MIB]).unwrap();
        let bytes: Vec<u64> = cut.jobs.iter().map(|part| part.bytes / MIB).collect();
        assert_eq!(bytes, [8, 8, 7, 6]);
        assert_eq!(fio.parts_within(&fio.parts(true, Room::Unlimited), &[3 * MIB]), None);
    }
}
