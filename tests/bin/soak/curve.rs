//! The daemon's resources over time, as an SVG.

use std::{fmt::Write as _, time::Duration};

use super::vitals::ResourceSample;

const WIDTH: f64 = 760.0;
const PANEL_HEIGHT: f64 = 130.0;
const MARGIN: f64 = 40.0;
/// The most points of a line: each is the mean of the looks in its interval.
const MAX_POINTS: usize = 400;

/// The name of a figure, and how it is read.
type Figure = (&'static str, fn(&ResourceSample) -> f64);

/// One panel for each figure. A dashed line marks each moment at which another daemon took over.
pub(crate) fn svg(looks: &[ResourceSample], upgrades: &[Duration], title: &str) -> String {
    let panels: [Figure; 3] = [
        ("resident memory, MiB", |look| look.resident),
        ("descriptors", |look| look.descriptors as f64),
        ("threads", |look| look.threads as f64),
    ];
    let end = looks
        .last()
        .map_or(1.0, |look| look.at.as_secs_f64())
        .max(1.0);
    let x = |at: Duration| MARGIN + at.as_secs_f64() / end * (WIDTH - 2.0 * MARGIN);
    let height = MARGIN + panels.len() as f64 * (PANEL_HEIGHT + MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{MARGIN}\" y=\"20\" font-size=\"13\">{title}</text>\n"
    );
    for (number, (name, figure)) in panels.into_iter().enumerate() {
        let top = MARGIN + number as f64 * (PANEL_HEIGHT + MARGIN) + 14.0;
        let most = looks.iter().map(figure).fold(1.0, f64::max) * 1.1;
        let y = |value: f64| top + PANEL_HEIGHT * (1.0 - value / most);
        let left = MARGIN;
        let right = WIDTH - MARGIN;
        let bottom = top + PANEL_HEIGHT;
        let mut write = |line: String| writeln!(svg, "{line}").unwrap_or_default();
        write(format!(
            "<text x=\"{left}\" y=\"{}\">{name}</text>",
            top - 5.0
        ));
        for part in [0.0, 0.5, 1.0] {
            let value = most * part;
            let at = y(most * part);
            write(format!(
                "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.0}</text>",
                left - 4.0,
                at + 4.0
            ));
        }
        for at in upgrades {
            write(format!(
                "<path d=\"M{:.1} {top}V{bottom}\" stroke=\"#bbb\" stroke-dasharray=\"2 3\"/>",
                x(*at)
            ));
        }
        let points: Vec<String> = means(looks, figure)
            .into_iter()
            .map(|(at, value)| format!("{:.1},{:.1}", x(at), y(value)))
            .collect();
        write(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#1864ab\" stroke-width=\"1.5\"/>",
            points.join(" ")
        ));
        write(format!(
            "<text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{:.0} min</text>",
            bottom + 14.0,
            end / 60.0
        ));
    }
    svg + "</svg>\n"
}

/// The means of at most [`MAX_POINTS`] intervals, each with the time of its first look.
fn means(looks: &[ResourceSample], figure: fn(&ResourceSample) -> f64) -> Vec<(Duration, f64)> {
    let size = looks.len().div_ceil(MAX_POINTS).max(1);
    let mean = |part: &[ResourceSample]| {
        let sum: f64 = part.iter().map(figure).sum();
        (part[0].at, sum / part.len() as f64)
    };
    looks.chunks(size).map(mean).collect()
}
