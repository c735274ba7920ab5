//! Constructors: bounds by the rules of MPI-5.0 sections 5.1.1 to 5.1.8, refusals, decoding, large types.

use datatype::{
    Basic, Convertor, Datatype, Form, Ints, NAMED_PAIRS, as_int, count_of, predefined_dense_size,
    predefined_size,
};
use std::sync::Arc;

fn named(handle: abi::Datatype) -> Arc<Datatype> {
    Datatype::predefined(handle).unwrap().clone()
}

fn record(lens: &[i64], disps: &[i64], types: &[Arc<Datatype>]) -> abi::Result<Datatype> {
    Datatype::create_struct(Ints::Large(lens), Ints::Large(disps), types, Form::Classic)
}

fn class<T>(result: abi::Result<T>) -> i32 {
    result.err().expect("an error").class
}

#[test]
fn predefined_types_have_the_sizes_of_the_compilers() {
    for &basic in Basic::ALL {
        let dt = named(basic.handle());
        assert_eq!(
            (dt.size(), dt.lb(), dt.extent()),
            (basic.size(), 0, basic.size() as i64),
            "{}",
            basic.name()
        );
        assert_eq!(predefined_size(basic.handle()), Some(basic.size() as u32));
        assert_eq!(predefined_dense_size(basic.handle()), Some(basic.size() as u32));
        assert!(dt.is_committed() && dt.is_predefined() && dt.is_contiguous_for(7));
        assert_eq!((dt.basic(), dt.named_handle()), (Some(basic), Some(basic.handle())));
        assert_eq!(Basic::from_handle(basic.handle()), Some(basic));
        assert_eq!(dt.envelope().combiner, abi::COMBINER_NAMED);
    }
    for (handle, size, extent) in [
        (abi::FLOAT_INT, 8, 8),
        (abi::DOUBLE_INT, 12, 16),
        (abi::LONG_INT, 12, 16),
        (abi::TWOINT, 8, 8),
        (abi::SHORT_INT, 6, 8),
        (abi::LONG_DOUBLE_INT, 20, 32),
        (abi::TWOREAL, 8, 8),
        (abi::TWODOUBLE_PRECISION, 16, 16),
        (abi::TWOINTEGER, 8, 8),
    ] {
        let dt = named(handle);
        assert_eq!((dt.size(), dt.extent()), (size, extent));
        assert_eq!(predefined_size(handle), Some(size as u32));
        assert_eq!(predefined_dense_size(handle).is_some(), size == extent as u64);
        assert_eq!(dt.signature().elements(), 2);
        assert!(dt.pair().is_some() && dt.basic().is_none());
    }
}

#[test]
fn every_datatype_constant_of_the_abi_is_a_type() {
    for constant in abi::ALL.iter().filter(|c| c.ctype == "MPI_Datatype") {
        let handle = abi::Datatype(constant.value as usize);
        let exists = handle != abi::DATATYPE_NULL;
        assert_eq!(Datatype::predefined(handle).is_some(), exists, "{}", constant.name);
        assert_eq!(predefined_size(handle).is_some(), exists, "{}", constant.name);
    }
}

#[test]
fn markers_of_former_versions_set_one_bound() {
    let struct_of = |parts: &[(i64, abi::Datatype)]| {
        let lengths = vec![1; parts.len()];
        let places: Vec<i64> = parts.iter().map(|part| part.0).collect();
        let types: Vec<_> = parts.iter().map(|part| named(part.1).clone()).collect();
        Datatype::create_struct(Ints::Large(&lengths), Ints::Large(&places), &types, Form::Classic).unwrap()
    };
    let bounds = |it: &Datatype| (it.lb(), it.ub(), it.size());
    let both = struct_of(&[(-3, abi::LB), (0, abi::INT), (9, abi::UB)]);
    assert_eq!(bounds(&both), (-3, 9, 4));
    assert_eq!(bounds(&struct_of(&[(-3, abi::LB), (0, abi::INT)])), (-3, 4, 4));
    assert_eq!(bounds(&struct_of(&[(4, abi::INT), (16, abi::UB)])), (4, 16, 4));
    // A bound stays in types that are built from this one.
    let three = Datatype::contiguous(3, &Arc::new(both), Form::Classic).unwrap();
    assert_eq!(bounds(&three), (-3, 33, 12));
    assert_eq!(named(abi::UB).predefined_name(), Some("MPI_UB"));
}

