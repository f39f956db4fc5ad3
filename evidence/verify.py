"""Verifies evidence by evidence/README.md and cases/README.md alone: python3 evidence/verify.py FOLDER|ARCHIVE.zip"""
import base64, hashlib, io, json, pathlib, re, resource, signal, sqlite3, sys, tempfile, tomllib, zipfile

SUMS, DIFFERS, INCOMPLETE, ABSENT = "SHA256SUMS", "DIFFERS   ", "INCOMPLETE", object()
FROZEN_CASES = (pathlib.Path(__file__).parent.parent / "cases" / "FROZEN").read_text().splitlines()
BESIDE_CASES = r"(probe|calibration|calibration-two)/.*|run\.json|redactions\.json|SHA256SUMS"
READS = [getattr(sqlite3, f"SQLITE_{act}") for act in "SELECT READ FUNCTION RECURSIVE INSERT UPDATE DELETE".split()]
READS += [(sqlite3.SQLITE_PRAGMA, name) for name in ("integrity_check", "data_version")]
INTEGRITY = {"sql": "PRAGMA integrity_check", "parameters": {}}
UNPROMISED = {"first-result": "noted", "discretion": "noted", "answer": "inconclusive"}
VERDICTS = {"inconclusive": "inconclusive", "broken": "fail", "unguarded": "unguarded", "held": "pass"}
files, used, findings, words, counted, scratch = {}, set(), {}, {}, [], tempfile.TemporaryDirectory()
def require(holds, path, why, word=DIFFERS):
    if not holds: findings[f"{word} {path}: {why:.1000}".encode("unicode_escape").decode()] = word
def read(name): return used.add(name) or files[name]
def fail(why): raise ValueError(why)
def sha256(data): return hashlib.sha256(data).hexdigest()
def members(pairs): return dict(pairs) if len(dict(pairs)) == len(pairs) else fail("a key stands twice")
def parse(text): return json.loads(text, object_pairs_hook=members, parse_constant=fail)
def plain(value): return {"bytes_hex": value.hex()} if isinstance(value, bytes) else repr(value)
def same(one, other): return len({json.dumps(value, sort_keys=True, default=plain) for value in (one, other)}) == 1
def compare(path, stated, again):
    for key, one, two in [(key, stated.get(key, ABSENT), again.get(key, ABSENT)) for key in {**stated, **again}]:
        require(same(one, two), path, f"{key} is {one}, and looked at again {two}")
def at(value, path):    # what stands at keys with dots between them; ABSENT where nothing does
    for key in path.split("."): value = value.get(key, ABSENT) if isinstance(value, dict) else ABSENT
    return value
def readings(of, prefix=""):    # what was read of a store, or how it is read, by name
    read_as = {"effects": of[f"{prefix}effects"], "ledger": of.get(f"{prefix}ledger"), **of.get(f"{prefix}more", {})}
    return {name: one for name, one in read_as.items() if one}
def load(given):    # the files of a folder or an archive; returns the bytes whose digest is that of the whole
    if given.is_file():
        if not (whole := given.read_bytes()).startswith(b"PK\3\4"): return None
        archive = zipfile.ZipFile(io.BytesIO(whole))
        files.update((name, archive.read(name)) for name in archive.namelist())
        return whole if len(files) == len(archive.namelist()) else fail("a path is there twice")
    for path in given.rglob("*"):
        if path.is_symlink() or not (path.is_file() or path.is_dir()): fail(f"{path} is neither file nor folder")
        if path.is_file(): files[path.relative_to(given).as_posix()] = path.read_bytes()
    return files.get(SUMS)
def inventory(root, is_sealed):    # compares the files below a folder with its SHA256SUMS
    names = sorted(name[len(root):] for name in files if name.startswith(root))
    if SUMS not in names: return require(False, root + SUMS, "missing, so nothing vouches for the files", INCOMPLETE)
    listed = files[root + SUMS].decode().split("\n")
    lines = [f"{sha256(files[root + name])}  {name}" for name in names if is_sealed(name)] + [""]
    compare(root + SUMS, *({line[66:]: line[:64] for line in side} for side in (listed, lines)))
    require(listed == lines, root + SUMS, "not a line `digest  path` for each file, sorted by path")
