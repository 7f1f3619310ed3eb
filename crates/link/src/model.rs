//! A direction whose traces are read, from which links are built without files.

use crate::capacity_allocation::dama::Dama;
use crate::counters::PacketTotals;
use crate::delay::config::DelayConfig;
use crate::delay::model::{DelayModel, StepJitter, least_draw};
use crate::direction::DirectionConfig;
use crate::error::LinkError;
use crate::flow_meter::config::FlowMeterConfig;
use crate::input_files::ReadFiles;
use crate::loss::process::LoadedLoss;
use crate::policer::PolicerConfig;
use crate::queue::config::QueueConfig;
use crate::queue::disciplines::QueueContext;
use crate::queue::limit::ResolvedLimit;
use crate::queue::link_queue::Queue;
use crate::random::Stream;
use crate::rate::config::RateConfig;
use crate::rate::delivery_trace::DeliveryTrace;
use crate::rate::model::RateModel;
use crate::recorded::columns::Recorded;
use crate::recorded::source::RecordedSource;
use crate::schedule::Timeline;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::sync::Arc;

/// One direction of one hop, checked and with its traces read. Cheap to clone, since traces and
/// schedules are shared.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionModel {
    pub(crate) rate: RateModel,
    pub(crate) delay: DelayModel,
    pub(crate) losses: Vec<LoadedLoss>,
    pub(crate) queue: QueueConfig,
    pub(crate) policer: PolicerConfig,
    pub(crate) flow_meter: FlowMeterConfig,
    pub(crate) frame: Option<Span>,
    pub(crate) allocation: Option<Dama>,
    /// What [`DirectionModel::replayed`] needs; `None` without recordings and traces.
    pub(crate) recorded: Option<Arc<Recorded>>,
}

impl DirectionConfig {
    /// Checks the configuration and reads the traces it names from `files`: a directory, or
    /// [`InputFiles`](crate::InputFiles).
    ///
    /// A rate trace is used as in mahimahi (`link_queue.cc`). Each line is an opportunity of 1504
    /// bytes. A packet costs its IP bytes plus 4; it may start in the rest of one opportunity and
    /// end in a later one, and it leaves at the time of the opportunity that completes it. Unused
    /// opportunities are lost, and a packet that arrives at the very time of an opportunity is too
    /// late for it. The trace repeats from the time of its last line.
    ///
    /// # Errors
    ///
    /// If a value is invalid, or a file cannot be read or contains an invalid line.
    pub fn load<F>(&self, files: &F) -> Result<DirectionModel, LinkError>
    where
        F: ReadFiles + ?Sized,
    {
        let files: &dyn ReadFiles = &files;
        self.check()?;
        let mut recorded = Recorded::default();
        let mut fade_loss = None;
        let rate = match &self.rate {
            RateConfig::Constant(rate) => RateModel::Constant(*rate),
            RateConfig::Schedule { schedule, repeat } => RateModel::Schedule {
                timeline: Arc::new(Timeline::new(schedule.iter().map(|step| step.at), *repeat)),
                nominal: schedule.iter().map(|step| step.rate).max().unwrap_or_default(),
                rates: schedule.iter().map(|step| step.rate).collect(),
                modcods: Arc::default(),
            },
            RateConfig::Acm(acm) => {
                let (rate, loss) = recorded.carrier(files, acm)?;
                fade_loss = loss;
                rate
            }
            RateConfig::Demand(demand) => RateModel::Demand(Arc::new(demand.model())),
            RateConfig::Trace { file } => {
                let trace = Arc::new(DeliveryTrace::load(files, file)?);
                recorded.sources.push(RecordedSource::of_trace(file, &trace));
                recorded.trace = Some(Arc::clone(&trace));
                RateModel::Trace(trace)
            }
            RateConfig::Recording { file, scale } => recorded.rate(files, file, *scale)?,
        };
        let delay = match &self.delay {
            DelayConfig::Constant(delay) => DelayModel::Constant(*delay),
            DelayConfig::Jitter { base, jitter, distribution, keep_order } => DelayModel::Jitter {
                base: *base,
                jitter: *jitter,
                distribution: *distribution,
                keep_order: *keep_order,
            },
            DelayConfig::Schedule { schedule, interpolate, repeat, distribution, keep_order } => {
                let jitters = || schedule.iter().map(|step| step.jitter);
                DelayModel::Schedule {
                    timeline: Arc::new(Timeline::new(schedule.iter().map(|step| step.at), *repeat)),
                    base: schedule.first().map(|step| step.delay).unwrap_or_default(),
                    delays: schedule.iter().map(|step| step.delay).collect(),
                    jitter: jitters().any(|jitter| !jitter.is_zero()).then(|| StepJitter {
                        steps: jitters().collect(),
                        distribution: *distribution,
                    }),
                    interpolate: *interpolate,
                    keep_order: *keep_order,
                }
            }
            DelayConfig::Recording(delay) => recorded.delay(files, delay)?,
        };
        let losses = self.loss.processes.iter().map(|process| process.load(files));
        let mut losses = losses.collect::<Result<Vec<_>, _>>()?;
        // After the configured ones, so that their random streams and numbers do not depend on it.
        recorded.losses = losses.len();
        losses.extend(fade_loss);
        recorded.sources.extend(losses.iter().filter_map(LoadedLoss::recorded_source));
        Ok(DirectionModel {
            rate,
            delay,
            losses,
            queue: self.queue.clone(),
            policer: self.policer,
            flow_meter: self.flow_meter,
            frame: self.frame.filter(|frame| !frame.is_zero()),
            allocation: self.allocation.dama().cloned(),
            recorded: (!recorded.sources.is_empty()).then(|| Arc::new(recorded)),
        })
    }
}

