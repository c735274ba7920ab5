//! Shapes large enough for tiles, transpositions and long tables, in both directions, cut at odd places.

mod oracle;

use datatype::{Basic, Convertor, Form};
use oracle::{Arena, Spec, build, map};

fn leaf(basic: Basic) -> Box<Spec> {
    Box::new(Spec::Basic(basic))
}

fn resized(extent: i64, old: Spec) -> Box<Spec> {
    Box::new(Spec::Resized(0, extent, Box::new(old)))
}

fn record(members: &[(i64, i64, Basic)]) -> Spec {
    Spec::Struct(members.iter().map(|&(len, disp, basic)| (len, disp, Spec::Basic(basic))).collect())
}

/// Irregular but without overlap: block `i` of at most `width` bytes begins somewhere in its own slot.
fn irregular(blocks: i64, longest: i64, unit: i64) -> Vec<(i64, i64)> {
    (0..blocks).map(|i| (1 + i * 7 % longest, i * (longest + 3) * unit + i * i % 3 * unit)).collect()
}

fn shapes() -> Vec<(&'static str, Spec, u64)> {
    let column = |basic: Basic, rows| Spec::Vector(rows, 1, 100, leaf(basic));
    let disps = |n| irregular(n, 5, 1).into_iter().map(|b| b.1).collect();
    vec![
        ("columns of doubles", *resized(8, column(Basic::Double, 50)), 19),
        ("columns of floats", *resized(4, column(Basic::Float, 50)), 16),
        ("columns of complex", *resized(16, column(Basic::CDoubleComplex, 50)), 21),
        ("columns, leftwards", *resized(-8, column(Basic::Double, 50)), 19),
        ("columns of long double pairs", *resized(32, column(Basic::CLongDoubleComplex, 50)), 7),
        ("records of char and double", record(&[(1, 0, Basic::Char), (1, 8, Basic::Double)]), 3000),
        ("records of triples and double", record(&[(3, 0, Basic::Int), (1, 16, Basic::Double)]), 1000),
        ("records of odd pairs", record(&[(5, 0, Basic::Char), (1, 8, Basic::Short)]), 3000),
        ("records of three", record(&[(1, 0, Basic::Short), (1, 4, Basic::Int), (7, 9, Basic::Char)]), 2000),
        ("few strided in many", *resized(40, Spec::Vector(3, 1, 2, leaf(Basic::Float))), 3000),
        (
            "few scattered in many",
            *resized(99, Spec::IndexedBlock(1, vec![0, 3, 4, 9], leaf(Basic::Double))),
            900,
        ),
        (
            "few long pieces in many",
            *resized(2000, Spec::Indexed(vec![(70, 0), (90, 100)], leaf(Basic::Int))),
            30,
        ),
        ("wide strides", Spec::Vector(300, 3, 200, leaf(Basic::Int)), 2),
        ("wide odd strides", Spec::Hvector(300, 1, 777, Box::new(record(&[(11, 0, Basic::Byte)]))), 2),
        ("backward strides", Spec::Hvector(700, 1, -24, leaf(Basic::Double)), 2),
        ("irregular doubles", Spec::IndexedBlock(1, disps(900), leaf(Basic::Double)), 2),
        ("irregular odd blocks", Spec::IndexedBlock(3, disps(900), leaf(Basic::Byte)), 2),
        ("irregular lengths", Spec::Indexed(irregular(900, 23, 1), leaf(Basic::Int)), 2),
        ("irregular long lengths", Spec::Indexed(irregular(90, 97, 1), leaf(Basic::Short)), 2),
        (
            "irregular blocks of holed records",
            Spec::Indexed(
                irregular(90, 5, 1),
                Box::new(record(&[(1, 0, Basic::Char), (1, 8, Basic::Double)])),
            ),
            2,
        ),
        (
            "equal irregular blocks of holed records",
            Spec::IndexedBlock(2, disps(90), Box::new(record(&[(1, 0, Basic::Char), (1, 8, Basic::Double)]))),
            2,
        ),
        (
            "thin face",
            Spec::Subarray(vec![(20, 20, 0), (20, 20, 0), (20, 1, 7)], false, leaf(Basic::Double)),
            1,
        ),
        (
            "thick face",
            Spec::Subarray(vec![(4, 2, 1), (20, 20, 0), (20, 20, 0)], true, leaf(Basic::Double)),
            2,
        ),
        (
            "unlike members",
            Spec::Struct(vec![
                (1, 0, column(Basic::Double, 40)),
                (3, 40_000, Spec::Basic(Basic::Int)),
                (2, 50_000, Spec::Indexed(irregular(40, 9, 1), leaf(Basic::Char))),
                (1, 60_000, Spec::IndexedBlock(1, disps(60), leaf(Basic::Double))),
            ]),
            3,
        ),
    ]
}

/// Piece lengths from 1 byte to several tiles.
fn pieces(seed: usize) -> impl Iterator<Item = usize> {
    (seed..).map(|i| match i % 5 {
        0 => 1 + i * 37 % 13,
        1 => 4096,
        2 => 100 + i * 91 % 900,
        3 => 8192 + i % 3,
        _ => 20_000,
    })
}

#[test]
fn packing_in_pieces_follows_the_map() {
    for (name, spec, count) in shapes() {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        let mut arena = Arena::new(&map, count);
        let expected: Vec<u8> =
            map.items(count).bytes().iter().map(|&d| arena.memory[arena.index(d)]).collect();
        for seed in 0..5 {
            // SAFETY: the arena covers the items.
            let mut convertor = unsafe { Convertor::new(&dt, count, arena.origin()) }.unwrap();
            let mut packed = vec![0; expected.len()];
            let mut done = 0;
            for step in pieces(seed) {
                let step = step.min(packed.len() - done);
                if step == 0 {
                    break;
                }
                // SAFETY: `step` bytes are left from `done` on.
                done += unsafe { convertor.pack(packed.as_mut_ptr().add(done), step) };
            }
            assert!(packed == expected, "{name}, from {seed}");
        }
    }
}

#[test]
fn unpacking_in_pieces_follows_the_map() {
    for (name, spec, count) in shapes() {
        let (map, dt) = (map(&spec), build(&spec, Form::Large));
        let bytes = map.items(count).bytes();
        let mut distinct = bytes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), bytes.len(), "{name} overlaps itself");
        let stream: Vec<u8> = (0..bytes.len()).map(|i| (i * 31 + i / 253) as u8).collect();
        for seed in 0..5 {
            let mut arena = Arena::new(&map, count);
            let mut expected = arena.memory.clone();
            for (&disp, &byte) in bytes.iter().zip(&stream) {
                expected[arena.index(disp)] = byte;
            }
            // SAFETY: the arena covers the items.
            let mut convertor = unsafe { Convertor::new(&dt, count, arena.origin()) }.unwrap();
            let mut done = 0;
            for step in pieces(seed) {
                let step = step.min(stream.len() - done);
                if step == 0 {
                    break;
                }
                // SAFETY: `step` bytes are left from `done` on.
                done += unsafe { convertor.unpack(stream.as_ptr().add(done), step) };
            }
            assert!(arena.memory == expected, "{name}, from {seed}");
        }
    }
}
