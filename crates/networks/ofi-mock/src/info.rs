//! What there is to choose from: one provider.

use core::ffi::{CStr, c_char, c_int};
use core::ptr::null_mut;

use ofi::abi::{self, DomainAttr, EpAttr, FabricAttr, Info, RxAttr, TxAttr, flag, mode};

use crate::modes::modes;

pub(crate) extern "C" fn version() -> u32 {
    abi::version(2, 5)
}

pub(crate) extern "C" fn strerror(_error: c_int) -> *const c_char {
    c"the mock refuses".as_ptr()
}

fn zeroed<T>() -> *mut T {
    // SAFETY: all zero is a value of the structs of this interface.
    Box::into_raw(Box::new(unsafe { core::mem::zeroed() }))
}

pub(crate) unsafe extern "C" fn dupinfo(of: *const Info) -> *mut Info {
    // SAFETY: `of` is null or one of ours.
    unsafe {
        let copy: *mut Info = zeroed();
        let parts = (
            zeroed::<TxAttr>(),
            zeroed::<RxAttr>(),
            zeroed::<EpAttr>(),
            zeroed::<DomainAttr>(),
            zeroed::<FabricAttr>(),
        );
        if !of.is_null() {
            core::ptr::copy(of, copy, 1);
            core::ptr::copy((*of).tx_attr, parts.0, 1);
            core::ptr::copy((*of).rx_attr, parts.1, 1);
            core::ptr::copy((*of).ep_attr, parts.2, 1);
            core::ptr::copy((*of).domain_attr, parts.3, 1);
            core::ptr::copy((*of).fabric_attr, parts.4, 1);
            (*parts.3).name = duplicate((*parts.3).name);
            (*parts.4).name = duplicate((*parts.4).name);
            (*parts.4).prov_name = duplicate((*parts.4).prov_name);
        }
        let info = &mut *copy;
        info.next = null_mut();
        (info.tx_attr, info.rx_attr, info.ep_attr, info.domain_attr, info.fabric_attr) = parts;
        copy
    }
}

unsafe fn duplicate(text: *const c_char) -> *mut c_char {
    // SAFETY: null or a C string.
    if text.is_null() { null_mut() } else { unsafe { libc::strdup(text) } }
}

pub(crate) unsafe extern "C" fn freeinfo(info: *mut Info) {
    // SAFETY: one of ours, freed once; strings are from `strdup`.
    unsafe {
        let info = Box::from_raw(info);
        let (domain, fabric) = (Box::from_raw(info.domain_attr), Box::from_raw(info.fabric_attr));
        drop((Box::from_raw(info.tx_attr), Box::from_raw(info.rx_attr), Box::from_raw(info.ep_attr)));
        for text in [domain.name, fabric.name, fabric.prov_name] {
            libc::free(text.cast());
        }
    }
}

pub(crate) unsafe extern "C" fn getinfo(
    api: u32,
    _node: *const c_char,
    _service: *const c_char,
    _flags: u64,
    hints: *const Info,
    list: *mut *mut Info,
) -> c_int {
    let all = modes();
    assert!(api <= abi::version(1, 18), "an API that the user does not know");
    // SAFETY: hints of our making, a place for the answer.
    unsafe {
        let hints = &*hints;
        let (wanted, domain, ep) = (&*hints.fabric_attr, &*hints.domain_attr, &*hints.ep_attr);
        let missing = (hints.caps | (*hints.tx_attr).op_flags) & !all.caps != 0;
        let other = !wanted.prov_name.is_null() && CStr::from_ptr(wanted.prov_name) != c"mock";
        let modes_missing = all.mode & !hints.mode != 0 || all.mr_mode & !domain.mr_mode != 0;
        if other || missing || modes_missing || ep.kind != abi::EP_RDM || domain.cq_data_size > all.data_bytes
        {
            return -libc::ENODATA;
        }
        assert_eq!(hints.mode & !(mode::CONTEXT | mode::CONTEXT2), 0);
        let info = dupinfo(hints);
        (*info).caps = hints.caps | flag::SEND | flag::RECV;
        (*info).mode = all.mode;
        ((*(*info).tx_attr).size, (*(*info).rx_attr).size) = all.depth;
        (*(*info).rx_attr).iov_limit = all.runs;
        (*(*info).tx_attr).inject_size = all.inject;
        (*(*info).ep_attr).max_msg_size = all.max_message;
        (*(*info).ep_attr).mem_tag_format = all.tag_format;
        let attr = &mut *(*info).domain_attr;
        (attr.mr_mode, attr.cq_data_size, attr.mr_key_size) = (all.mr_mode, all.data_bytes, all.key_bytes);
        libc::free(attr.name.cast());
        attr.name = libc::strdup(c"mock0".as_ptr());
        let fabric = &mut *(*info).fabric_attr;
        libc::free(fabric.prov_name.cast());
        fabric.prov_name = libc::strdup(c"mock".as_ptr());
        *list = info;
    }
    0
}
