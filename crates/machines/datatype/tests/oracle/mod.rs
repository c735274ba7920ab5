//! An independent model of datatypes: type maps written out entry by entry, as MPI-5.0 chapter 5 defines them.
#![allow(dead_code)] // each test program uses its part

use datatype::{Basic, Datatype, Form, Ints, NAMED_PAIRS};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

/// How to build a datatype.
#[derive(Clone, Debug)]
pub enum Spec {
    Basic(Basic),
    Pair(usize),
    Dup(Box<Spec>),
    Contiguous(i64, Box<Spec>),
    Vector(i64, i64, i64, Box<Spec>),
    Hvector(i64, i64, i64, Box<Spec>),
    Indexed(Vec<(i64, i64)>, Box<Spec>),
    Hindexed(Vec<(i64, i64)>, Box<Spec>),
    IndexedBlock(i64, Vec<i64>, Box<Spec>),
    HindexedBlock(i64, Vec<i64>, Box<Spec>),
    Struct(Vec<(i64, i64, Spec)>),
    /// (size, subsize, start) of each dimension, Fortran order or not.
    Subarray(Vec<(i64, i64, i64)>, bool, Box<Spec>),
    /// (global size, distribution, argument, processes) of each dimension, rank, Fortran order or not.
    Darray(Vec<(i64, i32, i32, i32)>, i32, bool, Box<Spec>),
    Resized(i64, i64, Box<Spec>),
}

/// A type map: basic types at displacements, explicit bounds, and the largest alignment.
#[derive(Clone, Debug, Default)]
pub struct Map {
    pub entries: Vec<(Basic, i64)>,
    pub marks: Vec<(i64, i64)>,
}

impl Map {
    pub fn lb(&self) -> i64 {
        match self.marks.iter().map(|m| m.0).min() {
            Some(lb) => lb,
            None => self.true_lb(),
        }
    }

    pub fn ub(&self) -> i64 {
        if let Some(ub) = self.marks.iter().map(|m| m.1).max() {
            return ub;
        }
        let align = self.entries.iter().map(|e| e.0.align() as i64).max().unwrap_or(1);
        let mut ub = self.true_ub();
        while (ub - self.lb()) % align != 0 {
            ub += 1;
        }
        ub
    }

    pub fn extent(&self) -> i64 {
        self.ub() - self.lb()
    }

    pub fn true_lb(&self) -> i64 {
        self.entries.iter().map(|e| e.1).min().unwrap_or(0)
    }

    pub fn true_ub(&self) -> i64 {
        self.entries.iter().map(|e| e.1 + e.0.size() as i64).max().unwrap_or(0)
    }

    pub fn size(&self) -> u64 {
        self.entries.iter().map(|e| e.0.size()).sum()
    }

    /// Adds a copy of `old` at displacement `disp`.
    fn add(&mut self, old: &Map, disp: i64) {
        self.entries.extend(old.entries.iter().map(|e| (e.0, e.1 + disp)));
        self.marks.extend(old.marks.iter().map(|m| (m.0 + disp, m.1 + disp)));
    }

    /// `count` items in a row, without bounds.
    pub fn items(&self, count: u64) -> Map {
        let mut all = Map::default();
        for i in 0..count as i64 {
            all.add(self, i * self.extent());
        }
        all
    }

    /// Displacement of every byte in pack order.
    pub fn bytes(&self) -> Vec<i64> {
        self.entries.iter().flat_map(|&(basic, disp)| disp..disp + basic.size() as i64).collect()
    }
}

