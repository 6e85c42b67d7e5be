//! An NBD export as a target, reached over a socket without the kernel's block layer.
//!
//! Each job has a connection, over which it keeps its whole depth in flight. So a job's flush
//! always follows its writes on the same connection, and no result depends on what a flush on one
//! connection means for another. Servers without `NBD_FLAG_CAN_MULTI_CONN` may serve one client at
//! a time, so several jobs are refused there. Connections outlive a test: such a server may also
//! end when its only client leaves.

mod channel;
mod disk;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use measurement::ExportRecord;
use nbd::{Connection, Export, NbdError, Uri};
use rustix::io::Errno;
use workload::{EngineChoice, Operation, SpaceCall, Workload, format_bytes};

use crate::error::EngineError;

pub use channel::Channel;
pub use disk::{ExportDisk, ExportQueue, WriteRequest};

/// An export with the connections that no job is using.
#[derive(Debug)]
pub struct ExportTarget {
    uri: Uri,
    given: String,
    export: Export,
    idle: Mutex<Vec<Connection>>,
}

impl ExportTarget {
    /// Connects to the export.
    ///
    /// # Errors
    /// If the address is invalid, or the server does not offer the export.
    pub fn open(given: &str) -> Result<ExportTarget, EngineError> {
        let uri: Uri = given.parse()?;
        let connection = Connection::open(&uri)
            .map_err(|source| EngineError::Export { given: given.to_owned(), source })?;
        let (given, export) = (given.to_owned(), *connection.export());
        Ok(ExportTarget { uri, given, export, idle: Mutex::new(vec![connection]) })
    }

    pub const fn export(&self) -> &Export {
        &self.export
    }

    /// The facts for result documents.
    pub fn record(&self) -> ExportRecord {
        let export = &self.export;
        ExportRecord {
            uri: self.uri.to_string(),
            size_bytes: export.bytes,
            read_only: export.is_read_only(),
            flush: export.takes_flush(),
            fua: export.takes_fua(),
            trim: export.takes_trim(),
            rotational: export.is_rotational(),
            several_connections: export.takes_several_connections(),
            request_bytes_min: export.sizes.min_bytes,
            request_bytes_preferred: export.sizes.preferred_bytes,
            request_bytes_max: export.sizes.max_bytes,
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives `work` an idle connection with `slots` requests of at most `block_bytes` in flight, and
    /// keeps it for later if it is still usable. [`ExportTarget::connect`] has opened it.
    ///
    /// # Errors
    /// As `work` does; an invalid reply of the server comes first.
    pub fn with_channel<T>(
        &self,
        slots: u32,
        block_bytes: u32,
        work: impl FnOnce(Rc<RefCell<Channel>>) -> Result<T, Errno>,
    ) -> Result<T, EngineError> {
        let failed = |source| EngineError::Export { given: self.given.clone(), source };
        let channel = self
            .idle()
            .pop()
            .ok_or(Errno::NOTCONN)
            .and_then(|connection| Channel::new(connection, slots, block_bytes))
            .map_err(|errno| failed(NbdError::Io(errno.into())))?;
        let channel = Rc::new(RefCell::new(channel));
        let worked = work(Rc::clone(&channel));
        let mut channel = Rc::into_inner(channel).map(RefCell::into_inner);
        if let Some(problem) = channel.as_mut().and_then(Channel::take_problem) {
            return Err(failed(problem));
        }
        self.idle().extend(channel.and_then(Channel::into_idle));
        worked.map_err(|errno| failed(NbdError::Io(errno.into())))
    }

    /// Opens connections until there is one for each of `jobs` jobs. Each job's thread has a copy
    /// of the descriptor table as it is when the thread starts, so a connection that a job opened
    /// would not exist outside of it.
    ///
    /// # Errors
    /// If the server no longer offers the export as it was.
    pub fn connect(&self, jobs: u32) -> Result<(), EngineError> {
        let missing = (jobs as usize).saturating_sub(self.idle().len());
        let opened =
            (0..missing).map(|_| self.open_another()).collect::<Result<Vec<_>, EngineError>>()?;
        self.idle().extend(opened);
        Ok(())
    }

    fn open_another(&self) -> Result<Connection, EngineError> {
        let failed = |source| EngineError::Export { given: self.given.clone(), source };
        let connection = Connection::open(&self.uri).map_err(failed)?;
        if *connection.export() != self.export {
            return Err(EngineError::ExportChanged { given: self.given.clone() });
        }
        Ok(connection)
    }

    /// The reason why a workload cannot run on this export.
    ///
    /// # Errors
    /// That reason.
    pub fn check(&self, workload: &Workload) -> Result<(), String> {
        let export = &self.export;
        let offers = |offered: bool, what: &str, flag: &str| {
            if offered {
                return Ok(());
            }
            Err(format!("it requires {what}, which the server does not offer ({flag})"))
        };
        match workload.pattern.operation() {
            Operation::Transfer | Operation::Compute => {}
            Operation::Space(SpaceCall::Discard) => {
                offers(export.takes_trim(), "trim", "NBD_FLAG_SEND_TRIM")?;
            }
            Operation::Space(_) | Operation::Entry(..) => {
                return Err("it changes files, which an NBD export does not have".to_owned());
            }
        }
        if workload.sync.linked_call().is_some() {
            return Err("it links a sync to each write, which only io_uring can do".to_owned());
        }
        if workload.sync.call().is_some() || workload.end_fsync {
            offers(export.takes_flush(), "a flush", "NBD_FLAG_SEND_FLUSH")?;
        }
        if workload.sync.is_write_flag() {
            offers(export.takes_fua(), "durable writes (FUA)", "NBD_FLAG_SEND_FUA")?;
        }
        if workload.atomic {
            return Err("atomic: the protocol NBD has no atomic writes".to_owned());
        }
        if !workload.priorities.is_default() {
            return Err(
                "it sets I/O priorities, which the protocol NBD does not transfer".to_owned()
            );
        }
        let (block, most) = (workload.largest_bytes(), export.sizes.max_bytes);
        if workload.pattern.transfers() && block > most {
            return Err(format!(
                "its blocks of {} exceed the server's largest request, {}",
                format_bytes(block.into()),
                format_bytes(most.into())
            ));
        }
        Ok(())
    }

    /// The reason why tests cannot run at the same time, with this many jobs together.
    ///
    /// # Errors
    /// That reason.
    pub fn check_jobs(&self, jobs: u32) -> Result<(), String> {
        if jobs == 1 || self.export.takes_several_connections() {
            return Ok(());
        }
        Err(format!(
            "its {jobs} jobs need a connection each, but the server does not offer several \
             connections that see each other's writes and flushes (NBD_FLAG_CAN_MULTI_CONN); use \
             one job with a higher depth"
        ))
    }

    /// A sentence on the workload's settings that an export ignores; `None` if there are none.
    pub fn note(workload: &Workload) -> Option<String> {
        let mut missing = Vec::new();
        match workload.engine {
            EngineChoice::Auto => {}
            EngineChoice::Psync | EngineChoice::IoUring | EngineChoice::Libaio => {
                missing.push(format!(
                    "requests go over the connection to the server instead of {}",
                    workload.engine.name()
                ));
            }
        }
        if !workload.direct && workload.pattern.transfers() {
            missing.push("no page cache of this machine is involved, as with O_DIRECT".to_owned());
        }
        (!missing.is_empty()).then(|| format!("on an NBD export, {}", missing.join(", and ")))
    }
}
