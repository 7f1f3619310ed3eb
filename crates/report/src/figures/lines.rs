//! What plots of lines share: the frame with its axes, lines of variants, and their names.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, EDGE, Letters, SMALL, TEXT};
use super::numbers::Scale;

/// Width of the lines of variants, and radius of their marks.
pub(super) const LINE: f64 = 1.2;
pub(super) const MARK: f64 = 2.1;
/// Most names beside the ends of lines; more are in a legend below.
const MOST_ENDS: usize = 8;
pub(super) const GRID: &str = "#ddd";
const FRAME: &str = "#444";

/// A plot's area and axes.
pub(super) struct Frame {
    pub x: Axis,
    pub y: Axis,
}

/// The title and the ticks of an axis.
pub(super) struct Ticks {
    pub title: String,
    pub places: Vec<(f64, String)>,
}

impl Ticks {
    /// Returns even ticks for an axis, about one for each `room` points.
    pub fn of(axis: &Axis, scale: Scale, title: String, room: f64) -> Self {
        let target = ((axis.to - axis.from).abs() / room).floor().max(2.0) as usize;
        Self { title, places: axis.ticks(target, scale) }
    }
}

/// Returns the room that the labels of a vertical axis need at its left.
pub(super) fn label_room(canvas: &Canvas, ticks: &[(f64, String)]) -> f64 {
    let widths = ticks.iter().map(|(_, label)| canvas.measure(label, SMALL));
    EDGE + widths.fold(0.0, f64::max) + 4.0
}

/// Draws grid, axes and titles, and moves the canvas below them. The title of the vertical axis
/// stands above the plot, where it takes no width.
pub(super) fn draw_frame(canvas: &mut Canvas, frame: &Frame, across: &Ticks, up: &Ticks) {
    let Frame { x, y } = frame;
    let title_at = y.to - 5.0;
    canvas.text(EDGE, title_at, Letters::new(SMALL, Anchor::Start).muted(), &up.title);
    for (value, label) in &up.places {
        let at = y.at(*value);
        canvas.line([x.from, at, x.to, at], GRID, 0.5, "");
        let letters = Letters::new(SMALL, Anchor::End).muted();
        canvas.text(x.from - 3.0, at + SMALL * 0.35, letters, label);
    }
    draw_across(canvas, x, y.from, across);
}

/// Draws a horizontal axis with its labels and its title, and moves the canvas below them.
pub(super) fn draw_across(canvas: &mut Canvas, x: &Axis, bottom: f64, across: &Ticks) {
    canvas.line([x.from, bottom, x.to, bottom], FRAME, 0.7, "");
    let mut free = f64::NEG_INFINITY;
    for (value, label) in &across.places {
        let at = x.at(*value);
        canvas.line([at, bottom, at, bottom + 2.5], FRAME, 0.7, "");
        let half = canvas.measure(label, SMALL) / 2.0;
        // Labels that would touch the one before are left out.
        let at = at.max(EDGE + half).min(canvas.width - EDGE - half);
        if at - half >= free {
            let letters = Letters::new(SMALL, Anchor::Middle).muted();
            canvas.text(at, bottom + 2.5 + SMALL, letters, label);
            free = at + half + 3.0;
        }
    }
    canvas.y = bottom + 2.5 + SMALL + 2.0;
    if !across.title.is_empty() {
        canvas.y += SMALL + 1.0;
        let letters = Letters::new(SMALL, Anchor::Middle).muted();
        canvas.text(f64::midpoint(x.from, x.to), canvas.y, letters, &across.title);
        canvas.y += 2.0;
    }
}

/// A line's name and the index of its variant.
pub(super) type Named = (String, usize);

/// Returns the room that names at the ends of lines need at the right; zero if they are in a
/// legend below.
pub(super) fn end_room(canvas: &Canvas, names: &[Named]) -> f64 {
    let widths = names.iter().map(|(name, _)| canvas.measure(name, TEXT));
    let widest = widths.fold(0.0, f64::max) + 8.0;
    let fits = names.len() <= MOST_ENDS && widest <= 0.33 * canvas.width;
    if fits && names.len() > 1 { widest } else { 0.0 }
}

/// Writes names beside the ends of lines: each at its line, or as close as the others permit.
pub(super) fn draw_ends(canvas: &mut Canvas, x: f64, range: (f64, f64), ends: &[(Named, f64)]) {
    let mut order: Vec<(usize, f64)> = ends.iter().map(|(_, y)| *y).enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let step = TEXT + 0.5;
    let (top, bottom) = range;
    let mut least = top;
    for (_, y) in &mut order {
        *y = y.max(least);
        least = *y + step;
    }
    let mut most = bottom;
    for (_, y) in order.iter_mut().rev() {
        *y = y.min(most);
        most = *y - step;
    }
    for (index, y) in order {
        let ((name, variant), at) = &ends[index];
        let colour = canvas.ink.variant(*variant);
        if (y - at).abs() > 2.0 {
            canvas.line([x - 4.0, *at, x + 3.0, y], colour, 0.5, "");
        }
        let letters = Letters::new(TEXT, Anchor::Start).coloured(colour);
        canvas.text(x + 5.0, y + TEXT * 0.35, letters, name);
    }
}

/// What a legend shows before a name: what the figure has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    Line,
    Mark,
    Both,
}

/// Draws a legend of lines or marks, side by side, and moves the canvas below it.
pub(super) fn draw_legend(canvas: &mut Canvas, names: &[Named], sample: Sample) {
    let mut x = EDGE;
    let mut y = canvas.y + TEXT;
    for (name, variant) in names {
        let name = canvas.fitted(name, TEXT, canvas.width - 2.0 * EDGE - 22.0);
        let width = 20.0 + canvas.measure(&name, TEXT) + 8.0;
        if x > EDGE && x + width - 8.0 > canvas.width - EDGE {
            x = EDGE;
            y += TEXT + 3.0;
        }
        let (colour, middle) = (canvas.ink.variant(*variant), y - TEXT * 0.32);
        let dash = canvas.ink.dash(*variant);
        if sample != Sample::Mark {
            canvas.line([x, middle, x + 16.0, middle], colour, LINE, dash);
        }
        if sample != Sample::Line {
            draw_mark(canvas, *variant, x + 8.0, middle);
        }
        canvas.text(x + 20.0, y, Letters::new(TEXT, Anchor::Start), &name);
        x += width;
    }
    canvas.y = y + 4.0;
}

/// Draws the mark of a variant.
pub(super) fn draw_mark(canvas: &mut Canvas, variant: usize, x: f64, y: f64) {
    let (path, filled) = canvas.ink.mark(variant, x, y, MARK);
    let colour = canvas.ink.variant(variant);
    if filled { canvas.path(&path, colour, "") } else { canvas.path(&path, "#fff", colour) }
}
