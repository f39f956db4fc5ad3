#!/usr/bin/env python3
"""Verifies evidence by evidence/README.md and cases/README.md alone: python3 evidence/verify.py FOLDER|ARCHIVE.zip"""
import base64, hashlib, io, json, pathlib, re, resource, signal, sqlite3, sys, tempfile, tomllib, zipfile

MEMORY_BYTES, SECONDS, QUERY_LOOKS, STEPS_PER_LOOK = 4 << 30, 3600, 20_000, 10_000
SUMS, DIFFERS, INCOMPLETE, ABSENT = "SHA256SUMS", "DIFFERS   ", "INCOMPLETE", object()
FROZEN_CASES = (pathlib.Path(__file__).parent.parent / "cases" / "FROZEN").read_text().splitlines()
BESIDE_CASES = r"(probe|calibration|calibration-two)/.*|run\.json|redactions\.json|SHA256SUMS"
READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
UNPROMISED = {"first-result": "noted", "discretion": "noted", "answer": "inconclusive"}
VERDICTS = {"inconclusive": "inconclusive", "broken": "fail", "unguarded": "unguarded", "held": "pass"}
files, used, findings, counted, scratch = {}, set(), {}, [], tempfile.TemporaryDirectory()

def require(holds, path, why, word=DIFFERS):
    if not holds: findings[f"{word} {path}: {why:.1000}".encode("unicode_escape").decode()] = word
def read(name): return used.add(name) or files[name]
def fail(why): raise ValueError(why)
def sha256(data): return hashlib.sha256(data).hexdigest()
def members(pairs): return dict(pairs) if len(dict(pairs)) == len(pairs) else fail("a key stands twice")
def parse(text): return json.loads(text, object_pairs_hook=members, parse_constant=fail)
def plain(value): return {"bytes_hex": value.hex()} if isinstance(value, bytes) else repr(value)
def same(one, other): return len({json.dumps(value, sort_keys=True, default=plain) for value in (one, other)}) == 1

def at(value, path):
    """What stands at keys with dots between them; ABSENT where nothing does."""
    for key in path.split("."): value = value.get(key, ABSENT) if isinstance(value, dict) else ABSENT
    return value

def load(given):
    """Reads the files of a folder or an archive. Returns the bytes whose digest is that of the whole."""
    if given.is_file():
        whole = given.read_bytes()
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            files.update((name, archive.read(name)) for name in archive.namelist())
            return whole if len(files) == len(archive.namelist()) else fail("a path is there twice")
    for path in given.rglob("*"):
        if path.is_symlink() or not (path.is_file() or path.is_dir()): fail(f"{path} is neither file nor folder")
        if path.is_file(): files[path.relative_to(given).as_posix()] = path.read_bytes()
    return files.get(SUMS)

def inventory(root, is_sealed):
    """Compares the files below a folder with its SHA256SUMS."""
    names = sorted(name[len(root):] for name in files if name.startswith(root))
    if SUMS not in names: return require(False, root + SUMS, "missing, so nothing vouches for the files", INCOMPLETE)
    listed = files[root + SUMS].decode().split("\n")
    lines = [f"{sha256(files[root + name])}  {name}" for name in names if is_sealed(name)] + [""]
    for name in sorted({line[66:] for line in {*listed} ^ {*lines}}):
        require(False, root + name, "missing, extra or changed, by SHA256SUMS")
    require(listed == lines, root + SUMS, "not a line `digest  path` for each file, sorted by path")

def ask(database, query):
    """The answer to a query that can do nothing but read, and ends after so many steps."""
    link = sqlite3.connect(f"file://{database}", uri=True)
    link.text_factory = lambda raw: raw.decode() if raw.decode(errors="ignore").encode() == raw else raw
    link.set_progress_handler(iter([False] * QUERY_LOOKS).__next__, STEPS_PER_LOOK)
    link.set_authorizer(lambda act, *_: sqlite3.SQLITE_OK if act in READS else sqlite3.SQLITE_DENY)
    try:
        answer = link.execute(query["sql"], query["parameters"])
        return {"rows": {"columns": [one[0] for one in answer.description], "rows": answer.fetchall()}}
    except sqlite3.Error as error: return {"nothing" if "no such table" in str(error) else "unreadable": str(error)}