impl DirectionModel {
    /// Returns this model with a delay that the caller sets for each port
    /// ([`Link::set_delay`](crate::Link::set_delay)), and without capacity allocation.
    ///
    /// The ports of such a link are its far ends.
    pub fn with_external_delay(&self) -> Self {
        Self { delay: DelayModel::External, allocation: None, ..self.clone() }
    }

    /// Returns the capacity allocation, if there is one.
    pub fn allocation(&self) -> Option<&Dama> {
        self.allocation.as_ref()
    }

    /// Returns true if a queue that holds `waiting` accepts one more packet of `bytes`. `rtt` is
    /// the base RTT of the whole path.
    pub fn queue_has_room(&self, rtt: Span, waiting: PacketTotals, bytes: u32) -> bool {
        self.queue_limit(rtt).has_room(waiting, bytes)
    }

    /// Returns when rate, delay and times of loss change for the last time: [`Time::MAX`] if a
    /// schedule or a trace repeats, `None` if they never change.
    pub fn last_change(&self) -> Option<Time> {
        let rate = match &self.rate {
            RateModel::Constant(_) => None,
            RateModel::Schedule { timeline, .. } => timeline.last_change(),
            RateModel::Trace(_) | RateModel::Demand(_) => Some(Time::MAX),
        };
        let delay = match &self.delay {
            DelayModel::Schedule { timeline, .. } => timeline.last_change(),
            DelayModel::Constant(_) | DelayModel::Jitter { .. } | DelayModel::External => None,
        };
        let losses = self.losses.iter().filter_map(LoadedLoss::last_change);
        losses.chain(rate).chain(delay).max()
    }

    /// Returns true if the rate is zero at times.
    pub fn has_outages(&self) -> bool {
        self.rate.has_outages()
    }

    /// Returns the rate that sizes the link: its constant rate, the highest of its schedule or on
    /// demand, the mean of its recording, or its trace's mean for packets of 1500 bytes.
    pub fn nominal_rate(&self) -> Rate {
        match &self.rate {
            RateModel::Constant(rate) => *rate,
            RateModel::Schedule { nominal, .. } => *nominal,
            RateModel::Trace(trace) => trace.mean_rate(),
            RateModel::Demand(demand) => demand.ceiling,
        }
    }

    /// Returns the delay without jitter of a packet sent at the start of the run; of a recording,
    /// its median, whenever the run begins.
    pub fn base_delay(&self) -> Span {
        match &self.delay {
            DelayModel::Constant(delay) => *delay,
            DelayModel::Jitter { base, .. } => *base,
            DelayModel::Schedule { base, .. } => *base,
            DelayModel::External => Span::ZERO,
        }
    }

    /// Returns the mean wait of a packet on the idle link for the end or the beginning of a frame:
    /// half a frame, which profiles count as a part of the path's RTT.
    pub fn frame_wait(&self) -> Span {
        let allocated = self.allocation.as_ref().map(|dama| dama.frame);
        allocated.or(self.frame).unwrap_or_default() / 2
    }

    /// Returns the rate if it never changes.
    pub fn constant_rate(&self) -> Option<Rate> {
        match &self.rate {
            RateModel::Constant(rate) => Some(*rate),
            RateModel::Schedule { .. } | RateModel::Trace(_) | RateModel::Demand(_) => None,
        }
    }

