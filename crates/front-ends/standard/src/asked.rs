//! What tools over the wrappers ask the library (crate `interpose`), beside MPI's own functions.

/// From now on the waits of this process are measured. Whether they can be: a job that no launcher watches has no memory for it.
#[unsafe(no_mangle)]
extern "C" fn alhena_measure_waits_1() -> bool {
    let own = observe::own();
    own.inspect(|section| section.measure_waits()).is_some()
}

/// Nanoseconds for which the calling thread has waited in calls since its waits are measured.
#[unsafe(no_mangle)]
extern "C" fn alhena_waited_1() -> u64 {
    observe::waited()
}

/// The calls that began what the next call of this thread waits for return to these addresses; none: that is not known.
///
/// # Safety
/// There are `count` addresses at `addresses`.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_call_origins_1(addresses: *const u64, count: usize) {
    let addresses = match count {
        0 => &[],
        // SAFETY: as the caller promises.
        _ => unsafe { std::slice::from_raw_parts(addresses, count) },
    };
    observe::set_call_origins(addresses);
}

/// Writes what is to be known of a datatype's signature (`Summary` of the crate `datatype`); `false`: it has no data, or there is none.
#[unsafe(no_mangle)]
extern "C" fn alhena_signature_1(datatype: abi::Datatype, words: &mut [u64; 3]) -> bool {
    let summary =
        objects::domain::enter().and_then(|mut token| objects::types::summary(&mut token, datatype));
    let Ok(Some(summary)) = summary else { return false };
    *words = summary.words();
    true
}
