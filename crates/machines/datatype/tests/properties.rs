//! Random nested datatypes against the type map written out.

mod oracle;

use datatype::{Convertor, Datatype, Form, Ints, Run, transfer};
use oracle::{Arena, Map, Spec, any_spec, build, map};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_global_rejects: 1 << 20, ..ProptestConfig::default() })]

    #[test]
    fn bounds_and_size_follow_the_type_map(spec in any_spec()) {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        prop_assert_eq!(dt.size(), map.size());
        prop_assert_eq!(dt.lb(), map.lb());
        prop_assert_eq!(dt.ub(), map.ub());
        prop_assert_eq!(dt.extent(), map.extent());
        prop_assert_eq!(dt.true_lb(), map.true_lb());
        prop_assert_eq!(dt.true_extent(), map.true_ub() - map.true_lb());
        prop_assert_eq!(dt.signature().elements(), map.entries.len() as u64);
        prop_assert_eq!(dt.signature().bytes(), map.size());
    }

    #[test]
    fn packing_in_pieces_gives_the_bytes_in_map_order(
        spec in any_spec(), count in 0u64..5, steps in vec(1usize..200, 1..20),
    ) {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        let mut arena = Arena::new(&map, count);
        let expected: Vec<u8> = map.items(count).bytes().iter().map(|&d| arena.memory[arena.index(d)]).collect();
        // SAFETY: the arena covers every byte of the map.
        let mut convertor = unsafe { Convertor::new(&dt, count, arena.origin()) }.unwrap();
        prop_assert_eq!(convertor.total(), expected.len() as u64);
        let mut packed = Vec::new();
        for step in steps.iter().cycle() {
            let mut piece = vec![0; *step];
            // SAFETY: the piece is as long as the call states.
            let n = unsafe { convertor.pack(piece.as_mut_ptr(), piece.len()) };
            packed.extend_from_slice(&piece[..n]);
            prop_assert_eq!(convertor.position(), packed.len() as u64);
            if n < *step { break }
        }
        prop_assert_eq!(packed, expected);
    }

    #[test]
    fn packing_can_start_anywhere(spec in any_spec(), count in 0u64..5, at in any::<prop::sample::Index>(), len in 0usize..500) {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        let mut arena = Arena::new(&map, count);
        let all: Vec<u8> = map.items(count).bytes().iter().map(|&d| arena.memory[arena.index(d)]).collect();
        // SAFETY: the arena covers every byte of the map.
        let mut convertor = unsafe { Convertor::new(&dt, count, arena.origin()) }.unwrap();
        let start = at.index(all.len() + 1);
        convertor.seek(start as u64);
        let mut piece = vec![0; len];
        // SAFETY: the piece is as long as the call states.
        let n = unsafe { convertor.pack(piece.as_mut_ptr(), len) };
        prop_assert_eq!(n, len.min(all.len() - start));
        prop_assert_eq!(&piece[..n], &all[start..start + n]);
    }

    #[test]
    fn unpacking_in_pieces_writes_the_map_and_nothing_else(
        spec in any_spec(), count in 0u64..5, steps in vec(1usize..200, 1..20),
    ) {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        let bytes = map.items(count).bytes();
        // Overlapping entries make a receive erroneous (section 3.2.5 and 5.1.1).
        prop_assume!(bytes.iter().collect::<HashSet<_>>().len() == bytes.len());
        let mut arena = Arena::new(&map, count);
        let stream: Vec<u8> = (0..bytes.len()).map(|i| (i * 31 + 5) as u8).collect();
        let mut expected = arena.memory.clone();
        for (&disp, &byte) in bytes.iter().zip(&stream) {
            expected[arena.index(disp)] = byte;
        }
        // SAFETY: the arena covers every byte of the map.
        let mut convertor = unsafe { Convertor::new(&dt, count, arena.origin()) }.unwrap();
        let mut done = 0;
        for step in steps.iter().cycle() {
            let piece = &stream[done..stream.len().min(done + step)];
            if piece.is_empty() { break }
            // SAFETY: the piece is as long as the call states.
            done += unsafe { convertor.unpack(piece.as_ptr(), piece.len()) };
        }
        prop_assert_eq!(done, stream.len());
        prop_assert_eq!(&arena.memory, &expected);
    }

    #[test]
    fn runs_cover_the_map_in_order(spec in any_spec(), count in 0u64..5, limit in 1usize..300, slots in 1usize..9) {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        let mut arena = Arena::new(&map, count);
        let origin = arena.origin();
        // SAFETY: the runs are not dereferenced.
        let mut convertor = unsafe { Convertor::new(&dt, count, origin) }.unwrap();
        let mut disps = Vec::new();
        let mut runs = vec![Run::EMPTY; slots];
        loop {
            let filled = convertor.next_runs(&mut runs, limit);
            if filled == 0 { break }
            let bytes: usize = runs[..filled].iter().map(|run| run.len).sum();
            prop_assert!(bytes <= limit);
            for run in &runs[..filled] {
                prop_assert!(run.len > 0);
                let start = run.addr.addr().wrapping_sub(origin.addr()) as i64;
                disps.extend(start..start + run.len as i64);
            }
        }
        prop_assert_eq!(disps, map.items(count).bytes());
    }

    #[test]
    fn contiguous_means_one_run(spec in any_spec(), count in 0u64..5) {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        let bytes = map.items(count).bytes();
        let one_run = bytes.windows(2).all(|pair| pair[1] == pair[0] + 1);
        prop_assert!(!dt.is_contiguous_for(count) || one_run);
        // What a compiler would lay out without holes is always recognised.
        if let (true, Spec::Contiguous(_, old)) = (one_run, &spec) && matches!(**old, Spec::Basic(_)) {
            prop_assert!(dt.is_contiguous_for(count));
        }
    }

    #[test]
    fn elements_are_counted_by_the_map(spec in any_spec(), count in 1u64..4) {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        let signature = dt.signature();
        let (mut bytes, mut elements) = (0, 0);
        prop_assert_eq!(signature.elements_in(0), Some(0));
        for &(basic, _) in &map.items(count).entries {
            for cut in 1..basic.size() {
                prop_assert_eq!(signature.elements_in(bytes + cut), None);
            }
            bytes += basic.size();
            elements += 1;
            prop_assert_eq!(signature.elements_in(bytes), Some(elements));
            prop_assert_eq!(signature.bytes_of(elements), Some(bytes));
        }
    }

    #[test]
    fn the_hash_depends_on_the_sequence_alone(spec in any_spec(), count in 1u64..4, swap in any::<prop::sample::Index>()) {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        let mut basics: Vec<_> = map.items(count).entries.iter().map(|e| e.0).collect();
        prop_assert_eq!(dt.signature().hash_of(count), plain(&basics).signature().hash());
        if !basics.is_empty() {
            let at = swap.index(basics.len());
            let is_int = basics[at].meaning() == datatype::Basic::Int.meaning();
            basics[at] = if is_int { datatype::Basic::Float } else { datatype::Basic::Int };
            prop_assert_ne!(dt.signature().hash_of(count), plain(&basics).signature().hash());
        }
    }

    #[test]
    fn the_signature_lists_the_basic_types_in_order(spec in any_spec()) {
        let dt = build(&spec, Form::Large);
        let mut listed = Vec::new();
        dt.signature().for_each_run(&mut |basic, n| {
            listed.extend(std::iter::repeat_n(basic, n as usize));
            true
        });
        prop_assert_eq!(listed, map(&spec).entries.iter().map(|e| e.0).collect::<Vec<_>>());
    }

    #[test]
    fn contents_rebuild_the_type(spec in any_spec(), large in any::<bool>(), count in 0u64..3) {
        let form = if large { Form::Large } else { Form::Classic };
        let dt = build(&spec, form);
        let twin = rebuild(&dt, form);
        prop_assert_eq!((twin.size(), twin.lb(), twin.ub()), (dt.size(), dt.lb(), dt.ub()));
        let map = map(&spec);
        let mut arena = Arena::new(&map, count);
        prop_assert_eq!(packed(&twin, count, &mut arena), packed(&dt, count, &mut arena));
    }

    #[test]
    fn transfer_moves_between_any_two_types(a in any_spec(), b in any_spec(), contiguous in 0..3) {
        let (mut from, mut to) = (map(&a), map(&b));
        let (mut a, mut b) = (build(&a, Form::Large), build(&b, Form::Large));
        let byte = |n: u64| Spec::Contiguous(n as i64, Box::new(Spec::Basic(datatype::Basic::Byte)));
        if contiguous == 1 {
            (from, a) = (map(&byte(to.size())), build(&byte(to.size()), Form::Large));
        } else if contiguous == 2 {
            (to, b) = (map(&byte(from.size())), build(&byte(from.size()), Form::Large));
        }
        let targets = to.items(2).bytes();
        prop_assume!(targets.iter().collect::<HashSet<_>>().len() == targets.len());
        let (mut source, mut target) = (Arena::new(&from, 2), Arena::new(&to, 2));
        let mut expected = target.memory.clone();
        for (&s, &t) in from.items(2).bytes().iter().zip(&targets) {
            expected[target.index(t)] = source.memory[source.index(s)];
        }
        // SAFETY: both arenas cover their maps and are apart.
        unsafe {
            let mut from = Convertor::new(&a, 2, source.origin()).unwrap();
            let mut to = Convertor::new(&b, 2, target.origin()).unwrap();
            let moved = transfer(&mut from, &mut to);
            prop_assert_eq!(moved, from.total().min(to.total()));
            prop_assert_eq!((from.position(), to.position()), (moved, moved));
        }
        prop_assert_eq!(&target.memory, &expected);
    }
}

