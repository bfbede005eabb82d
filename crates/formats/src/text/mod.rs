//! From a paste to what is understood in it: blocks of lines, each in one format, and the lines that nobody knows.

mod block;
mod catalogue;
mod understood;

pub use block::{Block, Context, Remark};
pub use understood::{Met, Piece, Understood, understand, understand_paste};

use block::TextFormat;
