use super::*;
use crate::answers::Missing;
use crate::medium::Medium;

/// The files of `tests/captures/16.2.15`, by question.
macro_rules! captured {
    ($($question:literal $file:literal;)+) => {
        [$((
            $question,
            include_str!(concat!("../../tests/captures/16.2.15/", $file, ".json")),
        )),+]
    };
}

fn captured() -> Answers {
    let files = captured! {
        "status" "status";
        "health detail" "health-detail";
        "versions" "versions";
        "osd dump" "osd-dump";
        "osd tree" "osd-tree";
        "osd df" "osd-df";
        "osd metadata" "osd-metadata";
        "osd pool ls detail" "osd-pool-ls-detail";
        "osd crush dump" "osd-crush-dump";
        "config dump" "config-dump";
        "pg ls-by-pool bench" "pg-ls-by-pool-bench";
        "osd.0 config show-with-defaults" "osd.0-config-show-with-defaults";
        "osd.1 config show-with-defaults" "osd.1-config-show-with-defaults";
        "osd.0 perf dump" "osd.0-perf-dump";
        "osd.1 perf dump" "osd.1-perf-dump";
    };
    let mut answers = Answers::default();
    for (question, answer) in files {
        answers.insert(question.parse().unwrap_or(Question::Status), Ok(answer.into()));
    }
    answers
}

fn document(text: &str) -> Answers {
    Answers::from_document(text).unwrap_or_default()
}

fn nautilus() -> Answers {
    document(include_str!("../../tests/captures/14.2.22/answers.json"))
}

fn reef() -> Answers {
    document(include_str!("../../tests/captures/18.2.4/troubled.json"))
}

fn json<T: Serialize + ?Sized>(facts: &T) -> String {
    serde_json::to_string_pretty(facts).unwrap_or_default()
}

