//! Accesses through views on a simulated file that moves few bytes at a time, interrupts, is full or fails, against a
//! plain copy byte by byte.
#![cfg(not(loom))]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use datatype::{Datatype, Form};
use io::{Access, Direction, Memory, Part, Scratch, Sink, Storage, Tuning, View};
use mem::{PeerBytes, PeerSpace, UserMem};

/// A file in memory.
#[derive(Default)]
struct Simulated {
    bytes: RefCell<Vec<u8>>,
    state: Cell<u64>,
    /// Bytes that the device holds.
    room: Option<usize>,
    /// The call that fails, counted from 0, and how.
    fails: Option<(u64, i32)>,
    calls: Cell<u64>,
    locked: RefCell<Option<Range<u64>>>,
    /// Pieces were written from where they are.
    listed: Cell<bool>,
    /// Bytes that were written.
    touched: RefCell<BTreeSet<u64>>,
}

impl Simulated {
    fn draw(&self, below: u64) -> u64 {
        let next =
            self.state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.state.set(next);
        (next >> 33) % below
    }

    /// How many of `len` bytes are moved this time.
    fn portion(&self, len: usize) -> std::io::Result<usize> {
        let call = self.calls.replace(self.calls.get() + 1);
        if let Some((at, errno)) = self.fails
            && call == at
        {
            return Err(std::io::Error::from_raw_os_error(errno));
        }
        if self.draw(4) == 0 {
            return Err(std::io::Error::from(std::io::ErrorKind::Interrupted));
        }
        Ok(1 + self.draw(len as u64) as usize)
    }
}

impl Storage for Simulated {
    fn read(&self, into: PeerSpace<'_>, at: u64) -> std::io::Result<usize> {
        let len = self.portion(into.len())?;
        let bytes = self.bytes.borrow();
        let there = &bytes[bytes.len().min(at as usize)..];
        let moved = len.min(there.len());
        into.write(PeerBytes::of(&there[..moved]));
        Ok(moved)
    }
}

impl Sink for Simulated {
    fn write(&self, from: PeerBytes<'_>, at: u64) -> std::io::Result<usize> {
        let len = self.portion(from.len())?;
        let at = at as usize;
        let len = self.room.map_or(len, |room| len.min(room.saturating_sub(at)));
        if len == 0 {
            return Err(std::io::Error::from_raw_os_error(28));
        }
        let mut bytes = self.bytes.borrow_mut();
        if bytes.len() < at + len {
            bytes.resize(at + len, 0);
        }
        from.part(0, len).copy_to(&mut bytes[at..at + len]);
        self.touched.borrow_mut().extend(at as u64..(at + len) as u64);
        Ok(len)
    }

    fn write_pieces(&self, from: &[PeerBytes<'_>], at: u64) -> std::io::Result<usize> {
        let mut all = Vec::new();
        for piece in from {
            assert!(!piece.is_empty());
            let end = all.len();
            all.resize(end + piece.len(), 0);
            piece.copy_to(&mut all[end..]);
        }
        self.listed.set(true);
        self.write(PeerBytes::of(&all), at)
    }

    fn lock(&self, range: Range<u64>, _exclusive: bool) -> std::io::Result<()> {
        assert!(self.locked.replace(Some(range)).is_none(), "one lock at a time");
        Ok(())
    }

    fn unlock(&self, range: Range<u64>) -> std::io::Result<()> {
        assert_eq!(self.locked.take(), Some(range));
        Ok(())
    }
}

/// Memory that is not one run, as far as an access can see.
struct Bytes(Vec<u8>);

impl Memory for Bytes {
    fn total(&self) -> u64 {
        self.0.len() as u64
    }

    fn contiguous(&self) -> Option<UserMem> {
        None
    }

    fn pack(&mut self, position: u64, into: PeerSpace<'_>) {
        into.write(PeerBytes::of(&self.0[position as usize..]));
    }

