//! Where the time went: a bar for each variant, made up of the parts of its median run.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, EDGE, Letters, SMALL, TEXT};
use super::lines::{Ticks, draw_across};
use super::numbers::{Scale, significant, valued};
use super::request::{Drawn, FigureData, FigureError, FigureRequest};
use super::source::{Case, Measure, baseline, cases, interval_words};
use super::table::{Cell, FigureTable};
use super::words::{at_point, point_words};
use bentpipe_results::explanation::{Account, accounts};
use bentpipe_results::metrics::Row;
use bentpipe_results::{Figure as Published, Interval, Point, Stats, find_metric};
use bentpipe_timeseries::TimePart;

/// The metric whose parts are shown.
const COMPLETION: &str = "completion_s";
/// Most bars of a figure; more cannot be read on a page.
const MOST_BARS: usize = 40;
/// Narrower figures have names above the bars instead of beside them.
const NARROW: f64 = 340.0;
const BAR: f64 = 10.0;
/// Share of the longest bar below which the legend leaves a part out: less than a line's width.
const NAMED: f64 = 0.004;
/// Smallest difference worth a ratio.
const NOTABLE: f64 = 0.01;

/// A bar.
struct Bar<'a> {
    case: Case<'a>,
    account: Option<&'a Account<'a>>,
    /// Completion times of the runs.
    stats: Option<Stats>,
    published: Vec<&'a Published>,
}

impl Bar<'_> {
    /// Returns the time of the median run.
    fn time(&self) -> f64 {
        self.account.map_or(0.0, |account| account.completion_s)
    }

    /// Returns the interval that stands at the end of the bar, if it is wide enough to be seen.
    fn shown_interval(&self) -> Option<Interval> {
        let interval = self.stats?.interval()?;
        (interval.high - interval.low > NOTABLE * self.account?.completion_s).then_some(interval)
    }

    /// Returns how many runs have no time, in words; `None` if all completed.
    fn failures(&self) -> Option<String> {
        let (runs, done) = (self.case.runs.len(), self.stats.map_or(0, |stats| stats.n as usize));
        (done < runs).then(|| match (runs, done) {
            (1, _) => "did not complete".to_owned(),
            (_, 0) => format!("none of {runs} runs completed"),
            _ => format!("{} of {runs} runs failed", runs - done),
        })
    }
}

pub(super) fn draw(
    data: FigureData<'_>,
    request: &FigureRequest,
    canvas: &mut Canvas,
) -> Result<Drawn, FigureError> {
    let accounts = accounts(data.results);
    // The first flow is a ping in some scenarios, which has no parts of time.
    let explained = accounts.iter().find(|account| account.has_parts());
    let flow = request.flow.clone().or_else(|| Some(explained?.flow.to_owned()));
    let of_time = FigureRequest { metric: Some(COMPLETION.to_owned()), flow, ..request.clone() };
    let measure = Measure::of(data, &of_time)?;
    let cases = cases(data, request);
    if cases.len() > MOST_BARS {
        let reason = format!(
            "{} bars are too many for a figure; allowed: {MOST_BARS}; choose a point or variants",
            cases.len()
        );
        return Err(FigureError::new("--point", reason));
    }
    let bar = |case: &Case<'_>| {
        let visit = measure.visit(*case);
        let own = |account: &&Account<'_>| {
            account.variant == case.variant
                && account.point == case.point
                && account.flow == measure.flow
                && account.visit == visit
                && account.has_parts()
        };
        accounts.iter().find(own)
    };
    let bars: Vec<Bar<'_>> = cases
        .iter()
        .map(|case| Bar {
            case: *case,
            account: bar(case),
            stats: measure.stats(*case),
            published: published(&data.manifest.published, case, &measure),
        })
        .collect();
    if bars.iter().all(|bar| bar.account.is_none()) {
        let reason = format!(
            "it is not known where the time of `{}` went: no run of it completed, or it is of \
             datagrams, of a population or of the real clock; allowed: what the list of figures \
             has",
            measure.flow
        );
        return Err(FigureError::new("--what", reason));
    }
    Bars::new(canvas, &bars, &measure.row, baseline(data)).draw(canvas);
    let single = cases.iter().all(|case| case.point == cases[0].point);
    let single = if single { at_point(cases[0].point) } else { String::new() };
    let shown = bars.iter().filter(|bar| bar.shown_interval().is_some());
    let words = interval_words("In brackets", shown.filter_map(|bar| bar.stats.as_ref()));
    let title = format!("Where the time{} went{single}{words}", measure.of_flow(data));
    Ok(Drawn { title, table: table(data, &bars, &measure.row) })
}

