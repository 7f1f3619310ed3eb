//! What every `PathStore` keeps to. Each store's tests include this file and call [`keeps`] with a
//! way to make stores.

use bentpipe_quic::path_memory::{
    Holder, Limits, PathKey, PathStore, Prefixes, SavedPath, StoreError,
};
use bentpipe_units::{Bytes, Epoch, Span};
use std::net::{IpAddr, Ipv4Addr};

/// Makes an empty store.
pub type Make<'a> = &'a dyn Fn(Limits) -> Box<dyn PathStore>;

const ONE: Holder = Holder(1);
const TWO: Holder = Holder(u64::MAX);

/// The key of the network 10.0.`network`.0/24.
pub fn key(network: u8) -> PathKey {
    let address = IpAddr::V4(Ipv4Addr::new(10, 0, network, 7));
    PathKey::new(Prefixes::default().of(address), "eth0", 0).expect("a key")
}

/// A second of May 2026.
pub fn at(second: u64) -> Epoch {
    Epoch::from_unix_secs(1_777_600_000 + second)
}

/// A set saved at `second` for an hour.
pub fn saved(megabytes: u64, second: u64) -> SavedPath {
    SavedPath::new(
        Bytes::from_mb(megabytes),
        Span::from_millis(600),
        at(second),
        Span::from_secs(3600),
    )
    .expect("a set")
}

/// Everything.
pub fn keeps(make: Make<'_>) {
    one_set_for_each_path_and_the_last_counts(make);
    what_differs_in_any_part_of_the_key_is_another_path(make);
    one_holder_at_a_time(make);
    a_lease_ends_by_itself_and_may_be_renewed(make);
    only_the_holder_releases(make);
    a_set_replaced_while_lent_stays_lent(make);
    forgetting_ends_set_and_lease(make);
    expired_sets_are_not_lent_not_listed_and_deleted(make);
    clocks_set_back_lend_nothing_from_the_future_and_lock_nothing(make);
    the_least_recently_used_goes(make);
    expired_sets_go_before_good_ones(make);
    a_store_for_nothing_keeps_nothing(make);
    sets_that_say_nothing_are_refused(make);
    the_largest_values_come_back(make);
}

fn one_set_for_each_path_and_the_last_counts(make: Make<'_>) {
    let mut store = make(Limits::default());
    assert_eq!(store.lease(&key(1), at(0), ONE), Ok(None));
    assert_eq!(store.replace(&key(1), saved(4, 0), at(0)), Ok(()));
    assert_eq!(store.replace(&key(1), saved(3, 1), at(1)), Ok(()));
    let listed = store.list(at(1)).expect("a list");
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].path, listed[0].lease), (saved(3, 1), None));
    assert_eq!(store.lease(&key(1), at(2), ONE), Ok(Some(saved(3, 1))));
}

fn what_differs_in_any_part_of_the_key_is_another_path(make: Make<'_>) {
    let mut store = make(Limits::default());
    let remote = key(1).remote();
    let v6 = Prefixes::default().of("2001:db8::1".parse().expect("an address"));
    let keys = [(remote, "eth0", 0), (remote, "eth0", 46), (remote, "sat0", 0), (v6, "sat0", 0)]
        .map(|(remote, local, dscp)| PathKey::new(remote, local, dscp).expect("a key"));
    for (key, megabytes) in keys.iter().zip(1..) {
        assert_eq!(store.replace(key, saved(megabytes, 0), at(0)), Ok(()));
    }
    let listed: Vec<_> =
        store.list(at(0)).expect("a list").into_iter().map(|entry| entry.key).collect();
    let mut sorted = keys.to_vec();
    sorted.sort();
    assert_eq!(listed, sorted, "in the order of keys");
    for (key, megabytes) in keys.iter().zip(1..) {
        assert_eq!(store.lease(key, at(0), ONE), Ok(Some(saved(megabytes, 0))));
    }
}

fn one_holder_at_a_time(make: Make<'_>) {
    let mut store = make(Limits::default());
    assert_eq!(store.replace(&key(1), saved(4, 0), at(0)), Ok(()));
    assert_eq!(store.lease(&key(1), at(1), ONE), Ok(Some(saved(4, 0))));
    assert_eq!(store.lease(&key(1), at(2), TWO), Ok(None));
    assert_eq!(
        (store.is_leased(&key(1), at(2)), store.is_leased(&key(2), at(2))),
        (Ok(true), Ok(false))
    );
    let lease = store.list(at(2)).expect("a list")[0].lease.expect("a lease");
    assert_eq!((lease.holder, lease.since, lease.until), (ONE, at(1), at(61)));
    assert_eq!(store.release(&key(1), ONE), Ok(()));
    assert_eq!(store.is_leased(&key(1), at(2)), Ok(false));
    assert_eq!(store.lease(&key(1), at(3), TWO), Ok(Some(saved(4, 0))));
    assert_eq!(store.list(at(3)).expect("a list")[0].lease.expect("a lease").holder, TWO);
}

