//! The events of a case as an ordered list, each in a sentence, with its frame or its rows behind a click.

use super::counts;
use super::gather::{Entry, Frame, Gathered, Item};
use super::markup::Markup;
use crate::counted::counted;
use crate::report::printer::Style;
use crate::report::story::Told;

/// The heading of a step, where it is one, and what belongs to it.
type Group<'a> = (Option<(usize, &'a str)>, Vec<&'a Item>);

/// Writes the list. `id` begins the names of its events, `show` the command that has what is left out.
pub(super) fn write(markup: &mut Markup, gathered: &Gathered, id: &str, show: &str) {
    let mut groups: Vec<Group<'_>> = vec![(None, Vec::new())];
    for item in &gathered.items {
        match item {
            Item::Step(number, does) => groups.push((Some((*number, does)), Vec::new())),
            Item::Entry(_) | Item::Remark(_) | Item::Trouble(_) => {
                if let Some((_, items)) = groups.last_mut() {
                    items.push(item);
                }
            }
        }
    }
    groups.retain(|(step, items)| step.is_some() || !items.is_empty());
    markup.element("ol", &[("class", "steps")], |markup| {
        for (step, items) in &groups {
            markup.element("li", &[], |markup| {
                match step {
                    Some((number, does)) => markup.prose("h4", &[], &format!("{number}  {does}")),
                    None => markup.leaf("h4", &[], "Before the first step"),
                }
                markup.element("ol", &[("class", "events")], |markup| {
                    for item in items {
                        write_item(markup, item, gathered, id, show);
                    }
                });
            });
            markup.line_end();
        }
    });
    if gathered.left_out > 0 {
        let more = counted(gathered.left_out, "more event is", "more events are");
        markup.leaf("p", &[("class", "odd")], &format!("{more} left out: {show}"));
    }
}

fn write_item(markup: &mut Markup, item: &Item, gathered: &Gathered, id: &str, show: &str) {
    match item {
        Item::Step(..) => {}
        Item::Entry(entry) => write_entry(markup, entry, gathered, id, show),
        Item::Remark(told) => markup.element("li", &[("class", "event remark")], |markup| {
            markup.element("div", &[("class", "says")], |markup| sentence(markup, told, ""));
        }),
        Item::Trouble(text) => markup.element("li", &[("class", "event remark")], |markup| {
            let told = Told::new("DAMAGED", text.as_str()).styled(Style::Odd);
            markup.element("div", &[("class", "says")], |markup| sentence(markup, &told, ""));
        }),
    }
}

fn write_entry(markup: &mut Markup, entry: &Entry, gathered: &Gathered, id: &str, show: &str) {
    let name = format!("{id}-{}", entry.seq);
    let name = entry.is_in_order.then_some(name.as_str());
    // What opens is named inside, because a link to it then opens it.
    let outside = name.filter(|_| entry.frame.is_none());
    let mut attributes = vec![("class", "event")];
    attributes.extend(outside.map(|name| ("id", name)));
    markup.element("li", &attributes, |markup| {
        markup.element("div", &[("class", "when")], |markup| {
            markup.leaf("span", &[("class", "seq")], &format!("[{}]", entry.seq));
            let (ms, tenths) = (entry.at / 1000, entry.at % 1000 / 100);
            markup.text(&format!(" {ms}.{tenths} ms"));
        });
        markup.leaf("div", &[("class", "who")], entry.process.as_deref().unwrap_or_default());
        markup.element("div", &[("class", "says")], |markup| {
            let lead = format!("[{}] ", entry.seq);
            match &entry.frame {
                Some(frame) => write_frame(markup, frame, &entry.told, &lead, (name, entry.seq, show)),
                None => entry.told.iter().for_each(|told| sentence(markup, told, &lead)),
            }
            if let Some(observation) = entry.observed.and_then(|at| gathered.observations.get(at)) {
                markup.element("details", &[], |markup| {
                    markup.leaf("summary", &[], "the rows that were read");
                    counts::write_readings(markup, observation);
                });
            }
        });
    });
}

fn write_frame(
    markup: &mut Markup,
    frame: &Frame,
    told: &[Told],
    lead: &str,
    (name, seq, show): (Option<&str>, u64, &str),
) {
    markup.element("details", &[], |markup| {
        markup.element("summary", &[], |markup| {
            let arrow = if frame.to_server { "→ " } else { "← " };
            markup.leaf("span", &[("class", "way"), ("aria-hidden", "true")], arrow);
            // Words of the server are in it: a backtick may be its own.
            for told in told {
                label(markup, told);
                markup.leaf("span", &[], said(told, lead));
            }
        });
        let attributes = name.map(|name| ("id", name));
        let attributes = attributes.as_slice();
        markup.element("div", attributes, |markup| {
            if let Some(json) = &frame.json {
                markup.element("pre", &[], |markup| markup.lines(json));
            }
            if let Some(raw) = &frame.raw {
                let what = match frame.json {
                    Some(_) => "Its bytes are not the compact form of that JSON. They are:",
                    None => "It is not JSON. Its bytes as text:",
                };
                markup.leaf("p", &[("class", "aside")], what);
                markup.leaf("pre", &[], raw);
            }
            let mut said = format!("{} bytes on the wire", frame.wire_bytes);
            if frame.withheld {
                said.push_str("; it never reached the client");
            }
            if frame.left_out > 0 {
                let more = format!("; {} bytes are left out here: {show} --frame {seq}", frame.left_out);
                said.push_str(&more);
            }
            markup.leaf("p", &[("class", "aside")], &said);
        });
    });
}

fn sentence(markup: &mut Markup, told: &Told, lead: &str) {
    markup.element("p", &[], |markup| {
        label(markup, told);
        markup.prose("span", &[], said(told, lead));
    });
}

fn label(markup: &mut Markup, told: &Told) {
    markup.leaf("span", &[("class", class(told.style))], &told.label);
    markup.text(" ");
}

fn said<'a>(told: &'a Told, lead: &str) -> &'a str {
    told.text.strip_prefix(lead).unwrap_or(&told.text)
}

/// The look of a style.
fn class(style: Style) -> &'static str {
    match style {
        Style::Plain | Style::Dim => "label",
        Style::Bold => "label strong",
        Style::Good => "label good",
        Style::Bad => "label bad",
        Style::Odd => "label odd",
    }
}
