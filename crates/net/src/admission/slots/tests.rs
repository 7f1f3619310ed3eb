use super::*;
use tokio::time::sleep;

const WAIT: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);
const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

fn slots(all: u64, per_client: u64) -> Slots {
    Slots::new(SlotLimits { all, per_client, waiting: 1000, stalled: SHORT })
}

fn request(address: IpAddr, weight: u64) -> SlotRequest {
    SlotRequest { address, weight, waiting: 100, activity: Arc::default() }
}

/// A request that waits for its client from now on.
fn stalling(address: IpAddr, weight: u64) -> SlotRequest {
    let request = request(address, weight);
    request.activity.waits();
    request
}

/// Starts to wait for a slot.
fn asking(slots: &Slots, request: SlotRequest) -> tokio::task::JoinHandle<Option<ClientSlot>> {
    let slots = slots.clone();
    tokio::spawn(async move { slots.slot(&request, WAIT).await })
}

/// Holds a slot until it is taken back.
fn holding(slots: &Slots, request: SlotRequest) -> tokio::task::JoinHandle<()> {
    let slot = slots.try_slot(&request).unwrap();
    tokio::spawn(async move {
        request.activity.revoked().await;
        drop(slot);
    })
}

/// Returns the number of slots that were not taken back.
fn holders(slots: &Slots) -> usize {
    slots.state().clients.values().map(|client| client.holders.len()).sum()
}

async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_client_without_free_slots_waits_and_another_does_not() {
    let slots = slots(30, 2);
    let held = [1, 1].map(|weight| slots.try_slot(&request(ONE, weight)).unwrap());
    let waiting = asking(&slots, request(ONE, 1));
    settle().await;
    assert!(!waiting.is_finished());
    let other = slots.try_slot(&request(OTHER, 2)).unwrap();
    drop(held);
    assert!(waiting.await.unwrap().is_some());
    drop(other);
    let state = slots.state();
    assert!(state.clients.is_empty(), "clients without slots take no memory");
    assert_eq!((state.held, state.waiting), (0, 0));
}

#[tokio::test]
async fn small_work_takes_little() {
    let slots = slots(300, 100);
    let small: Vec<_> = (0..50).map(|_| slots.try_slot(&request(ONE, 2)).unwrap()).collect();
    assert!(slots.try_slot(&request(ONE, 2)).is_none());
    drop(small);
    assert!(slots.try_slot(&request(ONE, 100)).is_some());
}

#[tokio::test]
async fn work_above_the_share_of_its_client_is_done_alone() {
    let slots = slots(30, 2);
    let large = slots.try_slot(&request(ONE, 5)).unwrap();
    assert!(slots.try_slot(&request(ONE, 1)).is_none());
    drop(large);
    assert!(slots.try_slot(&request(ONE, 50)).is_some(), "more than there is");
}

#[tokio::test]
async fn the_networks_of_an_ipv6_site_have_two_shares_together() {
    let slots = slots(800, 100);
    let network = |id: u16| IpAddr::from([0x2001, 0xdb8, 7, id << 8, 0, 0, 0, 1]);
    let held: Vec<_> = (0..8)
        .flat_map(|id| [50, 50].map(|weight| slots.try_slot(&request(network(id), weight))))
        .flatten()
        .collect();
    // Each of the later six may hold one slot.
    assert_eq!(held.len(), 4 + 6);
    assert_eq!(slots.state().sites.len(), 1);
    assert!(slots.try_slot(&request(ONE, 100)).is_some());
}

#[tokio::test]
async fn those_who_come_late_find_room() {
    let slots = slots(4096, 512);
    let mut held = Vec::new();
    for client in 0..16 {
        let address = IpAddr::from([192, 0, 2, client]);
        while let Some(slot) = slots.try_slot(&request(address, 1)) {
            held.push(slot);
        }
    }
    assert!(slots.try_slot(&request([192, 0, 2, 99].into(), 1)).is_some());
}

