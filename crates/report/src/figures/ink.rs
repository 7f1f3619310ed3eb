//! Colours, greys, hatches, dashes and marks. The colours are those of the report page
//! (`format/palette.ts`, `data/time-budget.ts` and `charts/static/heat-scale.ts` in `studio/src`),
//! which a test compares.

use bentpipe_timeseries::TimePart;

/// Colours of variants by index.
pub(super) const VARIANTS: [&str; 12] = [
    "#0060a8", "#c8500a", "#00805f", "#93458f", "#0f96d2", "#780000", "#4ba55a", "#c378a5",
    "#690069", "#1e96ff", "#4a4f57", "#2d5a2d",
];
/// Greys of variants: three that print apart.
const GREYS: [&str; 3] = ["#000000", "#777777", "#444444"];
/// Dashes of lines: solid first.
const DASHES: [&str; 4] = ["", "4 1.6", "1.2 1.4", "5 1.5 1.2 1.5"];

/// Colours of the parts of time, in the order of [`TimePart::ALL`].
pub(super) const PARTS: [&str; TimePart::COUNT] = [
    "#a9b3bf", "#c8cfd7", "#8ba0b5", "#dde2e8", "#7a2417", "#f2b336", "#a3381e", "#e3822a",
    "#471310", "#e78d25", "#f0a31c", "#d86e2a", "#f6d375", "#cc5b29", "#f7e3a6", "#ec9821",
    "#8e2e1b", "#c05025", "#b44422", "#611c14", "#f4c653", "#f6db8d",
];
/// Greys of what every transfer needs, in the order of those parts.
const NEEDED_GREYS: [&str; 4] = ["#b4b4b4", "#d6d6d6", "#949494", "#ececec"];

/// Hatches of causes in grey: black lines or dots on white, and two plain dark fills.
const HATCHES: [&str; 10] = [
    "<rect width=\"4\" height=\"4\" fill=\"#222\"/>",
    "<path d=\"M-1,1l2,-2M0,4l4,-4M3,5l2,-2\" stroke=\"#000\" stroke-width=\"0.7\"/>",
    "<circle cx=\"2\" cy=\"2\" r=\"0.8\" fill=\"#000\"/>",
    "<path d=\"M0,0l4,4M4,0l-4,4\" stroke=\"#000\" stroke-width=\"0.5\"/>",
    "<path d=\"M0,2h4\" stroke=\"#000\" stroke-width=\"0.8\"/>",
    "<path d=\"M2,0v4\" stroke=\"#000\" stroke-width=\"0.8\"/>",
    "<rect width=\"4\" height=\"4\" fill=\"#5e5e5e\"/>",
    "<path d=\"M-1,3l2,2M0,0l4,4M3,-1l2,2\" stroke=\"#000\" stroke-width=\"1.3\"/>",
    "<path d=\"M0,2h4M2,0v4\" stroke=\"#000\" stroke-width=\"0.5\"/>",
    "<circle cx=\"1\" cy=\"1\" r=\"0.45\" fill=\"#000\"/><circle cx=\"3\" cy=\"3\" r=\"0.45\" \
     fill=\"#000\"/>",
];
const HATCH: &str = "url(#bentpipe-hatch-";

/// Steps of the colours of heat maps, as the page has them.
const SEQUENTIAL: [&str; 5] = ["#f3f6f9", "#bfd6ea", "#7fb0d8", "#3b80ba", "#0d4f8b"];
const DIVERGING: [&str; 5] = ["#a9470a", "#dd8f52", "#f6f3ee", "#6ea3d4", "#0f5594"];
const GREY_STEPS: [&str; 2] = ["#f7f7f7", "#2a2a2a"];

/// What a figure is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ink {
    /// True for greys, hatches and dashes only.
    pub grey: bool,
}

