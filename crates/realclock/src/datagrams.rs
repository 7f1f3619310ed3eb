//! A flow without congestion control, over UDP sockets.

use super::visit_outcome::VisitOutcome;
use super::visit_runner::VisitRunner;
use bentpipe_emu::{DatagramExchange, EmuError};
use bentpipe_sim::{DatagramTraffic, Direction, FlowSpec, SendSchedule, Visit};

/// Runs visit number `number` of a flow, from 1. It sends at the times of the simulator; a ping is
/// a UDP datagram that the server returns.
pub fn visit(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    kind: DatagramTraffic,
    (visit, number): (&Visit, u32),
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    let (packet, echo) = match kind {
        DatagramTraffic::Constant { packet, .. } => (packet, false),
        DatagramTraffic::Ping { packet, .. } => (packet, true),
    };
    let begin = runner.emulator.now();
    let end = begin + visit.duration.unwrap_or(runner.spec.time_limit);
    let random = (runner.spec.seed, runner.spec.run);
    let mut schedule = SendSchedule::new(kind, (begin, end), random, (&flow.name, number));
    let times = std::iter::from_fn(|| {
        let due = schedule.due()?;
        schedule.take(due)?;
        Some(due)
    });
    let exchange = DatagramExchange {
        client: flow.terminal,
        port,
        upload: visit.direction == Direction::Upload,
        echo,
        packet: u32::try_from(packet.get()).unwrap_or(u32::MAX),
        traffic_class: flow.marking.dscp.get() << 2 | flow.marking.ecn.bits(),
        begin,
        end,
    };
    let outcome = runner.emulator.exchange_datagrams(&exchange, times, runner.stop)?;
    Ok(VisitOutcome::new(port, outcome))
}