#[test]
fn names_are_those_of_the_abi() {
    let pairs = NAMED_PAIRS.iter().map(|pair| (pair.name, pair.handle));
    for (name, handle) in Basic::ALL.iter().map(|b| (b.name(), b.handle())).chain(pairs) {
        let constant = abi::ALL.iter().find(|c| c.name == name).expect(name);
        assert_eq!(constant.value as usize, handle.0, "{name}");
        assert_eq!(named(handle).predefined_name(), Some(name));
    }
}

#[test]
fn other_handles_are_no_predefined_types() {
    for handle in [0, 1, 0x101, 0x1ff, 0x200, 0x204, 0x300, 0x1000, usize::MAX] {
        assert!(Datatype::predefined(abi::Datatype(handle)).is_none());
        assert_eq!(predefined_size(abi::Datatype(handle)), None);
        assert_eq!(predefined_dense_size(abi::Datatype(handle)), None);
        assert!(Basic::from_handle(abi::Datatype(handle)).is_none());
    }
}

#[test]
fn a_struct_is_padded_as_a_compiler_does() {
    let (char, double, int) = (named(abi::CHAR), named(abi::DOUBLE), named(abi::INT));
    let dt = record(&[1, 1], &[0, 8], &[double.clone(), char.clone()]).unwrap();
    assert_eq!((dt.size(), dt.extent(), dt.true_extent()), (9, 16, 9));
    let dt = record(&[1, 1], &[0, 4], &[int, char]).unwrap();
    assert_eq!((dt.size(), dt.extent()), (5, 8));
    let dt = record(&[1], &[-4], &[double]).unwrap();
    assert_eq!((dt.lb(), dt.extent(), dt.true_lb()), (-4, 8, -4));
}

#[test]
fn explicit_bounds_stick_and_are_replaced() {
    let int = named(abi::INT);
    let wide = Arc::new(Datatype::resized(&int, -3, 16, Form::Classic).unwrap());
    assert_eq!((wide.lb(), wide.ub(), wide.true_lb(), wide.true_extent()), (-3, 13, 0, 4));
    // Section 5.1.6: once a type map has explicit bounds, they alone count.
    let both = record(&[1, 1], &[0, 100], &[wide.clone(), int.clone()]).unwrap();
    assert_eq!((both.lb(), both.ub()), (-3, 13));
    let three = Datatype::contiguous(3, &wide, Form::Classic).unwrap();
    assert_eq!((three.lb(), three.ub()), (-3, 13 + 32));
    let narrow = Datatype::resized(&Arc::new(three), 0, 5, Form::Classic).unwrap();
    assert_eq!((narrow.lb(), narrow.extent()), (0, 5));
    let none = Datatype::contiguous(0, &wide, Form::Classic).unwrap();
    assert_eq!((none.lb(), none.extent(), none.size()), (0, 0, 0));
}

#[test]
fn negative_arguments_are_refused_by_class() {
    let int = named(abi::INT);
    assert_eq!(class(Datatype::contiguous(-1, &int, Form::Classic)), abi::ERR_COUNT);
    assert_eq!(class(Datatype::vector(-1, 1, 1, &int, Form::Classic)), abi::ERR_COUNT);
    assert_eq!(class(Datatype::vector(1, -1, 1, &int, Form::Classic)), abi::ERR_ARG);
    assert_eq!(class(Datatype::hvector(2, -1, 1, &int, Form::Large)), abi::ERR_ARG);
    let one = Ints::Int(&[0]);
    assert_eq!(class(Datatype::indexed(Ints::Int(&[-1]), one, &int, Form::Classic)), abi::ERR_ARG);
    assert_eq!(class(Datatype::indexed_block(-1, one, &int, Form::Classic)), abi::ERR_ARG);
    assert_eq!(class(record(&[-1], &[0], std::slice::from_ref(&int))), abi::ERR_ARG);
    assert_eq!(class(record(&[1, 1], &[0], std::slice::from_ref(&int))), abi::ERR_ARG);
    assert_eq!(class(Datatype::indexed(Ints::Int(&[1, 1]), one, &int, Form::Classic)), abi::ERR_ARG);
}

