//! Asks one drive with its own commands: `sudo cargo run -p drive --example ask -- /dev/sda`.
//!
//! With `on` or `off` as a second argument, the write cache is switched first. The example does not
//! restore it; `flushmark cache` does.

use std::error::Error;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use drive::{BlockDevice, DeviceNumber, OpenDrive, SystemRoot};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let node = PathBuf::from(arguments.next().ok_or("expected a drive, such as /dev/sda")?);
    let root = SystemRoot::default();
    let disk = BlockDevice::read(&root, DeviceNumber::from_dev(std::fs::metadata(&node)?.rdev()))?;
    let mut drive = OpenDrive::open(&root, &disk)?;
    match arguments.next().as_deref() {
        Some("on") => drive.set_write_cache(true)?,
        Some("off") => drive.set_write_cache(false)?,
        Some(other) => {
            return Err(format!("unknown setting `{other}`; expected `on` or `off`").into());
        }
        None => {}
    }
    println!("{:#?}", drive.write_cache()?);
    for answer in
        [drive.identity().map(|it| format!("{it:#?}")), drive.health().map(|it| format!("{it:#?}"))]
    {
        println!("{}", answer.unwrap_or_else(|error| error.to_string()));
    }
    Ok(())
}
