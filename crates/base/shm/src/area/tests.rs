use super::{
    Area, BOUNCE_BUFFERS, BOUNCE_BYTES, DEPTH, MEDIUM, MEDIUM_DEPTH, MOST_RANKS, Memory, Owner, SHORT, SLOTS,
    Slot, Word, bounce_buffers, slots, words,
};

/// Memory of its own for an area without payloads.
pub(crate) fn shared(ranks: usize) -> Memory {
    // SAFETY: all-zero is a valid slot and a valid word.
    let slot = || unsafe { core::mem::zeroed::<Slot>() };
    // SAFETY: as above.
    let word = || unsafe { core::mem::zeroed::<Word>() };
    let slots = (0..slots(ranks)).map(|_| slot()).collect::<Vec<_>>();
    let words = (0..words(ranks)).map(|_| word()).collect::<Vec<_>>();
    Memory {
        slots: slots.leak(),
        words: words.leak(),
        payloads: 0,
        bounce_buffers: 0,
        bounce_count: ranks * bounce_buffers(ranks),
    }
}

/// Whom a member that retires an epoch must ring.
fn rung(area: &mut Area, epoch: u64) -> Vec<usize> {
    let rung = std::cell::RefCell::new(Vec::new());
    area.retire(epoch, |member| rung.borrow_mut().push(member));
    rung.into_inner()
}

#[test]
fn a_barrier_of_threads_separates_its_rounds() {
    let memory = shared(3);
    let counted = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for me in 0..3 {
            let counted = &counted;
            scope.spawn(move || {
                let mut area = Area::new(memory, 3, me);
                for epoch in 1..500u64 {
                    counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    while !area.is_free(epoch, 8) {
                        platform::waiter::give_way();
                    }
                    if area.arrive(epoch) {
                        assert_eq!(counted.load(std::sync::atomic::Ordering::SeqCst), 3 * epoch);
                        area.publish(Owner::Flag, epoch, &[epoch]);
                    }
                    let mut seen = [0];
                    while !area.observe(Owner::Flag, epoch, &mut seen) {
                        platform::waiter::give_way();
                    }
                    assert_eq!(seen, [epoch]);
                    assert_eq!(rung(&mut area, epoch), []);
                }
            });
        }
    });
}

#[test]
fn a_line_with_more_is_a_line_as_any() {
    let memory = shared(2);
    let (mut one, mut two) = (Area::new(memory, 2, 0), Area::new(memory, 2, 1));
    one.set_mark(7);
    two.set_mark(7);
    one.publish(Owner::Member(0), 1, &[5]);
    assert!(two.carries(Owner::Member(0), 1) && !two.carries_more(0, 1));
    one.publish_more(2);
    assert!(two.carries(Owner::Member(0), 2) && two.carries_more(0, 2));
    assert!(!two.carries_more(0, 3) && !two.carries_more(1, 2));
    two.set_mark(8);
    assert!(!two.carries(Owner::Member(0), 2) && !two.carries_more(0, 2));
}

#[test]
fn no_rank_is_last_where_marks_differ() {
    let memory = shared(2);
    let (mut one, mut two) = (Area::new(memory, 2, 0), Area::new(memory, 2, 1));
    one.set_mark(7);
    two.set_mark(8);
    assert!(!one.arrive(1) && !two.arrive(1));
    two.set_mark(7);
    assert!(!one.arrive(2) && two.arrive(2));
}

#[test]
fn an_arrival_is_not_counted_among_the_next_members() {
    let memory = shared(3);
    let view = |members, me| Area::new(memory, members, me);
    // The third of them calls no barrier any more.
    assert!(!view(3, 0).arrive(5) && !view(3, 1).arrive(5));
    memory.clear_arrivals();
    let epoch = 5 + DEPTH as u64;
    assert!(!view(2, 0).arrive(epoch) && view(2, 1).arrive(epoch));
}