def ask(database, query):    # the answer to a query that can do nothing but read, and ends after so many steps
    link = sqlite3.connect(f"file://{database}", uri=True)
    link.text_factory = lambda raw: raw.decode() if raw.decode(errors="ignore").encode() == raw else raw
    link.set_progress_handler(iter([False] * 20_000).__next__, 10_000)    # looks, and steps to each
    link.set_authorizer(lambda *act: sqlite3.SQLITE_OK if act[0] in READS or act[:2] in READS else sqlite3.SQLITE_DENY)
    try:
        answer = link.execute(query["sql"], query["parameters"])
        return {"rows": {"columns": [one[0] for one in answer.description], "rows": answer.fetchall()}}
    except sqlite3.Error as error: return {"nothing" if "no such table" in str(error) else "unreadable": str(error)}
def copies_of(store, folder, path):    # of each frozen database the stored read copy, and an own one
    copies, databases = {}, {database["name"]: database for database in store["databases"]}
    for name, form in [(file["name"], [file["bytes"], file["sha256"]]) for file in store["files"]]:
        compare(path, {name: form}, {name: [len(data := read(folder + name)), sha256(data)]})
        require(name in databases or not data.startswith(b"SQLite format 3\0"), path, f"{name} is a database")
    for name, database in databases.items():
        place, copy, main = f"{scratch.name}/{len(used)}", database["read_copy"], files.get(folder + name, b"")
        ends = {".read": read(folder + copy) if copy else b"", "": main, "-wal": files.get(f"{folder}{name}-wal", b"")}
        for end in ends: pathlib.Path(place + end).write_bytes(ends[end])
        own = [f"{place}?mode=rw"] if main and f"{folder}{name}-journal" not in files else []    # it can name others
        copies[name] = [f"{place}.read?mode=ro&immutable=1", *own] if copy else []
        is_sound = copy or own and same(at(ask(*own, INTEGRITY), "rows.rows"), [["ok"]])
        require(bool(is_sound) != bool(database["problem"]), path, f"{name}: its read copy and problem do not fit it")
    return copies
def count_again(base, event, step, plan, target):    # an observation, and its frozen bytes; returns facts
    path, facts, label, when = f"{base}observations/{event['label']}.json", {}, step.get("label"), step.get("when")
    require(sha256(read(path)) == event["sha256"], path, "not the observation that the record names")
    is_live, planned = (seen := parse(files[path]))["read"]["from"] == "live", plan["operations"]
    is_there = [event["label"], seen["label"], seen["when"], {*seen["operations"]}] == [label, label, when, {*planned}]
    require(is_there and (not is_live or when == "now"), path, "not the observation that the plan has there")
    copies = {} if is_live else copies_of(seen["read"]["store"], f"{base}{seen['read']['folder']}/", path)
    wanted = {name: is_live and one.get("shown") or one for name, one in readings(target, "read_").items()}
    for operation, what in seen["operations"].items():
        of, reads = planned[operation], readings(what)
        names = {"parameters": {"marker": of["marker"], "operation": of["identity"], "principal": "alice"}}
        compare(path, {name: reads[name]["query"] for name in reads}, {name: wanted[name] | names for name in wanted})
        for name, query, outcome in [(name, one["query"], one["outcome"]) for name, one in reads.items()]:
            asked = copies.get(query.get("path") or next(iter(copies), None), []) if "sql" in query else []
            counted.append("of a living store" if is_live else "" if "sql" in query else "no SQL")
            require(asked or counted[-1] or "rows" not in outcome, path, f"{name}: rows of no database")
            for answer in [ask(copy, query) for copy in asked]:
                if "rows" in answer or answer.keys() != outcome.keys(): compare(path, {name: outcome}, {name: answer})
            if "unreadable" not in outcome and (name != "effects" or step["doubled"] != "if-needed"):
                facts[f"{label}.{name}.{operation}"] = len(outcome.get("rows", {"rows": []})["rows"])
    return facts