/// The type map of `spec`, by definition.
pub fn map(spec: &Spec) -> Map {
    let mut new = Map::default();
    match spec {
        Spec::Basic(basic) => new.entries.push((*basic, 0)),
        Spec::Pair(i) => {
            let pair = &NAMED_PAIRS[*i];
            let second = pair.value.size().next_multiple_of(pair.index.align());
            new.entries = vec![(pair.value, 0), (pair.index, second as i64)];
        }
        Spec::Dup(old) => new = map(old),
        Spec::Contiguous(n, old) => {
            let old = map(old);
            (0..*n).for_each(|i| new.add(&old, i * old.extent()));
        }
        Spec::Vector(n, len, stride, old) => {
            let old = map(old);
            (0..*n).for_each(|i| block(&mut new, &old, *len, i * stride * old.extent()));
        }
        Spec::Hvector(n, len, stride, old) => {
            let old = map(old);
            (0..*n).for_each(|i| block(&mut new, &old, *len, i * stride));
        }
        Spec::Indexed(blocks, old) => {
            let old = map(old);
            blocks.iter().for_each(|b| block(&mut new, &old, b.0, b.1 * old.extent()));
        }
        Spec::Hindexed(blocks, old) => {
            let old = map(old);
            blocks.iter().for_each(|b| block(&mut new, &old, b.0, b.1));
        }
        Spec::IndexedBlock(len, disps, old) => {
            let old = map(old);
            disps.iter().for_each(|d| block(&mut new, &old, *len, d * old.extent()));
        }
        Spec::HindexedBlock(len, disps, old) => {
            let old = map(old);
            disps.iter().for_each(|d| block(&mut new, &old, *len, *d));
        }
        Spec::Struct(members) => {
            members.iter().for_each(|(len, disp, old)| block(&mut new, &map(old), *len, *disp))
        }
        Spec::Subarray(dims, fortran, old) => {
            let inside = |d: usize, i: i64| (dims[d].2..dims[d].2 + dims[d].1).contains(&i);
            array(&mut new, &map(old), &dims.iter().map(|d| d.0).collect::<Vec<_>>(), *fortran, &inside);
        }
        Spec::Darray(dims, rank, fortran, old) => {
            let mut rest = *rank;
            let mut coords = vec![0; dims.len()];
            for d in (0..dims.len()).rev() {
                coords[d] = i64::from(rest % dims[d].3);
                rest /= dims[d].3;
            }
            let owned = |d: usize, i: i64| {
                let (global, distrib, darg, procs) = dims[d];
                let procs = i64::from(procs);
                let default = darg == abi::DISTRIBUTE_DFLT_DARG;
                match distrib {
                    abi::DISTRIBUTE_NONE => true,
                    abi::DISTRIBUTE_BLOCK if default => i / ((global + procs - 1) / procs) == coords[d],
                    abi::DISTRIBUTE_BLOCK => i / i64::from(darg) == coords[d],
                    _ if default => i % procs == coords[d],
                    _ => i / i64::from(darg) % procs == coords[d],
                }
            };
            array(&mut new, &map(old), &dims.iter().map(|d| d.0).collect::<Vec<_>>(), *fortran, &owned);
        }
        Spec::Resized(lb, extent, old) => {
            new = map(old);
            new.marks = vec![(*lb, lb + extent)];
        }
    }
    new
}

fn block(new: &mut Map, old: &Map, len: i64, disp: i64) {
    (0..len).for_each(|j| new.add(old, disp + j * old.extent()));
}

/// Those items of a full array, in storage order, whose indices are all taken.
fn array(new: &mut Map, old: &Map, sizes: &[i64], fortran: bool, taken: &dyn Fn(usize, i64) -> bool) {
    let total: i64 = sizes.iter().product();
    for item in 0..total {
        let mut rest = item;
        let mut all = true;
        for k in 0..sizes.len() {
            let d = if fortran { k } else { sizes.len() - 1 - k };
            all &= taken(d, rest % sizes[d]);
            rest /= sizes[d];
        }
        if all {
            new.add(old, item * old.extent());
        }
    }
    new.marks = vec![(0, total * old.extent())];
}