    fn unpack(&mut self, position: u64, from: PeerBytes<'_>) {
        from.copy_to(&mut self.0[position as usize..]);
    }
}

fn view(kind: u64) -> View {
    let byte = Datatype::predefined(abi::BYTE).unwrap();
    let classic = Form::Classic;
    let filetype = match kind {
        0 => return View::new(5, byte, byte).unwrap(),
        1 => Datatype::vector(3, 2, 5, byte, classic),
        2 => Datatype::indexed((&[1, 0, 3][..]).into(), (&[0, 2, 7][..]).into(), byte, classic),
        // Not in order: pieces are moved one by one.
        _ => Datatype::indexed((&[2, 1][..]).into(), (&[4, 0][..]).into(), byte, classic),
    };
    let wide = Datatype::resized(&Arc::new(filetype.unwrap()), 0, 16, classic).unwrap();
    View::new(5, byte, &wide).unwrap()
}

fn places(view: &View, positions: Range<u64>) -> Vec<usize> {
    let mut all = Vec::new();
    view.for_each(positions, |place, len| {
        all.extend(place as usize..(place + len) as usize);
        true
    });
    all
}

fn tuning(kind: u64) -> Tuning {
    Tuning {
        read_window: [0, 20, 1 << 20][(kind % 3) as usize],
        read_always: kind.is_multiple_of(2),
        locked: kind % 5 == 3,
    }
}

#[test]
fn what_is_moved_is_what_a_plain_copy_moves() {
    for seed in 0..2000u64 {
        let file = Simulated { state: Cell::new(seed), ..Simulated::default() };
        let length = file.draw(120) as usize;
        let before: Vec<u8> = (0..length).map(|i| i as u8 | 1).collect();
        file.bytes.replace(before.clone());
        let view = Arc::new(view(seed % 4));
        let (first, total) = (file.draw(20), file.draw(60));
        let places = places(&view, first..first + total);
        let direction = if seed / 4 % 2 == 0 { Direction::Write } else { Direction::Read };
        let mut memory = Bytes((0..total).map(|i| 200u8.wrapping_add(i as u8)).collect());
        let mut expected = (before, memory.0.clone());
        let mut access = Access::new(view, direction, first, total, tuning(seed / 8));
        let mut there = total;
        match direction {
            Direction::Write => {
                for (k, &place) in places.iter().enumerate() {
                    if expected.0.len() <= place {
                        expected.0.resize(place + 1, 0);
                    }
                    expected.0[place] = expected.1[k];
                }
            }
            Direction::Read => {
                there = places.iter().take_while(|&&place| place < length).count() as u64;
                for (byte, &place) in expected.1.iter_mut().zip(&places[..there as usize]) {
                    *byte = expected.0[place];
                }
            }
        }
        access.run(&file, &mut memory).unwrap();
        assert!(access.is_over() && file.locked.borrow().is_none(), "seed {seed}");
        assert_eq!(access.done(), there, "seed {seed}");
        assert_eq!(memory.0[..there as usize], expected.1[..there as usize], "seed {seed}");
        let now = file.bytes.borrow();
        assert_eq!(now[..], expected.0[..], "seed {seed}");
    }
}

#[test]
fn a_full_device_is_no_space_and_what_is_counted_was_written() {
    for seed in 0..500u64 {
        let file =
            Simulated { state: Cell::new(seed), room: Some(10 + seed as usize % 40), ..Simulated::default() };
        let view = Arc::new(view(seed % 3));
        let mut memory = Bytes(vec![7; 100]);
        let mut access = Access::new(view.clone(), Direction::Write, 0, 100, tuning(seed / 3));
        let error = access.run(&file, &mut memory).unwrap_err();
        assert_eq!(io::class_of(&error), abi::ERR_NO_SPACE, "seed {seed}");
        let bytes = file.bytes.borrow();
        assert!(places(&view, 0..access.done()).iter().all(|&place| bytes[place] == 7), "seed {seed}");
        assert!(file.locked.borrow().is_none());
    }
}

#[test]
fn an_error_ends_the_access_and_holes_are_not_touched() {
    for seed in 0..500u64 {
        let fails = Some((seed % 7, 5));
        let file = Simulated { state: Cell::new(seed), fails, ..Simulated::default() };
        let view = Arc::new(view(seed % 4));
        let mut memory = Bytes(vec![7; 60]);
        let mut access = Access::new(view.clone(), Direction::Write, 3, 60, tuning(seed / 4));
        if let Err(error) = access.run(&file, &mut memory) {
            assert_eq!(io::class_of(&error), abi::ERR_IO);
        }
        assert!(access.is_over());
        let own: BTreeSet<u64> = places(&view, 3..63).iter().map(|&place| place as u64).collect();
        assert!(file.touched.borrow().is_subset(&own), "seed {seed}");
    }
}

#[test]
fn long_pieces_of_several_views_are_written_from_where_they_are() {
    let byte = Datatype::predefined(abi::BYTE).unwrap();
    for seed in 0..45u64 {
        let file = Simulated { state: Cell::new(seed), ..Simulated::default() };
        let records: Vec<u64> = (0..2 + file.draw(3)).map(|_| 4096 + file.draw(3000)).collect();
        let row: u64 = records.iter().sum();
        // As long as all records; with a hole; or with two records that overlap and a hole.
        let (extent, back) = [(row, 0), (row + 9, 0), (row, 5)][(seed % 3) as usize];
        let count = 1 + file.draw(4);
        let mut displacement = 3;
        let views: Vec<View> = records
            .iter()
            .map(|&record| {
                let block = Datatype::vector(1, record as i64, record as i64, byte, Form::Classic).unwrap();
                let item = Datatype::resized(&Arc::new(block), 0, extent as i64, Form::Classic).unwrap();
                let view = View::new(displacement, byte, &item).unwrap();
                displacement += record as i64 - back;
                view
            })
            .collect();
        let data: Vec<Vec<u8>> = (1u8..)
            .zip(&records)
            .map(|(rank, &record)| (0..record * count).map(|i| (i as u8).wrapping_mul(31) ^ rank).collect())
            .collect();
        let mut expected: Vec<u8> = vec![9; 3 + (extent * count) as usize + 20];
        file.bytes.replace(expected.clone());
        for (view, bytes) in views.iter().zip(&data) {
            for (place, &byte) in places(view, 0..bytes.len() as u64).into_iter().zip(bytes) {
                expected[place] = byte;
            }
        }
        let parts: Vec<Part<'_>> = std::iter::zip(&views, &data)
            .map(|(view, bytes)| Part { view, positions: 0..bytes.len() as u64, bytes: PeerBytes::of(bytes) })
            .collect();
        Scratch::default().write(&file, &parts).unwrap();
        assert!(file.bytes.borrow()[..] == expected[..], "seed {seed}");
        assert_eq!(file.listed.get(), seed % 3 != 2, "seed {seed}");
        assert_eq!(*file.touched.borrow(), all_places(&parts), "seed {seed}: holes are others'");
    }
}

/// The places of the bytes of all parts.
fn all_places(parts: &[Part<'_>]) -> BTreeSet<u64> {
    let of_part = |part: &Part<'_>| places(part.view, part.positions.clone());
    parts.iter().flat_map(of_part).map(|place| place as u64).collect()
}

/// Accesses without a common byte do not conflict (MPI-5.0 section 14.6.1): what several processes write together has
/// no effect on any other byte, whatever the pieces and holes are, and whether the system takes all at once.
#[test]
fn bytes_that_no_process_gave_are_not_written() {
    for seed in 0..600u64 {
        let fails = (seed % 5 == 4).then_some((seed % 11, 5));
        let file = Simulated { state: Cell::new(seed), fails, ..Simulated::default() };
        let mut expected: Vec<u8> = vec![9; 4000];
        file.bytes.replace(expected.clone());
        let views: Vec<View> = (0..1 + file.draw(4)).map(|_| view(file.draw(3))).collect();
        let starts: Vec<u64> = views.iter().map(|_| file.draw(40)).collect();
        let data: Vec<Vec<u8>> = (1u8..)
            .zip(&views)
            .map(|(rank, _)| (0..1 + file.draw(300)).map(|i| (i as u8).wrapping_mul(31) ^ rank).collect())
            .collect();
        let part = |index: usize| {
            let positions = starts[index]..starts[index] + data[index].len() as u64;
            Part { view: &views[index], positions, bytes: PeerBytes::of(&data[index]) }
        };
        let parts: Vec<Part<'_>> = (0..views.len()).map(part).collect();
        let written = Scratch::default().write(&file, &parts);
        assert!(file.touched.borrow().is_subset(&all_places(&parts)), "seed {seed}");
        if written.is_err() {
            assert!(fails.is_some(), "seed {seed}");
            continue;
        }
        for part in &parts {
            for (k, place) in places(part.view, part.positions.clone()).into_iter().enumerate() {
                part.bytes.part(k, 1).copy_to(&mut expected[place..place + 1]);
            }
        }
        assert!(file.bytes.borrow()[..] == expected[..], "seed {seed}");
        assert!(file.locked.borrow().is_none());
    }
}
