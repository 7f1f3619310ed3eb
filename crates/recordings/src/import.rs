//! Several measurements of one path, as a scenario that replays them.

use crate::alignment::by_outages;
use crate::bounds::{LONGEST, few, many, possible, short};
use crate::error::ImportError;
use crate::format::Format;
use crate::formats::read;
use crate::measured::{Content, Direction, Measured, Probe, RateBin, Times};
use crate::options::Options;
use crate::origin;
use crate::outages::{Outage, outages};
use crate::rows::{every_second, has_gap, one_way, place, probe_rows};
use crate::scenario_text::{DirectionKeys, Head, Row, ScenarioText, delays, quoted, rates, trace};
use crate::statistics::median;
use crate::summary::Summary;
use crate::waits::beside_trace;
use bentpipe_units::Span;

const MILLI: f64 = 1e6;
const NANOS: i64 = 1_000_000_000;
/// Fewest outages at the same distance that count as a period.
const PERIODIC: usize = 3;

/// A file to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its name, without a directory.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Its format; `None` to tell it by the content.
    pub format: Option<Format>,
    /// The direction that it was measured in, if the user says it of this file.
    pub direction: Option<Direction>,
}

/// An import: the files to write, and what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// Names and contents.
    pub files: Vec<(String, String)>,
    /// What was found.
    pub summary: Summary,
}

impl Import {
    /// Reads `inputs` and puts them together.
    ///
    /// # Errors
    /// A file cannot be read, the files do not go together, or a rate is missing.
    pub fn new(inputs: Vec<Input>, options: &Options) -> Result<Self, ImportError> {
        let mut summary = Summary::default();
        let mut origin = origin::head(options.licence.as_deref());
        let mut parts = Parts { given: options.direction, ..Parts::default() };
        let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
        for input in inputs {
            origin.push_str(&origin::row(&input.name, &input.bytes));
            let mut measured = read(&input.name, input.bytes, input.format)?;
            spaced(&input.name, &mut measured, options, &mut summary);
            summary.add(&input.name, &measured);
            parts.add(&input.name, input.direction, measured, &mut summary)?;
        }
        parts.enough()?;
        parts.align(options, &mut summary)?;
        let mut files = Vec::new();
        let scenario = parts.scenario(&names, options, &mut files, &mut summary)?;
        files.insert(0, ("scenario.toml".to_owned(), scenario));
        files.push(("ORIGIN.md".to_owned(), origin));
        Ok(Self { files, summary })
    }
}

/// Gives pings without times the interval that they were sent at, which no file says.
fn spaced(name: &str, measured: &mut Measured, options: &Options, summary: &mut Summary) {
    if measured.times != Times::Numbered {
        return;
    }
    let interval = options.interval.unwrap_or(Span::from_secs(1));
    summary.inferred.push(format!(
        "{name}: a ping each {interval}, as its lines have no times (`--interval`, or `ping -D`)"
    ));
    if let Content::Probes(probes) = &mut measured.content {
        let nanos = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX);
        let sent = |number: i64| number.saturating_mul(nanos);
        probes.iter_mut().for_each(|probe| probe.sent = sent(probe.sent / NANOS));
    }
}

/// One-way delays and losses, on a clock of nanoseconds.
struct Delays {
    name: String,
    utc: bool,
    probes: Vec<Probe>,
}

/// A rate over time in one direction.
struct Rates {
    name: String,
    utc: bool,
    bins: Vec<RateBin>,
}

/// A trace of opportunities in one direction.
struct Trace {
    name: String,
    millis: Vec<u32>,
    outages: Vec<Outage>,
}

/// What all files together have measured.
#[derive(Default)]
struct Parts {
    delays: Option<Delays>,
    /// Median RTT in milliseconds and ratio of loss, if that is all.
    constant: Option<(f64, f64)>,
    rates: [Option<Rates>; 2],
    traces: [Option<Trace>; 2],
    /// Direction of the losses of which no file says where they were.
    lost_in: Option<Direction>,
    /// Direction of what says none.
    given: Option<Direction>,
    /// Start in UTC, in nanoseconds, of the common clock.
    start: Option<i64>,
}