def count_again(base, event, step):
    """Asks the stored read copy, and one made from the frozen bytes, everything once more. Returns facts."""
    path, facts, copies = f"{base}observations/{event['label']}.json", {}, {}
    require(sha256(read(path)) == event["sha256"], path, "not the observation that the record names")
    seen = parse(files[path])
    store, folder = seen["read"].get("store", {"files": [], "databases": []}), f"{base}{seen['read'].get('folder')}/"
    for name, form in [(folder + file["name"], (file["bytes"], file["sha256"])) for file in store["files"]]:
        require((len(read(name)), sha256(files[name])) == form, name, f"not the bytes that {path} lists")
    for database in [database for database in store["databases"] if database["read_copy"]]:
        name, place = folder + database["name"], f"{scratch.name}/{len(used)}"
        ends = {".read": read(folder + database["read_copy"]), "": files[name], "-wal": files.get(f"{name}-wal", b"")}
        for end in ends: pathlib.Path(place + end).write_bytes(ends[end])
        copies[database["name"]] = [f"{place}.read?mode=ro&immutable=1", f"{place}?mode=rw"]
        if f"{name}-journal" in files: copies[database["name"]].pop()    # it can name other files, to be deleted
    for operation, what in seen["operations"].items():
        for name, reading in {"effects": what["effects"], "ledger": what.get("ledger"), **what.get("more", {})}.items():
            if reading is None: continue
            query, outcome = reading["query"], reading["outcome"]
            asked = copies.get(query.get("path") or next(iter(copies), None), []) if query.get("sql") else []
            counted.append(len(asked) > 0)
            for answer in [ask(copy, query) for copy in asked]:
                equal = same(answer, outcome) if "rows" in answer else answer.keys() == outcome.keys()
                require(equal, path, f"{name}: asked again, the store says {answer}")
            if "unreadable" not in outcome and (name != "effects" or step["doubled"] != "if-needed"):
                facts[f"{event['label']}.{name}.{operation}"] = len(outcome.get("rows", {"rows": []})["rows"])
    return facts

def read_again(base, plan, events):
    """Looks at every event. Returns facts, named as in cases/README.md: counts, survivors, what came of each write."""
    facts, step, waiting = {}, {}, {}
    for event in events:
        kind, is_ours, frame = event["kind"], event.get("direction") == "client-to-server", event.get("payload")
        if kind == "step-started":
            step = plan["steps"][event["step"]]
            waiting = {key: sent for key, sent in waiting.items() if sent["do"] == "send"}
        if kind == "process-started": read(f"{base}stderr/{event['process']}.log")
        if kind == "process-ended": facts[f"{event['process']}.survivors"] = event["survivors"]
        if kind == "observed": facts |= count_again(base, event, step)
        if kind == "message":
            raw, length = base64.b64decode(event.get("bytes") or "", validate=True), event.get("length")
            is_equal = not raw or "payload" not in event or same(json.loads(raw), frame)
            require(len(raw) < length if length else is_equal and (raw or "payload" in event), f"{base}record.jsonl",
                    f"event {event['seq']}: payload, bytes and length do not fit together")
        if not isinstance(frame, dict): continue
        if is_ours and frame.get("method") == "tools/call" and step["do"] in ("write", "send"):
            waiting[frame["id"]] = step
            facts |= {f"{step['name']}.outcome": "unknown", f"{step['name']}.answered": False}
        elif not is_ours and "method" not in frame and frame.get("id") in waiting:
            name, withheld = waiting.pop(frame["id"])["name"], ".withheld" if event.get("withheld") is True else ""
            came = "asked" if at(frame, "result.resultType") == "input_required" else "result"
            came = "refused" if "error" in frame or at(frame, "result.isError") is True else came
            facts |= {f"{name}{withheld}.outcome": came, f"{name}.answered": not withheld}
    return facts

def judge(check, facts, plan):
    """What a check can have come to by these facts."""
    preset, basis, promise = plan["contract"]["preset"], check["basis"], check.get("promise", "effects")
    if check.get("only", "write") not in {"write", *plan["surfaces"]} or (basis == "reference" and preset != "guarded"):
        return ["not-applicable"]
    wanted = [(path, [value]) for path, value in check.get("expect", {}).items()] + [*check.get("among", {}).items()]
    wanted += [(one, [at(facts, two)]) for pair in check.get("same", []) for one, two in (pair, pair[::-1])]
    absent = [path for path, _ in wanted if at(facts, path) is ABSENT]
    if not absent and all(any(same(at(facts, path), one) for one in values) for path, values in wanted): return ["held"]
    if re.search(r"\.(withheld|kept)\.", " ".join(absent)): return ["not-applicable"]
    is_promised = preset == "guarded" or (preset == "at-most-once" and promise != "discretion")
    words = {"machinery": "inconclusive", "spec-should": "broken" if preset == "guarded" else "warning",
             "contract": "broken" if is_promised else UNPROMISED.get(promise, "unguarded")}
    return [words.get(basis, "broken"), "not-judged"] + (["inconclusive"] if absent else [])

