//! Compares sizes and offsets with libfabric's headers, where they and a C compiler are installed.

use core::mem::offset_of;
use std::process::Command;

use ofi::abi;

macro_rules! facts {
    ($($ours:ident $theirs:literal: $($field:ident $name:literal),*;)*) => {
        vec![$(
            // Allocated by the library, or longer than any version knows it.
            $((concat!("offsetof(struct ", $theirs, ", ", $name, ")"), offset_of!(abi::$ours, $field)),)*
        )*]
    };
}

#[test]
fn offsets_are_those_of_the_headers() {
    let facts: Vec<(&str, usize)> = facts! {
        TxAttr "fi_tx_attr": caps "caps", op_flags "op_flags", size "size", msg_order "msg_order", inject_size "inject_size", tclass "tclass";
        RxAttr "fi_rx_attr": msg_order "msg_order", size "size", iov_limit "iov_limit";
        EpAttr "fi_ep_attr": kind "type", max_msg_size "max_msg_size", mem_tag_format "mem_tag_format", auth_key "auth_key";
        DomainAttr "fi_domain_attr": name "name", threading "threading", av_type "av_type", mr_mode "mr_mode",
            mr_key_size "mr_key_size", cq_data_size "cq_data_size", caps "caps", tclass "tclass";
        FabricAttr "fi_fabric_attr": name "name", prov_name "prov_name", api_version "api_version";
        Info "fi_info": next "next", caps "caps", mode "mode", src_addr "src_addr", tx_attr "tx_attr", rx_attr "rx_attr",
            ep_attr "ep_attr", domain_attr "domain_attr", fabric_attr "fabric_attr", nic "nic";
        Fid "fid": context "context", ops "ops";
        Ops "fi_ops": close "close", bind "bind", control "control";
        Fabric "fid_fabric": ops "ops", api_version "api_version";
        FabricOps "fi_ops_fabric": domain "domain", trywait "trywait";
        Domain "fid_domain": ops "ops", mr "mr";
        DomainOps "fi_ops_domain": av_open "av_open", cq_open "cq_open", endpoint "endpoint";
        MrOps "fi_ops_mr": reg "reg";
        Mr "fid_mr": mem_desc "mem_desc", key "key";
        Av "fid_av": ops "ops";
        AvOps "fi_ops_av": insert "insert";
        AvAttr "fi_av_attr": kind "type", count "count", name "name", flags "flags";
        CqAttr "fi_cq_attr": size "size", format "format", wait_obj "wait_obj", wait_cond "wait_cond", wait_set "wait_set";
        Cq "fid_cq": ops "ops";
        CqOps "fi_ops_cq": read "read", readfrom "readfrom", readerr "readerr", strerror "strerror";
        CqTaggedEntry "fi_cq_tagged_entry": op_context "op_context", flags "flags", len "len", data "data", tag "tag";
        CqErrEntry "fi_cq_err_entry": op_context "op_context", len "len", tag "tag", olen "olen", err "err",
            err_data_size "err_data_size";
        Ep "fid_ep": ops "ops", cm "cm", msg "msg", rma "rma", tagged "tagged";
        EpOps "fi_ops_ep": cancel "cancel";
        CmOps "fi_ops_cm": getname "getname";
        MsgOps "fi_ops_msg": recv "recv", send "send", sendmsg "sendmsg";
        Msg "fi_msg": iov "msg_iov", desc "desc", addr "addr", context "context", data "data";
        RmaIovec "fi_rma_iov": addr "addr", len "len", key "key";
        RmaOps "fi_ops_rma": read "read", writemsg "writemsg";
        MsgRma "fi_msg_rma": iov "msg_iov", desc "desc", addr "addr", rma_iov "rma_iov", context "context", data "data";
        TaggedOps "fi_ops_tagged": recv "recv", recvmsg "recvmsg", send "send", inject "inject", senddata "senddata",
            injectdata "injectdata";
        MsgTagged "fi_msg_tagged": iov "msg_iov", desc "desc", addr "addr", tag "tag", ignore "ignore", context "context",
            data "data";
    };
    let facts = facts.into_iter().chain([
        ("sizeof(struct fi_info)", size_of::<abi::Info>()),
        ("sizeof(struct fi_cq_tagged_entry)", size_of::<abi::CqTaggedEntry>()),
        ("sizeof(struct fi_msg_tagged)", size_of::<abi::MsgTagged>()),
        ("sizeof(struct fi_msg)", size_of::<abi::Msg>()),
        ("sizeof(struct fi_msg_rma)", size_of::<abi::MsgRma>()),
        ("sizeof(struct fi_rma_iov)", size_of::<abi::RmaIovec>()),
        ("FI_MSG | FI_RMA", (abi::flag::MSG | abi::flag::RMA) as usize),
        ("FI_READ | FI_WRITE", (abi::flag::READ | abi::flag::WRITE) as usize),
        ("FI_REMOTE_READ | FI_REMOTE_WRITE", (abi::flag::REMOTE_READ | abi::flag::REMOTE_WRITE) as usize),
        ("FI_INJECT | FI_DELIVERY_COMPLETE", (abi::flag::INJECT | abi::flag::DELIVERY_COMPLETE) as usize),
        ("FI_CONTEXT2", abi::mode::CONTEXT2 as usize),
        ("FI_CLAIM", abi::flag::CLAIM as usize),
        ("FI_SOURCE", abi::flag::SOURCE as usize),
        ("FI_WAIT_FD", abi::WAIT_FD as usize),
        ("FI_EP_RDM", abi::EP_RDM as usize),
        ("FI_GETWAIT", abi::GETWAIT as usize),
        ("FI_ENABLE", abi::ENABLE as usize),
        ("FI_ETRUNC", abi::ETRUNC as usize),
        ("FI_MR_ENDPOINT", abi::mr::ENDPOINT as usize),
        ("FI_THREAD_DOMAIN", abi::THREAD_DOMAIN as usize),
        ("FI_CQ_FORMAT_TAGGED", abi::CQ_FORMAT_TAGGED as usize),
    ]);
    let folder = std::env::temp_dir().join(format!("alhena-ofi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, program) = (folder.join("layout.c"), folder.join("layout"));
    let facts: Vec<_> = facts.collect();
    let lines: String =
        facts.iter().map(|(fact, _)| format!("printf(\"%zu\\n\", (size_t) ({fact}));\n")).collect();
    let headers = ["fabric", "fi_domain", "fi_endpoint", "fi_eq", "fi_cm", "fi_rma", "fi_tagged", "fi_errno"];
    let headers: String = headers.iter().map(|name| format!("#include <rdma/{name}.h>\n")).collect();
    let text = format!(
        "#include <stddef.h>\n#include <stdio.h>\n{headers}int main(void) {{\n{lines}return 0;\n}}\n"
    );
    std::fs::write(&source, text).expect("a source");
    let compiled = Command::new("cc").arg(&source).arg("-o").arg(&program).output();
    let compiled = compiled.is_ok_and(|output| output.status.success());
    let output = compiled.then(|| Command::new(&program).output().expect("the program runs"));
    std::fs::remove_dir_all(&folder).expect("our own folder");
    let Some(output) = output else {
        eprintln!("skip: libfabric's headers are not installed (Debian: apt install libfabric-dev)");
        return;
    };
    let theirs = String::from_utf8(output.stdout).expect("numbers");
    let theirs: Vec<usize> = theirs.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(theirs.len(), facts.len());
    for ((fact, ours), theirs) in facts.into_iter().zip(theirs) {
        assert_eq!(ours, theirs, "{fact}");
    }
}
