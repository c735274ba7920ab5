//! `mpi.h`: C90 and later, C++11 and later.

use std::fmt::Write;

use abi::constants::{ALL, Constant};
use function_table::{Table, c};

/// The whole header: the functions of the standard, and those that it once had.
pub fn render(table: &Table, removed: &Table) -> String {
    let mut text = String::from(OPENING);
    enumerations(&mut text);
    for callback in &table.callbacks {
        let typedef =
            format!("typedef {} (MPI_{})({});", callback.returns, callback.name, callback.parameters);
        declaration(&mut text, &typedef);
    }
    text.push_str(FORMER_NAMES);
    constants(&mut text);
    for table in [table, removed] {
        prototypes(&mut text, table, "MPI_");
        prototypes(&mut text, table, "PMPI_");
    }
    fortran(&mut text);
    text + CLOSING
}

/// The header of what lies beyond the standard, as Open MPI names it.
pub fn render_extensions(extensions: &Table) -> String {
    let mut text = String::from(EXTENSION);
    text.push_str("\n/* Error classes. They have no number in the standard. */\n");
    for (name, value) in abi::extension::CLASSES {
        let _ = writeln!(text, "#define {name:<36} {value}");
    }
    text.push_str("\n/* As Open MPI names them, too. */\n");
    for (name, _) in abi::extension::CLASSES {
        let other = name.replace("MPIX_", "MPI_");
        let _ = writeln!(text, "#ifndef {other}\n#define {other:<36} {name}\n#endif");
    }
    text.push_str("\n/* Key of an attribute of communicators: 1 where the job goes on after failures. */\n");
    let _ = writeln!(text, "#define {:<36} {}", "MPIX_FT", abi::FT);
    text.push_str("\n/* What a source can ask for. */\n");
    for entry in extensions.entries() {
        let _ = writeln!(text, "#define OMPI_HAVE_MPIX_{:<21} 1", entry.name().to_uppercase());
    }
    prototypes(&mut text, extensions, "MPIX_");
    prototypes(&mut text, extensions, "PMPIX_");
    text + CLOSING
}

const EXTENSION: &str = "\
/* mpi-ext.h: user-level failure mitigation (ULFM), which is no part of MPI 5.0.
 *
 * Generated from Alhena's function table. Start the job with mpiexec -with-ft ulfm: without it a rank that fails ends the job.
 */
#ifndef ALHENA_MPI_EXT_H
#define ALHENA_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern \"C\" {
#endif

#define OMPI_HAVE_MPI_EXT_FTMPI 1
";

const OPENING: &str = "\
/* mpi.h: the C interface of MPI 5.0, standard ABI.
 *
 * Generated from Alhena's function table. Works with every library that has the standard ABI.
 */
#ifndef ALHENA_MPI_H
#define ALHENA_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

/* Addresses, counts and file offsets. */
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;
typedef int MPI_Fint;

/* Handles. */
typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_File *MPI_File;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Message *MPI_Message;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Session *MPI_Session;
typedef struct MPI_ABI_Win *MPI_Win;

/* Handles of the tool interface. */
typedef struct MPI_ABI_T_cvar_handle *MPI_T_cvar_handle;
typedef struct MPI_ABI_T_enum *MPI_T_enum;
typedef struct MPI_ABI_T_event_instance *MPI_T_event_instance;
typedef struct MPI_ABI_T_event_registration *MPI_T_event_registration;
typedef struct MPI_ABI_T_pvar_handle *MPI_T_pvar_handle;
typedef struct MPI_ABI_T_pvar_session *MPI_T_pvar_session;

typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
";

/// Deprecated since MPI-2.2, the last one since MPI-2.0, and gone from MPI-5.0, but programs (PETSc) ask for them and other headers have
/// them.
const FORMER_NAMES: &str = "
/* Former names of some of these. */
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_Comm_errhandler_function MPI_Handler_function;
";

const CLOSING: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

/// Types of the tool interface that are enumerations, with the prefix of their constants.
const ENUMERATIONS: [(&str, &str); 2] =
    [("MPI_T_cb_safety", "MPI_T_CB_REQUIRE_"), ("MPI_T_source_order", "MPI_T_SOURCE_")];

