//! `libalhena_preload`: exports a wrapper for each MPI function, and lists the tools that stand on them.
//!
//! `mpiexec` has the ranks load it (`LD_PRELOAD`) where a tool is asked for, and names the tools in the environment. Programs
//! that are linked statically are not seen.
#![allow(clippy::missing_safety_doc, reason = "all functions here are MPI's, and keep its contract")]

mod entry;

use interpose::{Call, FUNCTIONS, Frame, Tool, clock, front_end, waits};
use std::sync::OnceLock;

/// Every tool, in the order in which they see the beginning of a call.
static TOOLS: [&dyn Tool; 4] = [&record::RECORDER, &trace::TRACER, &check::CHECKER, &profile::PROFILER];

/// Those that are wanted here.
static WANTED: OnceLock<Wanted> = OnceLock::new();

struct Wanted {
    tools: Vec<(usize, &'static dyn Tool)>,
    /// One of them reads statuses.
    statuses: bool,
    /// Functions that are called in place of others, which have the same arguments.
    replaced: Vec<(usize, usize)>,
}

/// Standard sends, and those that wait for their receive.
const SENDS: [[&str; 2]; 3] =
    [["MPI_Send", "MPI_Ssend"], ["MPI_Isend", "MPI_Issend"], ["MPI_Send_init", "MPI_Ssend_init"]];

impl Wanted {
    fn replaced(&self, number: usize) -> usize {
        self.replaced.iter().find(|(from, _)| *from == number).map_or(number, |&(_, to)| to)
    }
}

fn delayed_sends() -> Vec<(usize, usize)> {
    let number = |name: &str| FUNCTIONS.iter().position(|function| function.name == name);
    let pairs = SENDS
        .iter()
        .flat_map(|[from, to]| ["", "_c"].map(|end| (from.to_string() + end, to.to_string() + end)));
    pairs.filter_map(|(from, to)| number(&from).zip(number(&to))).collect()
}

fn wanted() -> &'static Wanted {
    WANTED.get_or_init(|| {
        interpose::find_shims();
        let tools: Vec<_> = TOOLS.iter().copied().enumerate().filter(|(_, tool)| tool.begin()).collect();
        let statuses = tools.iter().any(|(_, tool)| tool.reads_statuses());
        let is_delayed = tools.iter().any(|(_, tool)| tool.delays_sends());
        let replaced = if is_delayed { delayed_sends() } else { Vec::new() };
        Wanted { tools, statuses, replaced }
    })
}

/// What the entry is to call: how many of its arguments are passed on the stack, or [`JUMP`].
#[repr(C)]
pub struct Real {
    address: usize,
    on_stack: usize,
}

/// The call ends here: the entry jumps.
const JUMP: usize = usize::MAX;
/// Added to the numbers of functions that a front-end of another ABI calls.
const FROM_FRONT_END: usize = 1 << 16;

impl Real {
    fn jump(address: usize) -> Real {
        Real { address, on_stack: JUMP }
    }
}

/// A call begins: what the entry is to call.
unsafe extern "C" fn enter(frame: &mut Frame) -> Real {
    let address = match frame.number.checked_sub(FROM_FRONT_END) {
        Some(number) => {
            let Some(site) = front_end::noted(number) else {
                return Real::jump(FUNCTIONS[number].real.address());
            };
            (frame.number, frame.site) = (number, site);
            FUNCTIONS[wanted().replaced(number)].real.address()
        }
        None => {
            let tools = &wanted().tools;
            frame.site = interpose::place_of_call(frame);
            if let Some(next) = front_end::next(frame.number, frame.return_address) {
                if !tools.is_empty() {
                    front_end::note(frame.number, frame.site);
                }
                return Real::jump(next);
            }
            front_end::behind(wanted().replaced(frame.number))
        }
    };
    for &(index, tool) in &wanted().tools {
        // SAFETY: the entry has laid the frame out.
        frame.words[index] = tool.enter(&unsafe { Call::of(frame) });
    }
    if wanted().statuses {
        // SAFETY: as above.
        unsafe { frame.add_statuses() };
    }
    let on_stack = FUNCTIONS[frame.number].arguments.len().saturating_sub(interpose::IN_REGISTERS);
    frame.started = clock::now();
    Real { address, on_stack }
}

/// The library's function has returned `code`.
unsafe extern "C" fn leave(frame: &mut Frame, code: i32) -> i32 {
    frame.ended = clock::now();
    frame.waited = waits::since_last_call().min(frame.ended.saturating_sub(frame.started));
    for &(index, tool) in wanted().tools.iter().rev() {
        // SAFETY: as in `enter`.
        tool.leave(&unsafe { Call::of(frame) }, frame.words[index], code);
    }
    if wanted().statuses {
        frame.drop_statuses();
    }
    code
}