impl Ink {
    /// Returns the colour of the line of a variant.
    pub fn variant(self, index: usize) -> &'static str {
        if self.grey {
            GREYS[(index / DASHES.len() + index) % GREYS.len()]
        } else {
            VARIANTS[index % VARIANTS.len()]
        }
    }

    /// Returns the dashes of the line of a variant; in colour, they differ where colours repeat.
    pub fn dash(self, index: usize) -> &'static str {
        let turn = if self.grey { index } else { index / VARIANTS.len() };
        DASHES[turn % DASHES.len()]
    }

    /// Returns the outline of a variant's mark around a position, and whether it is filled.
    pub fn mark(self, index: usize, x: f64, y: f64, r: f64) -> (String, bool) {
        let shape = (index + index / VARIANTS.len()) % 4;
        let filled = !self.grey || (index / 4).is_multiple_of(2);
        let path = match shape {
            0 => format!(
                "M{:.2},{y:.2}a{r},{r} 0 1,0 {},0a{r},{r} 0 1,0 -{},0z",
                x - r,
                2. * r,
                2. * r
            ),
            1 => {
                let h = r * 0.88;
                format!("M{:.2},{:.2}h{}v{}h-{}z", x - h, y - h, 2. * h, 2. * h, 2. * h)
            }
            2 => {
                let (w, top, base) = (1.1 * r, y - 1.1 * r, y + 0.85 * r);
                format!("M{x:.2},{top:.2}L{:.2},{base:.2}H{:.2}z", x + w, x - w)
            }
            _ => {
                let w = 1.25 * r;
                format!(
                    "M{x:.2},{:.2}L{:.2},{y:.2}L{x:.2},{:.2}L{:.2},{y:.2}z",
                    y - w,
                    x + w,
                    y + w,
                    x - w
                )
            }
        };
        (path, filled)
    }

    /// Returns the fill of a part of time. In grey, causes have hatches by their place among the
    /// `causes` of the figure, so that the first ten differ.
    pub fn part(self, part: TimePart, causes: &[TimePart]) -> String {
        let place =
            |parts: &[TimePart]| parts.iter().position(|one| *one == part).unwrap_or_default();
        let index = place(&TimePart::ALL);
        match (self.grey, part.is_needed()) {
            (false, _) => PARTS[index].to_owned(),
            (true, true) => NEEDED_GREYS[index % NEEDED_GREYS.len()].to_owned(),
            (true, false) => format!("{HATCH}{})", place(causes) % HATCHES.len()),
        }
    }

    /// Returns the index of the hatch that a fill refers to.
    pub fn hatch_of(fill: &str) -> Option<usize> {
        fill.strip_prefix(HATCH)?.strip_suffix(')')?.parse().ok()
    }

    /// Returns the definition of a hatch.
    pub fn hatch(index: usize) -> String {
        format!(
            "<pattern id=\"bentpipe-hatch-{index}\" width=\"4\" height=\"4\" \
             patternUnits=\"userSpaceOnUse\"><rect width=\"4\" height=\"4\" fill=\"#fff\"/>{}\
             </pattern>\n",
            HATCHES[index % HATCHES.len()]
        )
    }

    /// Returns the colour of a place (0 to 1) on the scale of a heat map. `diverging` scales have
    /// a middle that means balance; in grey there is only light to dark.
    pub fn heat(self, place: f64, diverging: bool) -> String {
        let steps: &[&str] = match (self.grey, diverging) {
            (true, _) => &GREY_STEPS,
            (false, true) => &DIVERGING,
            (false, false) => &SEQUENTIAL,
        };
        let at = place.clamp(0.0, 1.0) * (steps.len() - 1) as f64;
        let index = (at.floor() as usize).min(steps.len() - 2);
        let share = at - index as f64;
        let (low, high) = (channels(steps[index]), channels(steps[index + 1]));
        let mixed = [0, 1, 2].map(|i| (low[i] * (1.0 - share) + high[i] * share).round() as u8);
        format!("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2])
    }

    /// Returns the ink to write with on a colour: the one with more contrast (WCAG 2).
    pub fn on(colour: &str) -> &'static str {
        let linear = |c: f64| {
            let c = c / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let [r, g, b] = channels(colour).map(linear);
        let luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        // White has a contrast of 1.05 / (L + 0.05), black one of (L + 0.05) / 0.05.
        if 1.05 * 0.05 > (luminance + 0.05).powi(2) { "#fff" } else { "#000" }
    }
}

/// Returns red, green and blue of a colour such as `#0060a8`.
fn channels(colour: &str) -> [f64; 3] {
    let channel = |from: usize| {
        let digits = colour.get(from..from + 2).unwrap_or_default();
        f64::from(u8::from_str_radix(digits, 16).unwrap_or_default())
    };
    [channel(1), channel(3), channel(5)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_page() {
        let palette = include_str!("../../../../studio/src/format/palette.ts");
        let light = palette.split_once("const LIGHT").unwrap().1.split_once("];").unwrap().0;
        let own: Vec<&str> = light.split('"').skip(1).step_by(2).collect();
        assert_eq!(own, VARIANTS);
        let parts = include_str!("../../../../studio/src/data/time-budget.ts");
        for (part, colour) in TimePart::ALL.into_iter().zip(PARTS) {
            let row = format!("{}: [\"{colour}\"", part.name());
            assert!(parts.contains(&row), "{row}");
        }
        let maps = include_str!("../../../../studio/src/charts/static/heat-scale.ts");
        for steps in [SEQUENTIAL, DIVERGING] {
            let steps = steps.map(|colour| format!("\"{colour}\"")).join(", ");
            assert!(maps.contains(&format!("[{steps}]")), "{steps}");
        }
    }

    #[test]
    fn variants_and_causes_differ_in_grey() {
        let ink = Ink { grey: true };
        let looks: std::collections::BTreeSet<_> = (0..12)
            .map(|index| {
                (ink.variant(index), ink.dash(index), index % 4, ink.mark(index, 0., 0., 2.).1)
            })
            .collect();
        assert_eq!(looks.len(), 12);
        let causes: Vec<TimePart> =
            TimePart::ALL.into_iter().filter(|part| !part.is_needed()).take(10).collect();
        let fills: std::collections::BTreeSet<String> =
            causes.iter().map(|part| ink.part(*part, &causes)).collect();
        assert_eq!(fills.len(), 10);
        assert!(fills.iter().all(|fill| Ink::hatch_of(fill).is_some()));
        let needed = TimePart::ALL.into_iter().filter(|part| part.is_needed());
        assert_eq!(needed.count(), NEEDED_GREYS.len());
    }

    #[test]
    fn scales_end_where_they_should() {
        let ink = Ink { grey: false };
        assert_eq!(
            (ink.heat(0.0, false), ink.heat(1.0, false)),
            (SEQUENTIAL[0].into(), SEQUENTIAL[4].into())
        );
        assert_eq!(ink.heat(0.5, true), DIVERGING[2]);
        assert_eq!((Ink::on("#ffffff"), Ink::on("#0d4f8b")), ("#000", "#fff"));
    }
}
