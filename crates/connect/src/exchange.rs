//! The exchange that proves both sides of a connection to be of one job.
//!
//! ```text
//!   hello      0      8        10    11     12       16       24    28  32     48
//!              magic  version  role  order  0 0 0 0  job      from  to  nonce
//!                                                    (8 bytes)
//!   challenge  0      16     48
//!              nonce  proof
//!   proof      0      32
//! ```
//!
//! Numbers are little-endian. `order` is the byte order of the caller's machine, since some of what follows an exchange
//! is in it.

use core::fmt;

use hmac_sha256::HMAC;

use crate::Secret;

/// Version of this exchange and of all that follows one. Other versions are refused.
pub const VERSION: u16 = 2;
/// Bytes of a hello.
pub const HELLO: usize = 48;
/// Bytes of a challenge.
pub const CHALLENGE: usize = 48;
/// Bytes of the caller's proof.
pub const PROOF: usize = 32;

const MAGIC: [u8; 8] = *b"alhena\x02c";
/// The byte order of this machine; the other one is 3 less this.
const ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };
const OWNER: &[u8] = b"owner of the port";
const CALLER: &[u8] = b"caller";

/// What a caller wants to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Role {
    /// A daemon that mpiexec has started on a host.
    Daemon = 1,
    /// A worker that somebody else has started.
    Worker = 2,
    /// A process of the job, at the port of another one.
    Process = 3,
    /// A NIC in software, at the port of another one.
    Nic = 4,
}

/// Who calls whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Who {
    /// What the caller wants to be.
    pub role: Role,
    /// Number of the job; 0: the caller does not know it yet.
    pub job: u64,
    /// The caller's number: rank or host.
    pub from: u32,
    /// The number of whom it calls.
    pub to: u32,
}

/// Why an exchange ends without a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The other side speaks something else.
    Nonsense,
    /// The other side has this version of the exchange.
    Version(u16),
    /// The other side's machine has the other byte order.
    Order,
    /// The other side does not know the secret.
    Proof,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Nonsense => f.write_str("it speaks another protocol"),
            Refusal::Version(other) => write!(f, "it has version {other} of the exchange, this is {VERSION}"),
            Refusal::Order => f.write_str("its machine has the other byte order, which is not served"),
            Refusal::Proof => f.write_str("it does not know the job's secret"),
        }
    }
}

/// The caller's side.
#[derive(Debug)]
pub struct Calling {
    secret: Secret,
    hello: [u8; HELLO],
}

impl Calling {
    /// Begins an exchange. `nonce` is random, and new for each connection.
    pub fn new(secret: Secret, who: Who, nonce: u128) -> Calling {
        let mut hello = [0; HELLO];
        hello[..8].copy_from_slice(&MAGIC);
        hello[8..10].copy_from_slice(&VERSION.to_le_bytes());
        hello[10] = who.role as u8;
        hello[11] = ORDER;
        hello[16..24].copy_from_slice(&who.job.to_le_bytes());
        hello[24..28].copy_from_slice(&who.from.to_le_bytes());
        hello[28..32].copy_from_slice(&who.to.to_le_bytes());
        hello[32..].copy_from_slice(&nonce.to_le_bytes());
        Calling { secret, hello }
    }

    /// What to send first.
    pub fn hello(&self) -> &[u8; HELLO] {
        &self.hello
    }

    /// What to send after `challenge` has come.
    ///
    /// # Errors
    /// The other side is not of this job.
    pub fn prove(&self, challenge: &[u8; CHALLENGE]) -> Result<[u8; PROOF], Refusal> {
        let (nonce, proof) = challenge.split_first_chunk::<16>().ok_or(Refusal::Nonsense)?;
        let proof = proof.first_chunk::<PROOF>().ok_or(Refusal::Nonsense)?;
        match verify(&self.secret, OWNER, &[&self.hello, nonce], proof) {
            true => Ok(tag(&self.secret, CALLER, &[&self.hello, challenge])),
            false => Err(Refusal::Proof),
        }
    }
}

/// The side of the port's owner, once a hello has come.
#[derive(Debug)]
pub struct Answering {
    secret: Secret,
    hello: [u8; HELLO],
    challenge: [u8; CHALLENGE],
}

impl Answering {
    /// Whether a hello can begin with these bytes.
    pub fn can_begin_with(bytes: &[u8]) -> bool {
        bytes.iter().zip(MAGIC).all(|(&byte, right)| byte == right)
    }

    /// Who a hello says it comes from.
    ///
    /// # Errors
    /// It is no hello of this version.
    pub fn read(hello: &[u8; HELLO]) -> Result<Who, Refusal> {
        let word = |at: usize| u32::from_le_bytes([hello[at], hello[at + 1], hello[at + 2], hello[at + 3]]);
        let version = u16::from_le_bytes([hello[8], hello[9]]);
        if hello[..8] != MAGIC {
            return Err(Refusal::Nonsense);
        }
        if version != VERSION {
            return Err(Refusal::Version(version));
        }
        let role = match hello[10] {
            1 => Role::Daemon,
            2 => Role::Worker,
            3 => Role::Process,
            4 => Role::Nic,
            _ => return Err(Refusal::Nonsense),
        };
        if hello[12..16] != [0; 4] {
            return Err(Refusal::Nonsense);
        }
        match hello[11] {
            ORDER => {}
            order if order == 3 - ORDER => return Err(Refusal::Order),
            _ => return Err(Refusal::Nonsense),
        }
        Ok(Who { role, job: u64::from(word(16)) | u64::from(word(20)) << 32, from: word(24), to: word(28) })
    }

