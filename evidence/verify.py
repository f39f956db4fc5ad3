#!/usr/bin/env python3
"""Verifies evidence without the harness: python3 evidence/verify.py [--frozen FILE] FOLDER|ARCHIVE.zip

Written from evidence/README.md and cases/README.md alone. Exit code: 0 equal, 1 differs, 2 no evidence, 3 incomplete.
"""
import base64, collections, hashlib, json, os, pathlib, re, shutil, sqlite3, struct, sys, tempfile, tomllib, zlib

QUERY_STEPS, CELL_BYTES, ANSWER_ROWS, ABSENT = 200_000_000, 256 << 20, 1_000_000, object()
READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
BESIDE_CASES = {"probe", "calibration", "calibration-two", "run.json", "redactions.json", "SHA256SUMS"}
UNPROMISED = {"first-result": "noted", "discretion": "noted", "answer": "inconclusive"}
VERDICTS = {"inconclusive": "inconclusive", "not-judged": "inconclusive", "broken": "fail", "unguarded": "unguarded",
            "held": "pass"}
differences, cut_off, told, known_files = [], [], collections.Counter(), set()

def note(list_of, holds, text): list_of.extend([] if holds else [text.encode("unicode_escape").decode()])
def require(holds, path, why): note(differences, holds, f"DIFFERS     {path}: {why}")
def incomplete(holds, path, why): note(cut_off, holds, f"INCOMPLETE  {path}: {why}")
def fail(why): raise ValueError(why)
def bytes_of(path): return path.read_bytes() if path in known_files else fail(f"{path} is no file of this evidence")
def sha256(path): return hashlib.sha256(bytes_of(path)).hexdigest()
def members(pairs): return dict(pairs) if len(dict(pairs)) == len(pairs) else fail("a key stands twice")
def parse(text): return json.loads(text, object_pairs_hook=members, parse_constant=fail)
def plain(value): return {"bytes_hex": value.hex()} if isinstance(value, bytes) else repr(value)
def same(one, other): return len({json.dumps(value, sort_keys=True, default=plain) for value in (one, other)}) == 1
def readings(what): return [one for one in {**what, **what.get("more", {})}.items() if one[1] and "outcome" in one[1]]
def inside(root): return [pathlib.Path(folder, name) for folder, *two in os.walk(root) for name in two[0] + two[1]]

def at(value, keys):
    """What stands at these keys; ABSENT where nothing does."""
    for key in keys: value = value.get(key, ABSENT) if isinstance(value, dict) else ABSENT
    return value

def archive_of(files):
    """The bytes of the only archive that there is of these files, as evidence/README.md has them."""
    entries, directory = bytearray(), bytearray()
    for path, data in sorted((name.encode(), data) for name, data in files.items()):
        fields = struct.pack("<5H3L2H", 10, 0x800, 0, 0, 0x21, zlib.crc32(data), len(data), len(data), len(path), 0)
        directory += b"PK\1\2\x14\3" + fields + struct.pack("<3H2L", 0, 0, 0, 0x81A40000, len(entries)) + path
        entries += b"PK\3\4" + fields + path + data
    end = struct.pack("<4H2LH", 0, 0, len(files), len(files), len(directory), len(entries), 0)
    return entries + directory + b"PK\5\6" + end

def unpack(archive, into):
    """Writes the files of an archive, if it is the only one of them and has no path that leads elsewhere."""
    data, files, at = archive.read_bytes(), {}, 0
    while data[at:at + 4] == b"PK\3\4":
        size, length = struct.unpack_from("<LH", data, at + 22)
        name, at = data[at + 30:at + 30 + length].decode(), at + 30 + length + size
        files[name] = data[at - size:at]
    if archive_of(files) != data or any(re.search(r"(^|/)\.{0,2}(/|$)|[\\\0-\x1f\x7f-\x9f]", name) for name in files):
        fail("not byte for byte the archive of these files, or one of them has no relative path")
    for name, content in files.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_bytes(content)

def inventory(root, is_sealed=lambda name: name != "SHA256SUMS"):
    """The names of all files, compared with SHA256SUMS; none where something is neither file nor folder."""
    strange = [path for path in inside(root) if path.is_symlink() or not path.is_file() and not path.is_dir()]
    for path in strange: require(False, path, "neither file nor folder")
    if strange: return []
    files = [path for path in inside(root) if path.is_file()]
    known_files.update(files)
    names = sorted((path.relative_to(root).as_posix() for path in files), key=os.fsencode)
    incomplete("SHA256SUMS" in names, root, "there is no SHA256SUMS, so nothing vouches for its files")
    if "SHA256SUMS" not in names: return names
    digests = {name: sha256(root / name) for name in names if is_sealed(name)}
    text = bytes_of(root / "SHA256SUMS").decode()
    listed = {line[66:]: line[:64] for line in text.split("\n") if line}
    for name in sorted(listed.keys() | digests.keys()):
        why = "missing" if name not in digests else "extra" if name not in listed else "changed"
        require(listed.get(name) == digests.get(name), root / name, f"{why}, by SHA256SUMS")
    require(len(set(map(str.casefold, names))) == len(names), root, "names that differ only in case")
    in_form = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    require(text == in_form or listed != digests, root / "SHA256SUMS", "not `digest  path` a line, sorted by path")
    told["files compared with SHA256SUMS"] += len(digests)
    return names

