//! Decides how a store in memory can be made to fail, so that a simulation meets what a real one does to it.
//! Set by simulations and tests. Never active unless somebody asks for it.

use crate::types::Append;

/// What is about to be done.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Appends are numbered from 1 over all generations of a store, whether they succeed or not.
    Append { number: u64, append: &'a Append },
    /// Another write, by the name of its method.
    Write(&'static str),
    /// A read, by the name of its method.
    Read(&'static str),
}

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    Proceed,
    /// `Error::Unavailable`; nothing was written.
    FailBefore,
    /// `Error::Unavailable`; everything was written.
    FailAfter,
    /// As `FailBefore`, and the process is dead: its handles do nothing any more until `Memory::restart`.
    DieBefore,
    /// As `FailAfter`, and the process is dead.
    DieAfter,
}

/// Asked before every operation of a living process, under the store's lock: it must not call the store.
pub trait Faults: Send {
    fn before(&mut self, operation: &Operation<'_>) -> Fault;
}

impl<F: FnMut(&Operation<'_>) -> Fault + Send> Faults for F {
    fn before(&mut self, operation: &Operation<'_>) -> Fault {
        self(operation)
    }
}

/// Bugs that can be switched on, only to prove that a simulation notices them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sabotage {
    /// Appends on a head that has moved on are written all the same.
    pub skip_head_check: bool,
    /// Appends of a former owner are written all the same.
    pub skip_fence_check: bool,
}
