//! Prints what is known about a path and the host, as JSON: `cargo run -p drive --example place --
//! /var/lib`.

use std::path::PathBuf;

use drive::{
    BlockDevice, Counters, HostFacts, Place, PlaceKind, SystemRoot, occupancy, read_signatures,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let root = SystemRoot::default();
    let place = Place::of(&root, &path)?;
    println!("{}", serde_json::to_string_pretty(&place)?);
    println!("{}", serde_json::to_string_pretty(&HostFacts::read(&root))?);
    for device in place.block_device().map(BlockDevice::flush_counting_devices).unwrap_or_default()
    {
        println!("{device}: {}", serde_json::to_string(&Counters::read(&root, device)?)?);
    }
    if let Some(device) = place.block_device() {
        for reason in occupancy(&root, device.device)? {
            println!("{reason}");
        }
    }
    if place.kind == PlaceKind::BlockDevice {
        for signature in read_signatures(&place.path)? {
            println!("{} holds {signature}", place.path.display());
        }
    }
    Ok(())
}
