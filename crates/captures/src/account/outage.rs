//! Times in which the path carried nothing, and then what had waited.

use super::sent::DataPacket;
use bentpipe_units::{Span, Time};

/// Shortest outage, as a share of the round trip and as a time.
const SHARE: f64 = 0.5;
const SHORTEST: Span = Span::from_millis(100);

/// Returns the outages that acknowledgements show, in order: a packet took longer than that before
/// it, and nothing arrived for about as much longer. `arrivals` are the times of all arrivals.
pub fn outages(packets: &[DataPacket], arrivals: &[Time], rtt: Span) -> Vec<(Time, Time)> {
    let least = SHORTEST.max(rtt.mul_f64(SHARE));
    let mut acknowledged: Vec<(Time, Span)> =
        packets.iter().filter_map(|packet| Some((packet.acknowledged?, packet.rtt()?))).collect();
    acknowledged.sort_by_key(|(at, _)| *at);
    let mut found: Vec<(Time, Time)> = Vec::new();
    let mut before = rtt;
    for (at, own) in acknowledged {
        let longer = own.saturating_sub(before);
        if longer >= least {
            let index = arrivals.partition_point(|arrival| *arrival < at);
            let previous = index.checked_sub(1).and_then(|index| arrivals.get(index));
            let silent = previous.map_or(Span::ZERO, |previous| at.since(*previous));
            if silent.mul_f64(1.1) >= longer {
                found.push((at.saturating_sub(longer), at));
            }
        }
        before = own;
    }
    found
}

/// Returns true if a packet was on its way in one of `outages`.
pub fn is_held(packet: &DataPacket, outages: &[(Time, Time)]) -> bool {
    let until = packet.acknowledged.unwrap_or(packet.at);
    outages.iter().any(|(from, to)| packet.at < *to && until >= *to && *from < until)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sent_ms: u64, acknowledged_ms: u64) -> DataPacket {
        DataPacket {
            at: Time::from_millis(sent_ms),
            wire: 1500,
            data: 1448,
            stream: 0,
            begins: false,
            repeats: false,
            acknowledged: Some(Time::from_millis(acknowledged_ms)),
            declared_lost: false,
        }
    }

    #[test]
    fn packets_that_wait_together_show_an_outage_and_a_queue_does_not() {
        let rtt = Span::from_millis(30);
        let held = [packet(0, 30), packet(40, 70), packet(50, 4080), packet(60, 4081)];
        let arrivals: Vec<Time> = held.iter().filter_map(|packet| packet.acknowledged).collect();
        let found = outages(&held, &arrivals, rtt);
        assert_eq!(found, [(Time::from_millis(80), Time::from_millis(4080))]);
        assert!(!is_held(&held[0], &found) && is_held(&held[3], &found));
        let queue: Vec<DataPacket> = (0..400).map(|index| packet(index, 30 + index * 11)).collect();
        let arrivals: Vec<Time> = queue.iter().filter_map(|packet| packet.acknowledged).collect();
        assert_eq!(outages(&queue, &arrivals, rtt), []);
    }
}
