//! The control of the retained evidence: ten lines on an SDK, which promise nothing, so that a retry writes again.

use crate::parts::Part;
use crate::{Test, is_doubled, is_verified};

pub(crate) const TESTS: &[Test] = &[(
    "ten_lines_on_an_sdk_double_what_is_sent_twice",
    Part::PythonSdk,
    doubles_what_is_sent_twice,
)];

fn doubles_what_is_sent_twice() {
    let run = Part::PythonSdk.target("ten-lines").run();
    run.exits(0);
    is_doubled(&run, "identical-retry");
    is_doubled(&run, "lost-reply");
    assert_eq!(run.verdict("reply-means-done"), "pass");
    assert_eq!(run.json["totals"]["fail"], 0, "{}", run.done.stdout);
    is_verified(&run);
}
