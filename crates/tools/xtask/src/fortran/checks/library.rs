//! A C library that stands for MPI: each function compares its arguments with what the program of the checks gives, and answers.
//! It shows whether an interface passes each argument on as the C function has it, in its place and its size.

use std::fmt::Write;

use function_table::fortran::{Dummy, Form, Procedure, Width};
use function_table::{Entry, Mark, Table, c};

use super::values::{TEXT, bounds_text, comes_out, goes_in, number};

const OPENING: &str = r#"/* Generated from the function table: a library in place of libmpi_abi.so.1. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int at_test = -1, at_calls, at_failures, at_checked;
static void *at_buffer;
static const char *at_name = "";

/* The program says where its buffer is, which function it calls next, and asks afterwards whether that was called once. */
void check_buffer_(void *it) { at_buffer = it; }
void check_next_(const int *which) { at_test = *which, at_calls = 0; }
static void bad(const char *what) {
    at_failures++;
    printf("FAIL %s: %s\n", at_name, what);
}
void check_called_(const char *of, size_t length) {
    static char text[80];
    snprintf(text, sizeof text, "%.*s", (int)length, of);
    at_name = text;
    if (at_calls != 1) bad("not called once");
    at_test = -1, at_checked++;
}
void check_answer_(const int *good, const char *what, size_t length) {
    char text[80];
    snprintf(text, sizeof text, "%.*s does not come back", (int)length, what);
    if (!*good) bad(text);
}
void check_over_(void) {
    printf("procedures: %d\n", at_checked);
    fflush(stdout);
    exit(at_failures != 0);
}
/* Alhena's C library keeps whose a call is; so does this one. */
void alhena_call_origin_1(const void *place, const void *table) { (void)place, (void)table; }
#define SEEN(good, what) do { if (!(good)) bad(what); } while (0)
#define FUNCTION(which, of) if (at_test != which) goto neutral; at_name = of, at_calls++

"#;

/// The whole source.
pub fn render(tables: &[&Table]) -> String {
    let mut text = String::from(OPENING);
    for (at, (table, entry)) in super::functions(tables).enumerate() {
        let twin = format!("P{}", table.prefix);
        for (prefix, own) in [(table.prefix, 0), (twin.as_str(), 1)] {
            let _ = writeln!(text, "{} {{", c::prototype(entry, prefix));
            text += &body(entry, prefix, 2 * at + own);
            text += "}\n";
        }
    }
    text
}

fn body(entry: Entry<'_>, prefix: &str, number: usize) -> String {
    let procedure = Procedure { entry };
    let dummies = procedure.dummies();
    let mut text = String::new();
    if entry.function.is_tool() || entry.function.c_only {
        return format!(
            "    return {};\n",
            if entry.function.returns.is_some() { "0" } else { "MPI_SUCCESS" }
        );
    }
    let _ = writeln!(text, "    FUNCTION({number}, \"{prefix}{}\");", entry.name());
    for dummy in &dummies {
        if goes_in(dummy) {
            text += &seen(&procedure, dummy);
        }
    }
    for dummy in &dummies {
        if comes_out(dummy) {
            text += &given(&procedure, dummy);
        }
    }
    let returns = match procedure.returns() {
        Some(Form::Double) => "2.5",
        Some(_) => "((MPI_Aint)1 << 40) + 5",
        None => "MPI_SUCCESS",
    };
    let _ = writeln!(text, "    return {returns};\nneutral:");
    text += &neutral(&dummies);
    let _ = writeln!(text, "    return {returns};");
    text
}

