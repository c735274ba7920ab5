//! The event functions: enquiries, registrations, callbacks, instances, and the one source of time
//! (MPI-5.0 section 15.3.8).

use std::ffi::CStr;

use abi::{Address, Count, Error, Result, TEnum, TEventInstance, TEventRegistration};
use ffi::{ArrayMut, TEventDroppedFunction, TEventFreeFunction, TEventFunction, TextOut};

use super::events::{EVENTS, KINDS, Registration, handle_of, kind, now, settle};
use super::{NO_INDEX, NO_NAME, open, put};
use objects::domain::Token;
use objects::info::Info;
use objects::memory::{of_user, of_vec};

const NO_LEVEL: Error = Error::new(abi::T_ERR_INVALID, "no such safety level of callbacks");

/// `MPI_T_event_get_num`
pub fn event_get_num(_t: &mut Token, num: Option<&mut i32>) -> Result<()> {
    open()?;
    put(num, KINDS.len() as i32);
    Ok(())
}

/// `MPI_T_event_get_index`
pub fn event_get_index(_t: &mut Token, name: &CStr, index: Option<&mut i32>) -> Result<()> {
    open()?;
    let found = KINDS.iter().position(|kind| kind.name.as_bytes() == name.to_bytes());
    put(index, found.ok_or(NO_NAME)? as i32);
    Ok(())
}

/// `MPI_T_event_get_info`: an event's fields stand one after the other without padding between them.
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn event_get_info(
    t: &mut Token,
    index: i32,
    mut name: TextOut<'_>,
    verbosity: Option<&mut i32>,
    datatypes: Option<ArrayMut<'_, abi::Datatype>>,
    displacements: Option<ArrayMut<'_, abi::Aint>>,
    num_elements: Option<&mut i32>,
    enumtype: Option<&mut TEnum>,
    info: Option<&mut abi::Info>,
    mut desc: TextOut<'_>,
    bind: Option<&mut i32>,
) -> Result<()> {
    open()?;
    let kind = kind(index)?;
    name.set(kind.name);
    put(verbosity, abi::T_VERBOSITY_USER_DETAIL);
    let fields = kind.fields;
    let room =
        num_elements.as_deref().map_or(0, |room| usize::try_from(*room).unwrap_or(0)).min(fields.len());
    if let Some(mut datatypes) = datatypes {
        for (place, (_, datatype)) in datatypes.first(room)?.iter_mut().zip(fields) {
            *place = *datatype;
        }
    }
    if let Some(mut displacements) = displacements {
        for (field, place) in displacements.first(room)?.iter_mut().enumerate() {
            *place = offset(fields, field) as abi::Aint;
        }
    }
    put(num_elements, fields.len() as i32);
    put(enumtype, TEnum(abi::T_ENUM_NULL));
    if let Some(info) = info {
        *info = t.lock().infos.add(Info::default())?;
    }
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    desc.set(&format!("{} ({})", kind.description, names.join(", ")));
    put(bind, abi::T_BIND_NO_OBJECT);
    Ok(())
}

