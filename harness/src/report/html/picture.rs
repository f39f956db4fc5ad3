//! The sequence picture of a case: time runs down, processes are lanes, frames are arrows. Everything in it is said in the
//! list of events too, so it is one image to who hears the page; its arrows are links for a mouse.

use super::markup::Markup;
use super::scene::{Mark, Scene, Signal, Tone, What};
use crate::counted::counted;

/// Where the numbers of events end, and where their times begin.
const SEQ_X: usize = 38;
const TIME_X: usize = 48;

/// The lane of the harness.
const HARNESS_X: usize = 152;

/// Between two lanes: as much as lets the store stand on the page, within these.
const LANE_MAX: usize = 236;
const LANE_MIN: usize = 130;

/// How wide a picture is where that is possible.
const WIDTH: usize = 1128;

/// So many processes can be read where a picture is made as narrow as a phone.
const LANES_NARROW: usize = 3;

/// How wide a flag at the store is.
const FLAG: usize = 214;

/// Heights: the head, a step, a mark, the foot.
const HEAD: usize = 44;
const STEP: usize = 40;
const MARK: usize = 34;
const FOOT: usize = 18;

/// The height of a further line on a flag.
const LINE: usize = 14;

/// The width of a character, in tenths.
const CHAR_TENTHS: usize = 64;

/// How a picture is named and linked.
pub(super) struct Named<'a> {
    /// Unique in the page.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) description: &'a str,
}

/// Whether a picture has so many lanes that nobody could read it at the width of a phone.
pub(super) fn is_wide(scene: &Scene) -> bool {
    scene.processes.len() > LANES_NARROW
}

/// Draws a scene.
pub(super) fn draw(markup: &mut Markup, scene: &Scene, named: &Named<'_>) {
    let drawing = Drawing::of(scene, named.id);
    let (width, height) = (drawing.width(), drawing.height());
    let (title, description) = (format!("{}-title", named.id), format!("{}-desc", named.id));
    let both = format!("{title} {description}");
    let view = format!("0 0 {width} {height}");
    let attributes = [
        ("class", if is_wide(scene) { "picture wide" } else { "picture" }),
        ("role", "img"),
        ("aria-labelledby", both.as_str()),
        ("viewBox", view.as_str()),
        ("width", &*width.to_string()),
        ("height", &*height.to_string()),
    ];
    markup.element("svg", &attributes, |markup| {
        markup.words("title", &[("id", &title)], named.title);
        markup.words("desc", &[("id", &description)], named.description);
        drawing.bands(markup);
        drawing.lanes(markup);
        drawing.steps(markup);
        drawing.marks(markup);
    });
    if scene.left_out > 0 {
        let more = counted(scene.left_out, "event is", "events are");
        markup.leaf(
            "p",
            &[("class", "aside")],
            &format!("{more} not drawn; the list below has them"),
        );
    }
}

struct Drawing<'a> {
    scene: &'a Scene,
    id: &'a str,
    /// Between two lanes.
    lane: usize,
    /// The middle of each mark.
    ys: Vec<usize>,
    bottom: usize,
}

impl<'a> Drawing<'a> {
    fn of(scene: &'a Scene, id: &'a str) -> Self {
        let mut bottom = HEAD;
        let place = |mark: &Mark| {
            let height = height(mark);
            bottom += height;
            bottom - height / 2
        };
        let ys = scene.marks.iter().map(place).collect();
        // Half a lane lies between the last process and the store.
        let halves = scene.processes.len() * 2 + 1;
        let lane = (WIDTH - HARNESS_X - FLAG - 16) * 2 / halves;
        Self {
            scene,
            id,
            lane: lane.clamp(LANE_MIN, LANE_MAX),
            ys,
            bottom,
        }
    }

    fn width(&self) -> usize {
        self.store_x() + FLAG + 16
    }

    fn height(&self) -> usize {
        self.bottom + FOOT
    }

    fn process_x(&self, process: usize) -> usize {
        HARNESS_X + self.lane * (process + 1)
    }

    fn store_x(&self) -> usize {
        HARNESS_X + self.lane * self.scene.processes.len() + self.lane / 2
    }

    fn marked(&self) -> impl Iterator<Item = (&Mark, usize)> {
        self.scene.marks.iter().zip(self.ys.iter().copied())
    }

