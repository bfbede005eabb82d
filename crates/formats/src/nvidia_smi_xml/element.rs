//! One element of the output: of its XML, or of its indented text in the XML's names.

/// One element with the text directly in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    /// The `id` attribute, which cards have.
    pub(crate) id: Option<String>,
    /// Trimmed; control characters are escaped.
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
    /// The line on which it begins, from 1.
    pub(crate) line: u64,
}

impl Element {
    /// Returns the first child with one of the names, looking for the first name first.
    pub(crate) fn child(&self, names: &[&str]) -> Option<&Self> {
        names.iter().find_map(|name| self.children.iter().find(|child| child.name == *name))
    }

    /// Returns the children with this name.
    pub(crate) fn children<'element>(
        &'element self,
        name: &'static str,
    ) -> impl Iterator<Item = &'element Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the first element, this one included, that matches.
    pub(crate) fn find(&self, matches: fn(&Self) -> bool) -> Option<&Self> {
        if matches(self) {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(matches))
    }
}