#[test]
fn arrays_outside_their_bounds_are_refused() {
    let int = named(abi::INT);
    let sub = |size, sub, start, order| {
        let (a, b, c) = ([size], [sub], [start]);
        Datatype::subarray(Ints::Int(&a), Ints::Int(&b), Ints::Int(&c), order, &int, Form::Classic)
    };
    assert!(sub(5, 5, 0, abi::ORDER_C).is_ok());
    for (size, len, start, order) in [
        (5, 6, 0, abi::ORDER_C),
        (5, 0, 0, abi::ORDER_C),
        (0, 0, 0, abi::ORDER_C),
        (5, 2, 4, abi::ORDER_C),
        (5, 2, -1, abi::ORDER_C),
        (5, 2, 0, 0),
    ] {
        assert_eq!(class(sub(size, len, start, order)), abi::ERR_ARG);
    }
    let empty = Ints::Int(&[]);
    assert_eq!(
        class(Datatype::subarray(empty, empty, empty, abi::ORDER_C, &int, Form::Classic)),
        abi::ERR_ARG
    );
    let dist = |size, rank, global, distrib, darg, procs| {
        let (g, d, a, p) = ([global], [distrib], [darg], [procs]);
        Datatype::darray(size, rank, Ints::Int(&g), &d, &a, &p, abi::ORDER_C, &int, Form::Classic)
    };
    let (block, cyclic, none) = (abi::DISTRIBUTE_BLOCK, abi::DISTRIBUTE_CYCLIC, abi::DISTRIBUTE_NONE);
    assert!(dist(3, 2, 9, block, 3, 3).is_ok());
    for (size, rank, global, distrib, darg, procs) in [
        (3, 3, 9, block, 3, 3),
        (3, -1, 9, block, 3, 3),
        (4, 0, 9, block, 3, 3),
        (3, 0, 9, block, 2, 3),
        (3, 0, 9, block, 0, 3),
        (3, 0, 9, cyclic, -1, 3),
        (3, 0, 9, none, 1, 3),
        (3, 0, 9, 77, 1, 3),
        (0, 0, 9, block, 3, 0),
        (3, 0, 0, block, 3, 3),
    ] {
        assert_eq!(class(dist(size, rank, global, distrib, darg, procs)), abi::ERR_ARG);
    }
}

#[test]
fn a_process_may_hold_nothing_of_a_distributed_array() {
    let int = named(abi::INT);
    let (g, d, a, p) = ([4], [abi::DISTRIBUTE_BLOCK], [2], [3]);
    let dt = Datatype::darray(3, 2, Ints::Int(&g), &d, &a, &p, abi::ORDER_C, &int, Form::Classic).unwrap();
    assert_eq!((dt.size(), dt.lb(), dt.extent()), (0, 0, 16));
}