impl Parts {
    fn add(
        &mut self,
        name: &str,
        direction: Option<Direction>,
        measured: Measured,
        summary: &mut Summary,
    ) -> Result<(), ImportError> {
        let name_says = direction.or_else(|| direction_of(name)).or(self.given);
        let utc = measured.times.is_utc();
        match measured.content {
            Content::Probes(probes) => {
                few(name, probes.len())?;
                many(name, probes.len())?;
                short(name, probes.iter().map(|probe| probe.sent))?;
                self.lost_in = self.lost_in.or(direction).or(self.given);
                self.set_delays(Delays { name: name.to_owned(), utc, probes })
            }
            Content::Delays { step_ms, delays_ms } => {
                few(name, delays_ms.len())?;
                many(name, delays_ms.len())?;
                let probe = |(index, delay): (usize, &f64)| Probe {
                    sent: index as i64 * i64::from(step_ms) * 1_000_000,
                    rtt: Some((2.0 * delay * MILLI).round() as i64),
                    one_way: None,
                    loss: 0.0,
                    lost_in: None,
                };
                let probes = delays_ms.iter().enumerate().map(probe).collect();
                self.set_delays(Delays { name: name.to_owned(), utc, probes })
            }
            Content::Quantiles { rtts_ms, sent, lost } => {
                few(name, rtts_ms.len())?;
                self.constant = Some((median(rtts_ms), lost as f64 / sent.max(1) as f64));
                Ok(())
            }
            Content::Opportunities(millis) => {
                few(name, millis.len())?;
                let own = self.direction(name, name_says, summary);
                self.lost_in = self.lost_in.or(Some(own));
                let outages = outages(&millis);
                let trace = Trace { name: name.to_owned(), millis, outages };
                put(&mut self.traces[place(own)], trace, name, own)
            }
            Content::BothRates(both) => {
                for (own, bins) in [Direction::Up, Direction::Down].into_iter().zip(both) {
                    if direction.is_none_or(|direction| direction == own) {
                        few(name, bins.len())?;
                        many(name, bins.len())?;
                        possible(name, &bins)?;
                        short(name, bins.iter().map(|bin| bin.end))?;
                        let rates = Rates { name: name.to_owned(), utc, bins };
                        put(&mut self.rates[place(own)], rates, name, own)?;
                    }
                }
                Ok(())
            }
            Content::Rates { bins, direction: of_file, delays_ms } => {
                let own = match (of_file, direction) {
                    (Some(own), Some(said)) if own != said => return Err(other_way(name, own)),
                    (Some(own), _) => own,
                    (None, _) => self.direction(name, name_says, summary),
                };
                few(name, bins.len())?;
                many(name, bins.len())?;
                possible(name, &bins)?;
                short(name, bins.iter().map(|bin| bin.end))?;
                self.packet_delays(name, utc, &bins, &delays_ms)?;
                let rates = Rates { name: name.to_owned(), utc, bins };
                put(&mut self.rates[place(own)], rates, name, own)
            }
        }
    }

    /// Returns the direction of a file that does not say it: as its name, or up.
    fn direction(&self, name: &str, says: Option<Direction>, summary: &mut Summary) -> Direction {
        let own = says.unwrap_or(Direction::Up);
        if direction_of(name).is_none() && says.is_none() {
            let line = format!("{name}: direction up, which no file says (`--direction down`)");
            summary.inferred.push(line);
        }
        own
    }

    fn set_delays(&mut self, delays: Delays) -> Result<(), ImportError> {
        match &self.delays {
            None => {
                self.delays = Some(delays);
                Ok(())
            }
            Some(first) => Err(ImportError::Together(format!(
                "{} and {} both have delays; allowed: one of them",
                first.name, delays.name
            ))),
        }
    }

    /// Takes the lowest delay of the packets around as the delay of an empty queue.
    fn packet_delays(
        &mut self,
        name: &str,
        utc: bool,
        bins: &[RateBin],
        delays_ms: &[Option<f64>],
    ) -> Result<(), ImportError> {
        if delays_ms.iter().all(Option::is_none) {
            return Ok(());
        }
        let half = 7_500_000_000;
        let probe = |bin: &RateBin| {
            let near = bins.partition_point(|other| other.start < bin.start - half);
            let least = bins[near..]
                .iter()
                .zip(&delays_ms[near..])
                .take_while(|(other, _)| other.start <= bin.start + half)
                .filter_map(|(_, delay)| *delay)
                .reduce(f64::min)?;
            let rtt = Some((2.0 * least.max(0.0) * MILLI).round() as i64);
            Some(Probe { sent: bin.start, rtt, one_way: None, loss: 0.0, lost_in: None })
        };
        let probes: Vec<Probe> = bins.iter().filter_map(probe).collect();
        self.set_delays(Delays { name: name.to_owned(), utc, probes })
    }