fn a_lease_ends_by_itself_and_may_be_renewed(make: Make<'_>) {
    let mut store = make(Limits { lease: Span::from_secs(10), ..Limits::default() });
    assert_eq!(store.replace(&key(1), saved(4, 0), at(0)), Ok(()));
    assert_eq!(store.lease(&key(1), at(0), ONE), Ok(Some(saved(4, 0))));
    assert_eq!(store.lease(&key(1), at(9), ONE), Ok(Some(saved(4, 0))), "renewed");
    assert_eq!(store.lease(&key(1), at(18), TWO), Ok(None));
    assert_eq!(store.list(at(19)).expect("a list")[0].lease, None, "ended");
    assert_eq!(store.lease(&key(1), at(19), TWO), Ok(Some(saved(4, 0))));
    assert_eq!(store.lease(&key(1), at(20), ONE), Ok(None), "whoever let it end has no claim");
}

fn only_the_holder_releases(make: Make<'_>) {
    let mut store = make(Limits::default());
    assert_eq!(store.replace(&key(1), saved(4, 0), at(0)), Ok(()));
    assert_eq!(store.lease(&key(1), at(0), ONE), Ok(Some(saved(4, 0))));
    assert_eq!(store.release(&key(1), TWO), Ok(()));
    assert_eq!(store.lease(&key(1), at(1), TWO), Ok(None));
    assert_eq!(store.release(&key(2), TWO), Ok(()), "an unknown path");
}

fn a_set_replaced_while_lent_stays_lent(make: Make<'_>) {
    let mut store = make(Limits::default());
    assert_eq!(store.replace(&key(1), saved(4, 0), at(0)), Ok(()));
    assert_eq!(store.lease(&key(1), at(0), ONE), Ok(Some(saved(4, 0))));
    assert_eq!(store.replace(&key(1), saved(5, 1), at(1)), Ok(()));
    assert_eq!(store.lease(&key(1), at(2), TWO), Ok(None));
    assert_eq!(store.release(&key(1), ONE), Ok(()));
    assert_eq!(store.lease(&key(1), at(3), TWO), Ok(Some(saved(5, 1))));
}

fn forgetting_ends_set_and_lease(make: Make<'_>) {
    let mut store = make(Limits::default());
    for network in 1..=3 {
        assert_eq!(store.replace(&key(network), saved(4, 0), at(0)), Ok(()));
    }
    assert_eq!(store.lease(&key(1), at(0), ONE), Ok(Some(saved(4, 0))));
    assert_eq!(store.forget(&key(1)), Ok(true));
    assert_eq!(store.forget(&key(1)), Ok(false));
    assert_eq!(store.lease(&key(1), at(1), ONE), Ok(None));
    assert_eq!(store.replace(&key(1), saved(2, 2), at(2)), Ok(()));
    assert_eq!(store.lease(&key(1), at(2), TWO), Ok(Some(saved(2, 2))), "the old lease is gone");
    assert_eq!(store.forget_all(), Ok(3));
    assert_eq!(store.list(at(2)), Ok(Vec::new()));
    assert_eq!(store.forget_all(), Ok(0));
}

fn expired_sets_are_not_lent_not_listed_and_deleted(make: Make<'_>) {
    let mut store = make(Limits::default());
    assert_eq!(store.replace(&key(1), saved(4, 0), at(0)), Ok(()));
    assert_eq!(store.replace(&key(2), saved(4, 100), at(100)), Ok(()));
    assert_eq!(store.lease(&key(1), at(3599), ONE), Ok(Some(saved(4, 0))), "the last second");
    assert_eq!(store.lease(&key(1), at(3600), ONE), Ok(None));
    assert_eq!(store.list(at(3600)).expect("a list").len(), 1);
    assert_eq!(store.expire(at(3600)), Ok(1));
    assert_eq!(store.expire(at(3600)), Ok(0));
    assert_eq!(store.forget(&key(1)), Ok(false), "deleted, not only hidden");
    assert_eq!(store.lease(&key(2), at(3600), ONE), Ok(Some(saved(4, 100))));
}

