//! The text of a board and what it means.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::timeline;
use super::{BoardError, BoardEvent, BoxDirectory, Card, CardSetting, Fabric, Fault, Phase};
use crate::state::MOST_CARDS;

/// A board as its TOML file has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardFile {
    /// The driver that answers.
    #[serde(default)]
    pub driver: Driver,
    /// The cards, in bus order.
    #[serde(default, rename = "card", skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<CardSetting>,
    /// The switches between the cards.
    #[serde(default)]
    pub fabric: Fabric,
    /// What goes wrong in library calls.
    #[serde(default, rename = "fault", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// What changes while the box is up.
    #[serde(default, rename = "event", skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<BoardEvent>,
}

/// The driver of a board.
#[expect(clippy::struct_excessive_bools, reason = "each is one key of the board file")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Driver {
    /// Driver version, e.g. `580.95.05`.
    pub version: String,
    /// Highest CUDA version that the driver runs, e.g. `13.0`.
    pub cuda: String,
    /// Whether the kernel module is loaded; without it the library initialises with `DRIVER_NOT_LOADED`.
    pub loaded: bool,
    /// The kernel module that is bound to the cards.
    pub module: KernelModule,
    /// Version of the kernel module, where it is another one than the library's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module_version: Option<String>,
    /// NVML functions that this driver does not export.
    pub omitted_symbols: Vec<String>,
    /// Bytes of one row of a process list (version 2 and 3 of the calls): 24, or 32 as the 535 drivers had it
    /// for a while, or 16.
    pub process_row_bytes: usize,
    /// Persistence mode.
    pub persistence: bool,
    /// Time that initialisation takes, in milliseconds.
    pub init_ms: u64,
    /// Whether the process lists know how much memory a process has.
    pub knows_process_memory: bool,
    /// Whether accounting mode is on.
    pub accounting: bool,
}

/// Which kernel module is bound to the cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelModule {
    /// NVIDIA's.
    Nvidia,
    /// The free driver without compute.
    Nouveau,
    /// Passed through to a guest.
    VfioPci,
    /// None.
    None,
}

impl Default for Driver {
    fn default() -> Self {
        Self {
            version: "580.95.05".into(),
            cuda: "13.0".into(),
            loaded: true,
            module: KernelModule::Nvidia,
            module_version: None,
            omitted_symbols: Vec::new(),
            process_row_bytes: 24,
            persistence: true,
            init_ms: 0,
            knows_process_memory: true,
            accounting: false,
        }
    }
}

/// A board with every default filled in.
#[derive(Debug, Clone)]
pub struct Board {
    /// The driver that answers.
    pub driver: Driver,
    /// All cards on the bus, as they are when the box comes up.
    pub cards: Vec<Card>,
    /// The switches between the cards.
    pub fabric: Fabric,
    /// What goes wrong in library calls.
    pub faults: Vec<Fault>,
    /// What changes while the box is up, in order of time.
    pub events: Vec<BoardEvent>,
    /// The cards after each event that changes one, in order of time.
    pub(super) later: Vec<Phase>,
}

impl BoardFile {
    /// Reads a board file.
    ///
    /// # Errors
    /// Fails when the file cannot be read or is not a board.
    pub fn load(path: &Path) -> Result<Self, BoardError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| BoardError::Read { path: path.to_owned(), source })?;
        toml::from_str(&text)
            .map_err(|source| BoardError::Syntax { path: path.to_owned(), source: Box::new(source) })
    }

    /// Returns the board as TOML.
    ///
    /// # Errors
    /// Fails when a value does not fit into TOML (an integer above 2⁶³).
    pub fn to_toml(&self) -> Result<String, BoardError> {
        toml::to_string(self).map_err(|source| BoardError::Write(Box::new(source)))
    }

    /// Fills in profiles and defaults.
    ///
    /// # Errors
    /// Fails for unknown profiles, values that no product can have, and more cards than a box has room for.
    pub fn resolve(&self) -> Result<Board, BoardError> {
        if !matches!(self.driver.process_row_bytes, 16 | 24 | 32) {
            return Err(BoardError::Impossible {
                what: format!("process rows have 16, 24 or 32 bytes, not {}", self.driver.process_row_bytes),
            });
        }
        let settings: Vec<CardSetting> = self
            .cards
            .iter()
            .flat_map(|setting| std::iter::repeat_n(setting, setting.count.unwrap_or(1)))
            .cloned()
            .collect();
        if settings.len() > MOST_CARDS {
            return Err(BoardError::Impossible { what: format!("more than {MOST_CARDS} cards") });
        }
        let (events, later) = timeline::of(&self.events, &settings)?;
        Ok(Board {
            driver: self.driver.clone(),
            cards: timeline::resolve(&settings)?,
            fabric: self.fabric.clone(),
            faults: self.faults.clone(),
            events,
            later,
        })
    }
}

impl Board {
    /// Reads and resolves the board of a box.
    ///
    /// # Errors
    /// Fails as [`BoardFile::load`] and [`BoardFile::resolve`] do.
    pub fn of(directory: &BoxDirectory) -> Result<Self, BoardError> {
        BoardFile::load(&directory.board_file())?.resolve()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [driver]
        version = "535.183.01"
        process_row_bytes = 16

        [[card]]
        profile = "h100-sxm5-80gb"
        count = 2

        [[card]]
        profile = "t4"
        lost_after_s = 1.5

        [[fault]]
        function = "nvmlDeviceGetUtilizationRates"
        hang = "sleep"
    "#;

    #[test]
    fn counts_expand_and_defaults_fill_in() {
        let file: BoardFile = toml::from_str(TEXT).unwrap();
        let board = file.resolve().unwrap();
        assert_eq!(board.cards.len(), 3);
        assert_eq!(board.cards[2].profile.name, "Tesla T4");
        assert!(!board.cards[2].is_lost(1.0) && board.cards[2].is_lost(2.0));
        assert_eq!(board.driver.cuda, "13.0");
    }

    #[test]
    fn writing_and_reading_again_gives_the_same_board() {
        let file: BoardFile = toml::from_str(TEXT).unwrap();
        let again: BoardFile = toml::from_str(&file.to_toml().unwrap()).unwrap();
        assert_eq!(file, again);
    }

    #[test]
    fn unknown_keys_and_impossible_rows_are_refused() {
        assert!(toml::from_str::<BoardFile>("[driver]\nversoin = \"1\"").is_err());
        let odd: BoardFile = toml::from_str("[driver]\nprocess_row_bytes = 20").unwrap();
        assert!(odd.resolve().is_err());
        let many: BoardFile = toml::from_str("[[card]]\nprofile = \"t4\"\ncount = 17").unwrap();
        assert!(many.resolve().is_err());
    }
}
