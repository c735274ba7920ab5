//! The module `mpi_f08`.

use std::collections::BTreeMap;
use std::fmt::Write;

use function_table::Table;
use function_table::fortran::{Procedure, procedures};

use super::interface::{Module, body, generic, twin};
use super::mpi::parameters;

const OPENING: &str = "\
! The module mpi_f08 of MPI 5.0, standard ABI: constants and interfaces, no code.
! Generated from Alhena's function table.
module mpi_f08
  use alhena_types, no_status => MPI_STATUS_IGNORE, no_statuses => MPI_STATUSES_IGNORE
  use, intrinsic :: iso_c_binding, only: c_ptr, c_char, c_int
  implicit none
  public
  private :: c_ptr, c_char, c_int, no_status, no_statuses
";

/// The whole module.
pub fn render(table: &Table) -> String {
    let mut text = String::from(OPENING);
    parameters(&mut text, true);
    objects(&mut text);
    text += ABSTRACT;
    interfaces(&mut text, table);
    text += EXTRA;
    for (name, symbol) in [("Sizeof", "pmpi_sizeof_f08ts_"), ("F_sync_reg", "pmpi_f_sync_reg_f08ts_")] {
        let own = format!("PMPI_{name}_f08ts");
        text += &twin(&own, &format!("MPI_{name}_f08ts"), Some(symbol));
        text += &generic(&format!("PMPI_{name}"), [own]);
    }
    super::folded(&(text + "end module mpi_f08\n"))
}

/// All procedures of a table, by their generic names.
pub fn interfaces(text: &mut String, table: &Table) {
    let prefix = table.prefix;
    let twin_prefix = format!("P{prefix}");
    let mut generics: BTreeMap<String, Vec<Procedure<'_>>> = BTreeMap::new();
    for procedure in procedures(table).filter(|it| it.in_f08(table)) {
        let same = generics.entry(procedure.generic()).or_default();
        // Where kinds coincide, the procedure with small counts stays.
        if !same.iter().any(|other| other.signature() == procedure.signature()) {
            same.push(procedure);
        }
    }
    for (name, procedures) in &generics {
        let _ = writeln!(text, "    interface {prefix}{name}");
        for procedure in procedures {
            let own = specific(procedure, prefix);
            *text += &body(procedure, Module::F08, &own, symbol(procedure, &own).as_deref());
        }
        text.push_str("    end interface\n");
        for procedure in procedures {
            let own = specific(procedure, &twin_prefix);
            *text += &twin(&own, &specific(procedure, prefix), symbol(procedure, &own).as_deref());
        }
        let twins = procedures.iter().map(|procedure| specific(procedure, &twin_prefix));
        *text += &generic(&format!("{twin_prefix}{name}"), twins);
    }
}

/// Its name in the library, as tools know it (MPI-5.0 section 19.1.5).
fn specific(procedure: &Procedure<'_>, prefix: &str) -> String {
    let end = if procedure.has_choice() { "f08ts" } else { "f08" };
    format!("{prefix}{}_{end}", procedure.name())
}

/// Only where buffers come as descriptors must the compiler call as C does.
fn symbol(procedure: &Procedure<'_>, name: &str) -> Option<String> {
    procedure.has_choice().then(|| format!("{}_", name.to_lowercase()))
}

/// Statuses have a type here. The other objects are those of the module `mpi`, so that a program may use both.
fn objects(text: &mut String) {
    for (name, bounds) in [("STATUS_IGNORE", ""), ("STATUSES_IGNORE", ", dimension(1)")] {
        let symbol = name.to_lowercase();
        let _ =
            writeln!(text, "  type(MPI_Status){bounds}, bind(C, name=\"mpi_f08_{symbol}_\") :: MPI_{name}");
    }
}

/// Types of procedures that a program hands to MPI.
const ABSTRACT: &str = include_str!("abstract.f90");

/// What Fortran alone has.
const EXTRA: &str = r#"    interface MPI_Sizeof
      subroutine MPI_Sizeof_f08ts(x, size, ierror) bind(C, name="mpi_sizeof_f08ts_")
        type(*), dimension(..) :: x
        integer, intent(out) :: size
        integer, optional, intent(out) :: ierror
      end subroutine
    end interface
    interface MPI_F_sync_reg
      subroutine MPI_F_sync_reg_f08ts(buf) bind(C, name="mpi_f_sync_reg_f08ts_")
        type(*), dimension(..), asynchronous :: buf
      end subroutine
    end interface
"#;
