//! A page of HTML, read strictly: every element that is opened is closed, in order, and every value is quoted. It knows no
//! more of HTML than what `harness report` writes.

/// A tag that opens an element, or is one.
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
}

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) source: String,
    pub(crate) tags: Vec<Tag>,
    /// What is read, without marks of elements; a line for each piece.
    pub(crate) text: String,
    pub(crate) style: Option<String>,
}

impl Tag {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        attributes
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Page {
    /// Reads a page; what is not well-formed fails the test.
    #[track_caller]
    pub(crate) fn read(source: &str) -> Self {
        let mut page = Self {
            source: source.to_owned(),
            tags: Vec::new(),
            text: String::new(),
            style: None,
        };
        let mut rest = source.strip_prefix("<!DOCTYPE html>").expect("it begins as HTML does");
        let mut open: Vec<String> = Vec::new();
        while let Some(at) = rest.find('<') {
            page.words(&rest[..at]);
            let end = at + rest[at..].find('>').expect("a tag ends");
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "it is closed in order");
                continue;
            }
            let (tag, is_void) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let tag = read_tag(tag);
            let name = tag.name.clone();
            page.tags.push(tag);
            if name == "style" {
                let end = rest.find("</style>").expect("the sheet ends");
                page.style = Some(rest[..end].to_owned());
                rest = &rest[end..];
            }
            if !is_void {
                open.push(name);
            }
        }
        page.words(rest);
        assert_eq!(open, [""; 0], "everything is closed");
        page
    }

    fn words(&mut self, text: &str) {
        assert!(!text.contains('>'), "a text with a bare `>`: {text}");
        self.text.push_str(&unescaped(text));
    }

    /// Fails unless all of this is read on the page.
    #[track_caller]
    pub(crate) fn shows(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.text.contains(part), "{part:?} is not in:\n{}", self.text);
        }
    }

    /// The text of the `dd` whose `dt` is this.
    #[track_caller]
    pub(crate) fn after(&self, term: &str) -> String {
        let head = format!("<dt>{term}</dt><dd>");
        let at = self.source.rfind(&head).unwrap_or_else(|| panic!("no {term}")) + head.len();
        let end = at + self.source[at..].find("</dd>").expect("it ends");
        let text = self.source[at..end].replace("<code>", "").replace("</code>", "");
        unescaped(&text)
    }

    /// Fails if a link leads out of the page, or to nothing.
    #[track_caller]
    pub(crate) fn has_what_its_links_name(&self) {
        let mut ids: Vec<&str> = self.tags.iter().filter_map(|tag| tag.attribute("id")).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(all, ids.len(), "an id stands twice");
        for link in self.tags.iter().filter_map(|tag| tag.attribute("href")) {
            let id = link.strip_prefix('#').expect("a link inside the page");
            assert!(ids.binary_search(&id).is_ok(), "{link} leads to nothing");
        }
    }

    /// Fails if anything on the page could run, load, or send.
    #[track_caller]
    pub(crate) fn is_harmless(&self) {
        const ELEMENTS: [&str; 11] = [
            "script",
            "iframe",
            "img",
            "link",
            "object",
            "embed",
            "form",
            "base",
            "image",
            "use",
            "foreignObject",
        ];
        const ATTRIBUTES: [&str; 7] = ["style", "src", "srcset", "action", "xlink:href", "ping", "data"];
        for tag in &self.tags {
            assert!(!ELEMENTS.contains(&tag.name.as_str()), "{tag:?}");
            for (name, value) in &tag.attributes {
                assert!(
                    !ATTRIBUTES.contains(&name.as_str()) && !name.starts_with("on"),
                    "{tag:?}"
                );
                assert!(!value.contains("http:") && !value.contains("https:"), "{tag:?}");
                assert!(name != "href" || value.starts_with('#'), "{tag:?}");
            }
        }
    }
}

fn read_tag(text: &str) -> Tag {
    let (name, mut rest) = text.split_once(' ').unwrap_or((text, ""));
    assert!(
        name.chars().all(|c| c.is_ascii_alphanumeric()),
        "an element called {name:?}"
    );
    let mut attributes = Vec::new();
    while !rest.is_empty() {
        let (name, more) = rest.split_once("=\"").expect("a quoted value");
        assert!(
            name.chars().all(|c| c.is_ascii_alphabetic() || c == '-'),
            "an attribute called {name:?}"
        );
        let (value, more) = more.split_once('"').expect("a value ends");
        attributes.push((name.to_owned(), unescaped(value)));
        rest = more.strip_prefix(' ').unwrap_or(more);
    }
    let name = name.to_owned();
    Tag { name, attributes }
}

/// What is read where this is written.
pub(crate) fn unescaped(text: &str) -> String {
    let table = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    table
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