/// Returns the published completion times of a case.
fn published<'a>(all: &'a [Published], case: &Case<'_>, measure: &Measure) -> Vec<&'a Published> {
    let fits = |figure: &&Published| {
        let of = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|w| w == name);
        figure.metric == COMPLETION
            && of(&figure.variant, case.variant)
            && of(&figure.flow, &measure.flow)
            && figure.point.iter().all(|(key, value)| case.point.get(key) == Some(value))
    };
    all.iter().filter(fits).collect()
}

/// The bars and where they stand.
struct Bars<'a> {
    bars: &'a [Bar<'a>],
    baseline: &'a str,
    /// Parts that every transfer needs and some bar has.
    needed: Vec<TimePart>,
    /// Causes that some bar has, which decide on the hatches.
    causes: Vec<TimePart>,
    axis: Axis,
    scale: Scale,
    title: String,
    narrow: bool,
}

impl<'a> Bars<'a> {
    fn new(canvas: &Canvas, bars: &'a [Bar<'a>], row: &Row, baseline: &'a str) -> Self {
        let goals = bars.iter().flat_map(|bar| &bar.published).map(|figure| figure.value);
        let longest = bars.iter().map(Bar::time).fold(0.0, f64::max);
        let most = goals.fold(longest, f64::max);
        let scale = Scale::of(row, most);
        let narrow = canvas.width < NARROW;
        let used = |part: &TimePart| bars.iter().any(|bar| time_of(bar, *part) >= NAMED * longest);
        let (needed, causes): (Vec<_>, Vec<_>) =
            TimePart::ALL.into_iter().filter(used).partition(|part| part.is_needed());
        let mut own = Self {
            bars,
            baseline,
            needed,
            causes,
            axis: Axis::from_zero(most, EDGE, canvas.width - EDGE),
            scale,
            title: scale.title(row.label),
            narrow,
        };
        if !narrow {
            let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
            let names = bars.iter().map(|bar| canvas.measure(bar.case.variant, TEXT));
            let names = widest(&mut { names }).min(0.28 * canvas.width);
            let values = bars.iter().map(|bar| canvas.measure(&own.value(bar), TEXT));
            let values = widest(&mut { values }).min(0.3 * canvas.width);
            own.axis.from += names + 6.0;
            own.axis.to -= values + 6.0;
        }
        own
    }

    fn draw(&self, canvas: &mut Canvas) {
        let several = self.bars.iter().any(|bar| bar.case.point != self.bars[0].case.point);
        let mut place: Option<&Point> = None;
        let mut spans = Vec::new();
        for bar in self.bars {
            if several && place != Some(bar.case.point) {
                canvas.y += if place.is_some() { 7.0 } else { 0.0 } + SMALL;
                let letters = Letters::new(SMALL, Anchor::Start).bold().muted();
                let words = point_words(bar.case.point);
                let words = canvas.fitted(&words, SMALL, canvas.width - 2.0 * EDGE);
                canvas.text(EDGE, canvas.y, letters, &words);
                canvas.y += 3.0;
                place = Some(bar.case.point);
            }
            spans.push(self.bar(canvas, bar));
        }
        self.foot(canvas);
        for (bar, y) in self.bars.iter().zip(spans) {
            let x = self.axis.from;
            canvas.line([x, y - 1.5, x, y + BAR + 1.5], "#444", 0.7, "");
            for figure in &bar.published {
                let x = self.axis.at(figure.value);
                canvas.line([x, y - 1.5, x, y + BAR + 1.5], "#000", 0.9, "2 1.3");
            }
        }
        self.legend(canvas);
    }

    /// What stands at the end of a bar: the median, and how it compares with the baseline.
    fn value(&self, bar: &Bar<'_>) -> String {
        let Some(account) = bar.account else { return String::new() };
        let time = self.scale.with_unit(account.completion_s);
        let range = bar.shown_interval();
        let range = range.map_or_else(String::new, |range| {
            let ends = [range.low, range.high].map(|end| significant(end / self.scale.divisor));
            format!(" [{}–{}]", ends[0], ends[1])
        });
        format!("{time}{range}{}", self.ratio(bar))
    }

    /// How many times as fast as the baseline a bar is, if by more than chance.
    fn ratio(&self, bar: &Bar<'_>) -> String {
        let is_base =
            |one: &&Bar<'_>| one.case.variant == self.baseline && one.case.point == bar.case.point;
        let base = self.bars.iter().find(is_base);
        let (Some(base), Some(own)) = (base.and_then(|base| base.stats), bar.stats) else {
            return String::new();
        };
        if bar.case.variant == self.baseline || own.median <= 0.0 {
            return String::new();
        }
        let ends = |stats: &Stats| {
            stats.interval().map_or([stats.median; 2], |interval| [interval.low, interval.high])
        };
        let (a, b) = (ends(&base), ends(&own));
        let gain = base.median / own.median;
        let apart = a[1] < b[0] || b[1] < a[0];
        match gain {
            gain if !apart || (gain - 1.0).abs() < NOTABLE => String::new(),
            gain if gain > 1.0 => format!(", {}× as fast", significant(gain)),
            gain => format!(", {}× as long", significant(1.0 / gain)),
        }
    }

    /// Draws a bar with its name and its value, and returns where it begins.
    fn bar(&self, canvas: &mut Canvas, bar: &Bar<'_>) -> f64 {
        let value = self.value(bar);
        let y = if self.narrow {
            let baseline = canvas.y + TEXT;
            let taken = canvas.measure(&value, TEXT);
            let room = canvas.width - 2.0 * EDGE - taken - 6.0;
            let name = canvas.fitted(bar.case.variant, TEXT, room);
            canvas.text(EDGE, baseline, Letters::new(TEXT, Anchor::Start), &name);
            let end = Letters::new(TEXT, Anchor::End);
            canvas.text(canvas.width - EDGE, baseline, end, &value);
            baseline + 2.5
        } else {
            let y = canvas.y + 2.0;
            let name = canvas.fitted(bar.case.variant, TEXT, self.axis.from - EDGE - 6.0);
            let baseline = y + BAR / 2.0 + TEXT * 0.35;
            let at = self.axis.from - 5.0;
            canvas.text(at, baseline, Letters::new(TEXT, Anchor::End), &name);
            let mut x = self.axis.at(bar.time()) + 4.0;
            // Behind a published value that would cross it.
            let end = x + canvas.measure(&value, TEXT);
            let goals = bar.published.iter().map(|figure| self.axis.at(figure.value));
            x = goals.filter(|at| (x - 2.0..end).contains(at)).fold(x, |x, at| x.max(at + 4.0));
            canvas.text(x, baseline, Letters::new(TEXT, Anchor::Start), &value);
            y
        };
        self.segments(canvas, bar, y);
        if let Some(words) = bar.failures() {
            let letters = Letters::new(SMALL, Anchor::Start);
            let x = self.axis.at(bar.time()) + 4.0;
            let room = canvas.width - EDGE - x;
            let (x, y) = if bar.account.is_some() && !self.narrow || room < 40.0 {
                canvas.y = y + BAR;
                (self.axis.from, y + BAR + SMALL + 1.0)
            } else {
                (x, y + BAR / 2.0 + SMALL * 0.35)
            };
            canvas.text(x, y, letters, &words);
            canvas.y = (y + 3.0).max(canvas.y);
        }
        canvas.y = canvas.y.max(y + BAR) + 3.0;
        y
    }

    /// Draws the parts of a bar, with their times where there is room.
    fn segments(&self, canvas: &mut Canvas, bar: &Bar<'_>, y: f64) {
        let mut start = 0.0;
        for part in TimePart::ALL {
            let time = time_of(bar, part);
            if time <= 0.0 {
                continue;
            }
            let (x, end) = (self.axis.at(start), self.axis.at(start + time));
            let fill = canvas.ink.part(part, &self.causes);
            canvas.rect([x, y, end - x, BAR], &fill);
            if end - x > 1.5 {
                canvas.line([end, y, end, y + BAR], "#fff", 0.5, "");
            }
            let words = significant(time / self.scale.divisor);
            // Nothing can be read on a hatch.
            if fill.starts_with('#') && canvas.measure(&words, SMALL) + 4.0 < end - x {
                let ink = super::ink::Ink::on(&fill);
                let letters = Letters::new(SMALL, Anchor::Middle).coloured(ink);
                canvas.text(f64::midpoint(x, end), y + BAR / 2.0 + SMALL * 0.35, letters, &words);
            }
            start += time;
        }
        if bar.account.is_some() && canvas.ink.grey {
            let width = self.axis.at(start) - self.axis.from;
            canvas.outline([self.axis.from, y, width, BAR], "#000", 0.4);
        }
    }

    /// Draws the axis below the bars.
    fn foot(&self, canvas: &mut Canvas) {
        let across = Ticks::of(&self.axis, self.scale, self.title.clone(), 45.0);
        draw_across(canvas, &self.axis, canvas.y + 1.0, &across);
        canvas.y += 2.0;
    }

    /// Draws the names of the parts that bars have, and of published values.
    fn legend(&self, canvas: &mut Canvas) {
        let (mut x, mut y) = (EDGE, canvas.y + SMALL + 1.0);
        let mut advance = |canvas: &Canvas, width: f64| {
            if x > EDGE && x + width > canvas.width - EDGE {
                x = EDGE;
                y += SMALL + 4.0;
            }
            let at = (x, y);
            x += width + 9.0;
            at
        };
        for part in self.needed.iter().chain(&self.causes).copied() {
            let label = part.label();
            let (x, y) = advance(canvas, 10.0 + canvas.measure(label, SMALL));
            let fill = canvas.ink.part(part, &self.causes);
            let swatch = [x, y - 6.0, 7.0, 7.0];
            canvas.rect(swatch, &fill);
            if canvas.ink.grey {
                canvas.outline(swatch, "#000", 0.4);
            }
            canvas.text(x + 10.0, y, Letters::new(SMALL, Anchor::Start), label);
        }
        let mut known: Vec<&str> = Vec::new();
        for figure in self.bars.iter().flat_map(|bar| &bar.published) {
            if known.contains(&figure.label.as_str()) {
                continue;
            }
            known.push(&figure.label);
            let label = format!("published: {}", figure.label);
            let label = canvas.fitted(&label, SMALL, canvas.width - 2.0 * EDGE - 10.0);
            let (x, y) = advance(canvas, 10.0 + canvas.measure(&label, SMALL));
            canvas.line([x + 3.5, y - 6.5, x + 3.5, y + 1.5], "#000", 0.9, "2 1.3");
            canvas.text(x + 10.0, y, Letters::new(SMALL, Anchor::Start), &label);
        }
        canvas.y = y + 3.0;
    }
}

