//! The kernel's ioctls that pass a command to the drive unchanged.
//!
//! The node is opened read-only. That suffices: root may then send everything (`scsi_cmd_allowed`
//! in drivers/scsi/scsi_ioctl.c lets CAP_SYS_RAWIO pass, `nvme_cmd_allowed` in
//! drivers/nvme/host/ioctl.c CAP_SYS_ADMIN). And udev, which rereads a disk's partitions whenever a
//! writer closes it, is not woken.

use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};

use super::carrier::{Carrier, NvmeAnswer, NvmeCommand, Payload, ScsiAnswer};
use crate::DeviceNumber;

/// The node of a block device.
#[derive(Debug)]
pub struct Passthrough {
    node: OwnedFd,
}

impl Passthrough {
    /// Opens a node, which must still be that of `device`: names are reassigned when drives come
    /// and go.
    ///
    /// # Errors
    /// The kernel's error; `ENXIO` when the node belongs to another device.
    pub fn open(node: &Path, device: DeviceNumber) -> Result<Passthrough, Errno> {
        // O_NONBLOCK: the SCSI disk driver then waits neither for a medium nor for a drive to spin
        // up.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let node = rustix::fs::open(node, flags, Mode::empty())?;
        let found = rustix::fs::fstat(&node)?;
        let is_block = FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice;
        if !is_block || DeviceNumber::from_dev(found.st_rdev) != device {
            return Err(Errno::NXIO);
        }
        Ok(Passthrough { node })
    }
}

fn milliseconds(timeout: Duration) -> u32 {
    u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX)
}

impl Carrier for Passthrough {
    fn scsi(
        &mut self,
        cdb: &[u8],
        payload: Payload<'_>,
        timeout: Duration,
    ) -> Result<ScsiAnswer, Errno> {
        let mut sense = [0; 64];
        let (direction, data, data_bytes) = match payload {
            Payload::None => (DIRECTION_NONE, std::ptr::null_mut(), 0),
            Payload::In(data) => (DIRECTION_FROM_DRIVE, data.as_mut_ptr().cast(), data.len()),
            Payload::Out(data) => (DIRECTION_TO_DRIVE, data.as_ptr().cast_mut().cast(), data.len()),
        };
        let mut request = SgIo(SgIoHeader {
            interface: i32::from(b'S'),
            direction,
            cdb_bytes: u8::try_from(cdb.len()).map_err(|_| Errno::INVAL)?,
            sense_bytes_max: sense.len() as u8,
            segments: 0,
            data_bytes: u32::try_from(data_bytes).map_err(|_| Errno::INVAL)?,
            data,
            cdb: cdb.as_ptr(),
            sense: sense.as_mut_ptr(),
            timeout_ms: milliseconds(timeout),
            flags: 0,
            pack_id: 0,
            user: std::ptr::null_mut(),
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_bytes: 0,
            host_status: 0,
            driver_status: 0,
            residual: 0,
            duration_ms: 0,
            info: 0,
        });
        #[expect(unsafe_code, reason = "SG_IO passes pointers and has no safe wrapper")]
        // SAFETY: the three pointers and their lengths are those of slices that live until the call
        // returns, when the kernel is done with them. It writes to the data only with
        // DIRECTION_FROM_DRIVE, and the slice is mutable then.
        unsafe {
            rustix::ioctl::ioctl(&self.node, &mut request)?;
        }
        let header = request.0;
        match header.host_status {
            0 => {}
            HOST_NO_CONNECT | HOST_BAD_TARGET => return Err(Errno::NODEV),
            HOST_TIME_OUT => return Err(Errno::TIMEDOUT),
            _ => return Err(Errno::IO),
        }
        let residual = usize::try_from(header.residual).unwrap_or(0);
        Ok(ScsiAnswer {
            status: header.status,
            sense: sense[..usize::from(header.sense_bytes).min(sense.len())].to_vec(),
            received: data_bytes.saturating_sub(residual),
        })
    }

