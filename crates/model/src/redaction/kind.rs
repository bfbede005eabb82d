//! What a name can stand for, and the word that stands for it.

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    User,
    Host,
    Address,
    Path,
    Url,
    Uuid,
    Serial,
    Job,
    Container,
    Pod,
    Unit,
    Account,
    Namespace,
    Input,
}

impl Kind {
    const ALL: [Self; 14] = [
        Self::User,
        Self::Host,
        Self::Address,
        Self::Path,
        Self::Url,
        Self::Uuid,
        Self::Serial,
        Self::Job,
        Self::Container,
        Self::Pod,
        Self::Unit,
        Self::Account,
        Self::Namespace,
        Self::Input,
    ];

    /// Returns whether a word is one that stands for a name already.
    pub(super) fn is_own_word(word: &str) -> bool {
        let Some((kind, number)) = word.rsplit_once('-') else {
            return false;
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && Self::ALL.iter().any(|known| known.word() == kind)
    }

    /// Returns the word before the number.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Host => "host",
            Self::Address => "address",
            Self::Path => "path",
            Self::Url => "url",
            Self::Uuid => "uuid",
            Self::Serial => "serial",
            Self::Job => "job",
            Self::Container => "container",
            Self::Pod => "pod",
            Self::Unit => "unit",
            Self::Account => "account",
            Self::Namespace => "namespace",
            Self::Input => "text",
        }
    }
}
