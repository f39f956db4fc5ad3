#!/usr/bin/env python3
"""Verifies evidence without the harness: python3 evidence/verify.py [--frozen FILE] FOLDER|ARCHIVE.zip

Written from evidence/README.md and cases/README.md alone. Exit code: 0 equal, 1 differs, 2 no evidence, 3 incomplete.
"""
import base64, collections, hashlib, json, pathlib, re, shutil, sqlite3, struct, sys, tempfile, tomllib, zlib

QUERY_STEPS, CELL_BYTES, ANSWER_ROWS, ABSENT = 200_000_000, 256 << 20, 1_000_000, object()
READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
BESIDE_CASES = {"probe", "calibration", "calibration-two", "run.json", "redactions.json", "SHA256SUMS"}
NO_PATH = r"(^|/)\.{0,2}(/|\Z)|[\\\0-\x1f\x7f-\x9f]"
UNPROMISED = {"first-result": "noted", "discretion": "noted", "answer": "inconclusive"}
VERDICTS = {"inconclusive": "inconclusive", "not-judged": "inconclusive", "broken": "fail", "unguarded": "unguarded",
            "held": "pass"}
differences, cut_off, told, known_files = [], [], collections.Counter(), set()

def require(holds, path, why, where=differences):
    if not holds:
        where.append(f"{path}: {why}".encode("unicode_escape").decode())

def bytes_of(path):
    if path not in known_files:
        raise ValueError(f"{path} is no file of this evidence")
    return path.read_bytes()

