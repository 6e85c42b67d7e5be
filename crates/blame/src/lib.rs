//! The party at fault for an error, and the exit code that reports it.
//!
//! ```
//! use blame::Blame;
//!
//! #[derive(Debug)]
//! enum OpenError {
//!     NoSuchFile,
//!     Occupied,
//!     Io(std::io::Error),
//! }
//!
//! impl OpenError {
//!     fn blame(&self) -> Blame {
//!         match self {
//!             OpenError::NoSuchFile => Blame::Usage,
//!             OpenError::Occupied => Blame::Safety,
//!             OpenError::Io(_) => Blame::System,
//!         }
//!     }
//! }
//!
//! assert_eq!(OpenError::Occupied.blame().exit_code(), 3);
//! ```

/// The party at fault, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The user: the command line or a file that it names must be corrected.
    Usage,
    /// The safety rules: the action could destroy data.
    Safety,
    System,
}

impl Blame {
    /// The exit code of a program that ends with such an error. That of [`Blame::Usage`] is also
    /// clap's.
    pub const fn exit_code(self) -> u8 {
        match self {
            Blame::Usage => 2,
            Blame::Safety => 3,
            Blame::System => 4,
        }
    }
}
