//! Layouts are canonical: what describes the same bytes in the same order regularly becomes the same loops.

use crate::layout::{Layout, Shape};
use crate::{Datatype, Form, Ints};
use std::sync::Arc;

fn named(handle: abi::Datatype) -> Arc<Datatype> {
    Datatype::predefined(handle).unwrap().clone()
}

fn strided(layout: &Layout) -> Option<(u64, u64, i64)> {
    match layout.shape {
        Shape::Strided { count, len, stride } => Some((count, len, stride)),
        _ => None,
    }
}

#[test]
fn dense_types_are_one_run() {
    let double = named(abi::DOUBLE);
    let contiguous = Arc::new(Datatype::contiguous(10, &double, Form::Large).unwrap());
    let vector = Datatype::vector(4, 5, 5, &double, Form::Large).unwrap();
    let touching = Datatype::indexed(Ints::Int(&[2, 3]), Ints::Int(&[1, 3]), &double, Form::Large).unwrap();
    let sizes = Ints::Int(&[4, 6]);
    let rows =
        Datatype::subarray(sizes, Ints::Int(&[2, 6]), Ints::Int(&[1, 0]), abi::ORDER_C, &double, Form::Large)
            .unwrap();
    for (dt, size, offset) in [(&*contiguous, 80, 0), (&vector, 160, 0), (&touching, 40, 8), (&rows, 96, 48)]
    {
        assert!(matches!(dt.layout().shape, Shape::Run));
        assert_eq!((dt.layout().size, dt.layout().offset), (size, offset));
    }
    assert!(contiguous.is_contiguous_for(9) && !rows.is_contiguous_for(2));
}

#[test]
fn a_vector_is_found_in_every_disguise() {
    let double = named(abi::DOUBLE);
    let disps = [3, 5, 7, 9];
    let indexed = Datatype::indexed_block(1, Ints::Int(&disps), &double, Form::Large).unwrap();
    let lens = [1i64; 4];
    let bytes = [24, 40, 56, 72];
    let types = vec![double.clone(); 4];
    let record =
        Datatype::create_struct(Ints::Large(&lens), Ints::Large(&bytes), &types, Form::Large).unwrap();
    let wide = Arc::new(Datatype::resized(&double, 0, 16, Form::Large).unwrap());
    let resized = Datatype::contiguous(4, &wide, Form::Large).unwrap();
    let pair = Arc::new(Datatype::vector(2, 1, 2, &double, Form::Large).unwrap());
    let halves = Datatype::hindexed_block(1, Ints::Large(&[24, 56]), &pair, Form::Large).unwrap();
    for dt in [&indexed, &record, &resized, &halves] {
        assert_eq!(strided(dt.layout()), Some((4, 8, 16)));
    }
    assert_eq!(indexed.layout().offset, 24);
    assert_eq!(strided(&wide.layout().repeated(6, wide.extent()).unwrap()), Some((6, 8, 16)));
}

#[test]
fn a_grid_of_displacements_becomes_nested_loops() {
    let int = named(abi::INT);
    let disps: Vec<i32> = (0..5)
        .flat_map(|p| (0..4).flat_map(move |r| (0..3).map(move |c| p * 1000 + r * 50 + c * 2)))
        .collect();
    let dt = Datatype::indexed_block(1, Ints::Int(&disps), &int, Form::Large).unwrap();
    let Shape::Loop { count: 5, stride: 4000, body } = &dt.layout().shape else {
        panic!("{:?}", dt.layout())
    };
    let Shape::Loop { count: 4, stride: 200, body } = &body.shape else { panic!("{body:?}") };
    assert_eq!(strided(body), Some((3, 4, 8)));
}

#[test]
fn equal_members_of_a_struct_become_a_loop() {
    let long = Arc::new(Datatype::vector(100, 1, 2, &named(abi::INT), Form::Large).unwrap());
    let (lens, disps) = ([1i64; 3], [0, 1000, 2000]);
    let types = vec![long; 3];
    let dt = Datatype::create_struct(Ints::Large(&lens), Ints::Large(&disps), &types, Form::Large).unwrap();
    assert!(matches!(dt.layout().shape, Shape::Loop { count: 3, stride: 1000, .. }));
}

#[test]
fn irregular_tables_are_narrow_even_at_absolute_addresses() {
    let far = 0x7fff_1234_5678i64;
    let disps = [far, far + 100, far + 120];
    let dt = Datatype::hindexed_block(1, Ints::Large(&disps), &named(abi::INT), Form::Large).unwrap();
    let Shape::Scatter { disps: crate::compact::Compact::Narrow(table), len: 4 } = &dt.layout().shape else {
        panic!("{:?}", dt.layout())
    };
    assert_eq!((&**table, dt.layout().offset), (&[0, 100, 120][..], far));
}

#[test]
fn bounds_cover_blocks_in_any_order() {
    let dt = Datatype::hindexed(Ints::Int(&[1, 2]), Ints::Large(&[64, -16]), &named(abi::INT), Form::Large)
        .unwrap();
    assert_eq!((dt.layout().lo, dt.layout().hi), (-16, 68));
    let back = Datatype::hvector(3, 1, -10, &named(abi::SHORT), Form::Large).unwrap();
    assert_eq!((back.layout().lo, back.layout().hi), (-20, 2));
}