def members(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice, of which others could read the other")
    return dict(pairs)

def parse(text): return json.loads(text, object_pairs_hook=members)
def sha256(path): return hashlib.sha256(bytes_of(path)).hexdigest()
def plain(value): return {"bytes_hex": value.hex()} if isinstance(value, bytes) else repr(value)
def same(*values): return len({json.dumps(value, sort_keys=True, default=plain) for value in values}) == 1
def readings(what): return [one for one in {**what, **what.get("more", {})}.items() if one[1] and "outcome" in one[1]]

def at(value, keys):
    """What stands at these keys; ABSENT where nothing does."""
    for key in keys:
        value = value.get(key, ABSENT) if isinstance(value, dict) else ABSENT
    return value

def unpack(archive, root):
    """Writes the files of an archive, which has to be, byte for byte, the only one that there is of them."""
    data, files, end = archive.read_bytes(), {}, 0
    while data[end:end + 4] == b"PK\3\4":
        size, length = struct.unpack_from("<LH", data, end + 22)
        name, end = data[end + 30:end + 30 + length], end + 30 + length + size
        files[name], path = data[end - size:end], root / name.decode()
        if re.search(NO_PATH, name.decode()):
            raise ValueError(f"{name} is no path in a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[name])
    entries, listed = b"", b""
    for name, content in sorted(files.items()):
        form = struct.pack("<5H3L2H", 10, 0x800, 0, 0, 33, zlib.crc32(content), *[len(content)] * 2, len(name), 0)
        listed += b"PK\1\2\x14\3" + form + struct.pack("<3H2L", 0, 0, 0, 0x81A40000, len(entries)) + name
        entries += b"PK\3\4" + form + name + content
    end = struct.pack("<4H2LH", 0, 0, len(files), len(files), len(listed), len(entries), 0)
    require(entries + listed + b"PK\5\6" + end == data, archive, "not byte for byte the archive of its files")

def inventory(root, sealed=r"(?s)(?!SHA256SUMS\Z).*"):
    """The names of all files, compared with SHA256SUMS; none where something is neither file nor folder."""
    paths = [*root.rglob("*")]
    strange = [path for path in paths if path.is_symlink() or not path.is_file() and not path.is_dir()]
    for path in strange:
        require(False, path, "neither file nor folder")
    known_files.update(path for path in paths if path.is_file() and not strange)
    names = sorted(path.relative_to(root).as_posix() for path in paths if path in known_files)
    require("SHA256SUMS" in names or strange, root, "no SHA256SUMS, so nothing vouches for its files", cut_off)
    if "SHA256SUMS" in names:
        text = bytes_of(root / "SHA256SUMS").decode()
        lines = [f"{sha256(root / name)}  {name}\n" for name in names if re.fullmatch(sealed, name)]
        for line in sorted(set(text.splitlines(True)) ^ set(lines)):
            require(False, root / line[66:-1], "missing, extra or changed, by SHA256SUMS")
        require(text == "".join(lines), root / "SHA256SUMS", "not `digest  path` of each file, sorted by path")
        require(len({name.casefold() for name in names}) == len(names), root, "names that differ only in case")
        told["files compared with SHA256SUMS"] += len(lines)
    return names

def ask(database, query):
    """The answer to a query that can do nothing but read, and ends after so many steps."""
    link = sqlite3.connect(database)
    try:
        link.text_factory = lambda raw: raw.decode() if raw.decode(errors="ignore").encode() == raw else raw
        link.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL_BYTES)
        link.set_progress_handler(lambda: True, QUERY_STEPS)
        link.set_authorizer(lambda act, *_: sqlite3.SQLITE_OK if act in READS else sqlite3.SQLITE_DENY)
        answer = link.execute(query["sql"], query["parameters"])
        return {"rows": {"columns": [one[0] for one in answer.description], "rows": answer.fetchmany(ANSWER_ROWS)}}
    except sqlite3.Error as error:
        return {"nothing" if "no such table" in str(error) else "unreadable": str(error)}
    finally:
        link.close()

def count_again(path, observation, base, scratch):
    """Each query once more, of what SQLite makes of the frozen bytes. Returns the files of the store."""
    store, copies = observation["read"]["store"], {}
    files = {base / file["name"]: (file["bytes"], file["sha256"]) for file in store["files"]}
    for file, form in files.items():
        require((len(bytes_of(file)), sha256(file)) == form, file, f"not the bytes that {path.name} lists")
    read_copies = {one["name"]: one["read_copy"] for one in store["databases"] if one["read_copy"]}
    for name, read_copy in read_copies.items():     # a journal can name other files, to be deleted
        copies[name] = f"{scratch}/{path.stem}-{len(copies)}"
        source = read_copy if base / f"{name}-journal" in files else name
        for end in [end for end in ("", "-wal") if base / f"{source}{end}" in known_files]:
            shutil.copy(base / f"{source}{end}", f"{copies[name]}{end}")
    for name, reading in [pair for what in observation["operations"].values() for pair in readings(what)]:
        query, outcome = reading["query"], reading["outcome"]
        copy = copies.get(query.get("path") or next(iter(copies), None)) if query.get("sql") else None
        told["readings counted again" if copy or not files else "readings not counted again (no SQL)"] += 1
        answer = ask(copy, query) if copy else outcome
        equal = same(answer, outcome) if "rows" in answer else answer.keys() == outcome.keys()
        require(equal, path, f"{name}: asked again, the store says {answer}")
    return {*files, *[base / read_copy for read_copy in read_copies.values()]}

def reply_facts(reply, plan):
    """What a reply says, by the pointers of the plan."""
    def found(pointer): return at(body, ["/"] if pointer is None else pointer.split("/")[1:])
    style, body = ("error", reply["error"]) if "error" in reply else ("tool_error", reply["result"])
    places, conflict = plan["replies"], plan["contract"]["conflict"]
    if style == "error" or found("/isError") is True:
        reasons = ["conflict"] if conflict and same(found(conflict["at"][style]), conflict["is"]) else []
        reasons += [one for one in (found(places["refusal"][style]), found("/code")) if one is not ABSENT]
        return {"outcome": "refused", "refusal": [*reasons, ABSENT][0]}
    if found("/resultType") == "input_required":
        return {"outcome": "asked"}
    result = found(places["result"] or ("/content" if found("/structuredContent") is ABSENT else "/structuredContent"))
    if isinstance(result, dict):
        result = {key: result[key] for key in result if key != "replayed"}
    return {"outcome": "result", "result": result, "replayed": found(places["replayed"])}

def facts_again(plan, events, observations):
    """By the names of cases/README.md: every count, and what came of every write."""
    facts, step, waiting = {}, {}, {}
    for event in events:
        if event["kind"] == "step-started":
            step = plan["steps"][event["step"]]
            waiting = {key: sent for key, sent in waiting.items() if sent["do"] == "send"}
        for operation, what in observations.get(event.get("label"), {}).items():
            for name, reading in readings(what):
                rows, is_doubled = reading["outcome"].get("rows", {"rows": []})["rows"], step["doubled"] == "if-needed"
                if "unreadable" not in reading["outcome"] and (name != "effects" or not is_doubled):
                    facts[event["label"], name, operation] = len(rows)
        frame, is_ours = event.get("payload"), event.get("direction") == "client-to-server"
        if isinstance(frame, dict) and is_ours and frame.get("method") == "tools/call":
            if step["do"] in ("write", "send"):
                waiting[frame["id"]] = step
                facts |= {(step["name"], "outcome"): "unknown", (step["name"], "answered"): False}
        elif isinstance(frame, dict) and not is_ours and "method" not in frame and frame.get("id") in waiting:
            name, withheld = waiting.pop(frame["id"])["name"], event.get("withheld") is True
            where, reply = (name, "withheld") if withheld else (name,), reply_facts(frame, plan)
            facts |= {(*where, key): value for key, value in reply.items() if value is not ABSENT}
            facts[name, "answered"] = not withheld
    return facts

def judge(check, facts, plan):
    """What a check can have come to by these facts."""
    preset, basis, promise = plan["contract"]["preset"], check["basis"], check.get("promise", "effects")
    if check.get("only", "write") not in {"write", *plan["surfaces"]} or (basis == "reference" and preset != "guarded"):
        return ["not-applicable"]
    wanted = [*check.get("among", {}).items(), *[(path, [value]) for path, value in check.get("expect", {}).items()]]
    wanted += [(one, [at(facts, two.split("."))]) for pair in check.get("same", []) for one, two in (pair, pair[::-1])]
    found = [(path, at(facts, path.split(".")), values) for path, values in wanted]
    absent = [path for path, value, _ in found if value is ABSENT]
    if not absent and all(any(same(value, one) for one in values) for _, value, values in found): return ["held"]
    if re.search(r"\.(withheld|kept)\.", " ".join(absent)): return ["not-applicable"]
    is_promised = preset == "guarded" or (preset == "at-most-once" and promise != "discretion")
    words = {"machinery": "inconclusive", "spec-should": "broken" if preset == "guarded" else "warning",
             "contract": "broken" if is_promised else UNPROMISED.get(promise, "unguarded")}
    return [words.get(basis, "broken"), "not-judged"] + (["inconclusive"] if absent else [])

def verify_case(root, run, case, frozen, scratch):
    """A case: its definition, its record, its counts, its verdict. Returns the files that these account for."""
    folder, target = root / "cases" / case, run["target"]
    record, verdict_file, case_file = folder / "record.jsonl", folder / "verdict.json", folder / "case.toml"
    definition, stated = tomllib.loads(bytes_of(case_file).decode()), parse(bytes_of(verdict_file))
    of_run = {"case": case, "revision": definition["revision"], "digest": sha256(case_file), "target": target["name"],
              "naming": run["naming"], **{key: target[key] for key in ("contract", "replies", "identity")}}
    is_frozen = case in run.get("case_files", {}) or frozen.get(case) == f"{of_run['revision']} {of_run['digest']}"
    require(is_frozen, case_file, "not the case that cases/FROZEN has under this name")
    events = [parse(line) for line in bytes_of(record).decode().removesuffix("\n").split("\n")]
    plan, expected, observations = events[0]["plan"], {record, verdict_file, case_file}, {}
    require(same(of_run, {key: plan[key] for key in of_run}), record, "its plan is not of this run and this case")
    require([event["seq"] for event in events] == list(range(1, len(events) + 1)), record, "its numbers have a gap")
    for event in events:
        if event["kind"] == "process-started": expected.add(folder / "stderr" / f"{event['process']}.log")
        if event["kind"] == "observed":
            path = folder / "observations" / f"{event['label']}.json"
            require(sha256(path) == event["sha256"], path, "not the observation that the record names")
            seen = parse(bytes_of(path))
            observations[event["label"]] = seen["operations"]
            base = folder / (seen["read"].get("folder") or "no store")
            expected |= {path, *(count_again(path, seen, base, scratch) if "store" in seen["read"] else [])}
        if event["kind"] == "message":
            raw, length = base64.b64decode(event.get("bytes") or "", validate=True), event.get("length")
            is_equal = not raw or "payload" not in event or same(json.loads(raw), event["payload"])
            require(len(raw) < length if length else is_equal and (raw or "payload" in event), record,
                    f"event {event['seq']}: payload, bytes and length do not fit together")
    again = facts_again(plan, events, observations)
    for path, value in again.items():
        stands = at(stated["facts"], path)
        require(same(stands, value), verdict_file, f"{'.'.join(path)} is {stands}, and read again {value}")
    checks = definition["check"] if {*definition["needs"]} <= {*plan["surfaces"]} else []
    outcomes = {check["id"]: check["outcome"] for check in stated["checks"]}
    require([*outcomes] == [check["id"] for check in checks], verdict_file, "not the checks of the case")
    for check in checks:
        words = judge(check, stated["facts"], plan)
        require(outcomes.get(check["id"]) in words, verdict_file, f"{check['id']} is {words[0]}, judged again")
        paths = [*check.get("expect", {}), *check.get("among", {}), *sum(check.get("same", []), [])]
        is_again = all(tuple(path.split(".")[:3]) in again or tuple(path.split(".")[:2]) in again for path in paths)
        told["checks judged again" if is_again else "checks judged by facts that verdict.json states"] += 1
    controls = {run["verdicts"][control]["verdict"] for control in definition.get("controls", [])}
    is_sound = events[-1].get("outcome") == {"how": "finished"} and controls <= {"pass"}
    is_sound = is_sound and all(event["kind"] != "fault-missed" for event in events)
    words = [*outcomes.values(), "held"] if is_sound else ["inconclusive"]
    verdict = next(VERDICTS[word] for word in VERDICTS if word in words) if checks else "unsupported"
    for path, says in (verdict_file, stated["verdict"]), (root / "run.json", run["verdicts"][case]["verdict"]):
        require(says == verdict, path, f"{case} is {says}, and judged again {verdict}")
    return expected

def verify_run(root, frozen):
    """A run: its files, what it says of itself, its cases. Returns its verdicts."""
    names, expected = inventory(root), set()
    if not names: return {}
    run, files = parse(bytes_of(root / "run.json")), {root / name for name in names}
    require(run["format"] == 1 and {*run["requested"]} <= {*run["executed"]} == {*run["verdicts"]}, root / "run.json",
            "another format, or not each case that was requested was executed and has a verdict")
    require(run["state"] == "finished", root, "the run was cut off", cut_off)
    for case in run["executed"]:
        try:
            with tempfile.TemporaryDirectory() as scratch: expected |= verify_case(root, run, case, frozen, scratch)
        except Exception as error: require(False, root / "cases" / case, f"not as documented: {error!r}")
    expected |= {path for path in files if path.relative_to(root).parts[0] in BESIDE_CASES}
    for path in sorted(files ^ expected if "SHA256SUMS" in names else []):
        require(False, path, "it is not there, or nothing here speaks of it")
    return {case: one["verdict"] for case, one in run["verdicts"].items()}

def verify_proof(root, frozen):
    """A proof: each of its runs, and the verdicts of its matrix against theirs."""
    names = inventory(root, r"(?s)(?!SHA256SUMS\Z)[^/]+(/SHA256SUMS)?")
    file, matrix = root / "matrix.json", parse(bytes_of(root / "matrix.json"))
    require(matrix["state"] == "finished", root, "the proof was cut off", cut_off)
    verdicts = {"baseline": matrix["baseline"], **{row["defect"]: row["verdicts"] for row in matrix["defects"]}}
    sums = {run["folder"]: run["sums_sha256"] for run in matrix["runs"]}
    require({name.split("/")[0] for name in names if "/" in name} == {*sums}, file, "other runs than there are folders")
    for folder, sealed in sums.items():
        says = verify_run(root / folder, frozen)
        require(says.items() <= verdicts[folder].items(), file, f"{folder}: not the verdicts of this run")
        require(sealed in (None, sha256(root / folder / "SHA256SUMS")), root / folder, "not the run that is meant")

def main(path, option="--frozen", frozen_file=pathlib.Path(__file__).parent.parent / "cases" / "FROZEN"):
    """Prints what differs, else what was looked at. Returns the exit code."""
    given = pathlib.Path(path)
    signs = [given / name for name in ("run.json", "matrix.json", "SHA256SUMS")]
    if not any(sign.exists() for sign in signs) and not (given.is_file() and given.open("rb").read(4) == b"PK\3\4"):
        print(f"error: {path} is no evidence", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as unpacked:
        root = pathlib.Path(unpacked) if given.is_file() else given
        try:
            frozen = dict(line.split(" ", 1) for line in pathlib.Path(frozen_file).read_text().splitlines())
            if given.is_file(): unpack(given, root)
            (verify_proof if (root / "matrix.json").exists() else verify_run)(root, frozen)
        except Exception as error: require(False, given, f"not as documented: {error!r}")
    for what, lines in ("DIFFERS   ", differences), ("INCOMPLETE", cut_off):
        for line in dict.fromkeys(lines):
            print(f"{what}  {line.replace(f'{unpacked}/', '')}")
    if not differences and not cut_off:
        sealed = given if given.is_file() else given / "SHA256SUMS"
        print(f"sha256      {hashlib.sha256(sealed.read_bytes()).hexdigest()}  {sealed}")
        for what, number in told.items(): print(f"{number:<11} {what}")
        print("result      all equal. That the run took place, nothing here shows; see evidence/README.md")
    return 1 if differences else 3 if cut_off else 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[-1], *sys.argv[1:-1]))