    /// Checks that there is a delay.
    fn enough(&self) -> Result<(), ImportError> {
        if self.delays.is_some() || self.constant.is_some() {
            return Ok(());
        }
        let message = "no file has a delay; allowed: one of ping, irtt, RIPE Atlas, telemetry or \
            delays of LeoReplayer beside it (a loaded RTT is no delay of the path)";
        Err(ImportError::Together(message.to_owned()))
    }

    /// Puts all series on one clock that begins at zero.
    fn align(&mut self, options: &Options, summary: &mut Summary) -> Result<(), ImportError> {
        self.place_in_utc(options, summary)?;
        self.align_utc()?;
        let trace = self.traces.iter().flatten().next();
        let Some((trace, delays)) = trace.zip(self.delays.as_mut()) else { return Ok(()) };
        if delays.utc {
            let first = delays.probes.first().map_or(0, |probe| probe.sent);
            self.start = Some(first);
            delays.probes.iter_mut().for_each(|probe| probe.sent -= first);
            delays.utc = false;
        }
        let offset_ms = match options.offset {
            Some(offset) => {
                summary
                    .inferred
                    .push(format!("{} begins {offset} later (`--offset`)", delays.name));
                offset.as_millis_f64()
            }
            None => {
                let found = by_outages(&one_way(&delays.probes), &trace.outages);
                let Some(found) = found else {
                    return Err(ImportError::Together(format!(
                        "{} and {} have no time in common: fewer than 3 outages of the trace are \
                            peaks of the delay; allowed: `--offset 0s` if they begin together",
                        trace.name, delays.name
                    )));
                };
                summary.inferred.push(format!(
                    "{} begins {:.0} ms after {}: {} of {} outages are peaks of the delay",
                    delays.name, found.offset_ms, trace.name, found.agree, found.of
                ));
                found.offset_ms
            }
        };
        let shift = (offset_ms * MILLI).round() as i64;
        let shifted = |sent: i64| sent.saturating_add(shift);
        delays.probes.iter_mut().for_each(|probe| probe.sent = shifted(probe.sent));
        delays.probes.retain(|probe| probe.sent >= 0);
        // There will be a row for each second from the start of the trace on.
        let end = delays.probes.last().map_or(0, |probe| probe.sent);
        if end > LONGEST {
            return Err(ImportError::Together(format!(
                "{} ends {:.1} days after {} begins; allowed: 7 days, with a lower `--offset`",
                delays.name,
                end as f64 / (86_400 * NANOS) as f64,
                trace.name
            )));
        }
        few(&delays.name, delays.probes.len())
    }

    /// Gives delays without UTC beside rates with it the time that the user says.
    fn place_in_utc(
        &mut self,
        options: &Options,
        summary: &mut Summary,
    ) -> Result<(), ImportError> {
        let rates = self.rates.iter().flatten().filter(|rates| rates.utc);
        let starts = rates.filter_map(|rates| Some((rates.bins.first()?.start, &rates.name)));
        let first = starts.min_by_key(|(start, _)| *start);
        let delays = self.delays.as_mut().filter(|delays| !delays.utc);
        let (Some(delays), Some((start, rates))) = (delays, first) else { return Ok(()) };
        let Some(offset) = options.offset else {
            return Err(ImportError::Together(format!(
                "{rates} has times in UTC and {} has none; allowed: `--offset 0s` if they begin \
                    together, or pings with times (`ping -D`)",
                delays.name
            )));
        };
        let line = format!("{} begins {offset} after {rates} (`--offset`)", delays.name);
        summary.inferred.push(line);
        let shift = start.saturating_add(i64::try_from(offset.as_nanos()).unwrap_or(i64::MAX));
        let shifted = |sent: i64| sent.saturating_add(shift);
        delays.probes.iter_mut().for_each(|probe| probe.sent = shifted(probe.sent));
        delays.utc = true;
        Ok(())
    }

