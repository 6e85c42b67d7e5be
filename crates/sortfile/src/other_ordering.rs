//! The orderings of GNU `sort` that are not by bytes, and what to use instead.

/// An ordering of GNU `sort` that is not by bytes, and therefore not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as by GNU sort")]
pub enum OtherOrdering {
    Numeric,
    GeneralNumeric,
    HumanNumeric,
    Version,
    Month,
    IgnoreCase,
    Dictionary,
    IgnoreNonprinting,
    Random,
}

impl OtherOrdering {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Numeric,
        Self::GeneralNumeric,
        Self::HumanNumeric,
        Self::Version,
        Self::Month,
        Self::IgnoreCase,
        Self::Dictionary,
        Self::IgnoreNonprinting,
        Self::Random,
    ];

    /// The letter that selects it, as an option or after a key.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Numeric => 'n',
            Self::GeneralNumeric => 'g',
            Self::HumanNumeric => 'h',
            Self::Version => 'V',
            Self::Month => 'M',
            Self::IgnoreCase => 'f',
            Self::Dictionary => 'd',
            Self::IgnoreNonprinting => 'i',
            Self::Random => 'R',
        }
    }

    /// The long option that selects it, without the hyphens.
    #[must_use]
    pub const fn long(self) -> &'static str {
        match self {
            Self::Numeric => "numeric-sort",
            Self::GeneralNumeric => "general-numeric-sort",
            Self::HumanNumeric => "human-numeric-sort",
            Self::Version => "version-sort",
            Self::Month => "month-sort",
            Self::IgnoreCase => "ignore-case",
            Self::Dictionary => "dictionary-order",
            Self::IgnoreNonprinting => "ignore-nonprinting",
            Self::Random => "random-sort",
        }
    }

    /// The advice on a replacement, as an imperative.
    #[must_use]
    pub const fn instead(self) -> &'static str {
        match self {
            Self::Numeric => "write numbers with leading zeros, or use GNU `sort -n`",
            Self::GeneralNumeric => "use GNU `sort -g`",
            Self::HumanNumeric => "write sizes in bytes with leading zeros, or use GNU `sort -h`",
            Self::Version => "write version numbers with leading zeros, or use GNU `sort -V`",
            Self::Month => "write months as 01 to 12, or use GNU `sort -M`",
            Self::IgnoreCase => {
                "convert the input to one case, for example with `tr a-z A-Z`, or use GNU `sort -f`"
            }
            Self::Dictionary => {
                "remove punctuation, for example with `tr -d '[:punct:]'`, or use GNU `sort -d`"
            }
            Self::IgnoreNonprinting => {
                "keep only printable characters, for example with `tr -cd '[:print:]\\n'`, or use \
                 GNU `sort -i`"
            }
            Self::Random => "use `shuf` for a random order, or GNU `sort -R`",
        }
    }
}
