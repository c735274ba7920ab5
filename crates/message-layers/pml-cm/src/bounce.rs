//! Memory of the layer's own, for data that is not one run, or that travels with sums.
#![allow(unsafe_code)]

use mem::{PeerBytes, UserMem};
use pml::Data;

/// A buffer that stays where it is. Its owner keeps it until the network has given it back.
pub struct Bounce(Box<[u8]>);

impl Bounce {
    /// Room for so many bytes.
    pub fn new(len: usize) -> Bounce {
        Bounce(vec![0; len].into())
    }

    /// Room for what `data` takes, if that is not one run, and the memory that the network is to use.
    pub fn of(data: &Data) -> (Option<Bounce>, UserMem) {
        match data {
            Data::Contiguous(memory) => (None, *memory),
            Data::Typed(stream) => {
                let mut bounce = Bounce::new(stream.total() as usize);
                let memory = bounce.memory();
                (Some(bounce), memory)
            }
        }
    }

    /// As [`Bounce::of`], with the data.
    pub fn packed(mut data: Data) -> (Option<Bounce>, UserMem) {
        let (bounce, memory) = Bounce::of(&data);
        if let Data::Typed(stream) = &mut data {
            stream.seek(0);
            stream.fill(memory.as_space());
        }
        (bounce, memory)
    }

    /// The memory that the network is to use.
    pub fn memory(&mut self) -> UserMem {
        // SAFETY: the buffer stays where it is, and lives until its request is over: see `Bounce`.
        unsafe { UserMem::of(&mut self.0) }
    }

    /// All of it, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// The first `len` bytes.
    pub fn bytes(&self, len: usize) -> PeerBytes<'_> {
        PeerBytes::of(&self.0).part(0, len)
    }
}
