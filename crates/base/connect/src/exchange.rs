//! The exchange that proves both sides of a connection to be of one job.
//!
//! ```text
//!   hello      0      8        10    11     12          13     16       24    28  32     48    84
//!              magic  version  role  order  protection  0 0 0  job      from  to  nonce  ends
//!                                                              (8 bytes)
//!   challenge  0      16          17             24     56
//!              nonce  protection  0 0 0 0 0 0 0  proof
//!   proof      0      32
//! ```
//!
//! Numbers are little-endian. `order` is the byte order of the caller's machine, since some of what follows an exchange
//! is in it. Each proof covers all that both sides have sent before it.
//!
//! **A relay** that calls the owner itself and passes the exchange on gets nothing. `ends` is where the caller sees both
//! ends of the connection; the owner compares with what it sees. Where they differ, a relay or a translation of
//! addresses is between, and the connection is at least signed, with keys that come from the secret and both nonces
//! ([`Session`]). A relay without them is no more than a cable.

use core::fmt;

use hmac_sha256::HMAC;

use crate::channel::{Key, Session};
use crate::{Ends, Protection, Secret};

/// Version of this exchange and of all that follows one. Other versions are refused.
pub const VERSION: u16 = 4;
/// Bytes of a hello.
pub const HELLO: usize = 84;
/// Bytes of a challenge.
pub const CHALLENGE: usize = 56;
/// Bytes of the caller's proof.
pub(crate) const PROOF: usize = 32;

const MAGIC: [u8; 8] = *b"alhena\x02c";
/// The byte order of this machine; the other one is 3 less this.
const ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };
/// Where a hello has the ends.
const ENDS: usize = 48;
/// First words of what proofs and keys are made of.
const OWNER: &[u8] = b"owner of the port";
const CALLER: &[u8] = b"caller";
const KEY_OF_CALLER: &[u8] = b"key of the caller";
const KEY_OF_OWNER: &[u8] = b"key of the owner";
const LAST_OF_CALLER: &[u8] = b"last word of the caller";
const LAST_OF_OWNER: &[u8] = b"last word of the owner";

/// What a caller wants to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Role {
    /// A daemon that mpiexec has started on a host.
    Daemon = 1,
    /// A worker that mpiexec has not started.
    Worker = 2,
    /// A process of the job, at the port of another one.
    Process = 3,
    /// A NIC in software, at the port of another one.
    Nic = 4,
}

/// The caller, and the process that it calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Who {
    /// What the caller wants to be.
    pub role: Role,
    /// Number of the job; 0: the caller does not know it yet.
    pub job: u64,
    /// The caller's number: rank or host.
    pub from: u32,
    /// The number of the process that it calls.
    pub to: u32,
}

