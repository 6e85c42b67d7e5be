//! The run in which the hosts begin together, and fio's of the same job.

use std::process::Command;

use anyhow::{Context as _, ensure};
use measurement::{GroupTotal, RunDocument, TestResult};
use serde_json::Value;

use super::{FIRST, Fleet, LAYOUT, hosts, job, plan, server};

/// The totals of both sides may differ by this much.
const DIFFERENCE_MAX: f64 = 0.05;
/// Large enough that the drives' time, not that of the processors, decides the rate.
const BLOCK: &str = "256k";
/// The length of each measurement.
const SECONDS: u32 = 3;

/// A run of the playbook; then fio and flushmark in turns, whose medians are compared.
pub fn measure(fleet: &mut Fleet) -> anyhow::Result<String> {
    let agreed = by_playbook(fleet)?;
    let fio_job = job(BLOCK, SECONDS)? + &format!("directory={FIRST}\n");
    let fio_job = plan(fleet, "fio.fio", &fio_job)?;
    for host in hosts::names() {
        let address = fleet.hosts.address(host)?;
        let serve = "sudo systemd-run --quiet --uid=bench --unit=fio-server fio";
        fleet.hosts.on(host, &format!("{serve} --server={address}"))?;
        // A client does not wait for a server that has not begun to listen.
        let listening = "until ss -Hltn 'sport = 8765' | grep -q .; do sleep 0.05; done";
        fleet.hosts.on(host, &format!("timeout 20 bash -c \"{listening}\""))?;
    }
    let mut clients = Command::new("fio");
    clients.arg("--output-format=json");
    for host in hosts::names() {
        clients.arg(format!("--client={}", fleet.hosts.address(host)?)).arg(&fio_job);
    }
    let mut by_fio = || {
        let text = fleet.interruption.text(&mut clients)?;
        total_of_fio(&text).with_context(|| format!("fio printed:\n{text}"))
    };
    let by_flushmark = |round: u32| {
        let group =
            format!("--group round-{round} --hosts {} --store {}", LAYOUT.len(), server::URL);
        let documents = fleet.hosts.on_all(|_| {
            format!(
                ".local/bin/flushmark run .local/share/flushmark/fleet/commits.fio \
                 --target {FIRST} {group} --quiet --format json"
            )
        })?;
        Ok::<_, anyhow::Error>(total(&documents)?.0)
    };
    let (mut fio, mut ours) = (Vec::new(), Vec::new());
    for round in 0..fleet.rounds {
        // Each measurement leaves the drives dirtier, so the order changes.
        if round % 2 == 0 {
            fio.push(by_fio()?);
            ours.push(by_flushmark(round)?);
        } else {
            ours.push(by_flushmark(round)?);
            fio.push(by_fio()?);
        }
    }
    let [fio_total, our_total] = [&fio, &ours].map(|totals| median(totals));
    let ratio = our_total / fio_total;
    ensure!(
        (ratio - 1.0).abs() <= DIFFERENCE_MAX,
        "flushmark's total is {our_total:.0} IOPS, fio's {fio_total:.0}: {ratio:.3} times; by \
         round, flushmark {ours:.0?}, fio {fio:.0?}"
    );
    Ok(format!(
        "{agreed}; {our_total:.0} IOPS in total, fio --client {fio_total:.0} ({ratio:.3} times)"
    ))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)])
}

/// The run as a user starts it, with its documents in the store.
fn by_playbook(fleet: &mut Fleet) -> anyhow::Result<String> {
    let path = plan(fleet, "commits.fio", &job(BLOCK, SECONDS)?)?;
    let mut arguments = vec![
        format!("flushmark_plan={}", path.display()),
        "flushmark_group=all".to_owned(),
        format!("flushmark_hosts={}", LAYOUT.len()),
        format!("flushmark_store={}", server::URL),
        "@password.json".to_owned(),
        format!("{{\"flushmark_targets\": [\"{FIRST}\"]}}"),
    ];
    arguments = arguments.into_iter().flat_map(|it| ["-e".to_owned(), it]).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    fleet.controller.play("run", 0, &arguments)?;
    let runs = fleet.runs_of("commits")?;
    ensure!(runs.len() == LAYOUT.len(), "{} runs of the group were kept", runs.len());
    let documents = runs
        .iter()
        .map(|run| {
            let id = run["id"].to_string();
            let show = ["results", "show", &id, "--store", server::URL, "--format", "json"];
            fleet.flushmark(&show)
        })
        .collect::<anyhow::Result<Vec<String>>>()?;
    let (total, skew_us) = total(&documents)?;
    Ok(format!("began within {skew_us:.0} µs, {total:.0} IOPS in total"))
}

/// The IOPS of all hosts, which must have begun together, and the time between their starts in
/// microseconds.
fn total(documents: &[String]) -> anyhow::Result<(f64, f64)> {
    let documents = documents
        .iter()
        .map(|text| Ok(serde_json::from_str::<RunDocument>(text)?))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut skew_us = 0.0_f64;
    for document in &documents {
        let group = document.group.as_ref().context("a run has no group")?;
        ensure!(group.notes.is_empty(), "the hosts did not begin together: {:?}", group.notes);
        for start in &group.starts {
            ensure!(start.present as usize == LAYOUT.len(), "{:?} took no part", start.absent);
            skew_us = skew_us.max(start.skew_us.context("the starts of others are not known")?);
        }
    }
    let results: Vec<&[TestResult]> =
        documents.iter().map(|document| document.results.as_slice()).collect();
    match &GroupTotal::of(&results)[..] {
        [total] if total.runs == LAYOUT.len() => Ok((total.iops, skew_us)),
        totals => anyhow::bail!("expected one test of all hosts: {totals:?}"),
    }
}

/// The IOPS of all clients, summed by the rig. fio prints lines before and after its JSON.
fn total_of_fio(text: &str) -> Option<f64> {
    let json = &text[text.find("\n{").map_or(0, |at| at + 1)..];
    let document = serde_json::Deserializer::from_str(json).into_iter::<Value>().next()?.ok()?;
    let clients = document["client_stats"].as_array()?;
    let of_host = |client: &&Value| client["jobname"] == "commits";
    let rates: Vec<f64> = clients
        .iter()
        .filter(of_host)
        .map(|client| client["write"]["iops"].as_f64())
        .collect::<Option<_>>()?;
    (rates.len() == LAYOUT.len()).then(|| rates.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_fio_are_summed_over_hosts() {
        let client = |name: &str, iops: f64| {
            format!("{{\"jobname\": \"{name}\", \"write\": {{\"iops\": {iops}}}}}")
        };
        let text = format!(
            "<one> commits: (g=0)\n{{\"client_stats\": [{}, {}, {}, {}]}}\nend",
            client("commits", 1.0),
            client("commits", 20.5),
            client("commits", 300.0),
            client("All clients", 321.0)
        );
        assert_eq!(total_of_fio(&text), Some(321.5));
        assert_eq!(total_of_fio("fio: connect: refused"), None);
    }
}
