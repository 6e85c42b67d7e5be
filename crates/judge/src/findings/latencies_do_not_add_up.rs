//! Rate times latency differs from the queue depth, so one of the two is wrong.

use measurement::{Confidence, Ended, Evidence, Finding, TestResult};

use crate::case::Case;

/// Little's law holds exactly for a queue that is kept full; histograms round to 0.1 %.
const OFF_MAX: f64 = 0.02;

/// The operations in flight computed as rate times latency, and as requested, if they contradict
/// each other.
fn contradiction(result: &TestResult) -> Option<(f64, f64)> {
    let asked = f64::from(result.workload.constant_depth()?);
    let in_flight = result.in_flight?;
    // An operation that was in flight when the measurement began or ended counts with its whole
    // latency or not at all.
    let edge = slowest_us(result)? / 1e6 / result.elapsed_s;
    // One of several jobs may have finished its count before the others.
    let comparable = result.workload.jobs == 1 && result.ended == Ended::Limit;
    (comparable && (in_flight / asked - 1.0).abs() > OFF_MAX + edge).then_some((in_flight, asked))
}

fn slowest_us(result: &TestResult) -> Option<f64> {
    [result.read_us, result.write_us]
        .into_iter()
        .flatten()
        .map(|latency| latency.max)
        .reduce(f64::max)
}

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let (result, (in_flight, asked)) =
        case.results.iter().find_map(|result| Some((result, contradiction(result)?)))?;
    Some(Finding {
        id: "latencies-do-not-add-up".to_owned(),
        title: format!(
            "The latencies of `{}` are wrong: rate times mean latency gives {in_flight:.1} \
             operations in flight instead of {asked:.0}.",
            result.test
        ),
        evidence: vec![
            Evidence::number("in flight (rate times mean latency)", in_flight, "operations"),
            Evidence::number("in flight (requested)", asked, "operations"),
        ],
        confidence: Confidence::High,
        doubt: None,
        advice: "Do not use these latencies. This is a bug in the engine that measured them: \
                 please report it with the result document."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use drive::HostFacts;
    use workload::SyncMethod;

    use super::*;
    use samples::machine::write;

    /// The finding for a depth-1 write test whose latencies account for this share of its time.
    fn found(in_flight: f64, change: impl Fn(&mut TestResult)) -> Option<Finding> {
        let mut result = write(SyncMethod::None, 50.0, 0.0).result();
        result.in_flight = Some(in_flight);
        change(&mut result);
        judge(&Case::new(&[result], None, &HostFacts::default()))
    }

    #[test]
    fn a_difference_above_two_percent_is_found() {
        assert_eq!(found(1.0, |_| {}), None);
        assert_eq!(found(0.985, |_| {}), None);
        assert_eq!(found(1.015, |_| {}), None);
        let title = found(0.82, |_| {}).unwrap().title;
        assert!(title.ends_with("0.8 operations in flight instead of 1."), "{title}");
        assert!(found(1.03, |_| {}).is_some());
    }

    #[test]
    fn operations_at_both_ends_may_make_up_for_the_difference() {
        assert!(found(0.95, |_| {}).is_some());
        assert_eq!(found(0.95, |result| slow(result, 0.04)), None);
        assert!(found(0.95, |result| slow(result, 0.02)).is_some());
    }

    /// Makes the slowest operation take this share of the test.
    fn slow(result: &mut TestResult, share: f64) {
        result.write_us.as_mut().unwrap().max = share * result.elapsed_s * 1e6;
    }

    #[test]
    fn a_queue_that_need_not_be_full_is_not_judged() {
        assert_eq!(found(0.5, |result| result.workload.jobs = 4), None);
        assert_eq!(found(0.5, |result| result.workload.sync = Some(SyncMethod::Fsync)), None);
        let zoning = Some(workload::Zoning::default());
        assert_eq!(found(0.5, |result| result.workload.zoning = zoning), None);
        assert_eq!(found(0.5, |result| result.ended = Ended::Interrupted), None);
        assert_eq!(found(0.5, |result| result.in_flight = None), None);
    }
}