    /// The bands of the steps lie under everything else, their words above the lanes.
    fn bands(&self, markup: &mut Markup) {
        for (mark, y) in self.marked() {
            if let What::Step(..) = &mark.what {
                rectangle(markup, "band", 0, y - 13, self.width(), 26, 4);
            }
        }
    }

    fn steps(&self, markup: &mut Markup) {
        for (mark, y) in self.marked() {
            let What::Step(number, does) = &mark.what else { continue };
            end(markup, "step", SEQ_X, y + 4, &number.to_string());
            // A picture has no code in a text; the list has.
            let does = does.replace('`', "");
            text(markup, "step", TIME_X, y + 4, &fitted(&does, self.width() - 70));
        }
    }

    fn lanes(&self, markup: &mut Markup) {
        let store = self.store_x();
        let (top, bottom) = (HEAD - 12, self.bottom + FOOT / 2);
        line(markup, "lane own", (HARNESS_X, top), (HARNESS_X, bottom));
        line(markup, "lane own", (store, top), (store, bottom));
        middle(markup, "head", HARNESS_X, 20, "harness");
        middle(markup, "head", store, 20, "the store");
        for (process, name) in self.scene.processes.iter().enumerate() {
            middle(
                markup,
                "head",
                self.process_x(process),
                20,
                &fitted(name, self.lane - 20),
            );
            self.lifetimes(markup, process);
        }
    }

    /// A process is drawn where it lives: thin while it is paused, and not at all once it has ended.
    fn lifetimes(&self, markup: &mut Markup, process: usize) {
        let x = self.process_x(process);
        let mut since: Option<(usize, bool)> = None;
        let mut draw = |since: &mut Option<(usize, bool)>, until: usize, next: Option<bool>| {
            if let Some((from, is_paused)) = since.take() {
                let class = if is_paused { "lane paused" } else { "lane" };
                line(markup, class, (x, from), (x, until));
            }
            *since = next.map(|is_paused| (until, is_paused));
        };
        for (mark, y) in self.marked() {
            match &mark.what {
                What::Started(of) if *of == process => draw(&mut since, y, Some(false)),
                What::Ended { process: of, .. } if *of == process => draw(&mut since, y, None),
                What::Signal {
                    process: of, signal, ..
                } if *of == process && since.is_some() => match signal {
                    Signal::Pause => draw(&mut since, y, Some(true)),
                    Signal::Resume => draw(&mut since, y, Some(false)),
                    Signal::Kill | Signal::Other => {}
                },
                // What shares a lane, or lost its beginning with a part of the record, lives all the same.
                What::Frame { process: of, .. } if *of == process && since.is_none() => since = Some((y, false)),
                What::Frame { .. }
                | What::Step(..)
                | What::Unsent(..)
                | What::Started(_)
                | What::Ended { .. }
                | What::Signal { .. }
                | What::Store { .. }
                | What::Harness { .. }
                | What::Clock(_)
                | What::Noise(_) => {}
            }
        }
        draw(&mut since, self.bottom, None);
    }

    fn marks(&self, markup: &mut Markup) {
        for (mark, y) in self.marked() {
            if matches!(mark.what, What::Step(..)) {
                continue;
            }
            if let What::Noise(count) = mark.what {
                let more = counted(count, "frame", "frames");
                text(
                    markup,
                    "note",
                    HARNESS_X + 14,
                    y + 4,
                    &format!("and {more} more that answer nothing"),
                );
                continue;
            }
            let href = format!("#{}-{}", self.id, mark.seq);
            let attributes = [("href", href.as_str()), ("tabindex", "-1"), ("class", "mark")];
            markup.element("a", &attributes, |markup| {
                let told = if mark.told.is_empty() { "" } else { &mark.told };
                markup.words("title", &[], told);
                // So that a mouse finds the whole line.
                rectangle(markup, "catch", 0, y - MARK / 2, self.width(), MARK, 3);
                number(markup, y, mark);
                self.mark(markup, mark, y);
            });
        }
    }

