//! The ways to a drive: sockets and a FUSE mount, with the files and directories that they need.

use std::path::PathBuf;

use super::{EmulateError, EmulationConfig, Files};
use crate::address::{Address, AddressError, listen_unix};
use crate::fuse::mount::{self, Mounted};
use crate::runtime;
use crate::serve::Endpoints;
use crate::serve::directory::Directory;

/// Open endpoints that are not served yet. Dropping it closes and removes them.
pub(super) struct Access {
    pub(super) endpoints: Endpoints,
    // Dropped in this order.
    pub(super) mounted: Option<Mounted>,
    pub(super) private: Option<PrivateDirectory>,
    pub(super) sockets: SocketFiles,
}

impl Access {
    /// Opens what `config` asks for. The FUSE mount shows a counter of power cuts if the drive
    /// `counts_cuts`.
    pub(super) fn open(
        config: &EmulationConfig,
        counts_cuts: bool,
    ) -> Result<Access, EmulateError> {
        let (mut endpoints, sockets) = listen(config)?;
        let private = match &config.files {
            Files::Mounted(..) => Some(PrivateDirectory::create()?),
            Files::None | Files::File(_) | Files::Device(_) => None,
        };
        let directory = match (&config.files, &private) {
            (Files::File(directory) | Files::Device(directory), _) => Some(directory),
            (_, private) => private.as_ref().map(|PrivateDirectory(path)| path),
        };
        let attach = |path: &PathBuf| mount::attach(path, Some(config.model.name()));
        let (kernel, mounted) = directory.map(attach).transpose()?.unzip();
        endpoints.directory = kernel
            .map(|kernel| Directory::new(kernel, counts_cuts))
            .transpose()
            .map_err(|source| EmulateError::System {
                what: "cannot set up the kernel's FUSE file",
                source,
            })?;
        Ok(Access { endpoints, mounted, private, sockets })
    }
}

/// Opens the NBD and control sockets.
fn listen(config: &EmulationConfig) -> Result<(Endpoints, SocketFiles), AddressError> {
    let mut sockets = SocketFiles(Vec::new());
    let nbd = config.nbd.as_ref().map(Address::listen).transpose()?;
    if let Some(Address::Unix(path)) = &config.nbd {
        sockets.0.push(path.clone());
    }
    let control = config.control.as_deref().map(listen_unix).transpose()?;
    sockets.0.extend(config.control.clone());
    Ok((Endpoints { nbd, directory: None, control }, sockets))
}

/// A directory for the mount of a drive that is visible only through its filesystem; removed on
/// drop.
pub(super) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    fn create() -> Result<PrivateDirectory, EmulateError> {
        let failed = |source| EmulateError::System {
            what: "cannot create a directory for the drive",
            source,
        };
        runtime::private_directory().map(PrivateDirectory).map_err(failed)
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Socket files, removed on drop.
pub(super) struct SocketFiles(Vec<PathBuf>);

impl Drop for SocketFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulation::Model;
    use crate::honesty::Honesty;

    #[test]
    fn sockets_are_removed_even_if_a_later_one_fails() {
        let directory = tempfile::tempdir().unwrap();
        let [nbd, control] = ["nbd", "control"].map(|name| directory.path().join(name));
        let config = EmulationConfig {
            model: Model::Ideal { capacity_bytes: 1 << 20 },
            image: None,
            destroy_data: false,
            honesty: Honesty::default(),
            seed: 0,
            after: None,
            fill_percent: 0.0,
            nbd: Some(Address::Unix(nbd.clone())),
            files: Files::None,
            control: Some(control.clone()),
        };
        let access = Access::open(&config, true).ok().unwrap();
        assert!(nbd.exists() && control.exists());
        drop(access);
        assert!(!nbd.exists() && !control.exists());
        std::fs::write(&control, "in the way").unwrap();
        assert!(matches!(
            Access::open(&config, true),
            Err(EmulateError::Address(AddressError::Exists(_)))
        ));
        assert!(!nbd.exists() && control.exists());
    }
}