type Fields = [(&'static str, abi::Datatype)];

/// Bytes before field `index`; before the one past the last, bytes of all.
fn offset(fields: &Fields, index: usize) -> usize {
    fields[..index].iter().map(|(_, datatype)| if *datatype == abi::INT { 4 } else { 8 }).sum()
}

/// `MPI_T_event_handle_alloc`
pub fn event_handle_alloc(
    t: &mut Token,
    index: i32,
    _object: Address,
    info: abi::Info,
    registration: &mut TEventRegistration,
) -> Result<()> {
    open()?;
    kind(index)?;
    let mut state = t.lock();
    let info = state.infos.hints(info)?;
    let full = Error::new(abi::T_ERR_OUT_OF_HANDLES, "2^16 event registrations exist");
    let new = Registration::new(index as usize, info);
    let key = EVENTS.get_mut(&mut state.tables).registrations.insert(new).map_err(|_| full)?;
    *registration = TEventRegistration(handle_of(key));
    Ok(())
}

/// `MPI_T_event_handle_free`: the callback comes after the last event of the registration.
pub fn event_handle_free(
    t: &mut Token,
    registration: TEventRegistration,
    user_data: Address,
    free: Option<TEventFreeFunction>,
) -> Result<()> {
    open()?;
    {
        let mut state = t.lock();
        let (key, _) = EVENTS.get_mut(&mut state.tables).registration(registration)?;
        EVENTS.get_mut(&mut state.tables).registrations.remove(key);
        settle(&mut state);
    }
    if let Some(free) = free {
        free.call(registration, abi::T_CB_REQUIRE_NONE, user_data);
    }
    Ok(())
}

/// `MPI_T_event_handle_set_info`
pub fn event_handle_set_info(t: &mut Token, registration: TEventRegistration, info: abi::Info) -> Result<()> {
    open()?;
    let mut state = t.lock();
    let hints = state.infos.hints(info)?;
    EVENTS.get_mut(&mut state.tables).registration(registration)?.1.info.merge(&hints);
    Ok(())
}

/// `MPI_T_event_handle_get_info`
pub fn event_handle_get_info(
    t: &mut Token,
    registration: TEventRegistration,
    info_used: Option<&mut abi::Info>,
) -> Result<()> {
    open()?;
    let mut state = t.lock();
    let hints = EVENTS.get_mut(&mut state.tables).registration(registration)?.1.info.clone();
    if let Some(info) = info_used {
        *info = state.infos.add(hints)?;
    }
    Ok(())
}

/// `MPI_T_event_register_callback`: NULL takes the callback of that level away.
pub fn event_register_callback(
    t: &mut Token,
    registration: TEventRegistration,
    safety: i32,
    info: abi::Info,
    user_data: Address,
    callback: Option<TEventFunction>,
) -> Result<()> {
    open()?;
    level(safety)?;
    let mut state = t.lock();
    state.infos.hints(info)?;
    let (_, found) = EVENTS.get_mut(&mut state.tables).registration(registration)?;
    found.callbacks.retain(|(known, ..)| *known != safety);
    found.callbacks.extend(callback.map(|callback| (safety, callback, user_data)));
    settle(&mut state);
    Ok(())
}

fn level(safety: i32) -> Result<()> {
    let levels = [
        abi::T_CB_REQUIRE_NONE,
        abi::T_CB_REQUIRE_MPI_RESTRICTED,
        abi::T_CB_REQUIRE_THREAD_SAFE,
        abi::T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
    ];
    if levels.contains(&safety) { Ok(()) } else { Err(NO_LEVEL) }
}

/// `MPI_T_event_callback_set_info`: this library knows no hints.
pub fn event_callback_set_info(
    t: &mut Token,
    registration: TEventRegistration,
    safety: i32,
    info: abi::Info,
) -> Result<()> {
    open()?;
    level(safety)?;
    let mut state = t.lock();
    state.infos.hints(info)?;
    EVENTS.get_mut(&mut state.tables).registration(registration).map(drop)
}

/// `MPI_T_event_callback_get_info`
pub fn event_callback_get_info(
    t: &mut Token,
    registration: TEventRegistration,
    safety: i32,
    info_used: Option<&mut abi::Info>,
) -> Result<()> {
    open()?;
    level(safety)?;
    let mut state = t.lock();
    EVENTS.get_mut(&mut state.tables).registration(registration)?;
    if let Some(info) = info_used {
        *info = state.infos.add(Info::default())?;
    }
    Ok(())
}

/// `MPI_T_event_set_dropped_handler`
pub fn event_set_dropped_handler(
    t: &mut Token,
    registration: TEventRegistration,
    handler: Option<TEventDroppedFunction>,
) -> Result<()> {
    open()?;
    EVENTS.get_mut(&mut t.lock().tables).registration(registration)?.1.on_dropped = handler;
    Ok(())
}

/// `MPI_T_event_read`: one field.
pub fn event_read(t: &mut Token, instance: TEventInstance, element: i32, buffer: Address) -> Result<()> {
    open()?;
    let state = t.lock();
    let found = EVENTS.get(&state.tables).instance(instance)?;
    let field = usize::try_from(element).ok().filter(|field| *field < KINDS[found.kind].fields.len());
    let field = field.ok_or(NO_INDEX)?;
    let bytes = bytes_of(found.kind, &found.values, field..field + 1);
    of_vec(&bytes).copy_to(of_user(buffer, bytes.len()));
    Ok(())
}

/// `MPI_T_event_copy`: all fields.
pub fn event_copy(t: &mut Token, instance: TEventInstance, buffer: Address) -> Result<()> {
    open()?;
    let state = t.lock();
    let found = EVENTS.get(&state.tables).instance(instance)?;
    let bytes = bytes_of(found.kind, &found.values, 0..KINDS[found.kind].fields.len());
    of_vec(&bytes).copy_to(of_user(buffer, bytes.len()));
    Ok(())
}

/// Some fields of an event as they stand in the caller's memory.
fn bytes_of(kind: usize, values: &[i64], fields: std::ops::Range<usize>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        if KINDS[kind].fields[field].1 == abi::INT {
            bytes.extend((values[field] as i32).to_ne_bytes());
        } else {
            bytes.extend(values[field].to_ne_bytes());
        }
    }
    bytes
}

/// `MPI_T_event_get_timestamp`
pub fn event_get_timestamp(t: &mut Token, instance: TEventInstance, time: Option<&mut Count>) -> Result<()> {
    open()?;
    put(time, EVENTS.get(&t.lock().tables).instance(instance)?.time);
    Ok(())
}

/// `MPI_T_event_get_source`: there is one.
pub fn event_get_source(t: &mut Token, instance: TEventInstance, source: Option<&mut i32>) -> Result<()> {
    open()?;
    EVENTS.get(&t.lock().tables).instance(instance)?;
    put(source, 0);
    Ok(())
}

/// `MPI_T_source_get_num`
pub fn source_get_num(_t: &mut Token, num: Option<&mut i32>) -> Result<()> {
    open()?;
    put(num, 1);
    Ok(())
}

fn source(index: i32) -> Result<()> {
    open()?;
    if index == 0 { Ok(()) } else { Err(NO_INDEX) }
}

/// `MPI_T_source_get_info`: events come in the order in which they happened, by one clock.
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn source_get_info(
    t: &mut Token,
    index: i32,
    mut name: TextOut<'_>,
    mut desc: TextOut<'_>,
    ordering: Option<&mut i32>,
    ticks_per_second: Option<&mut Count>,
    max_ticks: Option<&mut Count>,
    info: Option<&mut abi::Info>,
) -> Result<()> {
    source(index)?;
    name.set("alhena");
    desc.set("The library, by the clock of MPI_Wtime");
    put(ordering, abi::T_SOURCE_ORDERED);
    put(ticks_per_second, 1_000_000_000);
    put(max_ticks, Count::MAX);
    if let Some(info) = info {
        *info = t.lock().infos.add(Info::default())?;
    }
    Ok(())
}

/// `MPI_T_source_get_timestamp`
pub fn source_get_timestamp(_t: &mut Token, index: i32, time: Option<&mut Count>) -> Result<()> {
    source(index)?;
    put(time, now());
    Ok(())
}