def ask(database, how, query):
    """The answer to a query that can do nothing but read, and ends after so many steps."""
    link, rounds = sqlite3.connect(f"{database.absolute().as_uri()}?{how}", uri=True), iter(range(QUERY_STEPS // 10**4))
    try:
        link.text_factory = lambda raw: raw.decode() if raw.decode(errors="ignore").encode() == raw else raw
        link.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL_BYTES)
        link.set_progress_handler(lambda: next(rounds, None) is None, 10**4)
        link.set_authorizer(lambda act, *_: sqlite3.SQLITE_OK if act in READS else sqlite3.SQLITE_DENY)
        answer = link.execute(query["sql"], query["parameters"])
        return {"rows": {"columns": [one[0] for one in answer.description], "rows": answer.fetchmany(ANSWER_ROWS)}}
    except sqlite3.Error as error:
        return {"nothing" if "no such table" in str(error) else "unreadable": str(error)}
    finally: link.close()

def count_again(path, observation, base, scratch):
    """Each query once more, of the read copy and of one made from the frozen bytes. Returns the files of the store."""
    store, copies = observation["read"]["store"], {}
    files = {base / file["name"]: (file["bytes"], file["sha256"]) for file in store["files"]}
    for file, form in files.items():
        require((len(bytes_of(file)), sha256(file)) == form, file, f"not the bytes that {path.name} lists")
    for number, database in enumerate(one for one in store["databases"] if one["read_copy"]):
        name, again = database["name"], pathlib.Path(scratch, f"{path.stem}-{number}")
        copies[name] = [(base / database["read_copy"], "mode=ro&immutable=1"), (again, "mode=rw")]
        bytes_of(copies[name][0][0])
        for end in [end for end in ("", "-wal") if base / f"{name}{end}" in files]:
            shutil.copy(base / f"{name}{end}", f"{again}{end}")
        if base / f"{name}-journal" in files: copies[name].pop()    # a journal can name other files, to be deleted
    for name, reading in [pair for what in observation["operations"].values() for pair in readings(what)]:
        query, outcome = reading["query"], reading["outcome"]
        asked = copies.get(query.get("path") or next(iter(copies), None), []) if query.get("sql") else []
        told["readings counted again" if asked or not files else "readings not counted again (no SQL)"] += 1
        for answer in [ask(*copy, query) for copy in asked]:
            equal = same(answer, outcome) if "rows" in answer else answer.keys() == outcome.keys()
            require(equal, path, f"{name}: asked again, the store says {answer}")
    return files.keys() | {copy for (copy, _), *_ in copies.values()}

def reply_facts(reply, plan):
    """What a reply says, by the pointers of the plan."""
    def found(pointer): return at(body, ["/"] if pointer is None else pointer.split("/")[1:])
    style, body = ("error", reply["error"]) if "error" in reply else ("tool_error", reply["result"])
    places, conflict = plan["replies"], plan["contract"]["conflict"]
    if style == "error" or found("/isError") is True:
        reasons = ["conflict"] if conflict and same(found(conflict["at"][style]), conflict["is"]) else []
        reasons += [one for one in (found(places["refusal"][style]), found("/code")) if one is not ABSENT]
        return {"outcome": "refused", "refusal": [*reasons, ABSENT][0]}
    if found("/resultType") == "input_required": return {"outcome": "asked"}
    result = found(places["result"] or ("/content" if found("/structuredContent") is ABSENT else "/structuredContent"))
    if isinstance(result, dict): result = {key: result[key] for key in result if key != "replayed"}
    return {"outcome": "result", "result": result, "replayed": found(places["replayed"])}

def facts_again(plan, events, observations):
    """By the names of cases/README.md: every count, what came of every write, who survived."""
    facts, step, waiting, before = {}, {}, {}, {}
    for event in events:
        if event["kind"] == "step-started":
            step = plan["steps"][event["step"]]
            waiting = {key: sent for key, sent in waiting.items() if sent["do"] == "send"}
        elif event["kind"] == "process-ended": facts[event["process"], "survivors"] = event["survivors"]
        for operation, what in observations.get(event.get("label"), {"operations": {}})["operations"].items():
            for name, reading in [one for one in readings(what) if "unreadable" not in one[1]["outcome"]]:
                rows, is_doubled = reading["outcome"].get("rows", {"rows": []})["rows"], step["doubled"] == "if-needed"
                if name != "effects" or not is_doubled: facts[event["label"], name, operation] = len(rows)
                if name == "effects" and before.get(operation):
                    facts[event["label"], "kept", operation] = all(row in rows for row in before[operation])
                before[operation] = rows if name == "effects" else before.get(operation)
        frames, withheld = event.get("payload"), event.get("withheld") is True
        is_ours = event.get("direction") == "client-to-server"
        for frame in [one for one in (frames if isinstance(frames, list) else [frames]) if isinstance(one, dict)]:
            if is_ours and frame.get("method") == "tools/call" and step["do"] in ("write", "send"):
                waiting[frame["id"]] = step
                facts |= {(step["name"], "outcome"): "unknown", (step["name"], "answered"): False}
            elif not is_ours and "method" not in frame and frame.get("id") in waiting:
                name, reply = waiting.pop(frame["id"])["name"], reply_facts(frame, plan)
                where = (name, "withheld") if withheld else (name,)
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
            seen = observations[event["label"]] = parse(bytes_of(path))
            base = folder / (seen["read"].get("folder") or "no store")
            expected |= {path, *(count_again(path, seen, base, scratch) if "store" in seen["read"] else [])}
        if event["kind"] == "message":
            raw, length = base64.b64decode(event.get("bytes") or "", validate=True), event.get("length")
            is_equal = not raw or "payload" not in event or same(json.loads(raw), event["payload"])
            require(len(raw) < length if length else is_equal and (raw or "payload" in event), record,
                    f"event {event['seq']}: payload, bytes and length do not fit together")
    for path, value in facts_again(plan, events, observations).items():
        stands = at(stated["facts"], path)
        require(same(stands, value), verdict_file, f"{'.'.join(path)} is {stands}, and read again {value}")
    checks = definition["check"] if {*definition["needs"]} <= {*plan["surfaces"]} else []
    outcomes = {check["id"]: check["outcome"] for check in stated["checks"]}
    require([*outcomes] == [check["id"] for check in checks], verdict_file, "not the checks of the case")
    for check in checks:
        words = judge(check, stated["facts"], plan)
        require(outcomes.get(check["id"]) in words, verdict_file, f"{check['id']} is {words[0]}, judged again")
    told["checks judged again"] += len(checks)
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
    is_finished, executed, judged = run["state"] == "finished", {*run["executed"]}, {*run["verdicts"]}
    is_all = {*run["requested"]} <= executed == judged
    is_whole = is_finished and not run.get("nothing_run")
    require(run["format"] == 1 and (is_all if is_whole else judged <= executed), root / "run.json",
            "another format, or not each case that was requested was executed and has a verdict")
    incomplete(is_finished, root, "the run was cut off")
    for case in executed - judged: expected |= {path for path in files if (root / "cases" / case) in path.parents}
    for case in [case for case in run["executed"] if case in judged]:
        try:
            with tempfile.TemporaryDirectory() as scratch: expected |= verify_case(root, run, case, frozen, scratch)
        except Exception as error: require(False, root / "cases" / case, f"not as documented: {error!r}")
    expected |= {path for path in files if path.relative_to(root).parts[0] in BESIDE_CASES}
    for path in sorted(files ^ expected if "SHA256SUMS" in names else []):
        require(False, path, "it is not there" if path in expected else "nothing here speaks of it")
    return {case: one["verdict"] for case, one in run["verdicts"].items()}

def verify_proof(root, frozen):
    """A proof: each of its runs, and the verdicts of its matrix against theirs."""
    names = inventory(root, lambda name: "/" not in name.removesuffix("/SHA256SUMS") != "SHA256SUMS")
    file, matrix = root / "matrix.json", parse(bytes_of(root / "matrix.json"))
    incomplete(matrix["state"] == "finished", root, "the proof was cut off")
    verdicts = {"baseline": matrix["baseline"], **{row["defect"]: row["verdicts"] for row in matrix["defects"]}}
    sums = {run["folder"]: run["sums_sha256"] for run in matrix["runs"]}
    folders, is_finished = {name.split("/")[0] for name in names if "/" in name}, matrix["state"] == "finished"
    require({*sums} == folders if matrix["state"] != "running" else {*sums} <= folders, file,
            "other runs than there are folders")
    for folder in sorted(folders):
        says, sealed, stated = verify_run(root / folder, frozen), sums.get(folder), verdicts.get(folder, {})
        is_same = all(stated.get(case, ABSENT if is_finished else said) == said for case, said in says.items())
        require(is_same, file, f"{folder}: not the verdicts of this run")
        require(sealed is None or sealed == sha256(root / folder / "SHA256SUMS"), root / folder, "not the run that is meant")

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
    for line in dict.fromkeys(differences + cut_off): print(line.replace(f"{unpacked}/", ""))
    if not differences and not cut_off:
        sealed = given if given.is_file() else given / "SHA256SUMS"
        print(f"sha256      {hashlib.sha256(sealed.read_bytes()).hexdigest()}  {sealed}")
        for what, number in told.items(): print(f"{number:<11} {what}")
        print("result      all equal. That the run took place, nothing here shows; see evidence/README.md")
    return 1 if differences else 3 if cut_off else 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[-1], *sys.argv[1:-1]))
