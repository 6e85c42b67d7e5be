//! The reasons why a cluster cannot be reached, with the real library.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use blame::Blame;
use common::{access, conf, needs_librados};
use rados::{Access, Cluster, ConnectError};

/// The environment variable with the path of the child's configuration file.
const CHILD_VARIABLE: &str = "FLUSHMARK_TEST_CEPH_CHILD";

/// Writes a configuration file into a temporary directory.
fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let conf = directory.path().join("test.conf");
    std::fs::write(&conf, text).unwrap();
    (directory, conf)
}

/// Connects in a separate process, and returns the error's sentence and the text on stderr.
fn child(conf: &Path) -> (String, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "connects_for_another_test", "--nocapture", "--test-threads", "1"])
        .env(CHILD_VARIABLE, conf)
        .env_remove("CEPH_ARGS")
        .env_remove("CEPH_CONF")
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let sentence = stdout.lines().find_map(|line| line.split_once("sentence: "));
    (sentence.unwrap().1.to_owned(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn connects_for_another_test() {
    let Some(conf) = std::env::var_os(CHILD_VARIABLE) else { return };
    let mut access = access(Path::new(&conf));
    access.connect_timeout = Duration::from_secs(1);
    match Cluster::connect(&access) {
        Ok(_) => println!("\nsentence: connected"),
        Err(error) => println!("\nsentence: {error}"),
    }
}

/// Connects, and returns the error.
fn error(access: &Access) -> ConnectError {
    Cluster::connect(access).expect_err("an error")
}

#[test]
fn a_missing_or_unreadable_configuration_file_is_named() {
    if !needs_librados("a_missing_or_unreadable_configuration_file_is_named") {
        return;
    }
    let missing = error(&access(Path::new("/missing/ceph.conf")));
    assert_eq!(missing.blame(), Blame::Usage);
    insta::assert_snapshot!(missing, @"cannot read the Ceph configuration file /missing/ceph.conf: no such file or directory");
    insta::assert_snapshot!(error(&access(Path::new("/"))), @"cannot read the Ceph configuration file /: is a directory");
    let (_directory, conf) = written("[global\nmon host");
    let invalid = error(&access(&conf)).to_string();
    insta::assert_snapshot!(invalid.replace(conf.to_str().unwrap(), "FILE"), @"the Ceph configuration file FILE is invalid: expected sections such as [global], and lines `name = value`");
}

#[test]
fn without_any_configuration_file_the_places_searched_are_named() {
    let test = "without_any_configuration_file_the_places_searched_are_named";
    if !needs_librados(test) {
        return;
    }
    if std::env::var_os("CEPH_CONF").is_some() || std::env::var_os("CEPH_ARGS").is_some() {
        return eprintln!("skipped: {test}: CEPH_CONF or CEPH_ARGS is set");
    }
    let name = Some("flushmark-missing".to_owned());
    let access = Access { cluster_name: name, ..Access::default() };
    insta::assert_snapshot!(error(&access), @"no Ceph configuration file found (searched /etc/ceph/flushmark-missing.conf, ~/.ceph/flushmark-missing.conf): name the file, or set CEPH_CONF");
    // The address of a monitor is all that is needed, as with Ceph's own tools.
    let monitor = ("mon_host".to_owned(), "v2:127.0.0.1:1".to_owned());
    let limit = Duration::from_secs(1);
    let access = Access { options: vec![monitor], connect_timeout: limit, ..access };
    insta::assert_snapshot!(error(&access), @"the monitors v2:127.0.0.1:1 do not respond within 1 s: check that they are up and that this host reaches them");
}

#[test]
fn unknown_options_and_invalid_values_are_named() {
    if !needs_librados("unknown_options_and_invalid_values_are_named") {
        return;
    }
    let (_directory, conf) = written("[global]\nmon host = 127.0.0.1:1\n");
    let with = |name: &str, value: &str| {
        let options = vec![(name.to_owned(), value.to_owned())];
        error(&Access { options, ..access(&conf) })
    };
    insta::assert_snapshot!(with("rbd_cash", "true"), @"invalid Ceph option `rbd_cash`: unknown name");
    insta::assert_snapshot!(with("rbd_cache_size", "huge"), @"invalid value `huge` of the Ceph option `rbd_cache_size`");
    insta::assert_snapshot!(with("rbd\0cache", "true"), @r"`rbd\0cache` contains a zero byte");
}

#[test]
fn nothing_but_the_sentence_is_printed() {
    if !needs_librados("nothing_but_the_sentence_is_printed") {
        return;
    }
    let sentence = |text: &str| {
        let (_directory, conf) = written(text);
        let (sentence, stderr) = child(&conf);
        assert_eq!(stderr, "", "{sentence}");
        sentence.replace(conf.to_str().unwrap(), "FILE")
    };
    insta::assert_snapshot!(sentence("[global]\nkeyring = /k\n"), @"the Ceph configuration FILE names no monitor: expected `mon host = ADDRESS` in its section [global]");
    insta::assert_snapshot!(sentence("[global]\nmon host = 127.0.0.1:1\n"), @"the monitors 127.0.0.1:1 do not respond within 1 s: check that they are up and that this host reaches them");
    insta::assert_snapshot!(sentence("[global]\nmon host = [v2:mon.invalid:3300]\n"), @"the monitor `mon.invalid` has no address (name or service not known): correct `mon host` in the Ceph configuration");
}

#[test]
fn a_monitor_that_accepts_and_stays_silent_ends_at_the_limit() {
    if !needs_librados("a_monitor_that_accepts_and_stays_silent_ends_at_the_limit") {
        return;
    }
    let monitor = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = monitor.local_addr().unwrap();
    let (_directory, conf) = written(&format!("[global]\nmon host = v2:{address}\n"));
    let access = Access { connect_timeout: Duration::from_millis(1500), ..access(&conf) };
    let begun = Instant::now();
    let error = error(&access);
    let took = begun.elapsed();
    assert!((1..6).contains(&took.as_secs()), "{took:?}");
    assert_eq!(error.blame(), Blame::System);
    let sentence = error.to_string().replace(&address.to_string(), "ADDRESS");
    insta::assert_snapshot!(sentence, @"the monitors v2:ADDRESS do not respond within 2 s: check that they are up and that this host reaches them");
}

/// A keyring of one user.
fn keyring(directory: &Path, section: &str) -> PathBuf {
    let path = directory.join("keyring");
    std::fs::write(&path, section).unwrap();
    path
}

#[test]
fn keys_that_the_cluster_does_not_accept_are_told_apart() {
    let test = "keys_that_the_cluster_does_not_accept_are_told_apart";
    let Some(conf) = conf(test) else { return };
    let conf_text = std::fs::read_to_string(&conf).unwrap();
    if !conf_text.contains("auth client required = cephx") {
        return eprintln!("skipped: {test}: the cluster does not authenticate (cephx)");
    }
    let directory = tempfile::tempdir().unwrap();
    let sentence = |access: &Access| {
        let error = error(access);
        assert_eq!(error.blame(), Blame::Usage, "{error}");
        error.to_string().replace(directory.path().to_str().unwrap(), "DIRECTORY")
    };
    let with = |section: &str| {
        let keyring = Some(keyring(directory.path(), section));
        sentence(&Access { keyring, ..access(&conf) })
    };
    // Some key of the right form.
    let wrong = "[client.admin]\nkey = AQBSdFhcAAAAABAAJ5xLdNVq1YPx2bEIxHL7oA==\n";
    insta::assert_snapshot!(with(wrong), @"the cluster rejects client.admin: its key (searched DIRECTORY/keyring) is not the one that the monitors know; compare it with `ceph auth get client.admin`");
    insta::assert_snapshot!(with("[client.other]\nkey = x\n"), @"the keyring DIRECTORY/keyring is invalid: expected a section [client.admin] with a line `key = KEY`");
    insta::assert_snapshot!(with("nothing that is a keyring"), @"the keyring DIRECTORY/keyring is invalid: expected a section [client.admin] with a line `key = KEY`");
    insta::assert_snapshot!(with("[client.admin]\nkey = x\n"), @"the keyring DIRECTORY/keyring is invalid: expected a section [client.admin] with a line `key = KEY`");
    let missing = Some(directory.path().join("missing"));
    insta::assert_snapshot!(sentence(&Access { keyring: missing, ..access(&conf) }), @"no key for client.admin found (searched DIRECTORY/missing): expected a keyring with a section [client.admin]; name the file, or another user");
    let missing = Some(directory.path().join("missing"));
    let both = vec![("auth_client_required".to_owned(), "cephx, none".to_owned())];
    let access_both = Access { keyring: missing, options: both, ..access(&conf) };
    insta::assert_snapshot!(sentence(&access_both), @"no key for client.admin found (searched DIRECTORY/missing): expected a keyring with a section [client.admin]; name the file, or another user");
    let unknown = wrong.replace("admin", "unknown");
    let keyring = Some(keyring(directory.path(), &unknown));
    let id = Some("unknown".to_owned());
    insta::assert_snapshot!(sentence(&Access { keyring, id, ..access(&conf) }), @"the cluster rejects client.unknown: its key (searched DIRECTORY/keyring) is not the one that the monitors know; compare it with `ceph auth get client.unknown`");
    let none = vec![("auth_client_required".to_owned(), "none".to_owned())];
    insta::assert_snapshot!(sentence(&Access { options: none, ..access(&conf) }), @"the cluster and this host have no authentication method in common: compare `auth client required` in the Ceph configuration with that of the monitors");
}
