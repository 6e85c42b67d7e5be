//! SCSI commands and answers (T10: SPC-5, SBC-4).
//!
//! | module | purpose |
//! | --- | --- |
//! | `inquiry` | INQUIRY: what the drive is |
//! | `mode_page` | MODE SENSE and MODE SELECT: the caching page |
//! | `log_page` | LOG SENSE: health |
//! | `sense` | why a command failed, in words |

pub mod inquiry;
pub mod log_page;
pub mod mode_page;
pub mod sense;
