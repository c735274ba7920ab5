//! Argument kinds: the C type on either side of the large-count divide, and the Rust type that crosses the ABI.

/// One kind of argument, named by its word in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The word in the table.
    pub word: &'static str,
    /// The C type of one such value in `MPI_X`.
    pub c: &'static str,
    /// The C type in `MPI_X_c`; the same as `c` unless the kind widens.
    pub wide_c: &'static str,
    /// The Rust type that crosses the ABI by value, or that pointers and arrays point to.
    pub rust: &'static str,
    /// The Rust type in `MPI_X_c`.
    pub wide_rust: &'static str,
}

const fn fixed(word: &'static str, c: &'static str, rust: &'static str) -> Kind {
    Kind { word, c, wide_c: c, rust, wide_rust: rust }
}

/// Every kind except callbacks, which are written `fn Name`.
pub const KINDS: &[Kind] = &[
    // Numbers. `count` is elements, `displ` elements or a displacement unit, `bytes` a displacement in bytes.
    fixed("int", "int", "i32"),
    Kind { word: "count", c: "int", wide_c: "MPI_Count", rust: "i32", wide_rust: "i64" },
    Kind { word: "displ", c: "int", wide_c: "MPI_Aint", rust: "i32", wide_rust: "i64" },
    Kind { word: "bytes", c: "MPI_Aint", wide_c: "MPI_Count", rust: "i64", wide_rust: "i64" },
    fixed("large", "MPI_Count", "i64"),
    fixed("aint", "MPI_Aint", "abi::Aint"),
    fixed("offset", "MPI_Offset", "abi::Offset"),
    fixed("double", "double", "f64"),
    fixed("weights", "int", "i32"),
    // Numbers that mean something, or some of whose values do: other ABIs have other ones.
    fixed("rank", "int", "i32"),
    fixed("root", "int", "i32"),
    fixed("tag", "int", "i32"),
    fixed("keyval", "int", "i32"),
    fixed("errcode", "int", "i32"),
    fixed("level", "int", "i32"),
    fixed("amode", "int", "i32"),
    fixed("assert", "int", "i32"),
    fixed("lock", "int", "i32"),
    fixed("whence", "int", "i32"),
    fixed("view_offset", "MPI_Offset", "abi::Offset"),
    fixed("comparison", "int", "i32"),
    fixed("topology", "int", "i32"),
    fixed("order", "int", "i32"),
    fixed("distrib", "int", "i32"),
    fixed("darg", "int", "i32"),
    fixed("split_type", "int", "i32"),
    fixed("typeclass", "int", "i32"),
    fixed("combiner", "int", "i32"),
    // Three ints: first rank, last rank, stride.
    fixed("range", "int", "[i32; 3]"),
    // Handles.
    fixed("comm", "MPI_Comm", "abi::Comm"),
    fixed("group", "MPI_Group", "abi::Group"),
    fixed("datatype", "MPI_Datatype", "abi::Datatype"),
    fixed("request", "MPI_Request", "abi::Request"),
    fixed("op", "MPI_Op", "abi::Op"),
    fixed("win", "MPI_Win", "abi::Win"),
    fixed("file", "MPI_File", "abi::File"),
    fixed("info", "MPI_Info", "abi::Info"),
    fixed("errhandler", "MPI_Errhandler", "abi::Errhandler"),
    fixed("session", "MPI_Session", "abi::Session"),
    fixed("message", "MPI_Message", "abi::Message"),
    fixed("status", "MPI_Status", "abi::Status"),
    // The tool interface.
    fixed("t_enum", "MPI_T_enum", "abi::TEnum"),
    fixed("t_cvar", "MPI_T_cvar_handle", "abi::TCvarHandle"),
    fixed("t_pvar", "MPI_T_pvar_handle", "abi::TPvarHandle"),
    fixed("t_session", "MPI_T_pvar_session", "abi::TPvarSession"),
    fixed("t_registration", "MPI_T_event_registration", "abi::TEventRegistration"),
    fixed("t_instance", "MPI_T_event_instance", "abi::TEventInstance"),
    fixed("t_verbosity", "int", "i32"),
    fixed("t_bind", "int", "i32"),
    fixed("t_scope", "int", "i32"),
    fixed("t_class", "int", "i32"),
    fixed("t_safety", "MPI_T_cb_safety", "i32"),
    fixed("t_order", "MPI_T_source_order", "i32"),
    // Memory of the caller: message buffers that MPI writes or only reads, and values it merely keeps.
    fixed("buf", "void *", "abi::Address"),
    fixed("cbuf", "const void *", "abi::Address"),
    fixed("ptr", "void *", "abi::Address"),
    // Text. `str` is an input string, or with `out` a bounded output; `text` an output whose length goes both ways.
    fixed("str", "char", "c_char"),
    fixed("chars", "char", "c_char"),
    fixed("text", "char", "c_char"),
    fixed("strlen", "int", "i32"),
    fixed("textlen", "int", "i32"),
    // `argv` ends with NULL.
    fixed("argv", "char *", "*const c_char"),
    // Pointers to what `main` got. Alhena takes nothing from the command line, so they go no further.
    fixed("mainargc", "int *", "abi::Address"),
    fixed("mainargv", "char ***", "abi::Address"),
];

/// The kind called `word`.
pub fn find(word: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.word == word)
}

impl Kind {
    /// Whether it is an `int` in C that counts nothing: a plain number, or one of the kinds with values of their own.
    pub fn is_int(&self) -> bool {
        self.c == "int"
            && self.wide_c == "int"
            && self.rust == "i32"
            && !matches!(self.word, "weights" | "strlen" | "textlen")
    }

    /// Whether the C type differs in the large-count twin.
    pub(crate) fn widens(&self) -> bool {
        self.c != self.wide_c
    }
}