    /// Answers `hello`. `nonce` is random, and new for each connection.
    pub fn new(secret: Secret, hello: [u8; HELLO], nonce: u128) -> Answering {
        let nonce = nonce.to_le_bytes();
        let mut challenge = [0; CHALLENGE];
        challenge[..16].copy_from_slice(&nonce);
        challenge[16..].copy_from_slice(&tag(&secret, OWNER, &[&hello, &nonce]));
        Answering { secret, hello, challenge }
    }

    /// What to send.
    pub fn challenge(&self) -> &[u8; CHALLENGE] {
        &self.challenge
    }

    /// Checks what the caller has sent after the challenge.
    ///
    /// # Errors
    /// The caller is not of this job.
    pub fn check(&self, proof: &[u8; PROOF]) -> Result<(), Refusal> {
        let known = verify(&self.secret, CALLER, &[&self.hello, &self.challenge], proof);
        if known { Ok(()) } else { Err(Refusal::Proof) }
    }
}

fn mac(secret: &Secret, side: &[u8], parts: &[&[u8]]) -> HMAC {
    let mut mac = HMAC::new(secret.bytes());
    mac.update(side);
    for part in parts {
        mac.update(part);
    }
    mac
}

fn tag(secret: &Secret, side: &[u8], parts: &[&[u8]]) -> [u8; PROOF] {
    mac(secret, side, parts).finalize()
}

/// Compares in a time that does not depend on the bytes.
fn verify(secret: &Secret, side: &[u8], parts: &[&[u8]], proof: &[u8; PROOF]) -> bool {
    mac(secret, side, parts).finalize_verify(proof)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHO: Who = Who { role: Role::Daemon, job: 1 << 40 | 7, from: 3, to: 4 };

    fn run(caller: Secret, owner: Secret) -> (Result<[u8; PROOF], Refusal>, Answering) {
        let calling = Calling::new(caller, WHO, 11);
        assert_eq!(Answering::read(calling.hello()), Ok(WHO));
        let answering = Answering::new(owner, *calling.hello(), 12);
        (calling.prove(answering.challenge()), answering)
    }

    #[test]
    fn those_who_know_the_secret_are_connected() {
        let (proof, answering) = run(Secret::new(5), Secret::new(5));
        assert_eq!(answering.check(&proof.unwrap()), Ok(()));
    }

    #[test]
    fn each_side_finds_out_that_the_other_does_not_know_the_secret() {
        let (proof, answering) = run(Secret::new(5), Secret::new(6));
        assert_eq!(proof, Err(Refusal::Proof));
        // A caller that sends something all the same: a guess, or the owner's own proof.
        assert_eq!(answering.check(&[0; PROOF]), Err(Refusal::Proof));
        let reflected = *answering.challenge().last_chunk::<PROOF>().unwrap();
        assert_eq!(answering.check(&reflected), Err(Refusal::Proof));
    }

    #[test]
    fn an_exchange_that_was_overheard_is_of_no_use() {
        let secret = Secret::new(5);
        let calling = Calling::new(secret, WHO, 11);
        let heard = Answering::new(secret, *calling.hello(), 12);
        let proof = calling.prove(heard.challenge()).unwrap();
        let again = Answering::new(secret, *calling.hello(), 13);
        assert_eq!(again.check(&proof), Err(Refusal::Proof));
        let new_call = Calling::new(secret, WHO, 14);
        assert_eq!(new_call.prove(heard.challenge()), Err(Refusal::Proof));
    }

    #[test]
    fn another_version_is_named() {
        let mut hello = *Calling::new(Secret::new(1), WHO, 1).hello();
        hello[8] = 77;
        assert_eq!(Answering::read(&hello), Err(Refusal::Version(77)));
    }

    #[test]
    fn another_byte_order_is_named() {
        let mut hello = *Calling::new(Secret::new(1), WHO, 1).hello();
        hello[11] = 3 - hello[11];
        assert_eq!(Answering::read(&hello), Err(Refusal::Order));
        hello[11] = 3;
        assert_eq!(Answering::read(&hello), Err(Refusal::Nonsense));
    }

    proptest! {
        #[test]
        fn rubbish_is_no_hello(bytes in any::<[u8; HELLO - 16]>(), nonce in any::<[u8; 16]>()) {
            let mut hello = [0; HELLO];
            hello[..32].copy_from_slice(&bytes);
            hello[32..].copy_from_slice(&nonce);
            prop_assert!(Answering::read(&hello).is_err());
            hello[..8].copy_from_slice(&MAGIC);
            // Whatever is read is what is written.
            if let Ok(who) = Answering::read(&hello) {
                let again = Calling::new(Secret::new(0), who, u128::from_le_bytes(nonce));
                prop_assert_eq!(again.hello(), &hello);
            }
        }

        #[test]
        fn a_changed_byte_breaks_the_exchange(at in 16..HELLO + CHALLENGE + PROOF, bit in 0..8u32) {
            let secret = Secret::new(9);
            let calling = Calling::new(secret, WHO, 11);
            let mut hello = *calling.hello();
            if at < HELLO { hello[at] ^= 1 << bit; }
            let answering = Answering::new(secret, hello, 12);
            let mut challenge = *answering.challenge();
            if (HELLO..HELLO + CHALLENGE).contains(&at) { challenge[at - HELLO] ^= 1 << bit; }
            let fine = calling.prove(&challenge).and_then(|mut proof| {
                if at >= HELLO + CHALLENGE { proof[at - HELLO - CHALLENGE] ^= 1 << bit; }
                answering.check(&proof)
            });
            prop_assert_eq!(fine, Err(Refusal::Proof));
        }
    }
}
