//! Manual pages and shell completions of a program, from its definition of the command line.
//!
//! | module | content |
//! | --- | --- |
//! | `manual` | one page for the program, and one for each of its verbs |
//! | `after_help` | the sections of the text that follows the options in the help |
//! | `roff` | the markup of manual pages |
//! | `completions` | the scripts that a shell loads, and the answers to them |

mod after_help;
pub mod completions;
pub mod manual;
mod roff;
