//! What an endpoint should be able to do, and which of the provider's offers is taken.

use core::ffi::c_char;
use core::ptr::null;
use std::ffi::CString;

use crate::abi::{self, Info, flag, mode, mr};
use crate::library::{Library, text};

/// What an endpoint should be able to do.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// Capabilities (`FI_*`).
    pub caps: u64,
    /// Flags that operations may name.
    pub flags: u64,
    /// Order of messages.
    pub order: u64,
    /// Bytes of data that completions carry.
    pub data: usize,
    /// All processes are on one host.
    pub one_host: bool,
    /// Provider; empty: any.
    pub provider: String,
    /// Domain; empty: any.
    pub domain: String,
    /// Providers that are used only where they are named.
    pub only_by_name: &'static [&'static str],
}

/// What regions of memory may ask: all of these are done as asked.
const MR_MODES: i32 = mr::LOCAL | mr::VIRT_ADDR | mr::ALLOCATED | mr::PROV_KEY | mr::ENDPOINT;

/// Owned by the library.
pub(crate) struct Offer {
    library: Library,
    list: *mut Info,
}

impl Drop for Offer {
    fn drop(&mut self) {
        // SAFETY: the list is the library's and freed once.
        unsafe { (self.library.freeinfo)(self.list) };
    }
}

impl Offer {
    /// The library's offers for `wishes`, best first as it judges.
    ///
    /// # Errors
    /// The library's error number.
    pub fn ask(library: &Library, wishes: &Wishes) -> Result<Offer, i32> {
        let Wishes { caps, flags, order, data, one_host, provider, domain, .. } = wishes;
        // SAFETY: libfabric takes NULL for "make an empty one", and the result is checked.
        let hints = unsafe { (library.dupinfo)(null()) };
        if hints.is_null() {
            return Err(-libc::ENOMEM);
        }
        let hints = Offer { library: *library, list: hints };
        // Providers for one host alone do not know the difference.
        let reach = if *one_host { 0 } else { flag::LOCAL_COMM | flag::REMOTE_COMM };
        // SAFETY: the library allocates hints with all their parts, which are ours until they are freed. Strings in them are
        // freed by it with `free`.
        unsafe {
            let info = &mut *hints.list;
            info.caps = caps | reach;
            info.mode = mode::CONTEXT | mode::CONTEXT2;
            (*info.ep_attr).kind = abi::EP_RDM;
            (*info.tx_attr).op_flags = *flags;
            (*info.tx_attr).msg_order = *order;
            (*info.rx_attr).msg_order = *order;
            let attr = &mut *info.domain_attr;
            attr.threading = abi::THREAD_DOMAIN;
            attr.resource_mgmt = abi::RM_ENABLED;
            attr.av_type = abi::AV_TABLE;
            attr.mr_mode = MR_MODES;
            attr.cq_data_size = *data;
            if !domain.is_empty() {
                attr.name = copy(domain);
            }
            if !provider.is_empty() {
                (*info.fabric_attr).prov_name = copy(provider);
            }
        }
        let mut list = core::ptr::null_mut();
        // SAFETY: hints of the library's own making, and a place for its answer.
        let rc = unsafe { (library.getinfo)(library.api(), null(), null(), 0, hints.list, &mut list) };
        if rc != 0 { Err(rc) } else { Ok(Offer { library: *library, list }) }
    }

    /// A copy of the best offer, to be freed with the library's `freeinfo`.
    pub fn best(&self, wishes: &Wishes) -> Option<*mut Info> {
        let mut best: Option<(u32, *mut Info)> = None;
        let mut info = self.list;
        while !info.is_null() {
            // SAFETY: an entry of the library's list, with all its parts.
            let (rank, next) = unsafe { (rank(&*info, wishes), (*info).next) };
            if let Some(rank) = rank
                && best.is_none_or(|(least, _)| rank < least)
            {
                best = Some((rank, info));
            }
            info = next;
        }
        // SAFETY: as above.
        best.map(|(_, info)| unsafe { (self.library.dupinfo)(info) })
    }
}

/// The lower the better; `None`: not wanted.
fn rank(info: &Info, wishes: &Wishes) -> Option<u32> {
    // SAFETY: the library's info has all its parts.
    let (provider, domain, fabric) = unsafe {
        let fabric = &*info.fabric_attr;
        (text(fabric.prov_name)?, text((*info.domain_attr).name), text(fabric.name))
    };
    let named = !wishes.provider.is_empty();
    let only_by_name = {
        let names = wishes.only_by_name.iter();
        names.into_iter().any(|&name| provider == name || provider == format!("{name};ofi_rxd"))
    };
    if !named && only_by_name {
        return None;
    }
    let other = named && provider != wishes.provider;
    // Bridges of one host lead to no other.
    let loopback =
        domain.is_some_and(|name| name == "lo" || name.starts_with("docker") || name.starts_with("virbr"));
    let link_local = fabric.is_some_and(|fabric| fabric.starts_with("fe80"));
    Some(u32::from(other) << 2 | u32::from(loopback) << 1 | u32::from(link_local))
}

/// A string that the library frees.
fn copy(text: &str) -> *mut c_char {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: `text` is a `CString`, which ends with a zero byte; libfabric frees the copy with its structure.
    unsafe { libc::strdup(text.as_ptr()) }
}
