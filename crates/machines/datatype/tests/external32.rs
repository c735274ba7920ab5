//! external32 (MPI-5.0 section 15.5.2): lengths, golden bytes, round trips.

mod oracle;

use datatype::{Basic, Datatype, Form, Ints, external_size, pack_external, unpack_external};
use oracle::{Arena, Spec, any_spec, build, map};
use proptest::prelude::*;
use std::sync::Arc;

fn named(basic: Basic) -> Arc<Datatype> {
    Datatype::predefined(basic.handle()).unwrap().clone()
}

fn encode(basic: Basic, native: &[u8]) -> abi::Result<Vec<u8>> {
    let count = native.len() as u64 / basic.size();
    let mut out = vec![0; external_size(&named(basic), count)? as usize];
    // SAFETY: both buffers are as long as the counts require.
    unsafe { pack_external(&named(basic), count, native.as_ptr(), out.as_mut_ptr(), out.len() as u64)? };
    Ok(out)
}

fn decode(basic: Basic, external: &[u8]) -> Vec<u8> {
    let count = external.len() as u64 / basic.external_size();
    let mut native = vec![0; (count * basic.size()) as usize];
    // SAFETY: both buffers are as long as the counts require.
    unsafe {
        unpack_external(external.as_ptr(), external.len() as u64, &named(basic), count, native.as_mut_ptr())
    }
    .unwrap();
    native
}

#[test]
fn lengths_are_those_of_the_tables() {
    for (basic, length) in [
        (Basic::Packed, 1),
        (Basic::Byte, 1),
        (Basic::Char, 1),
        (Basic::Wchar, 2),
        (Basic::Short, 2),
        (Basic::Int, 4),
        (Basic::Long, 4),
        (Basic::UnsignedLong, 4),
        (Basic::LongLong, 8),
        (Basic::Float, 4),
        (Basic::Double, 8),
        (Basic::LongDouble, 16),
        (Basic::CBool, 1),
        (Basic::Aint, 8),
        (Basic::Count, 8),
        (Basic::Offset, 8),
        (Basic::CFloatComplex, 8),
        (Basic::CDoubleComplex, 16),
        (Basic::CLongDoubleComplex, 32),
        (Basic::Logical, 4),
        (Basic::Integer16, 16),
        (Basic::Real2, 2),
        (Basic::Complex4, 4),
        (Basic::Complex32, 32),
        (Basic::CxxBool, 1),
    ] {
        assert_eq!(external_size(&named(basic), 3).unwrap(), 3 * length, "{}", basic.name());
    }
}

