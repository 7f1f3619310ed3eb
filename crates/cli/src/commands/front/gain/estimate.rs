//! The gain of a treatment over a holdback, from the times of their visits.
//!
//! Times of visits are skewed, and depend on the size and the RTT above all, so logarithms are
//! compared within classes of both: a regression with a term for each class and one for the group.
//! Visits of one network are alike, and a network is in one group, so the networks are what is
//! counted: each has one value for each class, and the interval allows for any dependence within a
//! network (a cluster-robust variance: Liang and Zeger 1986).

use std::collections::BTreeMap;

/// Networks that are needed in each group. Our choice: the interval is that of a normal
/// distribution, which fewer do not have.
pub const MIN_NETWORKS: usize = 30;
/// Standard deviations of a 95 % interval of a normal distribution.
const NORMAL_95: f64 = 1.959_964;

/// Sum of the logarithms of times, and their number.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    sum: f64,
    count: f64,
}

/// Visits by network and class.
#[derive(Debug, Clone)]
pub struct Visits<N: Ord, C: Ord> {
    /// Of each network: whether it is held back, and its times in each class.
    networks: BTreeMap<N, (bool, BTreeMap<C, Times>)>,
}

impl<N: Ord, C: Ord> Default for Visits<N, C> {
    fn default() -> Self {
        Self { networks: BTreeMap::new() }
    }
}

/// Visits and networks of a class, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Networks that are held back.
    pub held: usize,
    /// Networks that are not.
    pub treated: usize,
    /// Visits of both.
    pub visits: u64,
}

/// The gain: the share of the time that the treatment saves, negative if it takes longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// Estimate.
    pub gain: f64,
    /// 95 % confidence interval.
    pub ci95: (f64, f64),
}

impl Gain {
    /// Returns whether the interval excludes zero.
    pub fn is_found(&self) -> bool {
        let (low, high) = self.ci95;
        low > 0.0 || high < 0.0
    }
}

impl<N: Ord + Clone, C: Ord + Clone> Visits<N, C> {
    /// Adds a visit that took `seconds`. Times of 0 or less do not count.
    pub fn add(&mut self, network: N, held_back: bool, class: C, seconds: f64) {
        if !(seconds > 0.0 && seconds.is_finite()) {
            return;
        }
        let of_network =
            self.networks.entry(network).or_insert_with(|| (held_back, BTreeMap::new()));
        let times = of_network.1.entry(class).or_default();
        times.sum += seconds.ln();
        times.count += 1.0;
    }

    /// Returns whether there are visits of a network.
    pub fn has(&self, network: &N) -> bool {
        self.networks.contains_key(network)
    }

    /// Returns the number of networks.
    pub fn networks(&self) -> usize {
        self.networks.len()
    }

    /// Returns the classes of all visits.
    pub fn classes(&self) -> Vec<C> {
        let all = self.networks.values().flat_map(|(_, classes)| classes.keys().cloned());
        let mut classes: Vec<C> = all.collect();
        classes.sort();
        classes.dedup();
        classes
    }

    /// Counts the visits in `class`, or all.
    pub fn count(&self, class: Option<&C>) -> Count {
        let mut count = Count::default();
        for (held, classes) in self.networks.values() {
            let wanted = |(one, _): &(&C, &Times)| class.is_none_or(|class| *one == class);
            let of_class = classes.iter().filter(wanted);
            let visits: f64 = of_class.map(|(_, times)| times.count).sum();
            if visits > 0.0 {
                *(if *held { &mut count.held } else { &mut count.treated }) += 1;
                count.visits += visits as u64;
            }
        }
        count
    }