#[test]
fn a_captured_cluster() {
    let facts = ClusterFacts::from_answers(&captured());
    assert_eq!(facts.not_known, []);
    let (osds, pools) = (Vec::new(), Vec::new());
    insta::assert_snapshot!(json(&ClusterFacts { osds, pools, ..facts }), @r#"
    {
      "fsid": "3f1c2a52-55f0-4b0e-9d0c-7c1d8f0d2a11",
      "health": {
        "status": "HEALTH_WARN",
        "checks": [
          {
            "name": "MON_DISK_LOW",
            "severity": "HEALTH_WARN",
            "message": "mon a is low on available space",
            "detail": [
              "mon.a has 8% avail"
            ],
            "muted": false
          },
          {
            "name": "TOO_FEW_OSDS",
            "severity": "HEALTH_WARN",
            "message": "OSD count 2 < osd_pool_default_size 3",
            "muted": false
          }
        ]
      },
      "versions": {
        "mgr": {
          "16.2.15 pacific": 1
        },
        "mon": {
          "16.2.15 pacific": 1
        },
        "osd": {
          "16.2.15 pacific": 2
        }
      },
      "require_osd_release": "pacific",
      "flags": [
        "sortbitwise",
        "recovery_deletes",
        "purged_snapdirs",
        "pglog_hardlimit"
      ],
      "pgs": {
        "active+clean": 32
      },
      "full_ratios": {
        "near_full": 0.85,
        "backfill_full": 0.9,
        "full": 0.95
      }
    }
    "#);
}

#[test]
fn a_captured_osd() {
    let facts = ClusterFacts::from_answers(&captured());
    let settings = OsdSettings::default();
    insta::assert_snapshot!(json(&OsdFacts { settings, ..facts.osds[0].clone() }), @r#"
    {
      "id": 0,
      "host": "node1",
      "class": "hdd",
      "up": true,
      "in": true,
      "crush_weight": 0.0019989013671875,
      "reweight": 1.0,
      "size_bytes": 2147483648,
      "use_percent": 16.365814208984375,
      "pgs": 9,
      "version": "16.2.15 pacific",
      "created_with": "16.2.15 pacific",
      "objectstore": "bluestore",
      "min_alloc_size_bytes": 4096,
      "front_address": "[v2:127.0.0.1:6838/28168,v1:127.0.0.1:6839/28168]",
      "back_address": "[v2:127.0.0.1:6840/28168,v1:127.0.0.1:6841/28168]",
      "data": {
        "size_bytes": 2147483648,
        "rotational": true,
        "kind": "hdd",
        "drives": [
          {
            "name": "vda"
          }
        ]
      },
      "settings": {},
      "bluefs": {
        "db_total_bytes": 2147483648,
        "db_used_bytes": 316932096,
        "wal_total_bytes": 0,
        "wal_used_bytes": 0,
        "slow_total_bytes": 0,
        "slow_used_bytes": 0,
        "max_bytes_db": 325255168
      }
    }
    "#);
}

#[test]
fn settings_are_those_of_the_medium() {
    let facts = ClusterFacts::from_answers(&captured());
    let osd = &facts.osds[0];
    assert_eq!((osd.shards(), osd.threads_per_shard()), (Some(5), Some(1)));
    assert_eq!(osd.medium(), Some(Medium::Hdd));
    assert_eq!((osd.queue(), osd.uses_mclock()), (Some("wpq"), false));
    assert_eq!(osd.memory_target_bytes(), Some(1 << 30));
    assert_eq!(osd.settings.is_default("osd_memory_target"), Some(false));
    assert_eq!(
        osd.mclock_capacity(),
        Some(MclockCapacity {
            setting: "osd_mclock_max_capacity_iops_hdd".to_owned(),
            iops: 315.0,
            is_default: Some(true)
        })
    );
}

#[test]
fn facts_survive_json() {
    for answers in [captured(), nautilus(), reef()] {
        let facts = ClusterFacts::from_answers(&answers);
        let read = serde_json::from_str::<ClusterFacts>(&json(&facts));
        assert_eq!(read.ok(), Some(facts));
    }
}

#[test]
fn nautilus_has_no_dedicated_db_key_and_answers_less() {
    let mut answers = nautilus();
    answers.insert(Question::ConfigOfOsd(0), Err(Missing::from_errno(-22, "command not known")));
    answers.insert(Question::PerfDump(0), Err(Missing::TimedOut));
    let facts = ClusterFacts::from_answers(&answers);
    let reasons: Vec<String> = facts.not_known.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(reasons.join("\n"), @"
    health detail: not asked
    osd df: not asked
    osd.0 config show-with-defaults: this release does not know the command
    osd.0 perf dump: no answer in time
    ");
    let osd = &facts.osds[0];
    insta::assert_snapshot!(json(&(&osd.data, &osd.db, &osd.wal)), @r#"
    [
      {
        "size_bytes": 8001557626880,
        "rotational": true,
        "kind": "hdd",
        "drives": [
          {
            "name": "sda",
            "model": "HGST HUS728T8TAL5204",
            "serial": "VAG00000"
          }
        ]
      },
      {
        "size_bytes": 32212254720,
        "rotational": false,
        "kind": "ssd",
        "drives": [
          {
            "name": "nvme0n1",
            "model": "INTEL SSDPED1D280GA",
            "serial": "PHMB000000"
          }
        ]
      },
      null
    ]
    "#);
    assert_eq!(osd.min_alloc_size_bytes, None);
    // From the monitors' database, in the absence of another source.
    assert_eq!(osd.memory_target_bytes(), Some(2 << 30));
    assert_eq!(osd.settings.is_default("osd_memory_target"), Some(false));
    // `health detail` is missing; `status` has the checks without details.
    let health = facts.health.clone().unwrap_or_default();
    assert!(health.check("POOL_APP_NOT_ENABLED").is_some_and(|check| check.detail.is_empty()));
}

#[test]
fn pools_have_the_classes_under_their_rule() {
    let facts = ClusterFacts::from_answers(&reef());
    insta::assert_snapshot!(json(&facts.pools[1..]), @r#"
    [
      {
        "id": 2,
        "name": "vms",
        "kind": "replicated",
        "size": 2,
        "min_size": 1,
        "pg_num": 128,
        "crush_rule": "on-ssd",
        "device_classes": [
          "ssd"
        ],
        "applications": [
          "rbd"
        ],
        "autoscale_mode": "warn"
      },
      {
        "id": 3,
        "name": "archive",
        "kind": {
          "erasure": {
            "profile": "k4m2",
            "chunks": [
              4,
              2
            ]
          }
        },
        "size": 6,
        "min_size": 5,
        "pg_num": 128,
        "crush_rule": "archive",
        "device_classes": [
          "hdd"
        ],
        "applications": [
          "rgw"
        ],
        "autoscale_mode": "on"
      },
      {
        "id": 4,
        "name": "mixed",
        "kind": "replicated",
        "size": 3,
        "min_size": 2,
        "pg_num": 64,
        "crush_rule": "replicated_rule",
        "device_classes": [
          "hdd",
          "ssd"
        ],
        "applications": [
          "rbd"
        ],
        "autoscale_mode": "on"
      }
    ]
    "#);
    let pool = &facts.pools[2];
    let classes: Vec<&str> = pool.device_classes.iter().map(String::as_str).collect();
    assert_eq!(classes, ["hdd"]);
}

#[test]
fn states_of_placement_groups_are_counted_by_their_parts() {
    let pgs = ClusterFacts::from_answers(&reef()).pgs.unwrap_or_default();
    assert_eq!(pgs.total(), 321);
    assert_eq!((pgs.recovering(), pgs.scrubbing(), pgs.degraded()), (18, 2, 13));
    assert_eq!((pgs.inactive(), pgs.trimming()), (0, 0));
}

#[test]
fn a_down_osd_is_not_asked() {
    let questions = Question::of_osds(&reef());
    assert_eq!(questions.len(), 12);
    assert!(!questions.contains(&Question::PerfDump(6)));
    let facts = ClusterFacts::from_answers(&reef());
    let down = facts.osd(6);
    assert!(down.is_some_and(|osd| osd.up == Some(false) && osd.is_in == Some(true)));
    assert!(facts.not_known.is_empty(), "{:?}", facts.not_known);
    assert!(Question::of_osds(&Answers::default()).is_empty());
}

#[test]
fn without_answers_everything_is_unknown() {
    let mut answers = Answers::default();
    answers.insert(Question::OsdMetadata, Ok("{not json".into()));
    answers.insert(Question::OsdTree, Ok("[]".into()));
    let facts = ClusterFacts::from_answers(&answers);
    assert_eq!((facts.osds.len(), facts.health.is_none()), (0, true));
    let reasons: Vec<String> = facts.not_known.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(reasons.join("\n"), @"
    status: not asked
    health detail: not asked
    versions: not asked
    osd dump: not asked
    osd df: not asked
    osd metadata: the answer could not be read: invalid type: map, expected a sequence at line 1 column 0
    config dump: not asked
    osd pool ls detail: not asked
    osd crush dump: not asked
    ");
}

#[test]
fn an_osds_own_settings_stand_in_for_the_managers() {
    let mut answers = captured();
    answers.insert(Question::ConfigOfOsd(0), Err(Missing::TimedOut));
    let own = include_str!("../../tests/captures/16.2.15/osd.0-config-show.json");
    answers.insert(Question::RunningConfig(0), Ok(own.into()));
    let facts = ClusterFacts::from_answers(&answers);
    let osd = &facts.osds[0];
    assert_eq!(osd.shards(), Some(5));
    assert_eq!(osd.settings.is_default("osd_memory_target"), None);
    assert_eq!(facts.not_known, []);
}

#[test]
fn drives_are_flash_by_their_names() {
    let drive = |name: &str, model: Option<&str>| Device {
        drives: vec![Drive {
            name: name.to_owned(),
            model: model.map(str::to_owned),
            serial: None,
        }],
        ..Device::default()
    };
    assert!(drive("nvme0n1", None).is_flash_by_name());
    assert!(drive("sda", Some("ATA Samsung SSD 883 DCT 1.92TB")).is_flash_by_name());
    assert!(!drive("sda", Some("ATA ST16000NM001G-2KK103")).is_flash_by_name());
    assert!(!drive("sda", Some("SSDPE2")).is_flash_by_name());
    assert!(!Device::default().is_flash_by_name());
}