#[test]
fn golden_bytes() {
    let int = [1i32, -2].map(i32::to_ne_bytes).concat();
    assert_eq!(encode(Basic::Int, &int).unwrap(), [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]);
    let double = 1.5f64.to_ne_bytes();
    assert_eq!(encode(Basic::Double, &double).unwrap(), [0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
    let complex = [1.0f32, -2.0].map(f32::to_ne_bytes).concat();
    assert_eq!(encode(Basic::Complex, &complex).unwrap(), [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]);
    let long = [-5i64, 0x7fff_ffff].map(i64::to_ne_bytes).concat();
    assert_eq!(encode(Basic::Long, &long).unwrap(), [0xff, 0xff, 0xff, 0xfb, 0x7f, 0xff, 0xff, 0xff]);
    assert_eq!(decode(Basic::Long, &[0xff, 0xff, 0xff, 0xfb]), (-5i64).to_ne_bytes());
    assert_eq!(decode(Basic::UnsignedLong, &[0xff, 0xff, 0xff, 0xfb]), 0xffff_fffbu64.to_ne_bytes());
    assert_eq!(encode(Basic::Wchar, &0x20acu32.to_ne_bytes()).unwrap(), [0x20, 0xac]);
    assert_eq!(encode(Basic::Char, b"alhena").unwrap(), b"alhena");
    assert_eq!(encode(Basic::Logical, &1i32.to_ne_bytes()).unwrap(), [0, 0, 0, 1]);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    for (basic, value) in [
        (Basic::Long, i64::MAX.to_ne_bytes()),
        (Basic::Long, (-0x8000_0001i64).to_ne_bytes()),
        (Basic::UnsignedLong, 0x1_0000_0000u64.to_ne_bytes()),
    ] {
        assert_eq!(encode(basic, &value).unwrap_err().class, abi::ERR_CONVERSION);
    }
    assert_eq!(encode(Basic::Wchar, &0x1f600u32.to_ne_bytes()).unwrap_err().class, abi::ERR_CONVERSION);
}

#[test]
fn too_small_buffers_are_refused() {
    let (dt, mut native, mut external) = (named(Basic::Int), [1u8; 8], [2u8; 7]);
    // SAFETY: the lengths are those of the buffers.
    unsafe {
        let packed = pack_external(&dt, 2, native.as_ptr(), external.as_mut_ptr(), 7);
        assert_eq!(packed.unwrap_err().class, abi::ERR_TRUNCATE);
        let unpacked = unpack_external(external.as_ptr(), 7, &dt, 2, native.as_mut_ptr());
        assert_eq!(unpacked.unwrap_err().class, abi::ERR_TRUNCATE);
    }
    assert_eq!((native, external), ([1; 8], [2; 7]));
}

/// `long double` as x87 stores it, in the 16 bytes of the C type.
fn extended(head: u16, significand: u64) -> [u8; 16] {
    (u128::from(head) << 64 | u128::from(significand)).to_le_bytes()
}

#[test]
fn long_double_becomes_binary128() {
    for (head, significand, quad) in [
        (0x0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000_0000_0000_0000_0000u128), // 0
        (0x8000, 0x0000_0000_0000_0000, 0x8000_0000_0000_0000_0000_0000_0000_0000),     // -0
        (0x3fff, 0x8000_0000_0000_0000, 0x3fff_0000_0000_0000_0000_0000_0000_0000),     // 1
        (0xc000, 0xc000_0000_0000_0000, 0xc000_8000_0000_0000_0000_0000_0000_0000),     // -3
        (0x4000, 0xc90f_daa2_2168_c235, 0x4000_921f_b544_42d1_846a_0000_0000_0000),     // pi
        (0x7fff, 0x8000_0000_0000_0000, 0x7fff_0000_0000_0000_0000_0000_0000_0000),     // infinity
        (0x7fff, 0xc000_0000_0000_0000, 0x7fff_8000_0000_0000_0000_0000_0000_0000),     // quiet NaN
        (0x0000, 0x0000_0000_0000_0001, 0x0000_0000_0000_0000_0002_0000_0000_0000),     // least denormal
        (0x0001, 0x8000_0000_0000_0000, 0x0001_0000_0000_0000_0000_0000_0000_0000),     // least normal
        (0x7ffe, 0xffff_ffff_ffff_ffff, 0x7ffe_ffff_ffff_ffff_fffe_0000_0000_0000),     // greatest
    ] {
        let native = extended(head, significand);
        assert_eq!(
            encode(Basic::LongDouble, &native).unwrap(),
            quad.to_be_bytes(),
            "{head:x} {significand:x}"
        );
        assert_eq!(decode(Basic::LongDouble, &quad.to_be_bytes()), native, "{quad:x}");
    }
}

#[test]
fn binary128_is_rounded_to_long_double() {
    for (quad, head, significand) in [
        // A tie goes to even, down and up.
        (0x3fff_0000_0000_0000_0001_0000_0000_0000u128, 0x3fff, 0x8000_0000_0000_0000),
        (0x3fff_0000_0000_0000_0003_0000_0000_0000, 0x3fff, 0x8000_0000_0000_0002),
        (0x3fff_0000_0000_0000_0001_0000_0000_0001, 0x3fff, 0x8000_0000_0000_0001),
        // Rounding carries into the exponent, to infinity, and from the denormals to the normals.
        (0x3fff_ffff_ffff_ffff_ffff_0000_0000_0000, 0x4000, 0x8000_0000_0000_0000),
        (0x7ffe_ffff_ffff_ffff_ffff_0000_0000_0000, 0x7fff, 0x8000_0000_0000_0000),
        (0x0000_ffff_ffff_ffff_ffff_0000_0000_0000, 0x0001, 0x8000_0000_0000_0000),
        // A NaN stays one though its payload is cut.
        (0x7fff_0000_0000_0000_0000_0000_0000_0001, 0x7fff, 0xc000_0000_0000_0000),
    ] {
        assert_eq!(decode(Basic::LongDouble, &quad.to_be_bytes()), extended(head, significand), "{quad:x}");
    }
}

#[test]
fn a_struct_has_no_holes_outside() {
    let types = [named(Basic::Double), named(Basic::Short), named(Basic::Char)];
    let (lens, disps) = ([1, 2, 1], [8, 0, 17]);
    let dt = Datatype::create_struct(Ints::Large(&lens), Ints::Large(&disps), &types, Form::Large).unwrap();
    let mut memory = [0u8; 24];
    memory[..2].copy_from_slice(&0x0102i16.to_ne_bytes());
    memory[2..4].copy_from_slice(&0x0304i16.to_ne_bytes());
    memory[8..16].copy_from_slice(&(-2.0f64).to_ne_bytes());
    memory[17] = b'z';
    let mut out = [0u8; 13];
    // SAFETY: the memory covers the type.
    let n = unsafe { pack_external(&dt, 1, memory.as_ptr(), out.as_mut_ptr(), 13) }.unwrap();
    assert_eq!((n, out), (13, [0xc0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, b'z']));
}

#[test]
fn fortran_kinds_have_the_lengths_of_section_19_1_9() {
    let size = |dt: abi::Result<Arc<Datatype>>| external_size(&dt.unwrap(), 1).unwrap();
    assert_eq!(size(Datatype::f90_real(6, 37)), 4);
    assert_eq!(size(Datatype::f90_real(15, abi::UNDEFINED)), 8);
    assert_eq!(size(Datatype::f90_real(18, abi::UNDEFINED)), 16);
    assert_eq!(size(Datatype::f90_real(abi::UNDEFINED, 4931)), 16);
    assert_eq!(size(Datatype::f90_complex(33, 4931)), 32);
    assert_eq!([2, 4, 9, 18, 38].map(|r| size(Datatype::f90_integer(r))), [1, 2, 4, 8, 16]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, max_global_rejects: 1 << 20, ..ProptestConfig::default() })]

    #[test]
    fn nested_types_convert_element_by_element(spec in any_spec(), count in 0u64..200) {
        let map = map(&spec);
        let dt = build(&spec, Form::Large);
        let count = count.min(20_000 / (map.entries.len() as u64 + 1));
        let mut arena = Arena::new(&map, count);
        let items = map.items(count);
        let all: Result<Vec<Vec<u8>>, _> = items.entries.iter().map(|&(basic, disp)| {
            let at = arena.index(disp);
            encode(basic, &arena.memory[at..at + basic.size() as usize])
        }).collect();
        let mut out = vec![0; external_size(&dt, count).unwrap() as usize];
        // SAFETY: the arena covers the items.
        let packed = unsafe {
            pack_external(&dt, count, arena.origin(), out.as_mut_ptr(), out.len() as u64)
        };
        match all {
            Ok(all) => {
                prop_assert_eq!(packed, Ok(out.len() as u64));
                prop_assert_eq!(&out, &all.concat());
            }
            Err(error) => prop_assert_eq!(packed, Err(error)),
        }
    }

    #[test]
    fn what_is_decoded_encodes_to_the_same_bytes(spec in any_spec(), count in 0u64..5, seed in any::<u8>()) {
        let map = map(&spec);
        let dt = build(&spec, Form::Large);
        let bytes = map.items(count).bytes();
        prop_assume!(bytes.iter().collect::<std::collections::HashSet<_>>().len() == bytes.len());
        // Small steps of a counter are no NaN in any type.
        let stream: Vec<u8> = (0..external_size(&dt, count).unwrap()).map(|i| seed / 4 + (i % 50) as u8).collect();
        prop_assume!(!has_inexact(&spec));
        let mut arena = Arena::new(&map, count);
        let mut again = vec![0; stream.len()];
        // SAFETY: the arena covers the items.
        unsafe {
            unpack_external(stream.as_ptr(), stream.len() as u64, &dt, count, arena.origin()).unwrap();
            pack_external(&dt, count, arena.origin(), again.as_mut_ptr(), again.len() as u64).unwrap();
        }
        prop_assert_eq!(again, stream);
    }
}

/// Whether the type has elements that external32 represents with more bits than the machine.
fn has_inexact(spec: &Spec) -> bool {
    map(spec)
        .entries
        .iter()
        .any(|e| matches!(e.0.kind(), datatype::Kind::Extended | datatype::Kind::ExtendedComplex))
}