/// A struct with the given basic types one after the other.
fn plain(basics: &[datatype::Basic]) -> Datatype {
    let types: Vec<_> = basics.iter().map(|b| Datatype::predefined(b.handle()).unwrap().clone()).collect();
    let (lens, disps) = (vec![1; types.len()], vec![0; types.len()]);
    Datatype::create_struct(Ints::Large(&lens), Ints::Large(&disps), &types, Form::Large).unwrap()
}

fn packed(dt: &Datatype, count: u64, arena: &mut Arena) -> Vec<u8> {
    // SAFETY: the arena covers every byte of the map.
    let mut convertor = unsafe { Convertor::new(dt, count, arena.origin()) }.unwrap();
    let mut out = vec![0; convertor.total() as usize];
    // SAFETY: the output is as long as the call states.
    unsafe { convertor.pack(out.as_mut_ptr(), out.len()) };
    out
}

/// Calls the constructor again that the envelope names, with the arguments that the contents give.
fn rebuild(dt: &Arc<Datatype>, form: Form) -> Arc<Datatype> {
    let envelope = dt.envelope();
    if envelope.combiner == abi::COMBINER_NAMED {
        return Datatype::predefined(dt.named_handle().unwrap()).unwrap().clone();
    }
    let c = dt.contents();
    assert_eq!(
        (envelope.integers, envelope.addresses, envelope.large_counts, envelope.datatypes),
        (c.integers.len(), c.addresses.len(), c.large_counts.len(), c.datatypes.len())
    );
    // Counts and displacements in the order of the call, wherever the form puts them.
    let classic: Vec<i64> = c.integers.iter().map(|&i| i64::from(i)).collect();
    let args: Vec<i64> = match form {
        Form::Classic => classic.iter().chain(c.addresses.iter()).copied().collect(),
        Form::Large => c.large_counts.to_vec(),
    };
    let types: Vec<_> = c.datatypes.iter().map(|old| rebuild(old, form)).collect();
    let n = args.first().copied().unwrap_or(0) as usize;
    let made = match envelope.combiner {
        abi::COMBINER_DUP => Ok(Datatype::dup(&types[0])),
        abi::COMBINER_CONTIGUOUS => Datatype::contiguous(args[0], &types[0], form),
        abi::COMBINER_VECTOR => Datatype::vector(args[0], args[1], args[2], &types[0], form),
        abi::COMBINER_HVECTOR => Datatype::hvector(args[0], args[1], args[2], &types[0], form),
        abi::COMBINER_INDEXED => {
            Datatype::indexed(Ints::Large(&args[1..=n]), Ints::Large(&args[n + 1..]), &types[0], form)
        }
        abi::COMBINER_HINDEXED => {
            Datatype::hindexed(Ints::Large(&args[1..=n]), Ints::Large(&args[n + 1..]), &types[0], form)
        }
        abi::COMBINER_INDEXED_BLOCK => {
            Datatype::indexed_block(args[1], Ints::Large(&args[2..]), &types[0], form)
        }
        abi::COMBINER_HINDEXED_BLOCK => {
            Datatype::hindexed_block(args[1], Ints::Large(&args[2..]), &types[0], form)
        }
        abi::COMBINER_STRUCT => {
            Datatype::create_struct(Ints::Large(&args[1..=n]), Ints::Large(&args[n + 1..]), &types, form)
        }
        abi::COMBINER_RESIZED => Datatype::resized(&types[0], args[0], args[1], form),
        abi::COMBINER_SUBARRAY => {
            let dims = c.integers[0] as usize;
            let (counts, order) = match form {
                Form::Classic => (&args[1..], c.integers[1 + 3 * dims]),
                Form::Large => (&args[..], c.integers[1]),
            };
            let part = |i: usize| Ints::Large(&counts[i * dims..(i + 1) * dims]);
            Datatype::subarray(part(0), part(1), part(2), order, &types[0], form)
        }
        abi::COMBINER_DARRAY => {
            let dims = c.integers[2] as usize;
            let (gsizes, rest) = match form {
                Form::Classic => (classic[3..3 + dims].to_vec(), &c.integers[3 + dims..]),
                Form::Large => (args.clone(), &c.integers[3..]),
            };
            let part = |i: usize| &rest[i * dims..(i + 1) * dims];
            let (size, rank, order) = (c.integers[0], c.integers[1], rest[3 * dims]);
            let gsizes = Ints::Large(&gsizes);
            Datatype::darray(size, rank, gsizes, part(0), part(1), part(2), order, &types[0], form)
        }
        other => panic!("unknown combiner {other}"),
    };
    Arc::new(made.unwrap())
}

#[test]
fn the_oracle_itself_counts_bytes() {
    let spec = Spec::Vector(2, 1, 2, Box::new(Spec::Basic(datatype::Basic::Int16)));
    let Map { entries, .. } = map(&spec);
    assert_eq!(entries.iter().map(|e| e.1).collect::<Vec<_>>(), [0, 4]);
}