#[test]
fn types_beyond_63_bits_are_refused() {
    let (int, byte) = (named(abi::INT), named(abi::BYTE));
    let large = Form::Large;
    let huge = i64::MAX;
    assert_eq!(class(Datatype::contiguous(huge, &int, large)), abi::ERR_ARG);
    assert_eq!(class(Datatype::vector(2, 1, huge, &int, large)), abi::ERR_ARG);
    assert_eq!(class(Datatype::vector(huge, huge, 0, &byte, large)), abi::ERR_ARG);
    assert_eq!(class(Datatype::hvector(3, 1, huge, &byte, large)), abi::ERR_ARG);
    assert_eq!(
        class(Datatype::hindexed_block(1, Ints::Large(&[i64::MIN, huge]), &byte, large)),
        abi::ERR_ARG
    );
    assert_eq!(class(Datatype::hindexed_block(1, Ints::Large(&[huge]), &byte, large)), abi::ERR_ARG);
    assert_eq!(class(Datatype::indexed(Ints::Large(&[1]), Ints::Large(&[huge]), &int, large)), abi::ERR_ARG);
    assert_eq!(class(record(&[1, 1], &[i64::MIN, 0], &[int.clone(), int.clone()])), abi::ERR_ARG);
    assert_eq!(class(Datatype::resized(&int, huge, 1, large)), abi::ERR_ARG);
    let most = Arc::new(Datatype::contiguous(huge, &byte, large).unwrap());
    assert_eq!((most.size(), most.extent()), (huge as u64, huge));
    assert_eq!(class(record(&[1, 1], &[0, 0], &[most.clone(), byte.clone()])), abi::ERR_ARG);
    // SAFETY: the convertor is not used.
    assert_eq!(class(unsafe { Convertor::new(&most, 2, std::ptr::null_mut()) }), abi::ERR_ARG);
    // A stride that is never taken may be anything.
    assert!(Datatype::vector(1, 1, huge, &int, large).is_ok());
    assert!(Datatype::vector(0, 1, huge, &int, large).is_ok());
}

#[test]
fn sizes_beyond_int_are_undefined_to_the_classic_calls() {
    let dt = Datatype::contiguous(3 << 30, &named(abi::BYTE), Form::Large).unwrap();
    assert_eq!((dt.size(), as_int(dt.extent())), (3 << 30, abi::UNDEFINED));
    assert_eq!(as_int(i64::from(i32::MAX)), i32::MAX);
    assert_eq!(
        (count_of(4, 12), count_of(4, 13), count_of(0, 0), count_of(0, 1)),
        (Some(3), None, Some(0), None)
    );
}

#[test]
fn the_form_of_the_call_decides_where_arguments_are_reported() {
    let int = named(abi::INT);
    let counts = |dt: &Datatype| {
        let e = dt.envelope();
        (e.integers, e.addresses, e.large_counts, e.datatypes)
    };
    let classic = Datatype::hvector(2, 1, 8, &int, Form::Classic).unwrap();
    assert_eq!(counts(&classic), (2, 1, 0, 1));
    assert_eq!((&*classic.contents().integers, &*classic.contents().addresses), (&[2, 1][..], &[8][..]));
    let large = Datatype::hvector(2, 1, 8, &int, Form::Large).unwrap();
    assert_eq!(counts(&large), (0, 0, 3, 1));
    assert_eq!(*large.contents().large_counts, [2, 1, 8]);
    let s = record(&[1, 1], &[0, 8], &[int.clone(), int.clone()]).unwrap();
    assert_eq!(counts(&s), (3, 2, 0, 2));
    assert_eq!(counts(&Datatype::dup(&int)), (0, 0, 0, 1));
    assert_eq!(counts(&Datatype::resized(&int, 0, 8, Form::Classic).unwrap()), (0, 2, 0, 1));
    let (a, b, c) = (Ints::Int(&[4, 4]), Ints::Int(&[2, 2]), Ints::Int(&[1, 0]));
    let sub = |form| Datatype::subarray(a, b, c, abi::ORDER_C, &int, form).unwrap();
    assert_eq!((counts(&sub(Form::Classic)), counts(&sub(Form::Large))), ((8, 0, 0, 1), (2, 0, 6, 1)));
    let (d, p) = ([abi::DISTRIBUTE_BLOCK; 2], [2, 2]);
    let dist = |form| Datatype::darray(4, 1, a, &d, &[2, 2], &p, abi::ORDER_C, &int, form).unwrap();
    assert_eq!((counts(&dist(Form::Classic)), counts(&dist(Form::Large))), ((12, 0, 0, 1), (10, 0, 2, 1)));
    assert_eq!(counts(&int), (0, 0, 0, 0));
    // Arguments wider than the classic call's cannot come from it.
    assert_eq!(class(Datatype::contiguous(1 << 40, &int, Form::Classic)), abi::ERR_ARG);
}