    fn mark(&self, markup: &mut Markup, mark: &Mark, y: usize) {
        match &mark.what {
            What::Frame {
                process,
                to_server,
                withheld,
                text,
            } => draw_frame(markup, y, self.process_x(*process), (*to_server, *withheld), text),
            What::Unsent(process, reason) => draw_unsent(markup, y, self.process_x(*process), reason),
            What::Started(process) => {
                let x = self.process_x(*process);
                path(markup, "start", &format!("M{} {} h16 l-8 10 z", x - 8, y - 5));
                text(markup, "note", x + 16, y + 4, "starts");
            }
            What::Ended { process, killed, text } => {
                let (x, class) = (self.process_x(*process), if *killed { "bad" } else { "note" });
                line(markup, "end", (x - 11, y), (x + 11, y));
                self::text(markup, class, x + 18, y + 4, &fitted(text, FLAG));
            }
            What::Signal { process, signal, text } => draw_signal(markup, y, self.process_x(*process), *signal, text),
            What::Store { name, lines, tone } => self.flag(markup, y, name, lines, *tone),
            What::Harness { text, tone } => {
                disc(markup, HARNESS_X, y);
                let class = if *tone == Tone::Odd { "odd" } else { "note" };
                self::text(
                    markup,
                    class,
                    HARNESS_X + 12,
                    y + 4,
                    &fitted(text, self.width() - HARNESS_X - 30),
                );
            }
            What::Clock(text) => {
                line(markup, "clock", (HARNESS_X - 30, y), (self.store_x() + 30, y));
                self::text(markup, "odd", HARNESS_X + 14, y - 5, text);
            }
            What::Step(..) | What::Noise(_) => {}
        }
    }

    fn flag(&self, markup: &mut Markup, y: usize, name: &str, lines: &[String], tone: Tone) {
        let x = self.store_x();
        let class = match tone {
            Tone::Plain => "flag",
            Tone::Good => "flag good",
            Tone::Odd => "flag odd",
        };
        disc(markup, x, y);
        let wide = FLAG - 16;
        let half = 16 + LINE * lines.len().saturating_sub(1) / 2;
        let high = half * 2;
        path(
            markup,
            class,
            &format!("M{} {y} l9 -{half} h{wide} v{high} h-{wide} z", x + 6),
        );
        let top = y - half;
        text(markup, "flag-name", x + 22, top + 13, &fitted(name, FLAG - 30));
        for (index, line) in lines.iter().enumerate() {
            text(
                markup,
                "flag-text",
                x + 22,
                top + 26 + LINE * index,
                &fitted(line, FLAG - 30),
            );
        }
    }
}

/// An arrow; of a reply that was withheld, one that breaks off.
fn draw_frame(markup: &mut Markup, y: usize, x: usize, (to_server, withheld): (bool, bool), label: &str) {
    let (left, right) = (HARNESS_X + 4, x - 5);
    let room = right - left - 26;
    if withheld {
        let stop = left + (right - left) * 2 / 5;
        line(markup, "arrow broken", (right, y + 5), (stop + 9, y + 5));
        cross(markup, stop, y + 5);
        let label = fitted(label, right - stop);
        end(markup, "label bad", right - 6, y - 1, &label);
        end(markup, "bad", stop - 12, y + 9, "withheld");
        return;
    }
    line(markup, "arrow", (left, y + 5), (right, y + 5));
    if to_server {
        path(markup, "point", &format!("M{right} {} l-9 -4.5 v9 z", y + 5));
        text(markup, "label", left + 8, y - 1, &fitted(label, room));
    } else {
        path(markup, "point", &format!("M{left} {} l9 -4.5 v9 z", y + 5));
        end(markup, "label", right - 8, y - 1, &fitted(label, room));
    }
}

fn draw_unsent(markup: &mut Markup, y: usize, x: usize, reason: &str) {
    let (left, right) = (HARNESS_X + 4, x - 5);
    let stop = left + (right - left) * 3 / 5;
    line(markup, "arrow broken", (left, y + 5), (stop - 9, y + 5));
    cross(markup, stop, y + 5);
    text(
        markup,
        "label bad",
        left + 8,
        y - 1,
        &fitted(&format!("not sent: {reason}"), right - left),
    );
}