def verify_case(root, run, case):
    """A case: its definition, its record, its counts, its verdict."""
    base = f"{root}cases/{case}/"
    record, verdict_file, case_file = f"{base}record.jsonl", f"{base}verdict.json", f"{base}case.toml"
    definition, stated = tomllib.loads(read(case_file).decode()), parse(read(verdict_file))
    events = [parse(line) for line in read(record).decode().removesuffix("\n").split("\n")]
    plan, form = events[0]["plan"], f"{case} {definition['revision']} {sha256(files[case_file])}"
    require(form in FROZEN_CASES or case in run.get("case_files", {}), case_file, "not the case that cases/FROZEN has")
    is_of_run = all(same(plan[key], run["target"][key]) for key in ("contract", "replies", "identity"))
    require(is_of_run and form == f"{plan['case']} {plan['revision']} {plan['digest']}", record, "another plan")
    require([event["seq"] for event in events] == list(range(1, len(events) + 1)), record, "its numbers have a gap")
    for path, value in read_again(base, plan, events).items():
        require(same(at(stated["facts"], path), value), verdict_file, f"{path} is {value}, read again")
    checks = definition["check"] if {*definition["needs"]} <= {*plan["surfaces"]} else []
    outcomes = {check["id"]: check["outcome"] for check in stated["checks"]}
    judged = {check["id"]: judge(check, stated["facts"], plan) for check in checks}
    require([*outcomes] == [*judged], verdict_file, "not the checks of the case")
    for name in judged: require(outcomes.get(name) in judged[name], verdict_file, f"{name} is {judged[name]}, by facts")
    is_sound = events[-1].get("outcome") == {"how": "finished"} and all(one["kind"] != "fault-missed" for one in events)
    is_sound &= all(run["verdicts"][control]["verdict"] == "pass" for control in definition.get("controls", []))
    words = [*outcomes.values(), "held"] if is_sound else ["inconclusive"]
    verdict = next(VERDICTS[word] for word in VERDICTS if word in words) if checks else "unsupported"
    for path, says in (verdict_file, stated["verdict"]), (f"{root}run.json", run["verdicts"][case]["verdict"]):
        require(says == verdict, path, f"{case} is {says}, and judged again {verdict}")

def verify_run(root=""):
    """A run: its files, what it says of itself, its cases. Returns its verdicts."""
    inventory(root, lambda name: name != SUMS)
    run, run_file = parse(read(f"{root}run.json")), f"{root}run.json"
    executed, judged, is_finished = {*run["executed"]}, {*run["verdicts"]}, run["state"] == "finished"
    is_whole = {*run["requested"]} <= executed == judged or run.get("nothing_run") or not is_finished
    is_known = run["format"] == 1 and judged <= executed
    require(is_known and is_whole, run_file, "another format, or not each case was executed and has a verdict")
    require(is_finished, run_file, "the run was cut off", INCOMPLETE)
    for case in [case for case in run["executed"] if case in judged]:
        try: verify_case(root, run, case)
        except Exception as error: require(False, f"{root}cases/{case}", f"not as documented: {error!r}")
    for name in [name for name in sorted(files.keys() - used) if name.startswith(root) and not findings]:
        require(re.fullmatch(BESIDE_CASES, name[len(root):]), name, "nothing here speaks of it")
    return {case: one["verdict"] for case, one in run["verdicts"].items()}

def verify_proof():
    """A proof: each of its runs, and the verdicts of its matrix against theirs."""
    inventory("", lambda name: "/" not in name.removesuffix(f"/{SUMS}") != SUMS)
    matrix = parse(read("matrix.json"))
    require(is_finished := matrix["state"] == "finished", "matrix.json", "the proof was cut off", INCOMPLETE)
    rows = {"baseline": matrix["baseline"], **{row["defect"]: row["verdicts"] for row in matrix["defects"]}}
    for folder in sorted({name.split("/")[0] for name in files if "/" in name}):
        says = verify_run(f"{folder}/")
        stated = ({} if is_finished else says) | rows.get(folder, {})
        require(says.items() <= stated.items(), "matrix.json", f"{folder}: other verdicts")

def main(path):
    """Prints what differs, or what is equal. Returns 0 (equal), 1 (differs), 2 (no evidence) or 3 (incomplete)."""
    try:
        whole = load(pathlib.Path(path))
        if not {"run.json", "matrix.json", SUMS} & {*files}: return print(f"error: {path} is no evidence") or 2
        verify_proof() if "matrix.json" in files else verify_run()
    except Exception as error: require(False, path, f"not as documented: {error!r}")
    for finding in findings: print(finding)
    if findings: return 1 if DIFFERS in findings.values() else 3
    print(f"sha256      {sha256(whole)}  {path}")
    print(f"looked at   {len(files)} files; {sum(counted)} of {len(counted)} readings counted again from SQLite stores")
    print("result      all equal. That the run took place, nothing here shows; see evidence/README.md")
    return 0

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.alarm(SECONDS)
    sys.exit(main(sys.argv[1]))