/// Builds the datatype with the constructors under test.
pub fn build(spec: &Spec, form: Form) -> Arc<Datatype> {
    let old = |old: &Spec| build(old, form);
    let split = |blocks: &[(i64, i64)]| -> (Vec<i64>, Vec<i64>) { blocks.iter().copied().unzip() };
    let order = |fortran: bool| if fortran { abi::ORDER_FORTRAN } else { abi::ORDER_C };
    let made = match spec {
        Spec::Basic(basic) => return Datatype::predefined(basic.handle()).unwrap().clone(),
        Spec::Pair(i) => return Datatype::predefined(NAMED_PAIRS[*i].handle).unwrap().clone(),
        Spec::Dup(o) => Ok(Datatype::dup(&old(o))),
        Spec::Contiguous(n, o) => Datatype::contiguous(*n, &old(o), form),
        Spec::Vector(n, len, stride, o) => Datatype::vector(*n, *len, *stride, &old(o), form),
        Spec::Hvector(n, len, stride, o) => Datatype::hvector(*n, *len, *stride, &old(o), form),
        Spec::Indexed(b, o) => {
            let (lens, disps) = split(b);
            Datatype::indexed(Ints::Large(&lens), Ints::Large(&disps), &old(o), form)
        }
        Spec::Hindexed(b, o) => {
            let (lens, disps) = split(b);
            Datatype::hindexed(Ints::Large(&lens), Ints::Large(&disps), &old(o), form)
        }
        Spec::IndexedBlock(len, disps, o) => Datatype::indexed_block(*len, Ints::Large(disps), &old(o), form),
        Spec::HindexedBlock(len, disps, o) => {
            Datatype::hindexed_block(*len, Ints::Large(disps), &old(o), form)
        }
        Spec::Struct(members) => {
            let lens: Vec<i64> = members.iter().map(|m| m.0).collect();
            let disps: Vec<i64> = members.iter().map(|m| m.1).collect();
            let types: Vec<_> = members.iter().map(|m| old(&m.2)).collect();
            Datatype::create_struct(Ints::Large(&lens), Ints::Large(&disps), &types, form)
        }
        Spec::Subarray(dims, fortran, o) => {
            let sizes: Vec<i64> = dims.iter().map(|d| d.0).collect();
            let subsizes: Vec<i64> = dims.iter().map(|d| d.1).collect();
            let starts: Vec<i64> = dims.iter().map(|d| d.2).collect();
            let (a, b, c) = (Ints::Large(&sizes), Ints::Large(&subsizes), Ints::Large(&starts));
            Datatype::subarray(a, b, c, order(*fortran), &old(o), form)
        }
        Spec::Darray(dims, rank, fortran, o) => {
            let sizes: Vec<i64> = dims.iter().map(|d| d.0).collect();
            let distribs: Vec<i32> = dims.iter().map(|d| d.1).collect();
            let dargs: Vec<i32> = dims.iter().map(|d| d.2).collect();
            let procs: Vec<i32> = dims.iter().map(|d| d.3).collect();
            let all = procs.iter().product();
            let sizes = Ints::Large(&sizes);
            Datatype::darray(all, *rank, sizes, &distribs, &dargs, &procs, order(*fortran), &old(o), form)
        }
        Spec::Resized(lb, extent, o) => Datatype::resized(&old(o), *lb, *extent, form),
    };
    Arc::new(made.expect("a valid specification"))
}

