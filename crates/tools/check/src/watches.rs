//! What the program loads and stores where it may not: in buffers of operations that are not complete, and in memory of windows that
//! others may access.
//!
//! ```text
//!   leave ── the processor watches up to four places ──► the program ──► enter: which code has used which place?
//! ```
//!
//! The processor watches outside the calls of a thread alone, so it does not see what the library does, and it does not see other
//! threads. Places are the beginnings of the buffers of the oldest operations, then their ends, then the beginnings of windows. An access
//! counts if the operation is not complete when its thread calls again: no thread can have told it otherwise.

use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

use platform::image;
use platform::watchpoint::{Access, MOST, WIDEST, Watch, Watchpoints};

use crate::State;
use crate::buffers::Region;
use crate::findings::{Findings, PROGRAM, at};
use crate::requests::Requests;
use crate::site::Site;
use crate::windows::{Epoch, Windows};

/// Libraries whose accesses are not the program's: those of C read beyond the ends of strings, on purpose.
const OTHERS: [&str; 6] = ["libc.", "libc-", "libm.", "ld-", "libmpi", "libalhena"];

/// A place that is watched.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    watch: Watch,
    of: Of,
}

/// What a place is of.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// A buffer of the operation that was started as this number; the library writes it.
    Operation(u64, bool),
    /// A window, in this epoch, with what is there.
    Window(Epoch, u64),
}

/// The watchpoints of a thread; they are made when something is to be watched.
#[derive(Default)]
struct Thread {
    watchpoints: Option<Watchpoints>,
    is_refused: bool,
    places: Vec<Place>,
}

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::default();
}

/// An access of the program, and the place.
pub type Seen = (Place, Access);

/// The program goes on: what of these places it uses is seen.
pub fn start(findings: &Findings<'_>, places: Vec<Place>) {
    if places.is_empty() {
        return;
    }
    // A thread that ends has none any more.
    let _ = THREAD.try_with(|thread| {
        let mut thread = thread.borrow_mut();
        if let Err(error) = thread.watch(places) {
            thread.is_refused = true;
            // Each is the system's.
            let code = error.raw_os_error().unwrap_or(-1);
            findings.words()[at::NOT_WATCHED].store(code as u64, Relaxed);
        }
    });
}

/// The program calls: what it has used.
pub fn stop() -> Vec<Seen> {
    THREAD.try_with(|thread| thread.borrow_mut().stop()).unwrap_or_default()
}

impl Thread {
    fn watch(&mut self, mut places: Vec<Place>) -> std::io::Result<()> {
        if self.is_refused {
            return Ok(());
        }
        let watchpoints = match &mut self.watchpoints {
            Some(watchpoints) => watchpoints,
            none => none.insert(Watchpoints::open()?),
        };
        places.truncate(watchpoints.count());
        let watches: Vec<Watch> = places.iter().map(|place| place.watch).collect();
        watchpoints.watch(&watches)?;
        self.places = places;
        Ok(())
    }

    fn stop(&mut self) -> Vec<Seen> {
        let Some(watchpoints) = self.watchpoints.as_mut().filter(|_| !self.places.is_empty()) else {
            return Vec::new();
        };
        watchpoints.stop();
        let mut accesses = watchpoints.take();
        let places = std::mem::take(&mut self.places);
        accesses.sort_by_key(|access| (access.address, access.code));
        accesses.dedup();
        accesses.retain(|access| is_of_program(access.code));
        let place = |access: &Access| places.iter().find(|place| place.watch.address == access.address);
        accesses.iter().filter_map(|access| Some((*place(access)?, *access))).collect()
    }
}

fn is_of_program(code: usize) -> bool {
    let module = image::module_at(code as u64);
    let file = module.as_ref().and_then(|module| module.path.file_name()?.to_str());
    file.is_some_and(|file| !OTHERS.iter().any(|other| file.starts_with(other)))
}

/// The places to watch, the most important ones first.
pub fn places(state: &State) -> Vec<Place> {
    let mut places = Vec::new();
    let operations = operations(&state.requests);
    let windows = windows(&state.windows);
    for place in operations.into_iter().chain(windows) {
        let is_new = |other: &Place| other.watch.address != place.watch.address;
        if places.len() < MOST && places.iter().all(is_new) {
            places.push(place);
        }
    }
    places
}

fn operations(requests: &Requests) -> Vec<Place> {
    let oldest = requests.oldest(MOST);
    let at = |edge: fn(usize, usize, bool) -> Option<Watch>| {
        let all =
            oldest.iter().flat_map(|(start, regions)| regions.iter().map(move |region| (*start, region)));
        all.filter_map(move |(start, region)| {
            let watch = edge(region.begin, region.length, !region.is_written)?;
            Some(Place { watch, of: Of::Operation(start, region.is_written) })
        })
    };
    at(Watch::first).chain(at(Watch::last)).collect()
}

fn windows(windows: &Windows) -> Vec<Place> {
    let places = |(epoch, memory): (Epoch, &Region)| {
        let (begin, length) = (memory.begin, memory.length);
        let steps = (0..length).step_by(WIDEST).take(MOST);
        let watches = steps.filter_map(move |step| Watch::first(begin + step, length - step, false));
        watches.map(move |watch| Place { watch, of: Of::Window(epoch, content(&watch)) })
    };
    windows.exposed().flat_map(places).collect()
}

/// What is in the bytes of a window's memory.
fn content(watch: &Watch) -> u64 {
    Region { begin: watch.address, length: watch.bytes, is_written: false }.checksum()
}

impl State {
    /// The program has used a place.
    pub fn seen(&mut self, findings: &Findings<'_>, (place, access): Seen) {
        let by = Site { function: PROGRAM, address: access.code };
        match place.of {
            Of::Operation(start, is_written) => self.requests.used(findings, start, is_written, by),
            Of::Window(epoch, before) => {
                let Watch { address: begin, bytes: length, .. } = place.watch;
                let bytes = Region { begin, length, is_written: true };
                let is_there = self.windows.contain(&bytes);
                let is_changed = is_there && content(&place.watch) != before;
                self.windows.touched(findings, epoch, &bytes, is_changed, by);
            }
        }
    }
}
