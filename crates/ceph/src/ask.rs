//! The commands whose answers make up the facts. None of them changes the cluster.
//!
//! The commands of monitors and managers are listed in Ceph's src/mon/MonCommands.h and
//! src/mgr/MgrCommands.h, those of OSDs in src/osd/OSD.cc. OSDs answer `perf dump` and
//! `config show` over the network from Octopus (15) on; before, only on their host
//! (`ceph daemon osd.N …`).

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::answers::Answers;
use crate::facts::osds_up;

/// The daemon that a command is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    Monitor,
    Manager,
    Osd(u32),
}

/// A command that only reads, named as `ceph` names it ([`fmt::Display`], [`FromStr`]).
///
/// ```
/// use ceph::{Question, Recipient};
///
/// let question: Question = "osd.3 perf dump".parse()?;
/// assert_eq!(question.recipient(), Recipient::Osd(3));
/// assert_eq!(question.command(), r#"{"format":"json","prefix":"perf dump"}"#);
/// # Ok::<(), ceph::DocumentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    Status,
    HealthDetail,
    Versions,
    OsdDump,
    OsdTree,
    OsdDf,
    OsdMetadata,
    PoolDetail,
    CrushDump,
    ConfigDump,
    PgsOfPool(String),
    /// An OSD's settings with their origin, as the manager knows them.
    ConfigOfOsd(u32),
    /// An OSD's settings as the OSD itself reports them.
    RunningConfig(u32),
    PerfDump(u32),
}

/// Every question that has no parameter, with its name.
const PLAIN: [(Question, &str); 10] = [
    (Question::Status, "status"),
    (Question::HealthDetail, "health detail"),
    (Question::Versions, "versions"),
    (Question::OsdDump, "osd dump"),
    (Question::OsdTree, "osd tree"),
    (Question::OsdDf, "osd df"),
    (Question::OsdMetadata, "osd metadata"),
    (Question::PoolDetail, "osd pool ls detail"),
    (Question::CrushDump, "osd crush dump"),
    (Question::ConfigDump, "config dump"),
];

impl Question {
    /// The questions that need no knowledge of the cluster.
    pub fn first() -> impl Iterator<Item = Question> {
        PLAIN.into_iter().map(|(question, _)| question)
    }

    /// The questions to ask once the OSDs are known: settings and counters of each that is up.
    pub fn of_osds(answers: &Answers) -> Vec<Question> {
        let of_osd = |id| [Question::ConfigOfOsd(id), Question::PerfDump(id)];
        osds_up(answers).into_iter().flat_map(of_osd).collect()
    }

    /// The question that may replace this one if it was not answered.
    pub fn instead(&self) -> Option<Question> {
        match self {
            Question::ConfigOfOsd(id) => Some(Question::RunningConfig(*id)),
            _ => None,
        }
    }

    pub fn recipient(&self) -> Recipient {
        match self {
            Question::OsdDf | Question::PgsOfPool(_) | Question::ConfigOfOsd(_) => {
                Recipient::Manager
            }
            Question::RunningConfig(id) | Question::PerfDump(id) => Recipient::Osd(*id),
            _ => Recipient::Monitor,
        }
    }

    /// The command as librados takes it.
    pub fn command(&self) -> String {
        let mut command = match self {
            Question::PoolDetail => json!({"prefix": "osd pool ls", "detail": "detail"}),
            Question::HealthDetail => json!({"prefix": "health", "detail": "detail"}),
            Question::PgsOfPool(pool) => json!({"prefix": "pg ls-by-pool", "poolstr": pool}),
            Question::ConfigOfOsd(id) => {
                json!({"prefix": "config show-with-defaults", "who": format!("osd.{id}")})
            }
            Question::RunningConfig(_) => json!({"prefix": "config show"}),
            Question::PerfDump(_) => json!({"prefix": "perf dump"}),
            plain => json!({"prefix": plain.to_string()}),
        };
        if let Value::Object(command) = &mut command {
            command.insert("format".to_owned(), "json".into());
        }
        command.to_string()
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Question::PgsOfPool(pool) => write!(f, "pg ls-by-pool {pool}"),
            Question::ConfigOfOsd(id) => write!(f, "osd.{id} config show-with-defaults"),
            Question::RunningConfig(id) => write!(f, "osd.{id} config show"),
            Question::PerfDump(id) => write!(f, "osd.{id} perf dump"),
            plain => {
                let name = PLAIN.iter().find(|(question, _)| question == plain);
                f.write_str(name.map_or("", |(_, name)| name))
            }
        }
    }
}

impl FromStr for Question {
    type Err = crate::DocumentError;

    fn from_str(name: &str) -> Result<Question, crate::DocumentError> {
        if let Some((question, _)) = PLAIN.iter().find(|(_, plain)| *plain == name) {
            return Ok(question.clone());
        }
        if let Some(pool) = name.strip_prefix("pg ls-by-pool ") {
            return Ok(Question::PgsOfPool(pool.to_owned()));
        }
        let of_osd = name.strip_prefix("osd.").and_then(|rest| rest.split_once(' '));
        let question = of_osd.and_then(|(id, command)| {
            let id = id.parse().ok()?;
            match command {
                "config show-with-defaults" => Some(Question::ConfigOfOsd(id)),
                "config show" => Some(Question::RunningConfig(id)),
                "perf dump" => Some(Question::PerfDump(id)),
                _ => None,
            }
        });
        question.ok_or_else(|| crate::DocumentError::UnknownQuestion(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_found_again_by_its_name() {
        let parameters = [
            Question::PgsOfPool("my pool".to_owned()),
            Question::ConfigOfOsd(7),
            Question::RunningConfig(7),
            Question::PerfDump(12),
        ];
        for question in Question::first().chain(parameters) {
            assert_eq!(question.to_string().parse(), Ok(question));
        }
        for name in ["", "osd.x perf dump", "osd.1 bench", "osd purge"] {
            assert!(name.parse::<Question>().is_err(), "{name}");
        }
    }

    #[test]
    fn commands_are_those_of_ceph() {
        let all: Vec<String> = [
            Question::Status,
            Question::HealthDetail,
            Question::PoolDetail,
            Question::PgsOfPool("rbd".to_owned()),
            Question::ConfigOfOsd(0),
            Question::RunningConfig(0),
        ]
        .iter()
        .map(|question| format!("{:?} {}", question.recipient(), question.command()))
        .collect();
        insta::assert_snapshot!(all.join("\n"), @r#"
        Monitor {"format":"json","prefix":"status"}
        Monitor {"detail":"detail","format":"json","prefix":"health"}
        Monitor {"detail":"detail","format":"json","prefix":"osd pool ls"}
        Manager {"format":"json","poolstr":"rbd","prefix":"pg ls-by-pool"}
        Manager {"format":"json","prefix":"config show-with-defaults","who":"osd.0"}
        Osd(0) {"format":"json","prefix":"config show"}
        "#);
    }
}