    fn nvme(
        &mut self,
        command: NvmeCommand,
        data: &mut [u8],
        timeout: Duration,
    ) -> Result<NvmeAnswer, Errno> {
        let mut request = NvmeAdmin(NvmePassthrough {
            opcode: command.opcode,
            namespace: command.namespace,
            data: data.as_mut_ptr() as u64,
            data_bytes: u32::try_from(data.len()).map_err(|_| Errno::INVAL)?,
            dwords_10_15: [command.dword10, command.dword11, 0, 0, 0, 0],
            timeout_ms: milliseconds(timeout),
            ..NvmePassthrough::default()
        });
        if data.is_empty() {
            request.0.data = 0;
        }
        #[expect(unsafe_code, reason = "the ioctl passes an address and has no safe wrapper")]
        // SAFETY: the address and length are those of a mutable slice that lives until the call
        // returns, when the kernel is done with it.
        let status = unsafe { rustix::ioctl::ioctl(&self.node, &mut request)? };
        Ok(NvmeAnswer { status: (status & NVME_STATUS_MASK) as u16, result: request.0.result })
    }
}

// include/scsi/sg.h.
const SG_IO: Opcode = 0x2285;
const DIRECTION_NONE: i32 = -1;
const DIRECTION_TO_DRIVE: i32 = -2;
const DIRECTION_FROM_DRIVE: i32 = -3;

// include/scsi/scsi_status.h: status of the host adapter.
const HOST_NO_CONNECT: u16 = 0x01;
const HOST_TIME_OUT: u16 = 0x03;
const HOST_BAD_TARGET: u16 = 0x04;

/// Status code and type; the bits above are retry hints (include/linux/nvme.h: `NVME_STATUS_CRD`,
/// `NVME_STATUS_DNR`).
const NVME_STATUS_MASK: i32 = 0x7ff;

/// `struct sg_io_hdr`.
#[repr(C)]
struct SgIoHeader {
    interface: i32,
    direction: i32,
    cdb_bytes: u8,
    sense_bytes_max: u8,
    segments: u16,
    data_bytes: u32,
    data: *mut c_void,
    cdb: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack_id: i32,
    user: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_bytes: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration_ms: u32,
    info: u32,
}

/// `struct nvme_passthru_cmd` of include/uapi/linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Default)]
struct NvmePassthrough {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<SgIoHeader>() == 88);
const _: () = assert!(size_of::<NvmePassthrough>() == 72);

struct SgIo(SgIoHeader);

struct NvmeAdmin(NvmePassthrough);

#[expect(unsafe_code, reason = "declares the ioctl's argument to rustix")]
// SAFETY: SG_IO takes a pointer to `struct sg_io_hdr`, which it reads and writes; the pointer is to
// one as long as `self` is borrowed.
unsafe impl Ioctl for &mut SgIo {
    type Output = ();

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        SG_IO
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

#[expect(unsafe_code, reason = "declares the ioctl's argument to rustix")]
// SAFETY: NVME_IOCTL_ADMIN_CMD takes a pointer to `struct nvme_passthru_cmd`, which it reads and
// writes; the pointer is to one as long as `self` is borrowed.
unsafe impl Ioctl for &mut NvmeAdmin {
    /// The drive's status.
    type Output = IoctlOutput;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<NvmePassthrough>(b'N', 0x41)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    unsafe fn output_from_ptr(
        status: IoctlOutput,
        _: *mut c_void,
    ) -> rustix::io::Result<IoctlOutput> {
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_number_of_the_nvme_ioctl() {
        let request = &mut NvmeAdmin(NvmePassthrough::default());
        assert_eq!(request.opcode(), 0xC048_4E41);
    }

    #[test]
    fn a_node_of_another_device_is_not_used() {
        let any = DeviceNumber { major: 259, minor: 0 };
        assert_eq!(Passthrough::open("/dev/null".as_ref(), any).unwrap_err(), Errno::NXIO);
        assert_eq!(
            Passthrough::open("/dev/no-such-drive".as_ref(), any).unwrap_err(),
            Errno::NOENT
        );
    }
}
