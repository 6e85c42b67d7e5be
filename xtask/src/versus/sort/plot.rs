//! A plot of curves over a logarithmic axis, as SVG.

use std::fmt::Write as _;

/// A curve, with its points sorted by count.
#[derive(Debug)]
pub struct Curve {
    pub name: String,
    /// Count and value.
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 40.0;
/// Okabe and Ito's colours, which people with colour blindness can distinguish.
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// Draws the curves, and for each one a dotted line for growth by log n from its first point.
pub fn plot(title: &str, curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|curve| curve.points.iter().copied());
    let (least, most) = points()
        .fold((f64::MAX, 1.0f64), |(least, most), (count, _)| (least.min(count), most.max(count)));
    let top = nice(points().fold(0.0f64, |top, (_, value)| top.max(value)));
    let x = |count: f64| {
        LEFT + (count / least).ln() / (most / least).ln().max(f64::MIN_POSITIVE)
            * (WIDTH - LEFT - RIGHT)
    };
    let y = |value: f64| HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"20\" \
         font-size=\"15\">{title}</text>\n"
    );
    for step in 0..=4 {
        let value = top * f64::from(step) / 4.0;
        let at = y(value);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{value}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0
        );
    }
    for (count, _) in curves.first().map_or(&[][..], |curve| &curve.points) {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{count}</text>",
            x(*count),
            HEIGHT - BOTTOM + 18.0
        );
    }
    for (curve, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        let line = |point: &dyn Fn(f64, f64) -> f64| {
            let steps = curve
                .points
                .iter()
                .map(|&(count, value)| format!("{:.1},{:.1}", x(count), y(point(count, value))));
            steps.collect::<Vec<_>>().join(" ")
        };
        let (Some(&(few, fast)), Some(&(many, slow))) = (curve.points.first(), curve.points.last())
        else {
            continue;
        };
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-dasharray=\"2 4\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            line(&|_, value| value),
            line(&|count, _| fast * count.ln() / few.ln()),
            x(many) + 8.0,
            y(slow) + 4.0,
            curve.name
        );
    }
    svg + "</svg>\n"
}

/// The next of 1, 2, 4, 10 times a power of ten, which are divisible by four.
fn nice(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1.0).log10().floor());
    [1.0, 2.0, 4.0, 10.0]
        .map(|step| step * power)
        .into_iter()
        .find(|&nice| nice >= value)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_values() {
        for (value, end) in [(0.0, 1.0), (1.0, 1.0), (3.0, 4.0), (150.0, 200.0), (401.0, 1000.0)] {
            assert!((nice(value) - end).abs() < 1e-9, "{value}: {}", nice(value));
        }
    }

    #[test]
    fn a_curve_runs_from_corner_to_corner_and_its_dotted_line_by_log_n() {
        let curve = Curve { name: "ours".to_owned(), points: vec![(10.0, 50.0), (100.0, 200.0)] };
        let svg = plot("title", &[curve]);
        // 200 is the top of the axis; log n doubles from 10 to 100, so 50 becomes 100, half the
        // height.
        assert!(
            svg.contains(
                "<polyline points=\"60.0,295.0 570.0,40.0\" fill=\"none\" stroke=\"#0072b2\" \
                 stroke-width=\"2\"/>"
            ),
            "{svg}"
        );
        assert!(svg.contains("<polyline points=\"60.0,295.0 570.0,210.0\""), "{svg}");
        assert!(svg.contains(">ours</text>") && svg.ends_with("</svg>\n"));
    }
}