/// Random nested types of a few thousand bytes at most.
pub fn any_spec() -> impl Strategy<Value = Spec> {
    let leaf = prop_oneof![
        4 => (0..Basic::ALL.len()).prop_map(|i| Spec::Basic(Basic::ALL[i])),
        1 => (0..NAMED_PAIRS.len()).prop_map(Spec::Pair),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let old = inner.clone().prop_map(Box::new);
        let n = || prop_oneof![1 => Just(0i64), 9 => 1i64..6, 2 => 9i64..14];
        let len = || prop_oneof![1 => Just(0i64), 9 => 1i64..4];
        let blocks = move |far: i64| vec((len(), -far..far), 0..12);
        let dim = (1i64..5)
            .prop_flat_map(|size| (Just(size), 1..=size))
            .prop_flat_map(|(size, sub)| (Just(size), Just(sub), 0..=size - sub));
        prop_oneof![
            old.clone().prop_map(Spec::Dup),
            (n(), old.clone()).prop_map(|(n, o)| Spec::Contiguous(n, o)),
            (n(), len(), -6i64..7, old.clone()).prop_map(|(n, l, s, o)| Spec::Vector(n, l, s, o)),
            (n(), len(), -99i64..99, old.clone()).prop_map(|(n, l, s, o)| Spec::Hvector(n, l, s, o)),
            (blocks(9), old.clone()).prop_map(|(b, o)| Spec::Indexed(b, o)),
            (blocks(99), old.clone()).prop_map(|(b, o)| Spec::Hindexed(b, o)),
            (len(), vec(-9i64..9, 0..12), old.clone()).prop_map(|(l, d, o)| Spec::IndexedBlock(l, d, o)),
            (len(), vec(-99i64..99, 0..12), old.clone()).prop_map(|(l, d, o)| Spec::HindexedBlock(l, d, o)),
            (len(), 1i64..5, 1i64..40, -5i64..40, 1i64..6, 2i64..8, old.clone()).prop_map(grid),
            vec((len(), -99i64..99, inner), 0..6).prop_map(Spec::Struct),
            (vec(dim, 1..4), any::<bool>(), old.clone()).prop_map(|(d, f, o)| Spec::Subarray(d, f, o)),
            (vec(share(), 1..4), any::<prop::sample::Index>(), any::<bool>(), old.clone()).prop_map(
                |(d, rank, f, o)| {
                    let procs: i32 = d.iter().map(|d| d.3).product();
                    Spec::Darray(d, rank.index(procs as usize) as i32, f, o)
                }
            ),
            (-40i64..40, -40i64..120, old).prop_map(|(lb, e, o)| Spec::Resized(lb, e, o)),
        ]
    })
    .prop_filter("small enough", |spec| map(spec).entries.len() <= 4000)
}

/// Displacements of a regular grid, which the layout should find again.
fn grid((len, step, jump, base, rows, columns, old): (i64, i64, i64, i64, i64, i64, Box<Spec>)) -> Spec {
    let disps = (0..rows).flat_map(|r| (0..columns).map(move |c| base + r * jump * 8 + c * step * 8));
    Spec::HindexedBlock(len, disps.collect(), old)
}

fn share() -> impl Strategy<Value = (i64, i32, i32, i32)> {
    (1i64..7, 1i32..4, 0..5).prop_flat_map(|(global, procs, kind)| {
        let least = (global as i32 + procs - 1) / procs;
        match kind {
            0 => (Just(global), Just(abi::DISTRIBUTE_NONE), 0..1, Just(1)).boxed(),
            1 => (Just(global), Just(abi::DISTRIBUTE_BLOCK), least..least + 3, Just(procs)).boxed(),
            2 => (Just(global), Just(abi::DISTRIBUTE_CYCLIC), 1..4, Just(procs)).boxed(),
            3 => (Just(global), Just(abi::DISTRIBUTE_BLOCK), dflt(), Just(procs)).boxed(),
            _ => (Just(global), Just(abi::DISTRIBUTE_CYCLIC), dflt(), Just(procs)).boxed(),
        }
    })
}

fn dflt() -> std::ops::RangeInclusive<i32> {
    abi::DISTRIBUTE_DFLT_DARG..=abi::DISTRIBUTE_DFLT_DARG
}

/// Memory for `count` items: a buffer and the address that the datatype's origin has in it.
pub struct Arena {
    pub memory: Vec<u8>,
    low: i64,
}

impl Arena {
    pub fn new(map: &Map, count: u64) -> Arena {
        let all = map.items(count);
        let span = (all.true_ub() - all.true_lb()) as usize;
        Arena { memory: (0..span).map(|i| (i * 7 + i / 251 * 13) as u8).collect(), low: all.true_lb() }
    }

    pub fn origin(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().wrapping_offset(-self.low as isize)
    }

    /// Index into the memory of a displacement.
    pub fn index(&self, disp: i64) -> usize {
        (disp - self.low) as usize
    }
}