def read_again(base, plan, events, target):    # every event; returns facts, named as in cases/README.md
    facts, step, waiting = {}, {}, {}
    for event in events:
        kind, is_ours, frame = event["kind"], event.get("direction") == "client-to-server", event.get("payload")
        if kind in ("step-started", "timed-out"): waiting = {id: of for id, of in waiting.items() if of["do"] == "send"}
        if kind == "timed-out": facts = {path: facts[path] for path in facts if facts[path] is not False}
        if kind == "step-started": step = plan["steps"][event["step"]]
        if kind == "process-started": read(f"{base}stderr/{event['process']}.log")
        if kind == "process-ended": facts[f"{event['process']}.survivors"] = event["survivors"]
        if kind == "observed": facts |= count_again(base, event, step, plan, target)
        if kind == "message":
            raw, length = base64.b64decode(event.get("bytes") or "", validate=True), event.get("length")
            fits = same(json.loads(raw), frame) if raw and "payload" in event else {"bytes", "payload"} & {*event}
            require(len(raw) < length if length else fits, f"{base}record.jsonl", f"event {event['seq']} is no frame")
        key = json.dumps(at(frame, "id"), default=plain)
        parts = {*frame} & {"method", "result", "error"} if isinstance(frame, dict) else {}
        if is_ours and at(frame, "method") == "tools/call" and step["do"] in ("write", "send"):
            waiting[key] = step
            facts |= {f"{step['name']}.outcome": "unknown", f"{step['name']}.answered": False}
        elif not is_ours and key in waiting and parts in ({"result"}, {"error"}):
            name, withheld = waiting.pop(key)["name"], ".withheld" if event.get("withheld") is True else ""
            came = "asked" if at(frame, "result.resultType") == "input_required" else "result"
            came = "refused" if "error" in frame or at(frame, "result.isError") is True else came
            facts |= {f"{name}{withheld}.outcome": came, f"{name}.answered": not withheld}
    return facts
def judge(check, said, facts, plan):    # what a check comes to; what could not be observed it says
    preset, basis, only, promise = plan["contract"]["preset"], check["basis"], check.get("only"), check.get("promise")
    if only not in [None, *plan["surfaces"]] or basis == "reference" and preset != "guarded": return "not-applicable"
    wanted = [(path, [value]) for path, value in check.get("expect", {}).items()] + [*check.get("among", {}).items()]
    wanted += [(one, [at(facts, two)]) for pair in check.get("same", []) for one, two in (pair, pair[::-1])]
    absent = {path for path, _ in wanted if at(facts, path) is ABSENT}
    differs = {path for path, values in wanted if not any(same(at(facts, path), one) for one in values)} - absent
    if not differs | absent: return "held"
    if not differs and re.search(r"\.(withheld|kept|doubled)\.", " ".join(absent)): return "not-applicable"
    is_promised = preset == "guarded" or (preset == "at-most-once" and promise != "discretion")
    words = {"machinery": "inconclusive", "spec-should": "broken" if preset == "guarded" else "warning",
             "contract": "broken" if is_promised else UNPROMISED.get(promise, "unguarded")}
    return said if absent and said == "inconclusive" else words.get(basis, "broken")
def verify_case(root, run, case):    # a case: its definition, its record, its counts, its verdict
    base = f"{root}cases/{case}/"
    record, verdict_file, case_file = (base + name for name in ("record.jsonl", "verdict.json", "case.toml"))
    definition, stated = tomllib.loads(read(case_file).decode()), parse(read(verdict_file))
    events = [parse(line) for line in read(record).decode().removesuffix("\n").split("\n")]
    plan, form = events[0]["plan"], f"{case} {definition['revision']} {sha256(files[case_file])}"
    require(form in FROZEN_CASES or case in run.get("case_files", {}), case_file, "not the case that cases/FROZEN has")
    is_of_run = all(same(plan[key], run["target"][key]) for key in ("contract", "replies", "identity"))
    require([event["seq"] for event in events] == [*range(1, len(events) + 1)], record, "its numbers have a gap")
    surfaces, reads = {*plan["surfaces"]}, {f"read.{name}" for name in readings(run["target"], "read_")}
    is_of_run &= surfaces == words.setdefault(":", surfaces) and reads == {one for one in surfaces if "read." in one}
    require(is_of_run and form == f"{plan['case']} {plan['revision']} {plan['digest']}", record, "another plan")
    facts = read_again(base, plan, events, run["target"])
    compare(verdict_file, {path: at(stated["facts"], path) for path in facts}, facts)
    checks = definition["check"] if {*definition["needs"]} <= surfaces else []
    outcomes = {check["id"]: check["outcome"] for check in stated["checks"]}
    judged = {check["id"]: judge(check, outcomes.get(check["id"]), stated["facts"], plan) for check in checks}
    is_sound = events[-1].get("outcome") == {"how": "finished"} and all(one["kind"] != "fault-missed" for one in events)
    is_sound &= all(at(run["verdicts"], f"{control}.verdict") == "pass" for control in definition.get("controls", []))
    came = {judged[one["id"]] for one in checks if one.get("about") or judged[one["id"]] != "held"} if is_sound else {}
    verdict = next((VERDICTS[word] for word in VERDICTS if word in came), "inconclusive") if checks else "unsupported"
    stays = {"held", "not-applicable", "inconclusive" if is_sound else ""}
    if verdict == "inconclusive": judged |= {name: "not-judged" for name in judged if judged[name] not in stays}
    compare(verdict_file, outcomes | {"verdict": stated["verdict"]}, judged | {"verdict": verdict})
    compare(f"{root}run.json", {case: run["verdicts"][case]["verdict"]}, {case: verdict})
    words.update({f"{root}{case}": verdict, **{f"{root}{case}:{name}": word for name, word in judged.items()}})