/// Why an exchange ends without a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The other side uses another protocol.
    Nonsense,
    /// The other side has this version of the exchange.
    Version(u16),
    /// The other side's machine has the other byte order.
    Order,
    /// The other side does not know the secret.
    Proof,
    /// The other side wants the connection protected less than this one.
    Protection,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Nonsense => f.write_str("it speaks another protocol"),
            Refusal::Version(other) => write!(f, "it has version {other} of the exchange, this is {VERSION}"),
            Refusal::Order => f.write_str("its machine has the other byte order, which is not served"),
            Refusal::Proof => f.write_str("it does not know the job's secret"),
            Refusal::Protection => f.write_str("it protects the connection less than is wanted here"),
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
    /// Begins an exchange over a connection with these `ends`, to be protected like this at least. `nonce` is random, and
    /// new for each connection.
    pub fn new(secret: Secret, who: Who, ends: &Ends, wish: Protection, nonce: u128) -> Calling {
        let mut hello = [0; HELLO];
        hello[..8].copy_from_slice(&MAGIC);
        hello[8..10].copy_from_slice(&VERSION.to_le_bytes());
        hello[10] = who.role as u8;
        hello[11] = ORDER;
        hello[12] = wish as u8;
        hello[16..24].copy_from_slice(&who.job.to_le_bytes());
        hello[24..28].copy_from_slice(&who.from.to_le_bytes());
        hello[28..32].copy_from_slice(&who.to.to_le_bytes());
        hello[32..ENDS].copy_from_slice(&nonce.to_le_bytes());
        hello[ENDS..].copy_from_slice(ends.bytes());
        Calling { secret, hello }
    }

    /// What to send first.
    pub fn hello(&self) -> &[u8; HELLO] {
        &self.hello
    }

    /// What to send after `challenge` has come, and what protects all after that.
    ///
    /// # Errors
    /// The other side is not of this job.
    pub fn prove(&self, challenge: &[u8; CHALLENGE]) -> Result<([u8; PROOF], Session), Refusal> {
        let (said, proof) = challenge.split_at(CHALLENGE - PROOF);
        let proof = proof.first_chunk::<PROOF>().ok_or(Refusal::Nonsense)?;
        if !verify(&self.secret, OWNER, &[&self.hello, said], proof) {
            return Err(Refusal::Proof);
        }
        let wish = Protection::from_byte(self.hello[12]).ok_or(Refusal::Nonsense)?;
        let protection = Protection::from_byte(challenge[16]).ok_or(Refusal::Nonsense)?;
        if protection < wish {
            return Err(Refusal::Protection);
        }
        let about = [&self.hello[..], challenge];
        let proof = tag(&self.secret, CALLER, &about);
        let key = |name| Key::new(tag(&self.secret, name, &about));
        let ours = (key(KEY_OF_CALLER), key(LAST_OF_CALLER));
        Ok((proof, Session::new(protection, ours, (key(KEY_OF_OWNER), key(LAST_OF_OWNER)))))
    }
}

/// The side of the port's owner, once a hello has come.
#[derive(Debug)]
pub struct Answering {
    secret: Secret,
    hello: [u8; HELLO],
    challenge: [u8; CHALLENGE],
    protection: Protection,
}

impl Answering {
    /// Whether a hello can begin with these bytes.
    pub(crate) fn can_begin_with(bytes: &[u8]) -> bool {
        bytes.iter().zip(MAGIC).all(|(&byte, right)| byte == right)
    }

