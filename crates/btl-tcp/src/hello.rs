//! The first bytes in each direction of a connection: who is there, and the proof that both are of one job.
//!
//! ```text
//!   0      8        10       12    13       16      24    28  32   48     56
//!   magic  version  order    kind  verdict  job id  from  to  key  nonce
//! ```
//!
//! The process that connects sends a hello, the other one an answer with the same nonce. So an address is right once its
//! answer has come, and not before. The key is random and came through the launcher's key space, which only ranks of the
//! job can read. Words are those of the sender's machine; the order mark tells another machine's.

/// Bytes of a hello and of an answer.
pub(crate) const BYTES: usize = 56;
const MAGIC: [u8; 8] = *b"alhena\x01t";
const VERSION: u16 = 1;
const ORDER: u16 = 0x0102;

/// What the processes of a job know, and nobody else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobProof {
    /// The job's number.
    pub id: u64,
    /// Its random key.
    pub key: u128,
}

/// What the answer to a hello says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The connection may be used.
    Accepted,
    /// The other side's own connection will be.
    Yield,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hello {
    pub(crate) job: JobProof,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) nonce: u64,
    /// Present in an answer.
    pub(crate) verdict: Option<Verdict>,
    /// The sender's machine has the other byte order; nothing else of it can be read.
    pub(crate) other_order: bool,
}

impl Hello {
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_ne_bytes());
        bytes[10..12].copy_from_slice(&ORDER.to_ne_bytes());
        bytes[12] = self.verdict.is_some().into();
        bytes[13] = matches!(self.verdict, Some(Verdict::Yield)).into();
        bytes[16..24].copy_from_slice(&self.job.id.to_ne_bytes());
        bytes[24..28].copy_from_slice(&self.from.to_ne_bytes());
        bytes[28..32].copy_from_slice(&self.to.to_ne_bytes());
        bytes[32..48].copy_from_slice(&self.job.key.to_ne_bytes());
        bytes[48..].copy_from_slice(&self.nonce.to_ne_bytes());
        bytes
    }

    /// The answer to this hello.
    pub(crate) fn answer(self, verdict: Verdict) -> Hello {
        Hello { from: self.to, to: self.from, verdict: Some(verdict), ..self }
    }

    /// Whether this answers `asked`; the verdict.
    pub(crate) fn verdict_on(&self, asked: &Hello) -> Option<Verdict> {
        let verdict = self.verdict?;
        (*self == asked.answer(verdict)).then_some(verdict)
    }
}

/// What strangers are heard by: hellos, not answers.
impl strangers::Hello for Hello {
    const BYTES: usize = BYTES;

    fn can_begin_with(bytes: &[u8]) -> bool {
        bytes.iter().zip(MAGIC).all(|(&byte, right)| byte == right)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Hello> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_ne_bytes(*bytes[at..].first_chunk().expect("within a hello"));
        let long = |at: usize| u64::from_ne_bytes(*bytes[at..].first_chunk().expect("within a hello"));
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let verdict = match (bytes[12], bytes[13]) {
            (0, 0) => None,
            (1, 0) => Some(Verdict::Accepted),
            (1, 1) => Some(Verdict::Yield),
            _ => return None,
        };
        if bytes[..8] == MAGIC && half(8) == VERSION.swap_bytes() && half(10) == ORDER.swap_bytes() {
            let job = JobProof { id: 0, key: 0 };
            return Some(Hello { job, from: 0, to: 0, nonce: 0, verdict: None, other_order: true });
        }
        let fits = bytes[..8] == MAGIC && half(8) == VERSION && half(10) == ORDER && bytes[14..16] == [0, 0];
        let key = u128::from_ne_bytes(*bytes[32..].first_chunk()?);
        let job = JobProof { id: long(16), key };
        fits.then_some(Hello {
            job,
            from: word(24),
            to: word(28),
            nonce: long(48),
            verdict,
            other_order: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use strangers::Hello as _;

    fn hello() -> Hello {
        Hello {
            job: JobProof { id: 7, key: 1 << 100 | 5 },
            from: 3,
            to: 4,
            nonce: 99,
            verdict: None,
            other_order: false,
        }
    }

    #[test]
    fn hellos_and_answers_survive_the_wire() {
        for verdict in [Verdict::Accepted, Verdict::Yield] {
            let answer = hello().answer(verdict);
            for one in [hello(), answer] {
                assert_eq!(Hello::from_bytes(&one.to_bytes()), Some(one));
            }
            assert_eq!(answer.verdict_on(&hello()), Some(verdict));
            assert_eq!(answer.verdict_on(&Hello { nonce: 98, ..hello() }), None);
            assert_eq!(answer.verdict_on(&Hello { to: 5, ..hello() }), None);
        }
        assert_eq!(hello().verdict_on(&hello()), None);
    }

    #[test]
    fn another_byte_order_is_told() {
        let mut bytes = hello().to_bytes();
        bytes[8..10].reverse();
        bytes[10..12].reverse();
        assert!(Hello::from_bytes(&bytes).is_some_and(|hello| hello.other_order));
        bytes[10..12].reverse();
        assert_eq!(Hello::from_bytes(&bytes), None);
    }

    proptest! {
        #[test]
        fn rubbish_is_no_hello(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(Hello::from_bytes(&bytes), None);
            bytes.resize(BYTES, 0);
            bytes[..8].copy_from_slice(&MAGIC);
            // Whatever is read is what is written.
            if let Some(hello) = Hello::from_bytes(&bytes).filter(|hello| !hello.other_order) {
                prop_assert_eq!(&hello.to_bytes()[..], &bytes[..]);
            }
        }
    }
}