fn enumerations(text: &mut String) {
    for (name, prefix) in ENUMERATIONS {
        let values: Vec<String> = ALL
            .iter()
            .filter(|constant| constant.name.starts_with(prefix))
            .map(|constant| format!("    {} = {}", constant.name, constant.value))
            .collect();
        let _ = write!(text, "\ntypedef enum {{\n{}\n}} {name};\n", values.join(",\n"));
    }
    text.push_str("\n/* Types of user functions. */\n");
}

/// Every other constant is a macro, so that a program can ask for it with `#ifdef`.
fn constants(text: &mut String) {
    let mut previous = "";
    for constant in ALL {
        if ENUMERATIONS.iter().any(|(_, prefix)| constant.name.starts_with(prefix)) {
            continue;
        }
        if constant.ctype != previous {
            let _ = write!(text, "\n/* {} */\n", constant.ctype);
            previous = constant.ctype;
        }
        let _ = writeln!(text, "#define {:<36} {}", constant.name, value(constant));
    }
}

fn value(constant: &Constant) -> String {
    match constant.ctype {
        "int" if constant.value < 0 => format!("({})", constant.value),
        "int" => format!("{}", constant.value),
        ctype if constant.value < 16 => format!("(({ctype}){})", constant.value),
        ctype => format!("(({ctype}){:#010x})", constant.value),
    }
}

fn prototypes(text: &mut String, table: &Table, prefix: &str) {
    let mut previous = None;
    for entry in table.entries() {
        let function = entry.function;
        if previous != Some(function.chapter) {
            previous = Some(function.chapter);
            let chapter = &table.chapters[function.chapter];
            let _ = write!(text, "\n/* {prefix}* of chapter {}: {} */\n", chapter.number, chapter.title);
        }
        if function.deprecated {
            text.push_str("/* deprecated */\n");
        }
        declaration(text, &format!("{};", c::prototype(entry, prefix)));
    }
}

/// Writes one declaration, broken after commas at 110 columns.
fn declaration(text: &mut String, declaration: &str) {
    const WIDTH: usize = 110;
    let mut column = 0;
    for word in declaration.split_inclusive(", ") {
        if column + word.trim_end().len() > WIDTH {
            text.truncate(text.trim_end().len());
            text.push_str("\n    ");
            column = 4;
        }
        text.push_str(word);
        column += word.len();
    }
    text.push('\n');
}

/// The handle types that have a Fortran integer, under the names of their conversion functions.
const CONVERTED: [&str; 11] =
    ["Comm", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Type", "Win"];

/// The conversions between C and Fortran that programs know from older versions of MPI: for handles the standard
/// ABI has `MPI_X_toint` and `MPI_X_fromint` in their place, and the statuses of both languages are eight integers
/// in one order (MPI-5.0 section 19.3).
fn fortran(text: &mut String) {
    text.push_str("\n/* Handles and statuses as Fortran has them. */\n");
    for prefix in ["MPI_", "PMPI_"] {
        for name in CONVERTED {
            let _ = writeln!(text, "#define {prefix}{name}_c2f {prefix}{name}_toint");
            let _ = writeln!(text, "#define {prefix}{name}_f2c {prefix}{name}_fromint");
        }
    }
    text.push_str(STATUS_CONVERSION);
}

const STATUS_CONVERSION: &str = "
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define ALHENA_INLINE static inline
#else
#define ALHENA_INLINE static __inline
#endif

ALHENA_INLINE int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    int i;
    f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = c_status->MPI_TAG;
    f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
    for (i = MPI_F_ERROR + 1; i < MPI_F_STATUS_SIZE; i++)
        f_status[i] = c_status->MPI_internal[i - MPI_F_ERROR - 1];
    return MPI_SUCCESS;
}

ALHENA_INLINE int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    int i;
    c_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
    c_status->MPI_TAG = f_status[MPI_F_TAG];
    c_status->MPI_ERROR = f_status[MPI_F_ERROR];
    for (i = MPI_F_ERROR + 1; i < MPI_F_STATUS_SIZE; i++)
        c_status->MPI_internal[i - MPI_F_ERROR - 1] = f_status[i];
    return MPI_SUCCESS;
}
";
