//! Pack and unpack speed against a loop written by hand for the same shape.
//!
//! `cargo run --release -p alhena-datatype --example pack_ratio [filter]` prints one line per shape and size: payload
//! bytes, GB/s of the convertor and of the loop for both directions, and their ratios (above 1: the convertor wins).
//! Each time is the best of many rounds, taken in turns.

use datatype::{Convertor, Datatype, Form, Ints};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const PAYLOADS: [usize; 4] = [4 << 10, 64 << 10, 1 << 20, 4 << 20];

/// One thing to measure: `count` items of a type, and loops that move the same bytes.
struct Shape {
    name: &'static str,
    datatype: Arc<Datatype>,
    count: u64,
    /// (user memory, stream)
    pack: Box<dyn Fn(*mut u8, *mut u8)>,
    unpack: Box<dyn Fn(*mut u8, *mut u8)>,
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    println!(
        "{:22} {:>8} {:>7} {:>7} {:>6} {:>7} {:>7} {:>6}",
        "shape", "bytes", "pack", "loop", "ratio", "unpack", "loop", "ratio"
    );
    let mut logs = [0.0; 2];
    let mut lines = 0;
    for payload in PAYLOADS {
        for shape in shapes(payload).into_iter().filter(|s| s.name.contains(&filter)) {
            let ratios = measure(&shape);
            (0..2).for_each(|i| logs[i] += ratios[i].ln());
            lines += 1;
        }
    }
    let mean = |log: f64| (log / f64::from(lines.max(1))).exp();
    println!("geometric mean of the ratios: pack {:.2} unpack {:.2}", mean(logs[0]), mean(logs[1]));
}

fn measure(shape: &Shape) -> [f64; 2] {
    let dt = &shape.datatype;
    let span = dt.extent().max(dt.true_extent()) as usize + dt.extent() as usize * shape.count as usize;
    let total = (dt.size() * shape.count) as usize;
    let mut memory = vec![1u8; span + 64];
    let mut stream = vec![2u8; total + 64];
    let (mem, out) = (memory.as_mut_ptr(), stream.as_mut_ptr());
    let run = |pack: bool| {
        // SAFETY: the buffers are as long as the type's span and size.
        unsafe {
            let mut convertor = Convertor::new(dt, shape.count, black_box(mem)).expect("small");
            let moved = if pack {
                convertor.pack(black_box(out), total)
            } else {
                convertor.unpack(black_box(out), total)
            };
            assert_eq!(moved, total);
        }
    };
    let pair = |ours: &dyn Fn(), theirs: &dyn Fn()| {
        let (mut a, mut b) = (f64::MAX, f64::MAX);
        let begin = Instant::now();
        let reps = (1 << 18) / total.max(1) + 1;
        while begin.elapsed().as_millis() < 60 {
            a = a.min(time(reps, ours));
            b = b.min(time(reps, theirs));
        }
        (total as f64 / a / 1e9, total as f64 / b / 1e9)
    };
    let (pack, loop_pack) = pair(&|| run(true), &|| (shape.pack)(black_box(mem), black_box(out)));
    let (unpack, loop_unpack) = pair(&|| run(false), &|| (shape.unpack)(black_box(mem), black_box(out)));
    let ratios = [pack / loop_pack, unpack / loop_unpack];
    println!(
        "{:22} {total:8} {pack:7.2} {loop_pack:7.2} {:6.2} {unpack:7.2} {loop_unpack:7.2} {:6.2}",
        shape.name, ratios[0], ratios[1]
    );
    ratios
}

fn time(reps: usize, f: &dyn Fn()) -> f64 {
    let begin = Instant::now();
    (0..reps).for_each(|_| f());
    begin.elapsed().as_secs_f64() / reps as f64
}

/// A loop nest written by hand: calls `step` with the index of each element in memory and in the stream.
trait Nest: Clone + 'static {
    fn run(&self, step: impl FnMut(usize, usize));
}

type Loops = (Box<dyn Fn(*mut u8, *mut u8)>, Box<dyn Fn(*mut u8, *mut u8)>);

