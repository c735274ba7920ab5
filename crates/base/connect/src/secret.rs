//! The secret of a job.

use std::fmt;

use hmac_sha256::HMAC;

/// First word of what the secret of a pair is made of.
const PAIR: &[u8] = b"secret of a pair";

/// 128 random bits that only the processes of a job know.
///
/// It travels by inherited descriptor, by standard input, by a file with mode 0600 or by the launcher's key space. It must
/// not get into arguments, environments or names; so it is not printed, either.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl Secret {
    /// The secret that these random bits are.
    pub const fn new(bits: u128) -> Secret {
        Secret(bits.to_le_bytes())
    }

    /// 32 hexadecimal digits.
    pub fn encode(&self) -> String {
        format!("{:032x}", u128::from_le_bytes(self.0))
    }

    /// What [`Secret::encode`] wrote, blanks around it left out.
    pub fn parse(text: &str) -> Option<Secret> {
        let text = text.trim();
        let digits = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        digits.then(|| u128::from_str_radix(text, 16).ok().map(Secret::new))?
    }

    /// What only those know who know both secrets; in which order they are given does not matter.
    pub fn of_pair(one: Secret, other: Secret) -> Secret {
        let (first, second) = if one.0 <= other.0 { (one, other) } else { (other, one) };
        let hash = HMAC::mac([PAIR, second.bytes()].concat(), first.bytes());
        Secret(std::array::from_fn(|at| hash[at]))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn the_secret_of_a_pair_needs_both_and_has_no_order() {
        let [a, b, c] = [1, 2, 1 << 127].map(Secret::new);
        assert_eq!(Secret::of_pair(a, b), Secret::of_pair(b, a));
        let all = [a, b, c, Secret::of_pair(a, b), Secret::of_pair(a, c), Secret::of_pair(b, c)];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other != one));
        }
    }

    #[test]
    fn a_secret_is_read_as_it_was_written_and_not_printed() {
        let secret = Secret::new(0xabc << 90 | 7);
        assert_eq!(Secret::parse(&format!(" {}\n", secret.encode())), Some(secret));
        for text in ["", "7", "+0000000000000000000000000000007", "0000000000000000000000000000000g"] {
            assert_eq!(Secret::parse(text), None, "{text}");
        }
        assert!(!format!("{secret:?}").contains('7'));
    }
}
