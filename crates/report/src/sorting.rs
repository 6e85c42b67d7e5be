//! Where the time of a sort went, in a sentence.

use measurement::SortFigures;

use crate::number::seconds;

/// How much the sort itself took and how much the drive, and which of them to do something about.
pub fn sort_sentence(figures: &SortFigures) -> String {
    let (own_s, drive_s, total_s) = (figures.own_s(), figures.drive_s(), figures.total_s());
    if total_s <= 0.0 {
        return "it ended before anything was sorted.".to_owned();
    }
    let percent = |part_s: f64| format!("{} ({:.0} %)", seconds(part_s), part_s / total_s * 100.0);
    let whose = if figures.sorts > 1 {
        format!("of {} of {} sorts added up", seconds(total_s), figures.sorts)
    } else {
        format!("of {}", seconds(total_s))
    };
    let parts = format!(
        "{whose}, the sort itself took {}, the drive {}: {} of writes and {} of reads; the rest made the records.",
        percent(own_s),
        percent(drive_s),
        seconds(figures.writing_s),
        seconds(figures.reading_s)
    );
    let limit = if drive_s > own_s {
        format!("The drive limits: a faster one would save up to {}.", seconds(drive_s))
    } else {
        format!("The sort limits: even the fastest drive would save no more than {}.", seconds(drive_s))
    };
    format!("{parts} {limit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn which_of_the_two_limits_is_said() {
        let sorts = samples::sorts();
        let said = |index: usize| sort_sentence(&sorts[index].sort.unwrap());
        insta::assert_snapshot!(said(0), @"of 11.48 s, the sort itself took 3.53 s (31 %), the drive 7.33 s (64 %): 4.40 s of writes and 2.93 s of reads; the rest made the records. The drive limits: a faster one would save up to 7.33 s.");
        insta::assert_snapshot!(said(1), @"of 5.62 s, the sort itself took 3.53 s (63 %), the drive 1.47 s (26 %): 0.88 s of writes and 0.59 s of reads; the rest made the records. The sort limits: even the fastest drive would save no more than 1.47 s.");
        insta::assert_snapshot!(said(3), @"of 11.48 s of 4 sorts added up, the sort itself took 3.53 s (31 %), the drive 7.33 s (64 %): 4.40 s of writes and 2.93 s of reads; the rest made the records. The drive limits: a faster one would save up to 7.33 s.");
        insta::assert_snapshot!(sort_sentence(&SortFigures::default()), @"it ended before anything was sorted.");
    }
}