    /// The sender that a hello names.
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
        if Protection::from_byte(hello[12]).is_none() || hello[13..16] != [0; 3] {
            return Err(Refusal::Nonsense);
        }
        match hello[11] {
            ORDER => {}
            order if order == 3 - ORDER => return Err(Refusal::Order),
            _ => return Err(Refusal::Nonsense),
        }
        Ok(Who { role, job: u64::from(word(16)) | u64::from(word(20)) << 32, from: word(24), to: word(28) })
    }

    /// Answers `hello`, which came over a connection with these `ends`, to be protected like this at least. `nonce` is
    /// random, and new for each connection.
    pub fn new(secret: Secret, hello: [u8; HELLO], ends: &Ends, wish: Protection, nonce: u128) -> Answering {
        let relayed =
            if hello[ENDS..] == ends.bytes()[..] { Protection::None } else { Protection::Integrity };
        // What is no protection is not answered: `read` refuses it.
        let theirs = Protection::from_byte(hello[12]).unwrap_or(Protection::Encrypt);
        let protection = wish.max(theirs).max(relayed);
        let mut challenge = [0; CHALLENGE];
        let (said, proof) = challenge.split_at_mut(CHALLENGE - PROOF);
        said[..16].copy_from_slice(&nonce.to_le_bytes());
        said[16] = protection as u8;
        proof.copy_from_slice(&tag(&secret, OWNER, &[&hello, said]));
        Answering { secret, hello, challenge, protection }
    }

    /// What to send.
    pub fn challenge(&self) -> &[u8; CHALLENGE] {
        &self.challenge
    }

    /// Checks what the caller has sent after the challenge; what protects all after that.
    ///
    /// # Errors
    /// The caller is not of this job.
    pub fn check(&self, proof: &[u8; PROOF]) -> Result<Session, Refusal> {
        let about = [&self.hello[..], &self.challenge];
        if !verify(&self.secret, CALLER, &about, proof) {
            return Err(Refusal::Proof);
        }
        let key = |name| Key::new(tag(&self.secret, name, &about));
        let ours = (key(KEY_OF_OWNER), key(LAST_OF_OWNER));
        Ok(Session::new(self.protection, ours, (key(KEY_OF_CALLER), key(LAST_OF_CALLER))))
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

    const NONE: Protection = Protection::None;

    fn ends(port: u16) -> Ends {
        Ends::new(([10, 0, 0, 1], 4000).into(), ([10, 0, 0, 2], port).into())
    }

    fn calling(secret: Secret, nonce: u128) -> Calling {
        Calling::new(secret, WHO, &ends(1), NONE, nonce)
    }

    fn answering(secret: Secret, hello: [u8; HELLO], nonce: u128) -> Answering {
        Answering::new(secret, hello, &ends(1), NONE, nonce)
    }

    fn run(caller: Secret, owner: Secret) -> (Result<([u8; PROOF], Session), Refusal>, Answering) {
        let calling = calling(caller, 11);
        assert_eq!(Answering::read(calling.hello()), Ok(WHO));
        let answering = answering(owner, *calling.hello(), 12);
        (calling.prove(answering.challenge()), answering)
    }

    #[test]
    fn those_who_know_the_secret_are_connected() {
        let (proven, answering) = run(Secret::new(5), Secret::new(5));
        let (proof, mut caller) = proven.unwrap();
        let mut owner = answering.check(&proof).unwrap();
        assert_eq!((caller.protection(), owner.protection()), (NONE, NONE));
        let (mut raw, mut heard) = (Vec::new(), Vec::new());
        caller.sealer.seal(b"there", &mut raw);
        owner.opener.open(&mut raw, &mut heard).unwrap();
        owner.sealer.seal(b"back", &mut raw);
        caller.opener.open(&mut raw, &mut heard).unwrap();
        assert_eq!(heard, b"thereback");
    }

    #[test]
    fn each_side_finds_out_that_the_other_does_not_know_the_secret() {
        let (proof, answering) = run(Secret::new(5), Secret::new(6));
        assert_eq!(proof.err(), Some(Refusal::Proof));
        // A caller that sends something all the same: a guess, or the owner's own proof.
        assert_eq!(answering.check(&[0; PROOF]).err(), Some(Refusal::Proof));
        let reflected = *answering.challenge().last_chunk::<PROOF>().unwrap();
        assert_eq!(answering.check(&reflected).err(), Some(Refusal::Proof));
    }

    #[test]
    fn an_exchange_that_was_overheard_is_of_no_use() {
        let secret = Secret::new(5);
        let first = calling(secret, 11);
        let heard = answering(secret, *first.hello(), 12);
        let (proof, _) = first.prove(heard.challenge()).unwrap();
        let again = answering(secret, *first.hello(), 13);
        assert_eq!(again.check(&proof).err(), Some(Refusal::Proof));
        let new_call = calling(secret, 14);
        assert_eq!(new_call.prove(heard.challenge()).err(), Some(Refusal::Proof));
    }

    /// What is sealed on one connection opens on no other one, though all sides know the secret.
    #[test]
    fn each_connection_has_keys_of_its_own() {
        let connect = |nonce| {
            let calling = calling(Secret::new(5), nonce);
            let answering = answering(Secret::new(5), *calling.hello(), nonce + 1);
            let (proof, caller) = calling.prove(answering.challenge()).unwrap();
            (caller, answering.check(&proof).unwrap())
        };
        let ((mut caller, mut owner), (_, mut of_another)) = (connect(11), connect(21));
        let (mut raw, mut heard) = (Vec::new(), Vec::new());
        caller.sealer.seal(b"order", &mut raw);
        assert!(of_another.opener.open(&mut raw.clone(), &mut heard).is_err() && heard.is_empty());
        assert!(owner.opener.open(&mut raw, &mut heard).is_ok() && heard == b"order");
    }

    #[test]
    fn the_stronger_wish_holds_and_a_relay_makes_it_signed() {
        use Protection::{Encrypt, Integrity};
        let secret = Secret::new(5);
        let agreed = |caller, owner, seen: &Ends| {
            let calling = Calling::new(secret, WHO, &ends(1), caller, 11);
            let answering = Answering::new(secret, *calling.hello(), seen, owner, 12);
            let (proof, session) = calling.prove(answering.challenge()).unwrap();
            assert_eq!(answering.check(&proof).unwrap().protection(), session.protection());
            session.protection()
        };
        for one in [NONE, Integrity, Encrypt] {
            for other in [NONE, Integrity, Encrypt] {
                assert_eq!(agreed(one, other, &ends(1)), one.max(other));
                assert_eq!(agreed(one, other, &ends(2)), one.max(other).max(Integrity));
            }
        }
    }

    #[test]
    fn an_owner_cannot_give_less_than_the_caller_wants() {
        let calling = Calling::new(Secret::new(5), WHO, &ends(1), Protection::Encrypt, 11);
        let mut hello = *calling.hello();
        hello[12] = NONE as u8;
        // An owner that knows the secret and has not changed the hello, and answers with less.
        let mut answer = answering(Secret::new(5), hello, 12);
        assert_eq!(calling.prove(answer.challenge()).err(), Some(Refusal::Proof));
        let said = &answer.challenge[..CHALLENGE - PROOF].to_vec();
        let proof = tag(&Secret::new(5), OWNER, &[calling.hello(), said]);
        answer.challenge[CHALLENGE - PROOF..].copy_from_slice(&proof);
        assert_eq!(calling.prove(answer.challenge()).err(), Some(Refusal::Protection));
    }

    #[test]
    fn another_version_is_named() {
        let mut hello = *calling(Secret::new(1), 1).hello();
        hello[8] = 77;
        assert_eq!(Answering::read(&hello), Err(Refusal::Version(77)));
    }

    #[test]
    fn another_byte_order_is_named() {
        let mut hello = *calling(Secret::new(1), 1).hello();
        hello[11] = 3 - hello[11];
        assert_eq!(Answering::read(&hello), Err(Refusal::Order));
        hello[11] = 3;
        assert_eq!(Answering::read(&hello), Err(Refusal::Nonsense));
    }

    proptest! {
        #[test]
        fn rubbish_is_no_hello(bytes in any::<[u8; 32]>(), rest in any::<[u8; 32]>()) {
            let mut hello = [0; HELLO];
            hello[..32].copy_from_slice(&bytes);
            hello[32..64].copy_from_slice(&rest);
            prop_assert!(Answering::read(&hello).is_err());
            hello[..8].copy_from_slice(&MAGIC);
            // Whatever is read is what is written.
            if let Ok(who) = Answering::read(&hello) {
                let nonce = u128::from_le_bytes(*rest.first_chunk().unwrap());
                let wish = Protection::from_byte(hello[12]).unwrap();
                let again = Calling::new(Secret::new(0), who, &ends(1), wish, nonce);
                prop_assert_eq!(&again.hello()[..ENDS], &hello[..ENDS]);
            }
        }

        #[test]
        fn a_changed_byte_breaks_the_exchange(at in 12..HELLO + CHALLENGE + PROOF, bit in 0..8u32) {
            let secret = Secret::new(9);
            let calling = calling(secret, 11);
            let mut hello = *calling.hello();
            if at < HELLO { hello[at] ^= 1 << bit; }
            let answering = answering(secret, hello, 12);
            let mut challenge = *answering.challenge();
            if (HELLO..HELLO + CHALLENGE).contains(&at) { challenge[at - HELLO] ^= 1 << bit; }
            let fine = calling.prove(&challenge).and_then(|(mut proof, _)| {
                if at >= HELLO + CHALLENGE { proof[at - HELLO - CHALLENGE] ^= 1 << bit; }
                answering.check(&proof)
            });
            prop_assert_eq!(fine.err(), Some(Refusal::Proof));
        }
    }
}