/// Returns the time of a part in the median run, in seconds.
fn time_of(bar: &Bar<'_>, part: TimePart) -> f64 {
    bar.account.map_or(0.0, |account| account.time_s(part.name()))
}

fn table(data: FigureData<'_>, bars: &[Bar<'_>], row: &Row) -> FigureTable {
    let used = |part: &TimePart| bars.iter().any(|bar| time_of(bar, *part) > 0.0);
    let parts: Vec<TimePart> = TimePart::ALL.into_iter().filter(used).collect();
    let keys: Vec<&str> = data.manifest.sweep.iter().map(|axis| axis.key.as_str()).collect();
    let about_more = bars.iter().find_map(|bar| bar.account).map(|account| account.row.name);
    let other = about_more.filter(|name| *name != row.name).and_then(find_metric);
    let mut heads: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    heads.extend(["variant", "runs", "completed"].map(str::to_owned));
    heads.push(format!("{} (s), median run", row.label));
    heads.extend(["95 % CI low", "95 % CI high"].map(str::to_owned));
    heads.extend(other.map(|metric| format!("{} ({})", metric.row.label, metric.row.unit)));
    heads.extend(parts.iter().map(|part| format!("{} (s)", part.label())));
    let rows = bars.iter().map(|bar| {
        let value = |key: &&str| bar.case.point.get(*key).map_or(Cell::None, |v| v.as_str().into());
        let mut cells: Vec<Cell> = keys.iter().map(value).collect();
        let interval = bar.stats.and_then(|stats| stats.ci95);
        cells.push(bar.case.variant.into());
        cells.push(Cell::Number(bar.case.runs.len() as f64));
        cells.push(Cell::Number(bar.stats.map_or(0.0, |stats| stats.n as f64)));
        cells.push(Cell::of(bar.account.map(|account| account.completion_s)));
        cells.push(Cell::of(interval.map(|(low, _)| low)));
        cells.push(Cell::of(interval.map(|(_, high)| high)));
        if other.is_some() {
            cells.push(Cell::of(bar.account.map(Account::value)));
        }
        let known = bar.account.is_some();
        cells.extend(parts.iter().map(|part| Cell::of(known.then(|| time_of(bar, *part)))));
        cells
    });
    FigureTable { heads, rows: rows.collect() }
}

/// What the list of figures says of this kind; an error if there is nothing to show.
pub(super) fn offer(data: FigureData<'_>) -> Result<String, String> {
    let accounts = accounts(data.results);
    let explained: Vec<&Account<'_>> =
        accounts.iter().filter(|account| account.has_parts()).collect();
    let Some(first) = explained.first() else {
        return Err("no completed transfer whose time is known".to_owned());
    };
    let flow = explained.iter().filter(|account| account.flow == first.flow).count();
    Ok(format!("{flow} bars of `{}`; the first takes {}", first.flow, valued_time(first)))
}

fn valued_time(account: &Account<'_>) -> String {
    find_metric(COMPLETION)
        .map_or_else(String::new, |metric| valued(&metric.row, account.completion_s))
}
