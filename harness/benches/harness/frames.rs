//! Frames per second through the driver, which checks, records and matches every one, beside a bare client that does
//! none of that, on the same server and with the same call: `get_operation_status`, one after another.
//!
//! The driver runs a plan, as it does for a case, so each call also has its line in the record that says which step it
//! belongs to. Its time is taken from the record: the first measured request to the last reply.

use std::path::Path;

use harness::case::{StartStep, Step};
use harness::drive::{CaseRun, Scribe, run_case};
use harness::plan::Plan;
use harness::protocol::{self, Era};
use harness::record::{Body, Direction, Evidence, Message, Record};

use crate::raw_server::RawServer;
use crate::report::{Row, Section, Unit};
use crate::stage::{Stage, case, per_second, timed};

/// Calls before those that are measured.
const CALLS_WARM: u32 = 200;
/// Calls that are measured, in each round.
const CALLS: u32 = 2000;
/// A request and its reply.
const FRAMES_PER_CALL: u32 = 2;
/// The operation that is asked for.
const OPERATION: &str = "A";

/// Both clients, in turns.
pub(crate) fn measure(stage: &Stage, rounds: u32) -> Section {
    let (mut driver, mut bare) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let frames = CALLS * FRAMES_PER_CALL;
        let mut by_driver = || {
            let micros = driver_micros(stage, &stage.round("driver", round));
            driver.push(per_second(frames, micros));
        };
        let mut by_bare = || {
            let micros = bare_micros(stage, &stage.round("bare", round));
            bare.push(per_second(frames, micros));
        };
        if round % 2 == 0 {
            by_driver();
            by_bare();
        } else {
            by_bare();
            by_driver();
        }
    }
    let ratios = driver.iter().zip(&bare).map(|(driver, bare)| driver / bare).collect();
    Section {
        name: "frames",
        about: format!("{CALLS} get_operation_status a round, one after another, over stdio"),
        rows: vec![
            Row::new(
                0,
                "driver",
                Unit::PerSecond,
                driver,
                "through the driver, every frame recorded",
            ),
            Row::new(
                0,
                "bare client",
                Unit::PerSecond,
                bare,
                "write a line, read a line, look for nothing but its end",
            ),
            Row::new(
                0,
                "driver / bare",
                Unit::Ratio,
                ratios,
                "what checking, recording and matching leave of the speed",
            ),
        ],
    }
}

fn driver_micros(stage: &Stage, folder: &Path) -> u64 {
    let setting = stage.setting(folder);
    let plan = calls(stage.plan());
    let evidence = Evidence::create_at(&folder.join("evidence")).expect("a new evidence folder");
    let folder = evidence.case(&case().id);
    folder.create().expect("the folder of a case");
    let mut scribe = Scribe::begin(&folder).expect("a new record");
    let run = CaseRun {
        setting: &setting,
        case: case(),
        plan: &plan,
        era: Era::Modern,
        folder: &folder,
        failed_control: None,
    };
    // The runtime that the command uses.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(run_case(run, &mut scribe)).expect("the calls");
    micros_in(&Record::read(&folder).expect("the record that was just made"))
}

/// The plan of a case, with calls of the status tool as its steps.
fn calls(plan: Plan) -> Plan {
    let process = "first".to_owned();
    let mut steps = vec![Step::Start(StartStep {
        process: process.clone(),
        ..StartStep::default()
    })];
    steps.extend((0..CALLS_WARM + CALLS).map(|call| Step::Status {
        operation: OPERATION.to_owned(),
        name: format!("call-{call}"),
        process: process.clone(),
        only: None,
    }));
    steps.push(Step::Stop { process });
    Plan { steps, ..plan }
}

/// From the first measured request to the last reply.
fn micros_in(record: &Record) -> u64 {
    let sent_or_come = |direction: Direction| {
        record.events.iter().filter_map(move |event| {
            let Body::Message(message) = &event.body else {
                return None;
            };
            (message.direction == direction).then_some((event.at, message))
        })
    };
    let is_call = |(_, message): &(u64, &Message)| payload(message, "/method") == Some("tools/call");
    let is_result = |(_, message): &(u64, &Message)| payload(message, "/result/structuredContent/state").is_some();
    let requests: Vec<u64> = sent_or_come(Direction::ClientToServer)
        .filter(is_call)
        .map(|(at, _)| at)
        .collect();
    let replies: Vec<u64> = sent_or_come(Direction::ServerToClient)
        .filter(is_result)
        .map(|(at, _)| at)
        .collect();
    assert_eq!(requests.len(), (CALLS_WARM + CALLS) as usize, "every call was sent");
    assert_eq!(replies.len(), requests.len(), "every call had its result");
    replies[replies.len() - 1] - requests[CALLS_WARM as usize]
}

fn payload<'a>(message: &'a Message, pointer: &str) -> Option<&'a str> {
    message.payload.as_ref()?.pointer(pointer)?.as_str()
}

fn bare_micros(stage: &Stage, folder: &Path) -> u64 {
    let plan = stage.plan();
    let call = plan.operations[OPERATION]
        .status
        .as_ref()
        .expect("the built-in server has a status tool");
    let line = |id: u32| {
        let request = protocol::call_tool(Era::Modern, u64::from(id), &call.tool, &call.arguments);
        format!("{request}\n").into_bytes()
    };
    let lines: Vec<Vec<u8>> = (1..=CALLS_WARM + CALLS).map(line).collect();
    let (warm, measured) = lines.split_at(CALLS_WARM as usize);
    let mut server = RawServer::start(&stage.launch_spec(folder));
    for line in warm {
        server.exchange(line);
    }
    let ((), micros) = timed(|| {
        for line in measured {
            server.exchange(line);
        }
    });
    server.end();
    micros
}