    /// Returns the rate at the start of the run and at each change up to `end`; nothing if it never
    /// changes. A trace has the mean rate of each 100 ms, and a rate on demand the highest.
    pub fn rate_changes(&self, end: Time) -> impl Iterator<Item = (Time, Rate)> {
        self.rate.changes(end)
    }

    /// Returns the given times of loss that begin by `end` and in which every packet is lost, such
    /// as those of a fade in which no MODCOD can be decoded.
    pub fn total_losses(&self, end: Time) -> impl Iterator<Item = (Time, Time)> {
        self.losses.iter().filter(|loss| loss.is_total()).flat_map(move |loss| loss.times(end))
    }

    /// Returns the shortest propagation delay: the constant delay, the lower end of uniform jitter
    /// (zero for normal jitter, the base for that of a Wi-Fi), or the lowest step of a schedule;
    /// zero if the caller sets the delay.
    pub fn least_delay(&self) -> Span {
        match &self.delay {
            DelayModel::Constant(delay) => *delay,
            DelayModel::Jitter { base, jitter, distribution, .. } => {
                least_draw(*base, *jitter, *distribution)
            }
            DelayModel::Schedule { delays, jitter: Some(jitter), .. } => {
                let steps = delays.iter().zip(jitter.steps.iter());
                let least = |(&delay, &step)| least_draw(delay, step, jitter.distribution);
                steps.map(least).min().unwrap_or_default()
            }
            DelayModel::Schedule { delays, .. } => delays.iter().copied().min().unwrap_or_default(),
            DelayModel::External => Span::ZERO,
        }
    }

    /// Returns the maximum number of bytes that the transmitter can send of packets that arrive at
    /// `from` or later and are sent by `to`: the integral of the rate or, for a trace, 1504 bytes
    /// per opportunity.
    ///
    /// Packets over a trace carry 4 bytes less each ([`DirectionConfig::load`]).
    pub fn capacity(&self, from: Time, to: Time) -> Bytes {
        self.rate.capacity(from, to)
    }

    /// Returns the time from `from` to `to` in the measure of [`Counters::busy`], so that busy time
    /// over it is the utilisation.
    ///
    /// Of a trace: the opportunities after `from`, each with the time of a full packet at the mean
    /// rate. There may be more of that time than passes, or less.
    ///
    /// [`Counters::busy`]: crate::Counters::busy
    pub fn sending_time(&self, from: Time, to: Time) -> Span {
        self.rate.sending_time(from, to)
    }

    /// Returns the limit of the queue in bytes, with a base RTT of `rtt` for the whole path. `None`
    /// if the queue counts packets.
    pub fn queue_limit_bytes(&self, rtt: Span) -> Option<u64> {
        match self.queue_limit(rtt) {
            ResolvedLimit::Bytes(bytes) => Some(bytes),
            ResolvedLimit::Packets(_) => None,
        }
    }

    /// Returns the limit of the queue in bytes or packets, with a base RTT of `rtt` for the whole
    /// path.
    pub(crate) fn queue_limit(&self, rtt: Span) -> ResolvedLimit {
        self.queue.limit.resolve(self.nominal_rate(), rtt)
    }

    /// Returns true if the queue or the flow meter tells flows apart by
    /// [`Packet::flow`](crate::Packet::flow).
    pub fn needs_flow(&self) -> bool {
        self.queue.discipline.needs_flow() || !self.flow_meter.is_none()
    }

    /// Creates the queue of the link or of one of its terminals. Its random draws come from the
    /// stream that `random` returns.
    pub(crate) fn new_queue<P>(&self, rtt: Span, random: impl FnOnce() -> Stream) -> Queue<P> {
        let discipline = &self.queue.discipline;
        let context = QueueContext { limit: self.queue_limit(rtt), rate: self.nominal_rate() };
        let packets = discipline.queue(context, random);
        Queue::new(packets, discipline.acts_on_dequeue())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DelayStep, Distribution, RateStep};
    use std::path::Path;