/// Both directions of a loop nest over elements of type `T`; the nest is inlined into each.
fn loops<T: Copy + 'static>(nest: impl Nest) -> Loops {
    let twin = nest.clone();
    let pack = move |mem: *mut u8, out: *mut u8| {
        let (mem, out) = (mem.cast::<T>(), out.cast::<T>());
        // SAFETY: the buffers hold the shape.
        nest.run(|m, s| unsafe { out.add(s).write_unaligned(mem.add(m).read_unaligned()) });
    };
    let unpack = move |mem: *mut u8, out: *mut u8| {
        let (mem, out) = (mem.cast::<T>(), out.cast::<T>());
        // SAFETY: the buffers hold the shape.
        twin.run(|m, s| unsafe { mem.add(m).write_unaligned(out.add(s).read_unaligned()) });
    };
    (Box::new(pack), Box::new(unpack))
}

#[derive(Clone)]
struct Every<const STRIDE: usize>(usize);

impl<const STRIDE: usize> Nest for Every<STRIDE> {
    #[inline(always)]
    fn run(&self, mut step: impl FnMut(usize, usize)) {
        (0..self.0).for_each(|i| step(i * STRIDE, i));
    }
}

/// `planes` × `rows` × `len` elements, `plane` and `row` elements apart.
#[derive(Clone)]
struct Grid {
    planes: usize,
    plane: usize,
    rows: usize,
    row: usize,
    len: usize,
}

impl Nest for Grid {
    #[inline(always)]
    fn run(&self, mut step: impl FnMut(usize, usize)) {
        let mut s = 0;
        for p in 0..self.planes {
            for r in 0..self.rows {
                for i in 0..self.len {
                    step(p * self.plane + r * self.row + i, s);
                    s += 1;
                }
            }
        }
    }
}

#[derive(Clone)]
struct Listed(Arc<[i32]>);

impl Nest for Listed {
    #[inline(always)]
    fn run(&self, mut step: impl FnMut(usize, usize)) {
        self.0.iter().enumerate().for_each(|(s, &m)| step(m as usize, s));
    }
}

#[derive(Clone)]
struct Blocks(Arc<[(i32, i32)]>);

impl Nest for Blocks {
    #[inline(always)]
    fn run(&self, mut step: impl FnMut(usize, usize)) {
        let mut s = 0;
        for &(len, start) in self.0.iter() {
            for i in 0..len as usize {
                step(start as usize + i, s);
                s += 1;
            }
        }
    }
}

/// Members of a structure, each moved as one value, as a compiler does.
fn members<A: Copy + 'static, B: Copy + 'static>(count: usize, extent: usize, second: usize) -> Loops {
    let packed = size_of::<A>() + size_of::<B>();
    let pack = move |mem: *mut u8, out: *mut u8| {
        for i in 0..count {
            // SAFETY: the buffers hold the shape.
            unsafe {
                let (m, s) = (mem.add(i * extent), out.add(i * packed));
                s.cast::<A>().write_unaligned(m.cast::<A>().read_unaligned());
                s.add(size_of::<A>()).cast::<B>().write_unaligned(m.add(second).cast::<B>().read_unaligned());
            }
        }
    };
    let unpack = move |mem: *mut u8, out: *mut u8| {
        for i in 0..count {
            // SAFETY: the buffers hold the shape.
            unsafe {
                let (m, s) = (mem.add(i * extent), out.add(i * packed));
                m.cast::<A>().write_unaligned(s.cast::<A>().read_unaligned());
                m.add(second).cast::<B>().write_unaligned(s.add(size_of::<A>()).cast::<B>().read_unaligned());
            }
        }
    };
    (Box::new(pack), Box::new(unpack))
}

fn named(handle: abi::Datatype) -> Arc<Datatype> {
    Datatype::predefined(handle).expect("a named type").clone()
}

fn cube(n: i64, sub: [i64; 3]) -> Datatype {
    let sizes = [n; 3];
    let starts = [0; 3];
    let (a, b, c) = (Ints::Large(&sizes), Ints::Large(&sub), Ints::Large(&starts));
    Datatype::subarray(a, b, c, abi::ORDER_C, &named(abi::DOUBLE), Form::Large).expect("a valid box")
}

fn record(lens: &[i64], disps: &[i64], handles: &[abi::Datatype]) -> Datatype {
    let types: Vec<_> = handles.iter().map(|&h| named(h)).collect();
    Datatype::create_struct(Ints::Large(lens), Ints::Large(disps), &types, Form::Large)
        .expect("a valid struct")
}