fn clocks_set_back_lend_nothing_from_the_future_and_lock_nothing(make: Make<'_>) {
    let mut store = make(Limits::default());
    assert_eq!(store.replace(&key(1), saved(4, 1000), at(1000)), Ok(()));
    assert_eq!(store.lease(&key(1), at(999), ONE), Ok(None));
    assert_eq!(store.list(at(999)).expect("a list").len(), 1, "it can be found and forgotten");
    let long = SavedPath { expires: Epoch::from_unix_millis((1 << 62) - 1), ..saved(4, 0) };
    assert_eq!(store.replace(&key(2), long, at(0)), Ok(()));
    assert_eq!(
        store.lease(&key(2), at(1_000_000_000), ONE),
        Ok(Some(long)),
        "a clock 30 years ahead"
    );
    assert_eq!(store.lease(&key(2), at(1), TWO), Ok(Some(long)), "put right again");
}

fn the_least_recently_used_goes(make: Make<'_>) {
    let mut store = make(Limits { paths: 3, ..Limits::default() });
    for network in 1..=3 {
        // At one time: what is used when is counted, not timed.
        assert_eq!(store.replace(&key(network), saved(4, 0), at(0)), Ok(()));
    }
    assert_eq!(store.lease(&key(1), at(0), ONE), Ok(Some(saved(4, 0))));
    assert_eq!(store.lease(&key(1), at(0), TWO), Ok(None));
    assert_eq!(store.replace(&key(4), saved(4, 0), at(0)), Ok(()));
    let kept: Vec<_> =
        store.list(at(0)).expect("a list").into_iter().map(|entry| entry.key).collect();
    assert_eq!(kept, [key(1), key(3), key(4)]);
    assert_eq!(store.replace(&key(3), saved(5, 0), at(0)), Ok(()), "an old path needs no room");
    assert_eq!(store.replace(&key(5), saved(4, 0), at(0)), Ok(()));
    let kept: Vec<_> =
        store.list(at(0)).expect("a list").into_iter().map(|entry| entry.key).collect();
    assert_eq!(kept, [key(3), key(4), key(5)]);
}

fn expired_sets_go_before_good_ones(make: Make<'_>) {
    let mut store = make(Limits { paths: 2, ..Limits::default() });
    assert_eq!(store.replace(&key(1), saved(4, 3000), at(3000)), Ok(()));
    assert_eq!(store.replace(&key(2), saved(4, 0), at(3000)), Ok(()));
    assert_eq!(store.replace(&key(3), saved(4, 3700), at(3700)), Ok(()));
    let kept: Vec<_> =
        store.list(at(3700)).expect("a list").into_iter().map(|entry| entry.key).collect();
    assert_eq!(kept, [key(1), key(3)]);
}

fn a_store_for_nothing_keeps_nothing(make: Make<'_>) {
    let mut store = make(Limits { paths: 0, ..Limits::default() });
    assert_eq!(store.replace(&key(1), saved(4, 0), at(0)), Ok(()));
    assert_eq!(store.list(at(0)), Ok(Vec::new()));
}

fn sets_that_say_nothing_are_refused(make: Make<'_>) {
    let mut store = make(Limits::default());
    let good = saved(4, 0);
    for wrong in [
        SavedPath { window: Bytes::ZERO, ..good },
        SavedPath { window: Bytes::MAX, ..good },
        SavedPath { rtt: Span::ZERO, ..good },
        SavedPath { rtt: Span::MAX, ..good },
        SavedPath { first_rtt: Some(Span::ZERO), ..good },
        SavedPath { first_rtt: Some(Span::MAX), ..good },
        SavedPath { expires: good.saved_at, ..good },
        SavedPath { expires: Epoch::MAX, ..good },
        SavedPath { saved_at: Epoch::MAX, ..good },
    ] {
        let refused = store.replace(&key(1), wrong, at(0));
        assert!(matches!(refused, Err(StoreError::Unusable { .. })), "{wrong:?}: {refused:?}");
    }
    assert_eq!(store.list(at(0)), Ok(Vec::new()));
}

fn the_largest_values_come_back(make: Make<'_>) {
    let mut store = make(Limits { lease: Span::MAX, ..Limits::default() });
    let most = (1 << 62) - 1;
    let largest = SavedPath {
        window: Bytes::new(most),
        rtt: Span::from_nanos(most),
        first_rtt: Some(Span::from_nanos(most)),
        saved_at: at(0),
        expires: Epoch::from_unix_millis(most),
    };
    let name = "é".repeat(32);
    let key = PathKey::new(key(1).remote(), &name, 63).expect("a key");
    assert_eq!(store.replace(&key, largest, at(0)), Ok(()));
    assert_eq!(store.lease(&key, at(0), TWO), Ok(Some(largest)));
    assert_eq!(store.lease(&key, at(1), ONE), Ok(None));
}
