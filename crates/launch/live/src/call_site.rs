//! Where a rank has called what it waits in, for people.

use observe::Modules;
use symbols::{Place, Resolver};

/// A call of a program.
#[derive(Debug, Default)]
pub struct CallSite {
    /// The function: `MPI_Recv`. None where nothing names it.
    pub call: Option<String>,
    /// `solver.c:42 (step)`, `step+0x1c (solver)` or `solver+0x11c0`, and the places that called that, [`MOST`] in all. None
    /// where the rank left no address.
    pub places: Vec<String>,
}

/// Places of a call that are named: a program's own wrapper alone says little.
const MOST: usize = 2;

impl CallSite {
    /// `, at A, called at B`; nothing where no place is known.
    pub fn in_words(&self) -> String {
        self.places
            .iter()
            .zip([", at ", ", called at "])
            .map(|(place, word)| format!("{word}{place}"))
            .collect()
    }
}

/// The call that these return addresses lead to. The innermost frame is the library's own, where that is a file of its own; the next is the
/// program's. In a program that holds the library itself, all are the program's, and the library's come first.
pub fn of(resolver: &mut Resolver, modules: &Modules, frames: &[u64]) -> CallSite {
    outwards(frames.iter().filter_map(|&frame| {
        let at = modules.place_of(frame)?;
        Some(resolver.call(&at.module.path, &at.module.build_id, at.offset))
    }))
}

/// Where what a call waits for began: `, begun at A`, `, begun at A and B`; nothing where that is not known.
pub fn origins_in_words(resolver: &mut Resolver, modules: &Modules, origins: &[u64]) -> String {
    let mut places: Vec<String> = Vec::new();
    for place in origins.iter().flat_map(|&origin| of(resolver, modules, &[origin]).places) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if places.is_empty() { String::new() } else { format!(", begun at {}", places.join(" and ")) }
}

/// The call that a thread is in, whose whole stack is this, the innermost frame first. Of one outside of MPI it has the places
/// alone.
pub fn of_stack(places: &[Place]) -> CallSite {
    let program = || places.iter().position(|place| !is_systems(place)).unwrap_or(places.len());
    let first = inside(places).checked_sub(1).unwrap_or_else(program);
    outwards(places[first..].iter().cloned())
}

/// How many frames of a whole stack, from the innermost on, are inside of a call of MPI; 0: it is in none.
pub fn inside(places: &[Place]) -> usize {
    let last = places.iter().rposition(|place| is_librarys(place) || entry(place).is_some());
    last.map_or(0, |last| last + 1)
}

/// The call that frames lead to, the innermost first.
fn outwards(places: impl Iterator<Item = Place>) -> CallSite {
    let mut site = CallSite::default();
    for place in places {
        let name = entry(&place);
        if name.is_some() || is_librarys(&place) {
            site.call = name.or(site.call);
        } else if is_systems(&place) {
            // What has started the program, or its thread.
            break;
        } else {
            site.places.push(place.to_string());
            if site.places.len() == MOST {
                break;
            }
        }
    }
    site
}

/// The MPI function that a frame is of, however the library calls it inside.
fn entry(place: &Place) -> Option<String> {
    place.frames.iter().filter_map(|frame| frame.function.as_deref()).find_map(|function| {
        let name = function.rsplit("::").next().unwrap_or(function);
        let rest = ["PMPI_", "MPI_", "body_"].iter().find_map(|start| name.strip_prefix(start))?;
        Some(format!("MPI_{rest}"))
    })
}

/// Files of the library, of its other front-ends and of the wrappers that tools stand on, by how their names begin.
const LIBRARYS: [&str; 6] =
    ["libmpi_abi.so", "libalhena_preload.so", "libmpifort", "libmpi.so", "libmpi_mpifh.so", "libmpi_usempi"];

/// Whether a frame is of the library, so that no program is to be blamed for it.
fn is_librarys(place: &Place) -> bool {
    let name = place.object_name();
    LIBRARYS.iter().any(|start| name.starts_with(start))
}

/// Whether a frame is of the system's library.
fn is_systems(place: &Place) -> bool {
    place.object_name().starts_with("libc.so")
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::Area;
    use symbols::Frame;

    #[test]
    fn the_functions_of_mpi_are_known_by_their_names() {
        let named = |function: &str| Place {
            frames: vec![Frame { function: Some(function.to_owned()), ..Frame::default() }],
            ..Place::default()
        };
        assert_eq!(entry(&named("PMPI_Recv")).as_deref(), Some("MPI_Recv"));
        assert_eq!(
            entry(&named("mpi_abi::functions::body_Win_lock_all")).as_deref(),
            Some("MPI_Win_lock_all")
        );
        assert_eq!(entry(&named("main")), None);
        assert_eq!(entry(&Place::default()), None);
    }

    #[test]
    fn a_stack_leads_to_the_call_and_its_place() {
        let place = |object: &str, function: &str| Place {
            frames: vec![Frame { function: Some(function.to_owned()), ..Frame::default() }],
            object: object.into(),
            ..Place::default()
        };
        let (main, start) = (place("a", "main"), place("libc.so.6", "__libc_start_call_main"));
        let inside = [
            place("libc.so.6", "syscall"),
            place("libmpi_abi.so.1", "wait"),
            place("libmpi_abi.so.1", "PMPI_Recv"),
        ];
        let site = of_stack(&[&inside[..], &[place("a", "step"), main.clone(), start.clone()]].concat());
        assert_eq!((site.call.as_deref(), site.places.len()), (Some("MPI_Recv"), 2));
        let site = of_stack(&[place("libc.so.6", "nanosleep"), main.clone(), start]);
        assert_eq!((site.call, site.places), (None, vec![main.to_string()]));
        assert_eq!(of_stack(&[]).places, Vec::<String>::new());
    }

    #[test]
    fn a_frame_of_this_program_has_a_name() {
        let section = Area::map(&Area::create(1).unwrap(), 1).unwrap().section(0).unwrap();
        let here = a_frame_of_this_program_has_a_name as *const () as u64 + 8;
        section.note_address(here);
        let site = of(&mut Resolver::new(), &section.modules(), &[8, here]);
        assert!(site.in_words().starts_with(", at ") && site.in_words().contains("a_frame_of_this_program"));
        let origins = origins_in_words(&mut Resolver::new(), &section.modules(), &[here, here, 8]);
        assert_eq!(origins, format!(", begun at {}", site.places[0]));
    }
}