fn draw_signal(markup: &mut Markup, y: usize, x: usize, signal: Signal, label: &str) {
    match signal {
        Signal::Kill => {
            // The bolt of a kill strikes from the harness.
            line(markup, "strike", (HARNESS_X + 4, y), (x - 12, y));
            rectangle(markup, "kill", x - 11, y - 11, 22, 22, 11);
            path(
                markup,
                "kill-cross",
                &format!("M{} {} l10 10 m0 -10 l-10 10", x - 5, y - 5),
            );
            text(markup, "bad strong", x + 18, y + 4, &fitted(label, FLAG));
        }
        Signal::Pause => {
            path(markup, "glyph", &format!("M{} {} v14 m6 -14 v14", x - 3, y - 7));
            text(markup, "odd", x + 16, y + 4, "paused (SIGSTOP)");
        }
        Signal::Resume => {
            path(markup, "start", &format!("M{} {} l12 7 l-12 7 z", x - 5, y - 7));
            text(markup, "odd", x + 16, y + 4, "goes on (SIGCONT)");
        }
        Signal::Other => {
            disc(markup, x, y);
            text(markup, "note", x + 16, y + 4, &fitted(label, FLAG));
        }
    }
}

fn height(mark: &Mark) -> usize {
    match &mark.what {
        What::Step(..) => STEP,
        What::Store { lines, .. } => MARK + LINE * lines.len().saturating_sub(1),
        What::Frame { .. }
        | What::Unsent(..)
        | What::Started(_)
        | What::Ended { .. }
        | What::Signal { .. }
        | What::Harness { .. }
        | What::Clock(_)
        | What::Noise(_) => MARK,
    }
}

fn number(markup: &mut Markup, y: usize, mark: &Mark) {
    end(markup, "seq", SEQ_X, y + 4, &mark.seq.to_string());
    let time = format!("{}.{} ms", mark.at / 1000, mark.at % 1000 / 100);
    text(markup, "moment", TIME_X, y + 4, &time);
}

/// As much of a text as has room.
fn fitted(text: &str, room: usize) -> String {
    let mut left = room * 10;
    let mut fitted = String::new();
    for c in text.chars() {
        // Letters of wide scripts take two places; what is not seen is written out.
        let places = match c {
            _ if super::escape::is_unseen(c) => 8,
            '\u{1100}'.. => 2,
            _ => 1,
        };
        let Some(rest) = left.checked_sub(places * CHAR_TENTHS) else {
            fitted.pop();
            fitted.push('…');
            break;
        };
        left = rest;
        fitted.push(c);
    }
    fitted
}

fn text(markup: &mut Markup, class: &str, x: usize, y: usize, text: &str) {
    let (x, y) = (x.to_string(), y.to_string());
    markup.words("text", &[("class", class), ("x", &x), ("y", &y)], text);
}

fn end(markup: &mut Markup, class: &str, x: usize, y: usize, text: &str) {
    anchored(markup, class, "end", (x, y), text);
}

fn middle(markup: &mut Markup, class: &str, x: usize, y: usize, text: &str) {
    anchored(markup, class, "middle", (x, y), text);
}

fn anchored(markup: &mut Markup, class: &str, anchor: &str, (x, y): (usize, usize), text: &str) {
    let (x, y) = (x.to_string(), y.to_string());
    let attributes = [("class", class), ("text-anchor", anchor), ("x", &x), ("y", &y)];
    markup.words("text", &attributes, text);
}

fn line(markup: &mut Markup, class: &str, from: (usize, usize), to: (usize, usize)) {
    path(markup, class, &format!("M{} {} L{} {}", from.0, from.1, to.0, to.1));
}

fn path(markup: &mut Markup, class: &str, d: &str) {
    markup.void("path", &[("class", class), ("d", d)]);
}

fn cross(markup: &mut Markup, x: usize, y: usize) {
    path(markup, "cross", &format!("M{} {} l10 10 m0 -10 l-10 10", x - 5, y - 5));
}

fn disc(markup: &mut Markup, x: usize, y: usize) {
    let (x, y) = (x.to_string(), y.to_string());
    markup.void("circle", &[("class", "disc"), ("cx", &x), ("cy", &y), ("r", "4")]);
}

fn rectangle(markup: &mut Markup, class: &str, x: usize, y: usize, width: usize, height: usize, radius: usize) {
    let (x, y, width, height) = (x.to_string(), y.to_string(), width.to_string(), height.to_string());
    let radius = radius.to_string();
    let attributes = [
        ("class", class),
        ("x", x.as_str()),
        ("y", &y),
        ("width", &width),
        ("height", &height),
        ("rx", &radius),
    ];
    markup.void("rect", &attributes);
}