/// A reproducible permutation of `0..n`.
fn shuffled(n: usize) -> Vec<i32> {
    let mut list: Vec<i32> = (0..n as i32).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for i in (1..n).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        list.swap(i, (state % (i as u64 + 1)) as usize);
    }
    list
}

fn shapes(payload: usize) -> Vec<Shape> {
    let (double, int) = (named(abi::DOUBLE), named(abi::INT));
    let doubles = payload / 8;
    let vector = |stride| Datatype::vector(doubles as i64, 1, stride, &double, Form::Large).expect("valid");
    let make = |name, datatype, count, (pack, unpack): Loops| Shape {
        name,
        datatype: Arc::new(datatype),
        count,
        pack,
        unpack,
    };
    let mut list = vec![
        make("vector stride 2", vector(2), 1, loops::<u64>(Every::<2>(doubles))),
        make("vector stride 16", vector(16), 1, loops::<u64>(Every::<16>(doubles))),
    ];

    // Columns of a matrix of 512 rows: as many neighbouring columns as the payload asks for.
    let columns = doubles / 512;
    if columns > 0 {
        let width = 1000i64;
        let column = Datatype::vector(512, 1, width, &double, Form::Large).expect("valid");
        let column = Datatype::resized(&Arc::new(column), 0, 8, Form::Large).expect("valid");
        let nest = Grid { planes: columns, plane: 1, rows: 512, row: width as usize, len: 1 };
        list.push(make("matrix columns", column, columns as u64, loops::<u64>(nest)));
    }
    let rows = doubles / 4;
    let four = Datatype::vector(rows as i64, 4, 256, &double, Form::Large).expect("valid");
    let nest = Grid { planes: 1, plane: 0, rows, row: 256, len: 4 };
    list.push(make("matrix 4 columns", four, 1, loops::<u64>(nest)));

    // Faces of a cube of about payload^(3/2) bytes, held below 256 MiB.
    let n = ((doubles as f64).sqrt() as usize).min(256);
    let side = n as i64;
    let thin = Grid { planes: n, plane: n * n, rows: n, row: n, len: 1 };
    list.push(make("face, fast axis", cube(side, [side, side, 1]), 1, loops::<u64>(thin)));
    let middle = Grid { planes: n, plane: n * n, rows: 1, row: n, len: n };
    list.push(make("face, middle axis", cube(side, [side, 1, side]), 1, loops::<u64>(middle)));
    let halo = Grid { planes: n, plane: n * n, rows: n, row: n, len: 3 };
    list.push(make("halo of 3, fast axis", cube(side, [side, side, 3]), 1, loops::<u64>(halo)));

    let items = payload / 12;
    let small = record(&[1, 1], &[0, 8], &[abi::DOUBLE, abi::INT]);
    list.push(make("struct double int", small, items as u64, members::<u64, u32>(items, 16, 8)));
    let items = payload / 9;
    let holes = record(&[1, 1], &[0, 8], &[abi::CHAR, abi::DOUBLE]);
    list.push(make("struct char double", holes, items as u64, members::<u8, u64>(items, 16, 8)));
    let items = payload / 20;
    let wide = record(&[3, 1], &[0, 16], &[abi::INT, abi::DOUBLE]);
    list.push(make("struct int[3] double", wide, items as u64, members::<[u32; 3], u64>(items, 24, 16)));

    let order: Arc<[i32]> = shuffled(doubles * 4)[..doubles].into();
    let random = Datatype::indexed_block(1, Ints::Int(&order), &double, Form::Large).expect("valid");
    list.push(make("indexed random", random, 1, loops::<u64>(Listed(order))));
    let mut blocks = Vec::new();
    let mut left = payload / 4;
    for start in shuffled(payload / 4) {
        let len = (1 + start % 8).min(left as i32);
        blocks.push((len, start * 8));
        left -= len as usize;
        if left == 0 {
            break;
        }
    }
    let (lens, disps): (Vec<i32>, Vec<i32>) = blocks.iter().copied().unzip();
    let mixed = Datatype::indexed(Ints::Int(&lens), Ints::Int(&disps), &int, Form::Large).expect("valid");
    list.push(make("indexed 1 to 8 ints", mixed, 1, loops::<u32>(Blocks(blocks.into()))));
    list
}