#[test]
fn a_duplicate_is_committed_as_its_original_is() {
    let vector = Arc::new(Datatype::vector(2, 1, 2, &named(abi::INT), Form::Classic).unwrap());
    assert!(!vector.is_committed() && !Datatype::dup(&vector).is_committed());
    vector.commit();
    assert!(vector.is_committed() && Datatype::dup(&vector).is_committed());
    let dup = Datatype::dup(&named(abi::INT));
    assert_eq!(dup.predefined_name(), None);
    assert!(dup.is_committed() && !dup.is_predefined() && dup.basic().is_none());
    assert_eq!(dup.contents().datatypes[0].named_handle(), Some(abi::INT));
}

#[test]
fn fortran_parameterized_types_are_predefined_and_unique() {
    let real = Datatype::f90_real(10, abi::UNDEFINED).unwrap();
    assert_eq!((real.size(), real.basic(), real.is_predefined()), (8, Some(Basic::Real8), true));
    assert!(Arc::ptr_eq(&real, &Datatype::f90_real(10, abi::UNDEFINED).unwrap()));
    assert!(!Arc::ptr_eq(&real, &Datatype::f90_real(10, 200).unwrap()));
    assert_eq!(
        (real.envelope().combiner, &*real.contents().integers),
        (abi::COMBINER_F90_REAL, &[10, abi::UNDEFINED][..])
    );
    let complex = Datatype::f90_complex(6, 37).unwrap();
    assert_eq!((complex.size(), complex.envelope().combiner), (8, abi::COMBINER_F90_COMPLEX));
    let integer = Datatype::f90_integer(12).unwrap();
    assert_eq!((integer.size(), &*integer.contents().integers), (8, &[12][..]));
    for wrong in [
        Datatype::f90_real(abi::UNDEFINED, abi::UNDEFINED),
        Datatype::f90_real(34, 1),
        Datatype::f90_complex(1, 5000),
        Datatype::f90_integer(39),
    ] {
        assert_eq!(class(wrong), abi::ERR_ARG);
    }
}

#[test]
fn sizes_match_the_named_types_of_their_class() {
    for (typeclass, size, handle) in [
        (abi::TYPECLASS_REAL, 4, abi::REAL4),
        (abi::TYPECLASS_REAL, 16, abi::REAL16),
        (abi::TYPECLASS_INTEGER, 1, abi::INTEGER1),
        (abi::TYPECLASS_INTEGER, 8, abi::INTEGER8),
        (abi::TYPECLASS_COMPLEX, 8, abi::COMPLEX8),
        (abi::TYPECLASS_COMPLEX, 32, abi::COMPLEX32),
        (abi::MPIX_TYPECLASS_LOGICAL, 4, abi::LOGICAL4),
    ] {
        assert_eq!(Datatype::match_size(typeclass, size).unwrap().named_handle(), Some(handle));
    }
    assert_eq!(class(Datatype::match_size(abi::TYPECLASS_REAL, 3)), abi::ERR_ARG);
    assert_eq!(class(Datatype::match_size(0, 4)), abi::ERR_ARG);
}

#[test]
fn value_and_index_pairs_are_named_unnamed_or_absent() {
    let pair = |v, i| Datatype::value_index(&named(v), &named(i)).unwrap();
    assert_eq!(pair(abi::DOUBLE, abi::INT).unwrap().named_handle(), Some(abi::DOUBLE_INT));
    assert_eq!(pair(abi::REAL, abi::REAL).unwrap().named_handle(), Some(abi::TWOREAL));
    let unnamed = pair(abi::DOUBLE, abi::UINT64_T).unwrap();
    assert_eq!((unnamed.size(), unnamed.extent()), (16, 16));
    assert_eq!(unnamed.pair(), Some((Basic::Double, Basic::Uint64)));
    assert_eq!(unnamed.envelope().combiner, abi::COMBINER_VALUE_INDEX);
    assert_eq!(unnamed.contents().datatypes[1].named_handle(), Some(abi::UINT64_T));
    assert!(Arc::ptr_eq(&unnamed, &pair(abi::DOUBLE, abi::UINT64_T).unwrap()));
    let padded = pair(abi::INT8_T, abi::INT64_T).unwrap();
    assert_eq!((padded.size(), padded.extent()), (9, 16));
    assert!(pair(abi::DOUBLE, abi::FLOAT).is_none());
    assert!(pair(abi::C_DOUBLE_COMPLEX, abi::INT).is_none());
    assert!(pair(abi::FLOAT_INT, abi::INT).is_none());
}

