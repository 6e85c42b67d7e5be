//! A connection to a cluster, and what it answers.

use std::time::{Duration, Instant};

use ceph::{Answers, ClusterFacts, Missing, Question, Recipient};
use engine::EngineError;
use rados::placement::Placement;
use rados::{Access, Cluster, CommandError, RadosError};

use crate::args::ceph::AccessArgs;
use crate::signals::STOP;

pub fn connect(args: &AccessArgs) -> anyhow::Result<Cluster> {
    connect_with(args, Vec::new())
}

/// Connects, with this limit for an OSD's answer whatever the configuration says.
pub fn connect_for(args: &AccessArgs, osd_timeout: Duration) -> anyhow::Result<Cluster> {
    let seconds = osd_timeout.as_secs().to_string();
    connect_with(args, vec![("rados_osd_op_timeout".to_owned(), seconds)])
}

fn connect_with(args: &AccessArgs, options: Vec<(String, String)>) -> anyhow::Result<Cluster> {
    let access = Access {
        options,
        cluster_name: args.cluster.clone(),
        id: args.id.clone(),
        conf: args.conf.clone(),
        keyring: args.keyring.clone(),
        ..Access::default()
    };
    Ok(Cluster::connect(&access).map_err(RadosError::from)?)
}

/// Asks for everything that facts are made of.
pub fn facts(cluster: &Cluster) -> ClusterFacts {
    let mut answers = Answers::default();
    for question in Question::first() {
        ask(cluster, question, &mut answers);
    }
    for question in Question::of_osds(&answers) {
        ask(cluster, question, &mut answers);
    }
    ClusterFacts::from_answers(&answers)
}

fn ask(cluster: &Cluster, question: Question, answers: &mut Answers) {
    let answer = send(cluster, &question);
    let instead = question.instead().filter(|_| answer.is_err());
    answers.insert(question, answer.map_err(|error| missing(&error)));
    if let Some(instead) = instead {
        let answer = send(cluster, &instead);
        answers.insert(instead, answer.map_err(|error| missing(&error)));
    }
}

pub fn send(cluster: &Cluster, question: &Question) -> Result<Vec<u8>, CommandError> {
    let command = question.command();
    match question.recipient() {
        Recipient::Monitor => cluster.monitor_command(&command),
        Recipient::Manager => cluster.manager_command(&command),
        Recipient::Osd(id) => cluster.osd_command(id, &command),
    }
}

/// The placement of a pool. Waits for groups that serve nothing yet, as those of a new pool, but
/// not longer than this: then they are without a primary in what is returned.
pub fn placement(cluster: &Cluster, pool: &str, patience: Duration) -> anyhow::Result<Placement> {
    let begun = Instant::now();
    let question = Question::PgsOfPool(pool.to_owned());
    loop {
        let listed = send(cluster, &question).map_err(RadosError::from)?;
        // The manager hears of a new pool's groups one by one.
        let placement = Placement::from_pg_list(&listed);
        let is_whole = placement.as_ref().is_ok_and(|groups| !groups.primaries().contains(&None));
        if is_whole || begun.elapsed() >= patience {
            return Ok(placement?);
        }
        if STOP.is_requested() {
            return Err(EngineError::Interrupted.into());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn missing(error: &CommandError) -> Missing {
    Missing::from_errno(-error.errno.raw_os_error(), &error.status)
}