/// What the function answers when another one's procedure asks it: two of all, in a grid.
fn neutral(dummies: &[Dummy<'_>]) -> String {
    let mut text = String::new();
    for dummy in dummies.iter().filter(|it| comes_out(it) && !it.is_array()) {
        let name = dummy.name();
        match dummy.form {
            Form::Integer(Width::Default) if dummy.argument.word() == "topology" => {
                let _ = writeln!(text, "    *{name} = MPI_CART;");
            }
            Form::Integer(_) if dummy.argument.is(Mark::Attribute) => {}
            Form::Integer(Width::Default) if dummy.argument.word() != "textlen" => {
                let _ = writeln!(text, "    *{name} = 2;");
            }
            Form::Logical => {
                let _ = writeln!(text, "    *{name} = 0;");
            }
            _ => {}
        }
    }
    text
}

fn seen(procedure: &Procedure<'_>, dummy: &Dummy<'_>) -> String {
    let name = dummy.name();
    let value = number(procedure, dummy, false);
    let check = |good: String| format!("    SEEN({good}, \"{name}\");\n");
    let arrays = dummy.is_array();
    match dummy.form {
        Form::Choice { .. } => check(format!("{name} == at_buffer")),
        // C counts the NUL that ends text; how much room there is beyond that is the interface's.
        Form::Integer(_) if dummy.argument.word() == "textlen" => check(format!("*{name} > {value}")),
        Form::Integer(_) if bounds_text(procedure, dummy.argument) => check(format!("{name} >= {value}")),
        Form::Integer(_) if dummy.argument.is(Mark::State) => check(format!("(MPI_Aint){name} == {value}")),
        // The place of the number.
        Form::Integer(_) if dummy.argument.is(Mark::Attribute) => {
            check(format!("*(MPI_Aint *){name} == {value}"))
        }
        Form::Integer(_) if dummy.bounds() == "(3, *)" => {
            check(format!("{name}[0][0] == {value} && {name}[1][2] == {value} + 5"))
        }
        Form::Integer(_) if arrays => check(format!("{name}[0] == {value} && {name}[1] == {value} + 1")),
        Form::Integer(_) if comes_out(dummy) => check(format!("*{name} == {value}")),
        Form::Integer(_) => check(format!("{name} == {value}")),
        Form::Logical if arrays => check(format!("{name}[0] == 1 && {name}[1] == 0")),
        Form::Logical => check(format!("{name} == 1")),
        Form::Handle(_) if arrays => {
            check(format!("(MPI_Aint){name}[0] == {value} && (MPI_Aint){name}[1] == {value} + 1"))
        }
        Form::Handle(_) if comes_out(dummy) => check(format!("(MPI_Aint)*{name} == {value}")),
        Form::Handle(_) => check(format!("(MPI_Aint){name} == {value}")),
        Form::Status => check(format!("{name}->MPI_SOURCE == {value} && {name}->MPI_TAG == {value} + 1")),
        Form::TextIn if dummy.bounds() == "(count, *)" => {
            check(format!("!strcmp({name}[1][0], \"{}\") && !{name}[1][1]", TEXT[0]))
        }
        Form::TextIn if arrays && dummy.argument.word() == "argv" => {
            check(format!("!strcmp({name}[0], \"{}\") && !{name}[1]", TEXT[0]))
        }
        Form::TextIn if arrays => check(format!("!strcmp({name}[1], \"{}\")", TEXT[0])),
        Form::TextIn => check(format!("!strcmp({name}, \"{}\")", TEXT[0])),
        Form::Double | Form::TextOut | Form::Pointer | Form::Procedure(_) => String::new(),
    }
}

fn given(procedure: &Procedure<'_>, dummy: &Dummy<'_>) -> String {
    let name = dummy.name();
    let value = number(procedure, dummy, true);
    let arrays = dummy.is_array();
    match dummy.form {
        Form::Integer(_) if dummy.argument.word() == "textlen" => format!("    *{name} = {value} + 1;\n"),
        Form::Integer(_) if dummy.argument.is(Mark::Attribute) => {
            format!("    *(MPI_Aint *){name} = {value};\n")
        }
        Form::Integer(_) if arrays => format!("    {name}[0] = {value}, {name}[1] = {value} + 1;\n"),
        Form::Integer(_) => format!("    *{name} = {value};\n"),
        Form::Logical if arrays => format!("    {name}[0] = 1, {name}[1] = 0;\n"),
        Form::Logical => format!("    *{name} = 1;\n"),
        Form::Handle(handle) if arrays => {
            format!(
                "    {name}[0] = (MPI_{handle})(MPI_Aint){value}, {name}[1] = (MPI_{handle})(MPI_Aint)({value} + 1);\n"
            )
        }
        Form::Handle(handle) => format!("    *{name} = (MPI_{handle})(MPI_Aint){value};\n"),
        Form::Status if arrays => {
            format!("    {name}[1].MPI_SOURCE = {value}, {name}[1].MPI_TAG = {value} + 1;\n")
        }
        Form::Status => format!("    {name}->MPI_SOURCE = {value}, {name}->MPI_TAG = {value} + 1;\n"),
        Form::TextOut => format!("    strcpy({name}, \"{}\");\n", TEXT[1]),
        Form::Pointer if dummy.argument.is(Mark::Detached) => String::new(),
        Form::Pointer => format!("    *(void **){name} = (void *){value};\n"),
        Form::Choice { .. } | Form::TextIn | Form::Double | Form::Procedure(_) => String::new(),
    }
}