    /// Cuts series with UTC to the time that all have.
    fn align_utc(&mut self) -> Result<(), ImportError> {
        let series: Vec<(&str, i64, i64)> = self
            .delays
            .iter()
            .filter(|delays| delays.utc)
            .filter_map(|delays| {
                let (first, last) = (delays.probes.first()?, delays.probes.last()?);
                Some((delays.name.as_str(), first.sent, last.sent))
            })
            .chain(self.rates.iter().flatten().filter(|rates| rates.utc).filter_map(|rates| {
                Some((rates.name.as_str(), rates.bins.first()?.start, rates.bins.last()?.end))
            }))
            .collect();
        let start = series.iter().max_by_key(|(_, start, _)| *start);
        let end = series.iter().min_by_key(|(_, _, end)| *end);
        let (Some(start), Some(end)) = (start, end) else { return Ok(()) };
        if start.1 >= end.2 {
            return Err(ImportError::Together(format!(
                "{} begins after {} ends: their times do not overlap; allowed: measurements of the \
                    same time",
                start.0, end.0
            )));
        }
        let (start, end) = (start.1, end.2);
        self.start = Some(start);
        if let Some(delays) = self.delays.as_mut().filter(|delays| delays.utc) {
            delays.probes.retain(|probe| (start..=end).contains(&probe.sent));
            delays.probes.iter_mut().for_each(|probe| probe.sent -= start);
            delays.utc = false;
        }
        for rates in self.rates.iter_mut().flatten().filter(|rates| rates.utc) {
            rates.bins.retain(|bin| bin.end > start && bin.start < end);
            for bin in &mut rates.bins {
                bin.start = (bin.start - start).max(0);
                bin.end -= start;
            }
        }
        Ok(())
    }

    /// Returns the scenario, and adds the files that it names.
    fn scenario(
        &mut self,
        names: &[String],
        options: &Options,
        files: &mut Vec<(String, String)>,
        summary: &mut Summary,
    ) -> Result<String, ImportError> {
        let period = self.cut_to_period(options, summary)?;
        let rows = self.rows(summary);
        if let (Some(delays), Some(rows)) = (&self.delays, &rows) {
            // Losses may have a second row each.
            many(&delays.name, rows[0].len().max(rows[1].len()))?;
        }
        let mut hold = false;
        let mut keys = [DirectionKeys::default(), DirectionKeys::default()];
        for direction in [Direction::Down, Direction::Up] {
            let own = &mut keys[place(direction)].keys;
            let head = Head { direction, start: self.start, origin: names };
            match (&rows, self.constant) {
                (Some(rows), _) => {
                    let rows = &rows[place(direction)];
                    hold |= has_gap(rows.iter().map(|row| row.at));
                    let name = format!("{}.csv", direction.name());
                    own.push(("recording", quoted(&name)));
                    files.push((name, delays(&head, rows)));
                }
                (None, Some((rtt_ms, loss))) => {
                    own.push(("delay", format!("\"{:.3} ms\"", rtt_ms / 2.0)));
                    if direction == Direction::Up && loss > 0.0 {
                        own.push(("loss", format!("{loss:.6}")));
                    }
                }
                (None, None) => {}
            }
            let (rate, gap) = self.rate(direction, &head, options, files, summary)?;
            hold |= gap;
            own.push(("rate", rate));
            own.push(("queue", "\"1 BDP\"".to_owned()));
        }
        summary.unknown.push("queues, which no file says: 1 BDP each, edit them".to_owned());
        if hold {
            let line = "values are held where nothing was measured (`fill = \"hold\"`)";
            summary.inferred.push(line.to_owned());
        }
        let [up, down] = keys;
        let text = ScenarioText {
            files: names,
            down,
            up,
            recorded: rows.is_some()
                || self.traces.iter().any(Option::is_some)
                || self.rates.iter().any(Option::is_some),
            period: period.then_some("15 s"),
            hold,
        };
        Ok(text.text())
    }

    /// Cuts what is before the first reconfiguration, if its phase is known. Returns true if the
    /// recordings have a period of 15 s.
    fn cut_to_period(
        &mut self,
        options: &Options,
        summary: &mut Summary,
    ) -> Result<bool, ImportError> {
        let periodic = self.traces.iter().flatten().find(|trace| trace.outages.len() >= PERIODIC);
        if let Some(trace) = periodic {
            let at = f64::from(trace.outages[0].at_ms % 15_000) / 1e3;
            let line = format!("{}: outages at {at:.2} s + 15 s, a period of 15 s", trace.name);
            summary.inferred.push(line);
            return Ok(true);
        }
        let Some(phase) = options.phase else {
            summary.unknown.push("reconfigurations: their phase in UTC (`--phase 12s`)".to_owned());
            return Ok(false);
        };
        let Some(start) = self.start else {
            let message = "`--phase` needs a file with times in UTC; allowed: no `--phase`";
            return Err(ImportError::Together(message.to_owned()));
        };
        let period = 15 * NANOS;
        let cut = (i64::try_from(phase.as_nanos()).unwrap_or(0) - start).rem_euclid(period);
        self.start = Some(start + cut);
        if let Some(delays) = &mut self.delays {
            delays.probes.retain(|probe| probe.sent >= cut);
            delays.probes.iter_mut().for_each(|probe| probe.sent -= cut);
            few(&delays.name, delays.probes.len())?;
        }
        for rates in self.rates.iter_mut().flatten() {
            rates.bins.retain(|bin| bin.end > cut);
            for bin in &mut rates.bins {
                bin.start = (bin.start - cut).max(0);
                bin.end -= cut;
            }
        }
        summary.inferred.push(format!(
            "reconfigurations {phase} after each minute and every 15 s (`--phase`): {:.1} s before \
                the first are cut",
            cut as f64 / 1e9
        ));
        Ok(true)
    }