    /// Returns the gain in `class`, or in all. `None` if a group has too few networks.
    pub fn gain(&self, class: Option<&C>) -> Option<Gain> {
        let count = self.count(class);
        if count.held.min(count.treated) < MIN_NETWORKS {
            return None;
        }
        // The means of each class: of the logarithm, and of the group.
        let mut means: BTreeMap<&C, [f64; 3]> = BTreeMap::new();
        let rows = || {
            self.networks.values().map(|(held, classes)| {
                let group = f64::from(u8::from(!held));
                let wanted = |(one, _): &(&C, &Times)| class.is_none_or(|class| *one == class);
                let cells = classes.iter().filter(wanted);
                cells.map(move |(class, times)| (class, group, times.sum / times.count))
            })
        };
        for (class, group, value) in rows().flatten() {
            let [values, groups, count] = means.entry(class).or_default();
            *values += value;
            *groups += group;
            *count += 1.0;
        }
        let centred = |class: &C, group: f64, value: f64| {
            let [values, groups, count] = means.get(class).copied().unwrap_or([0.0, 0.0, 1.0]);
            (group - groups / count, value - values / count)
        };
        let (mut covariance, mut variance) = (0.0, 0.0);
        for (class, group, value) in rows().flatten() {
            let (group, value) = centred(class, group, value);
            covariance += group * value;
            variance += group * group;
        }
        if variance <= 0.0 {
            return None;
        }
        let slope = covariance / variance;
        let of_network = rows().map(|cells| {
            let residual = cells.map(|(class, group, value)| {
                let (group, value) = centred(class, group, value);
                group * (value - slope * group)
            });
            residual.sum::<f64>().powi(2)
        });
        // For the few networks of the smaller group.
        let few = count.held.min(count.treated) as f64;
        let error = (of_network.sum::<f64>() * few / (few - 1.0)).sqrt() / variance;
        let share = |slope: f64| 1.0 - slope.exp();
        let reach = NORMAL_95 * error;
        Some(Gain { gain: share(slope), ci95: (share(slope + reach), share(slope - reach)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A standard normal value for each call, from a generator with a known period.
    struct Normal(u64);

    impl Normal {
        fn uniform(&mut self) -> f64 {
            // SplitMix64.
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / 2.0_f64.powi(53)
        }

        fn next(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    /// 10,000 visits of networks that have one to five each, 5 % of which are held back. Visits
    /// take half as long or twice as long as others of their class, and networks differ as much.
    /// Those that are not held back take `gain` less.
    fn visits(seed: u64, gain: f64) -> Visits<u32, (u8, u8)> {
        let mut random = Normal(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut visits = Visits::default();
        let (mut network, mut count) = (0, 0);
        while count < 10_000 {
            network += 1;
            let held = random.uniform() < 0.05;
            let (rtt, of_network) = ((random.uniform() * 3.0) as u8, 0.4 * random.next());
            for _ in 0..=(random.uniform() * 4.99) as u32 {
                let size = (random.uniform() * 4.0) as u8;
                let typical = 0.1 * 4.0_f64.powi(rtt.into()) * 3.0_f64.powi(size.into());
                let noise = (of_network + 0.5 * random.next()).exp();
                let treated = if held { 1.0 } else { 1.0 - gain };
                visits.add(network, held, (size, rtt), typical * noise * treated);
                count += 1;
            }
        }
        visits
    }

    #[test]
    fn a_planted_gain_of_a_fifth_is_found_in_10_000_visits() {
        let runs: Vec<Gain> = (1..=40).map(|seed| visits(seed, 0.2).gain(None).unwrap()).collect();
        assert!(runs.iter().all(|run| run.is_found() && run.gain > 0.0), "{runs:?}");
        let within = |run: &&Gain| run.ci95.0 <= 0.2 && 0.2 <= run.ci95.1;
        let covered = runs.iter().filter(within).count();
        // 38, with a standard deviation of 1.4.
        assert!((33..=40).contains(&covered), "{covered}");
        let mean = runs.iter().map(|run| run.gain).sum::<f64>() / 40.0;
        assert!((0.185..0.215).contains(&mean), "{mean}");
    }

    #[test]
    fn none_is_found_where_there_is_none() {
        let found: Vec<u64> =
            (1..=100).filter(|seed| visits(*seed, 0.0).gain(None).unwrap().is_found()).collect();
        // One in twenty: 5, with a standard deviation of 2.2.
        assert!(found.len() <= 12, "{found:?}");
        let one = visits(1, 0.0).gain(None).unwrap();
        assert!(!one.is_found() && one.gain.abs() < 0.15, "{one:?}");
    }

    #[test]
    fn a_loss_is_found_as_well() {
        let gain = visits(3, -0.25).gain(None).unwrap();
        assert!(gain.is_found() && (-0.4..-0.1).contains(&gain.gain), "{gain:?}");
    }

    #[test]
    fn one_network_with_many_visits_does_not_decide() {
        let mut all = visits(5, 0.0);
        let before = all.gain(None).unwrap();
        let network = 1_000_000;
        for _ in 0..50_000 {
            all.add(network, true, (1, 1), 100.0);
        }
        let after = all.gain(None).unwrap();
        assert!((after.gain - before.gain).abs() < 0.05 && !after.is_found(), "{after:?}");
    }

    #[test]
    fn classes_are_counted_and_few_networks_are_too_few() {
        let all = visits(7, 0.2);
        let classes = all.classes();
        assert_eq!(classes.len(), 12);
        let sum: u64 = classes.iter().map(|class| all.count(Some(class)).visits).sum();
        assert_eq!((sum, sum / 10), (all.count(None).visits, 1000));
        for class in &classes {
            let count = all.count(Some(class));
            let enough = count.held >= MIN_NETWORKS && count.treated >= MIN_NETWORKS;
            let gain = all.gain(Some(class));
            assert_eq!(gain.is_some(), enough, "{count:?}");
            assert!(gain.is_none_or(|gain| (-0.1..0.5).contains(&gain.gain)), "{gain:?}");
        }
        let mut few = Visits::default();
        for network in 0..MIN_NETWORKS as u32 * 2 - 1 {
            few.add(network, network % 2 == 1, 0, 1.0 + f64::from(network));
        }
        assert_eq!((few.gain(None), few.networks()), (None, 59));
        few.add(99, true, 0, 0.0);
        assert_eq!(few.count(None).visits, 59, "a time of zero");
        few.add(99, true, 0, 1.0);
        assert!(few.gain(None).is_some());
    }
}
