//! A document without what identifies anybody.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use measurement::{Agreement, GroupRecord, RunDocument};

const SECRETS: [&str; 6] =
    ["S6B0NL0T", "ordersdb7", "/var/lib/orders", "vg-orders", "nvme-Samsung", "eui.0025"];

fn identified() -> RunDocument {
    let text = include_str!("documents/run-1-check.json");
    let mut document = RunDocument::from_json(text).unwrap();
    "/var/lib/orders/data".clone_into(&mut document.target.given);
    let place = document.drive.as_mut().unwrap();
    place.path = "/var/lib/orders/data".into();
    if let Some(mount) = &mut place.mount {
        mount.mount_point = "/var/lib/orders".into();
        mount.source = "/dev/mapper/vg-orders".into();
    }
    if let drive::Backing::BlockDevice(device) = &mut place.backing {
        device.serial = Some("S6B0NL0T123456".to_owned());
    }
    document.group = Some(GroupRecord {
        id: "1".to_owned(),
        name: Some("disks".to_owned()),
        member: "ordersdb7".to_owned(),
        agreement: Agreement::Store,
        expected: Some(2),
        clock_error_us: None,
        starts: Vec::new(),
        notes: vec!["ordersdb7 was late".to_owned()],
    });
    for result in &mut document.results {
        result.notes.push(
            "/dev/disk/by-id/nvme-Samsung_SSD_S6B0NL0T123456 under /var/lib/orders/data, eui is \
             /dev/disk/by-id/nvme-eui.0025"
                .to_owned(),
        );
    }
    document
}

#[test]
fn nothing_identifies_a_drive_or_a_host() {
    let document = identified();
    let before = serde_json::to_string(&document).unwrap();
    let anonymous = document.anonymous().unwrap();
    let after = serde_json::to_string(&anonymous).unwrap();
    for secret in SECRETS {
        assert!(before.contains(secret), "{secret} is not tested");
        assert!(!after.contains(secret), "{secret} is left");
    }
    // The measurements and the kind of drive are unchanged.
    for (one, other) in document.results.iter().zip(&anonymous.results) {
        assert_eq!((&one.test, one.commit_us), (&other.test, other.commit_us));
        assert_eq!(one.histograms, other.histograms);
    }
    let model = |document: &RunDocument| {
        let device = document.drive.as_ref()?.block_device()?;
        Some((device.model.clone(), device.firmware.clone(), device.path.clone()))
    };
    assert_eq!(model(&document), model(&anonymous));
    assert_eq!(anonymous.target.given, "TARGET");
    // Nothing is left to remove.
    assert_eq!(anonymous.anonymous().unwrap(), anonymous);
}