#[test]
fn a_slot_is_written_again_only_after_everyone_retired_it() {
    let memory = shared(2);
    let mut one = Area::new(memory, 2, 0);
    let mut two = Area::new(memory, 2, 1);
    let classes = [(SLOTS, SHORT), (MEDIUM_DEPTH, MEDIUM), (DEPTH, MEDIUM + 1)];
    for (round, (slots, bytes)) in classes.into_iter().enumerate() {
        let (before, last) = (round as u64, (round + slots) as u64);
        assert!(one.is_free(last, bytes));
        assert!(!one.is_free(last + 1, bytes));
        assert_eq!(rung(&mut one, before + 1), []);
        assert!(!one.is_free(last + 1, bytes));
        assert_eq!(rung(&mut two, before + 1), []);
        assert!(one.is_free(last + 1, bytes));
    }
}

#[test]
fn a_bounce_is_written_again_only_after_everyone_retired_what_it_held() {
    let memory = shared(2);
    let mut one = Area::new(memory, 2, 0);
    let mut two = Area::new(memory, 2, 1);
    let ring = one.ring as u64;
    assert!(one.take_bounce(1) && one.take_bounce(1));
    // Nothing was written in between.
    assert!(one.take_bounce(5 * ring));
    assert!(!one.take_bounce(6 * ring) && !one.take_bounce(1 + ring));
    assert_eq!((rung(&mut one, 5 * ring), rung(&mut two, 1)), (vec![], vec![]));
    assert!(!one.take_bounce(6 * ring) && one.take_bounce(1 + ring));
    assert_eq!(rung(&mut two, 5 * ring), []);
    assert!(one.take_bounce(6 * ring));
}

#[test]
fn a_rank_that_has_finished_with_the_call_before_keeps_none_waiting() {
    let members = MOST_RANKS;
    let memory = shared(members);
    let mut areas: Vec<Area> = (0..members).map(|me| Area::new(memory, members, me)).collect();
    assert_eq!(areas[0].ring, BOUNCE_BUFFERS[0], "the least bounce buffers");
    for epoch in 1..2 * SLOTS as u64 {
        let free = |area: &mut Area| {
            [SHORT, MEDIUM, MEDIUM + 1].iter().all(|&bytes| area.is_free(epoch, bytes))
                && area.take_bounce(epoch)
        };
        assert!(areas.iter_mut().all(free), "room in call {epoch}");
        areas.iter_mut().for_each(|area| area.retire_soon(epoch, |_| {}));
    }
    // A call of several epochs reaches further than what is held back, unless it catches up.
    let ahead = BOUNCE_BUFFERS[0] as u64;
    let epoch = 2 * SLOTS as u64 + ahead - 1;
    assert!(!areas[0].take_bounce(epoch));
    areas.iter_mut().for_each(|area| area.catch_up(epoch - ahead, |_| {}));
    assert!(areas[0].take_bounce(epoch));
}

#[test]
fn members_of_any_number_have_bounce_buffers_apart() {
    for ranks in [1, 2, 3, 5, 16, 64, 130] {
        let memory = shared(ranks);
        for members in 1..=ranks {
            let area = Area::new(memory, members, 0);
            let epochs = BOUNCE_BUFFERS[1] as u64;
            let all = (0..members).flat_map(|member| (0..epochs).map(move |epoch| (member, epoch)));
            let mut seen: Vec<usize> = all.map(|(member, epoch)| area.bounce(member, epoch)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert!(seen.len() >= members * BOUNCE_BUFFERS[0], "{members} of {ranks}");
            assert!(seen.iter().all(|&bounce| bounce < ranks * bounce_buffers(ranks) * BOUNCE_BYTES));
        }
    }
}

#[test]
fn who_enters_late_learns_who_waits_for_room() {
    // A member of the first wanting word, and one of a later one.
    for (members, waits) in [(2, 0), (MOST_RANKS, 300)] {
        let (memory, base) = (shared(members), 1000);
        let mut early = Area::new(memory, members, waits);
        let mut late = Area::new(memory, members, members - 1);
        for me in (0..members).filter(|&me| me != waits && me != members - 1) {
            assert_eq!(rung(&mut Area::new(memory, members, me), base), []);
        }
        assert_eq!(rung(&mut early, base), []);
        assert!(!early.is_free(base + 1, 8));
        early.want_room();
        assert_eq!(rung(&mut late, base), [waits]);
        assert!(early.is_free(base + 1, 8));
        assert_eq!(rung(&mut late, base + 1), [], "a wish is met once");
    }
}