#[test]
fn long_chains_of_types_are_freed_without_recursion() {
    let mut dt = named(abi::INT);
    for _ in 0..300_000 {
        dt = Arc::new(Datatype::dup(&dt));
    }
    assert_eq!((dt.size(), dt.signature().elements()), (4, 1));
}

#[test]
fn deeply_nested_structs_pack() {
    let mut dt = named(abi::INT);
    for i in 0..2000 {
        dt = Arc::new(record(&[1, 1], &[0, 8 * (i + 1)], &[dt, named(abi::INT)]).unwrap());
    }
    let mut memory = vec![0i32; 4 * 1001];
    for (i, word) in memory.iter_mut().enumerate() {
        *word = i as i32;
    }
    let mut out = vec![0i32; 2001];
    // SAFETY: 2001 integers eight bytes apart lie in the memory; the output has room for them.
    let n = unsafe {
        let mut convertor = Convertor::new(&dt, 1, memory.as_mut_ptr().cast()).unwrap();
        convertor.pack(out.as_mut_ptr().cast(), out.len() * 4)
    };
    assert_eq!(n, 2001 * 4);
    assert!(out.iter().enumerate().all(|(i, &word)| word == 2 * i as i32));
}

#[test]
fn absolute_addresses_work_from_bottom() {
    let (mut a, mut b) = ([1u8, 2, 3, 4], [5u8, 6]);
    let disps = [a.as_mut_ptr().expose_provenance() as i64, b.as_mut_ptr().expose_provenance() as i64];
    let byte = named(abi::BYTE);
    let dt = record(&[4, 2], &disps, &[byte.clone(), byte]).unwrap();
    let mut out = [0u8; 6];
    // SAFETY: the displacements are the addresses of the two arrays.
    unsafe {
        let mut convertor = Convertor::new(&dt, 1, std::ptr::null_mut()).unwrap();
        assert_eq!(convertor.pack(out.as_mut_ptr(), 6), 6);
        convertor.seek(3);
        assert_eq!(convertor.unpack([7, 8, 9].as_ptr(), 3), 3);
    }
    assert_eq!((out, a, b), ([1, 2, 3, 4, 5, 6], [1, 2, 3, 7], [8, 9]));
}

#[test]
fn a_million_irregular_blocks_are_listed_in_compact_tables() {
    let n = 1_000_000;
    let disps: Vec<i32> = (0..n).map(|i| i * 3 + (i * 7 % 2)).collect();
    let dt = Datatype::indexed_block(1, Ints::Int(&disps), &named(abi::DOUBLE), Form::Classic).unwrap();
    assert_eq!((dt.size(), dt.runs()), (8 * n as u64, n as u64));
    let mut memory: Vec<f64> = (0..3 * n + 2).map(f64::from).collect();
    let mut out = vec![0f64; 1000];
    // SAFETY: the displacements lie in the memory; the output has room for what is asked.
    let taken = unsafe {
        let mut convertor = Convertor::new(&dt, 1, memory.as_mut_ptr().cast()).unwrap();
        convertor.seek(8 * 900_000);
        convertor.pack(out.as_mut_ptr().cast(), 8000)
    };
    assert_eq!(taken, 8000);
    assert!(out.iter().zip(&disps[900_000..]).all(|(&value, &disp)| value == f64::from(disp)));
}