#[tokio::test]
async fn stalled_slots_are_taken_back_the_longest_stalled_first() {
    let slots = slots(10, 2);
    let begun = Instant::now();
    let oldest = holding(&slots, stalling(ONE, 1));
    sleep(Duration::from_millis(50)).await;
    let newer = request(ONE, 1);
    let newer = holding(&slots, {
        newer.activity.waits_after(WAIT);
        newer
    });
    let slot = slots.slot(&request(ONE, 1), WAIT).await;
    assert!(slot.is_some() && begun.elapsed() >= SHORT);
    settle().await;
    assert!(oldest.is_finished() && !newer.is_finished());
}

#[tokio::test]
async fn a_client_that_proceeds_loses_nothing() {
    let slots = slots(10, 2);
    let busy = request(ONE, 1);
    let held = [holding(&slots, busy.clone()), holding(&slots, busy)];
    let begun = Instant::now();
    assert!(slots.slot(&request(ONE, 1), 2 * SHORT).await.is_none());
    assert!(begun.elapsed() >= 2 * SHORT && held.iter().all(|held| !held.is_finished()));
    assert_eq!(slots.state().waiting, 0, "who waited too long leaves the queue");
}

#[tokio::test]
async fn whoever_needs_a_slot_gets_it_from_the_client_that_holds_most() {
    let slots = slots(10, 10);
    let heavy: Vec<_> = (0..5).map(|_| holding(&slots, stalling(ONE, 1))).collect();
    let light: Vec<_> =
        (0..5).map(|last| holding(&slots, stalling([192, 0, 3, last].into(), 1))).collect();
    sleep(SHORT).await;
    let slot = slots.slot(&request(OTHER, 2), WAIT).await;
    assert!(slot.is_some());
    settle().await;
    assert_eq!(heavy.iter().filter(|held| held.is_finished()).count(), 2);
    assert!(light.iter().all(|held| !held.is_finished()));
}

#[tokio::test]
async fn who_keeps_its_own_slots_stalled_gets_few_of_them_back_at_once() {
    let network = |id: u16| IpAddr::from([0x2001, 0xdb8, 7, id << 8, 0, 0, 0, 1]);
    // What is left for others bounds the first, and its /48 the last of the others.
    let site = vec![network(0), network(1), network(2)];
    for (clients, all, per_client) in [(vec![ONE], 100, 100), (site, 400, 50)] {
        let slots = slots(all, per_client);
        let fill = |client: &IpAddr| {
            let held = std::iter::from_fn(|| slots.try_slot(&stalling(*client, 1)));
            held.take(50).collect::<Vec<_>>()
        };
        let _held: Vec<_> = clients.iter().flat_map(fill).collect();
        let last = *clients.last().unwrap();
        sleep(2 * SHORT).await;
        let before = holders(&slots);
        let _waiting: Vec<_> = (0..10).map(|_| asking(&slots, request(last, 1))).collect();
        settle().await;
        let taken = before - holders(&slots);
        assert!((1..=AT_ONCE[0]).contains(&taken), "{clients:?}: {taken}");
    }
}

#[tokio::test]
async fn the_client_that_holds_least_is_served_first() {
    let slots = slots(4, 4);
    let mut held: Vec<_> = (0..2).map(|_| slots.try_slot(&request(ONE, 1)).unwrap()).collect();
    held.extend([3, 4].map(|last| slots.try_slot(&request([192, 0, 2, last].into(), 1)).unwrap()));
    let mine = asking(&slots, request(ONE, 1));
    settle().await;
    let others = asking(&slots, request(OTHER, 1));
    settle().await;
    held.pop();
    settle().await;
    assert!(others.is_finished() && !mine.is_finished());
}

#[tokio::test]
async fn the_memory_of_waiting_requests_is_bounded() {
    let slots = slots(10, 1);
    let _held = slots.try_slot(&request(ONE, 1)).unwrap();
    let waiting: Vec<_> = (0..10).map(|_| asking(&slots, request(ONE, 1))).collect();
    settle().await;
    let begun = Instant::now();
    assert!(slots.slot(&request(ONE, 1), WAIT).await.is_none());
    assert!(begun.elapsed() < WAIT / 2, "refused at once");
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    for waiting in waiting {
        assert!(waiting.await.is_err());
    }
    assert_eq!(slots.state().waiting, 0, "who leaves takes no memory");
}