    /// Returns the rows of delay and loss, up and down; `None` without a series.
    fn rows(&self, summary: &mut Summary) -> Option<[Vec<Row>; 2]> {
        let probes = &self.delays.as_ref()?.probes;
        let trace = self.traces.iter().flatten().next();
        if let Some(trace) = trace {
            let base = beside_trace(&one_way(probes), &trace.millis, &trace.outages);
            summary.inferred.push(format!(
                "delay: medians of {} slots less a wait for grants of {:.2} ms, which the trace \
                    has, too; {} values that outages had raised",
                base.slots, base.grant_wait_ms, base.clipped
            ));
            let end = one_way(probes).last().map_or(0.0, |(at, _)| *at);
            let rows = every_second(&base.steps, end);
            return Some([rows.clone(), rows]);
        }
        summary.inferred.push("one-way delays: half of the RTT each".to_owned());
        let lost_in = self.lost_in.unwrap_or(Direction::Up);
        if probes.iter().any(|probe| probe.loss > 0.0 && probe.lost_in.is_none()) {
            summary.inferred.push(format!(
                "losses in the direction {}, which no file says (`--direction {}`)",
                lost_in.name(),
                lost_in.other().name()
            ));
        }
        Some(probe_rows(probes, lost_in))
    }

    /// Returns the value of `rate` for a direction, and true if it has gaps.
    fn rate(
        &self,
        direction: Direction,
        head: &Head<'_>,
        options: &Options,
        files: &mut Vec<(String, String)>,
        summary: &mut Summary,
    ) -> Result<(String, bool), ImportError> {
        if let Some(own) = &self.traces[place(direction)] {
            let name = format!("{}.trace", direction.name());
            files.push((name.clone(), trace(&own.millis)));
            return Ok((format!("{{ trace = {} }}", quoted(&name)), false));
        }
        if let Some(own) = &self.rates[place(direction)] {
            let name = format!("{}-rate.csv", direction.name());
            let rows: Vec<(i64, f64)> = own.bins.iter().map(|bin| (bin.start, bin.bps)).collect();
            let gap = has_gap(rows.iter().map(|(at, _)| *at));
            files.push((name.clone(), rates(head, &rows)));
            return Ok((format!("{{ recording = {} }}", quoted(&name)), gap));
        }
        if let Some(rate) = options.transfers[place(direction)] {
            let name = direction.name();
            let line =
                format!("rate {name}: {rate}, the best second of one transfer, a lower bound");
            summary.inferred.push(line);
            return Ok((quoted(&rate.to_string()), false));
        }
        let Some(rate) = options.rate else {
            return Err(ImportError::Together(format!(
                "no file has the rate {}; allowed: `--rate RATE`, such as `--rate 100Mbps`",
                direction.name()
            )));
        };
        summary.unknown.push(format!("rate {}: {rate} was given (`--rate`)", direction.name()));
        Ok((quoted(&rate.to_string()), false))
    }
}

fn other_way(name: &str, own: Direction) -> ImportError {
    let own = own.name();
    let problem = format!("it says that it is of the direction {own}; allowed: `--{own} {name}`");
    ImportError::File { file: name.to_owned(), problem }
}

/// Puts what a file has in its place, which must be free.
fn put<T>(
    place: &mut Option<T>,
    what: T,
    name: &str,
    direction: Direction,
) -> Result<(), ImportError> {
    if place.is_none() {
        *place = Some(what);
        return Ok(());
    }
    Err(ImportError::Together(format!(
        "{name} is the second file with a rate {}; allowed: one for each direction (`--up FILE`)",
        direction.name()
    )))
}

/// Returns the direction that a name says: `uplink.trace`, `cell.down`.
fn direction_of(name: &str) -> Option<Direction> {
    let words: Vec<String> =
        name.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_lowercase).collect();
    let has = |names: [&str; 3]| words.iter().any(|word| names.contains(&word.as_str()));
    match (has(["up", "uplink", "upload"]), has(["down", "downlink", "download"])) {
        (true, false) => Some(Direction::Up),
        (false, true) => Some(Direction::Down),
        _ => None,
    }
}