    fn model(rate: RateConfig, delay: DelayConfig) -> DirectionModel {
        let config =
            DirectionConfig { rate, delay, ..DirectionConfig::new(Rate::from_mbps(1), Span::ZERO) };
        config.load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_or_else(|error| panic!("{error}"))
    }
    fn with_rate(rate: RateConfig) -> DirectionModel {
        model(rate, DelayConfig::Constant(Span::ZERO))
    }
    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn capacity_is_the_integral_of_the_rate() {
        let constant = with_rate(RateConfig::Constant(Rate::from_mbps(12)));
        assert_eq!(constant.capacity(ms(3), ms(5)), Bytes::new(3000));
        assert_eq!(constant.capacity(ms(5), ms(3)), Bytes::ZERO);
        let schedule = [(0, 12), (10, 0), (20, 24)]
            .map(|(at, mbps)| RateStep { at: Span::from_millis(at), rate: Rate::from_mbps(mbps) });
        let once = with_rate(RateConfig::Schedule { schedule: schedule.to_vec(), repeat: None });
        assert_eq!(once.capacity(ms(5), ms(15)), Bytes::new(7_500));
        assert_eq!(once.capacity(ms(12), ms(19)), Bytes::ZERO);
        assert_eq!(once.capacity(ms(0), ms(1020)), Bytes::new(15_000 + 3_000_000));
        let repeat = Some(Span::from_millis(30));
        let again = with_rate(RateConfig::Schedule { schedule: schedule.to_vec(), repeat });
        // 15,000 and 30,000 bytes per period: two whole periods, the end of the first and the start
        // of the fourth.
        assert_eq!(again.capacity(ms(25), ms(95)), Bytes::new(15_000 + 2 * 45_000 + 7_500));
    }

    #[test]
    fn the_capacity_of_a_trace_includes_opportunities_at_both_ends() {
        let trace = DeliveryTrace { millis: vec![0, 2, 2, 5], period_ms: 5 };
        let model = DirectionModel {
            rate: RateModel::Trace(Arc::new(trace)),
            ..with_rate(RateConfig::Constant(Rate::from_mbps(1)))
        };
        // At 0, 2, 2, 5; 5, 7, 7, 10; 10, …
        for (from, to, opportunities) in
            [(0, 0, 1), (0, 2, 3), (1, 4, 2), (5, 5, 2), (3, 6, 2), (0, 10, 9), (6, 21, 12)]
        {
            assert_eq!(
                model.capacity(ms(from), ms(to)),
                Bytes::new(1504 * opportunities),
                "{from} to {to} ms"
            );
        }
    }

    #[test]
    fn the_sending_time_of_a_trace_is_that_of_its_opportunities() {
        let trace = DeliveryTrace { millis: vec![1, 2, 3, 1000], period_ms: 1000 };
        let model = DirectionModel {
            rate: RateModel::Trace(Arc::new(trace)),
            ..with_rate(RateConfig::Constant(Rate::from_mbps(1)))
        };
        // A full packet takes 250 ms at the mean rate. The opportunity at 1 ms is not after 1 ms.
        assert_eq!(model.sending_time(ms(0), ms(3)), Span::from_millis(750));
        assert_eq!(model.sending_time(ms(1), ms(3)), Span::from_millis(500));
        assert_eq!(model.sending_time(ms(3), ms(999)), Span::ZERO);
        assert_eq!(model.sending_time(ms(0), ms(2000)), Span::from_secs(2));
        let constant = with_rate(RateConfig::Constant(Rate::from_mbps(1)));
        assert_eq!(constant.sending_time(ms(1), ms(3)), Span::from_millis(2));
    }

    #[test]
    fn the_least_delay_is_the_lowest_possible_draw() {
        let rate = || RateConfig::Constant(Rate::from_mbps(1));
        let jitter = |distribution| DelayConfig::Jitter {
            base: Span::from_millis(50),
            jitter: Span::from_millis(10),
            distribution,
            keep_order: true,
        };
        let steps = |jitter| {
            let steps = [(0, 40), (50, 5)].map(|(at, delay)| DelayStep {
                jitter: Span::from_millis(jitter),
                ..DelayStep::new(Span::from_millis(at), Span::from_millis(delay))
            });
            DelayConfig::Schedule {
                schedule: steps.to_vec(),
                interpolate: true,
                repeat: None,
                distribution: Distribution::Uniform,
                keep_order: true,
            }
        };
        assert_eq!(
            model(rate(), jitter(Distribution::Uniform)).least_delay(),
            Span::from_millis(40)
        );
        assert_eq!(model(rate(), jitter(Distribution::Normal)).least_delay(), Span::ZERO);
        assert_eq!(model(rate(), jitter(Distribution::Wifi)).least_delay(), Span::from_millis(50));
        assert_eq!(model(rate(), steps(0)).least_delay(), Span::from_millis(5));
        assert_eq!(model(rate(), steps(3)).least_delay(), Span::from_millis(2));
    }
}
