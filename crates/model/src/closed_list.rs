//! Closed lists of ids: an enum whose every member has one fixed, published string.

/// Defines an enum whose members are written, parsed and documented by one fixed id.
///
/// Ids are contracts: they are never renamed or reused.
macro_rules! closed_list {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident {
        $($(#[$member_attribute:meta])* $member:ident = $id:literal,)+
    }) => {
        $(#[$attribute])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        $visibility enum $name {
            $($(#[$member_attribute])* #[serde(rename = $id)] $member,)+
        }

        impl $name {
            /// Every member, in the order of its definition.
            pub const ALL: &[Self] = &[$(Self::$member,)+];

            /// Returns the published id of this member.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$member => $id,)+
                }
            }

            /// Returns the member that has this id.
            pub fn from_id(id: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|member| member.id() == id)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.id())
            }
        }
    };
}

pub(crate) use closed_list;
