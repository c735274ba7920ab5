//! The table as a whole, and the C declarations made from it.

use std::collections::HashSet;

use function_table::{Function, OnObject, Table, c};

fn table() -> Table {
    function_table::table().expect("the table reads")
}

fn function<'a>(table: &'a Table, name: &str) -> &'a Function {
    table.functions.iter().find(|function| function.name == name).expect(name)
}

fn prototypes(name: &str) -> Vec<String> {
    let table = table();
    function(&table, name).entries().map(|entry| c::prototype(entry, "MPI_")).collect()
}

#[test]
fn the_abi_has_664_functions_and_23_callback_types() {
    let table = table();
    let names: HashSet<String> = table.entries().map(|entry| entry.name()).collect();
    assert_eq!(names.len(), 664);
    assert_eq!(table.entries().count(), 664, "a name occurs twice");
    assert_eq!(table.callbacks.len(), 23);
}

#[test]
fn what_mpi_removed_has_no_twin_and_no_name_of_today() {
    let (table, removed) = (table(), function_table::removed().expect("the table reads"));
    let today: HashSet<String> = table.entries().map(|entry| entry.name()).collect();
    assert_eq!(removed.entries().count(), 10);
    assert!(removed.entries().all(|entry| !entry.wide && !today.contains(&entry.name())));
}

#[test]
fn a_row_with_a_widening_kind_declares_its_twin() {
    assert_eq!(
        prototypes("Type_create_hvector"),
        [
            "int MPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, \
             MPI_Datatype *newtype)",
            "int MPI_Type_create_hvector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, \
             MPI_Datatype oldtype, MPI_Datatype *newtype)",
        ]
    );
}

#[test]
fn arrays_strings_and_user_functions_are_declared_as_c_has_them() {
    assert_eq!(
        prototypes("Comm_spawn"),
        ["int MPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root, \
          MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[])"]
    );
    assert_eq!(
        prototypes("Group_range_incl"),
        ["int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)"]
    );
    assert_eq!(prototypes("Wtime"), ["double MPI_Wtime(void)"]);
    assert_eq!(
        prototypes("Op_create"),
        ["int MPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)"]
    );
}

#[test]
fn errors_are_raised_on_the_first_object_that_goes_in() {
    let table = table();
    let on = |name: &str| match function(&table, name).on() {
        OnObject::Argument(argument) => argument.name.clone(),
        OnObject::FileNull => "MPI_FILE_NULL".into(),
        OnObject::CommSelf => "MPI_COMM_SELF".into(),
        OnObject::Nothing => String::new(),
    };
    assert_eq!(on("Send"), "comm");
    assert_eq!(on("Win_create"), "comm");
    assert_eq!(on("Comm_free"), "comm");
    assert_eq!(on("Put"), "win");
    assert_eq!(on("File_close"), "fh");
    assert_eq!(on("File_open"), "MPI_FILE_NULL");
    assert_eq!(on("Comm_get_parent"), "MPI_COMM_SELF");
    assert_eq!(on("T_cvar_read"), "");
}
