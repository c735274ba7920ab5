//! Are buffers what MPI was given them as? What a variable of the program is, debug information tells.

use std::path::Path;

use check::findings::{Class, Finding};
use check::typed::{Buffer, Storage};
use datatype::Kind;
use symbols::variables::{self, NumberKind, Variable, Variables};

/// What is wrong with a buffer, and the variable that it lies in.
pub fn look(known: &mut Variables, buffer: &Buffer) -> Option<(Finding, String)> {
    let variable = find(known, buffer)?;
    let basic = buffer.summary.first;
    let kind = match basic.kind() {
        Kind::Signed | Kind::Unsigned => NumberKind::Integer,
        Kind::Float | Kind::Extended => NumberKind::Float,
        // Characters are also bytes of anything, and complex numbers are two numbers.
        _ => return None,
    };
    let word = buffer.summary.words()[2];
    let needed = buffer.items.saturating_mul(basic.size());
    let (class, numbers) = match () {
        () if variable.kind == NumberKind::Complex => return None,
        () if (variable.kind, variable.size) != (kind, basic.size()) => (Class::VariableType, [word, 0, 0]),
        () if needed > variable.left => (Class::VariableLength, [word, buffer.items, variable.left]),
        () => return None,
    };
    let finding = Finding { class, count: 1, at: buffer.at.clone(), other: None, numbers };
    Some((finding, format!("{} {}", variable.type_name, variable.name)))
}

fn find(known: &mut Variables, buffer: &Buffer) -> Option<Variable> {
    let (module, storage) = match &buffer.storage {
        Storage::Static(module, offset) => (module, variables::Storage::Static(*offset)),
        Storage::Stack(stack_pointer, frame_pointer) => {
            let (stack_pointer, frame_pointer) = (*stack_pointer, *frame_pointer);
            let storage = variables::Storage::Stack { call: buffer.at.offset, stack_pointer, frame_pointer };
            (buffer.at.module.as_ref()?, storage)
        }
    };
    known.find(Path::new(&module.path), &module.build_id, storage)
}
