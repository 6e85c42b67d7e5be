//! Documents without what identifies a drive, a host or its users.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::document::RunDocument;

/// Fields whose texts identify something, each with the word that replaces them.
const IDENTIFYING: [(&str, &str); 14] = [
    ("serial", "SERIAL"),
    ("wwn", "SERIAL"),
    ("uuid", "UUID"),
    ("fsid", "UUID"),
    ("host", "HOST"),
    ("hosts", "HOST"),
    ("member", "HOST"),
    ("absent", "HOST"),
    ("given", "TARGET"),
    ("label", "LABEL"),
    ("mount_point", PATH),
    ("source", PATH),
    ("path", PATH),
    ("backing_file", PATH),
];
const PATH: &str = "PATH";
/// A shorter text is replaced only where it stands alone: it could be part of any word.
const LENGTH_MIN: usize = 4;

impl RunDocument {
    /// The same without serial numbers, names of hosts, the run's label, identities of filesystems and clusters, and
    /// paths, in fields and in sentences. Models, firmware, kernel names of devices and all figures
    /// stay.
    ///
    /// # Errors
    /// If a document that differs only in such texts could not be read, which would be a defect.
    pub fn anonymous(&self) -> serde_json::Result<RunDocument> {
        let mut document = serde_json::to_value(self)?;
        let mut secrets = BTreeMap::new();
        collect(&document, &mut secrets);
        // The longest first: one may contain another.
        let mut secrets: Vec<(String, &'static str)> = secrets.into_iter().collect();
        secrets.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
        replace(&mut document, &secrets);
        serde_json::from_value(document)
    }
}

fn collect(value: &Value, secrets: &mut BTreeMap<String, &'static str>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let known = IDENTIFYING.iter().find(|(field, _)| field == name);
                if let Some((_, instead)) = known {
                    for text in texts(value).filter(|text| identifies(text)) {
                        secrets.insert(text.to_owned(), instead);
                    }
                }
                collect(value, secrets);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, secrets)),
        _ => {}
    }
}

/// A text, or those of a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    value.as_str().into_iter().chain(list.iter().filter_map(Value::as_str))
}

/// Returns whether a text may identify a machine: it is not a kernel's name of a device, a model,
/// or a word such as the source of a tmpfs.
fn identifies(text: &str) -> bool {
    let is_public = text.is_empty()
        || ["sim:", "null:", "http:", "https:"].iter().any(|scheme| text.starts_with(scheme))
        || is_of_kernel(text)
        || ["tmpfs", "overlay", "none", "drive", "kernel", "flushmark"].contains(&text);
    !is_public
}

/// Returns whether a path is the same on every machine that has such a device or setting.
fn is_of_kernel(path: &str) -> bool {
    let device = path.strip_prefix("/dev/").is_some_and(|name| !name.contains('/'));
    device || path.starts_with("/sys/") || path.starts_with("/proc/")
}

fn replace(value: &mut Value, secrets: &[(String, &'static str)]) {
    match value {
        Value::String(text) => {
            for (secret, instead) in secrets {
                if text == secret {
                    (*instead).clone_into(text);
                } else if secret.len() >= LENGTH_MIN && text.contains(secret.as_str()) {
                    *text = text.replace(secret.as_str(), instead);
                }
            }
            *text = without_paths(text);
        }
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|value| replace(value, secrets)),
        _ => {}
    }
}

/// A sentence without paths that are not the kernel's.
fn without_paths(text: &str) -> String {
    const AFTER: &[char] = &[' ', '`', '\'', '"', '(', '=', ':', ','];
    const END: &[char] = &[' ', '`', '\'', '"', ')', ',', ';', '\n'];
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, from) = rest.split_at(at);
        kept += before;
        let end = from.find(END).unwrap_or(from.len());
        let (path, after) = from.split_at(end);
        let begins = kept.is_empty() || kept.ends_with(AFTER);
        let has_name = path[1..].starts_with(|first: char| first.is_alphanumeric() || first == '.');
        kept += if begins && has_name && !is_of_kernel(path) { PATH } else { path };
        rest = after;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_sentences() {
        let without = |text| without_paths(text);
        assert_eq!(without("Mount /srv/db with noatime."), "Mount PATH with noatime.");
        assert_eq!(
            without("`echo none > /sys/block/sda/queue/scheduler`"),
            "`echo none > /sys/block/sda/queue/scheduler`"
        );
        assert_eq!(without("(/home/anna/x.img), /dev/sda"), "(PATH), /dev/sda");
        assert_eq!(without("ext4 on /dev/mapper/vg-customers"), "ext4 on PATH");
        assert_eq!(
            without("2.1 MiB/s, 4 KiB write/flush, 10 / 5"),
            "2.1 MiB/s, 4 KiB write/flush, 10 / 5"
        );
    }
}