def verify_run(root=""):    # a run: its files, what it says of itself, its cases; returns by whom and of what it is
    inventory(root, lambda name: name != SUMS)
    run, run_file = parse(read(f"{root}run.json")), f"{root}run.json"
    executed, judged, is_finished = {*run["executed"]}, {*run["verdicts"]}, run["state"] == "finished"
    is_whole = {*run["requested"]} <= executed == judged or not is_finished or run["nothing_run"]
    require(is_whole and judged <= executed and run["format"] == 1, run_file, "another format, or not all was run")
    require(is_finished, run_file, "the run was cut off", INCOMPLETE)
    for case in [case for case in run["executed"] if case in judged]:
        try: verify_case(root, run, case)
        except Exception as error: require(False, f"{root}cases/{case}", f"not as documented: {error!r}")
    for name in [name for name in sorted(files.keys() - used) if name.startswith(root) and not findings]:
        require(re.fullmatch(BESIDE_CASES, name[len(root):]), name, "nothing here speaks of it")
    return [run["defect"] or "baseline", run["harness"], run["naming"], run["target"] | {"read_effects": None}]
def verify_proof():    # a proof: each of its runs, and its matrix beside what they come to
    inventory("", lambda name: "/" not in name.removesuffix(f"/{SUMS}") != SUMS)
    matrix, folders = parse(read("matrix.json")), {name.split("/")[0] for name in files if "/" in name}
    require(is_finished := matrix["state"] == "finished", "matrix.json", "the proof was cut off", INCOMPLETE)
    stated = {f"{run['folder']} {SUMS}": run["sums_sha256"] for run in matrix["runs"]}
    for folder in sorted(folders):
        words[f"{folder} of"] = verify_run(f"{folder}/")
        words[f"{folder} {SUMS}"] = sha256(files.get(f"{folder}/{SUMS}", b""))
    for row in [{"defect": "baseline", "verdicts": matrix["baseline"], "kills": []}, *matrix["defects"]]:
        name, says = row["defect"], {f"{row['defect']}/{case}": verdict for case, verdict in row["verdicts"].items()}
        if name in folders or "cut_short" not in row: stated[f"{name} of"] = [name, *words.get("baseline of", "-")[1:]]
        stated |= {case: says[case] for case in says if case in words or name == "baseline"}
        stated |= {f"{name}/{kill['case']}:{kill['check']}": kill["outcome"] for kill in row["kills"]}
    names = {name for name in words if ":" not in name and (is_finished or "/" in name)}
    names = names | stated.keys() if is_finished else names & stated.keys()
    compare("matrix.json", *({name: side.get(name) for name in names} for side in (stated, words)))
def main(path):    # prints what comes out; returns 0 (equal), 1 (differs), 2 (no evidence) or 3 (incomplete)
    try:
        whole = load(pathlib.Path(path))
        if not {"run.json", "matrix.json", SUMS} & {*files}: return print(f"error: {path} is no evidence") or 2
        verify_proof() if "matrix.json" in files else verify_run()
    except Exception as error: require(False, path, f"not as documented: {error!r}")
    if findings: return print(*findings, sep="\n") or (1 if DIFFERS in findings.values() else 3)
    print(f"sha256      {sha256(whole)}  {path}\nlooked at   {len(files)} files and {len(counted)} readings")
    but = "; ".join(f"{counted.count(why)} of {len(counted)} readings are {why}" for why in sorted({*counted} - {""}))
    equal = f"what was looked at is equal; {but} and were not counted again" if but else "all equal"
    return print(f"result      {equal}. That the run took place, nothing here shows; see evidence/README.md") or 0
if __name__ == "__main__":
    if len(sys.argv) != 2: sys.exit(print("usage: verify.py FOLDER|ARCHIVE.zip", file=sys.stderr) or 2)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))    # bytes
    signal.alarm(3600)    # seconds
    sys.exit(main(sys.argv[1]))
