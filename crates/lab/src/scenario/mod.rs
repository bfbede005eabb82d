//! Scenarios: boxes with a planted cause, drawn from a seed, and the truth about them.

mod catalogue;
mod draw;
mod pair;
mod proof;
mod running;
mod template;

pub use catalogue::{catalogue, named};
pub use draw::DrawError;
pub use proof::{Figure, Proof};
pub use running::{Answer, RunError, RunningBox, TrueProcess, Truth, lab_program};
pub use template::{Acceptable, Drawn, Expectation, Template, TemplateError};
