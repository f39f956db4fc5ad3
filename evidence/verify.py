#!/usr/bin/env python3
"""Verifies evidence without the harness: python3 evidence/verify.py [--frozen FILE] FOLDER|ARCHIVE.zip

Written from evidence/README.md and cases/README.md alone. Exit code: 0 all equal, 1 differs, 2 no evidence, 3 incomplete.
"""
import argparse, base64, collections, hashlib, json, os, pathlib, re, shutil, sqlite3, stat, sys, tempfile, tomllib, zipfile

DOCUMENT_BYTES, QUERY_STEPS, ANSWER_ROWS = 256 << 20, 200_000_000, 1_000_000
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, RecursionError, OSError, sqlite3.Error, zipfile.BadZipFile)
ABSENT, UNOBSERVED, UNJUDGED, UNSEEN = object(), object(), object(), object()
READ_HERE = "outcome answered result replayed refusal withheld kept doubled survivors state authoritative stored_result".split()
READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
UNPROMISED = {"effects": "unguarded", "conflict": "unguarded", "answer": "inconclusive", "first-result": "noted", "discretion": "noted"}
DIFFERS, INCOMPLETE, TOLD = [], [], collections.Counter()

def require(holds, path, why):
    if not holds:
        DIFFERS.append(f"DIFFERS   {path}: {why}")

def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

def same(one, other):
    return json.dumps(one, sort_keys=True, default=repr) == json.dumps(other, sort_keys=True, default=repr)

def members(pairs):
    return dict(pairs) if len(dict(pairs)) == len(pairs) else json.loads("a key that stands there twice")

def parse(text):
    return json.loads(text, object_pairs_hook=members, parse_constant=json.loads)

def text_of(path):
    return path.read_bytes().decode() if path.stat().st_size <= DOCUMENT_BYTES else json.loads("too long")

def pointer(value, path):
    """What stands at a JSON pointer; ABSENT where nothing does."""
    for key in ["/"] if path is None else path.split("/")[1:]:
        value = value.get(key.replace("~1", "/").replace("~0", "~"), ABSENT) if isinstance(value, dict) else ABSENT
    return value

def unpack(path, into):
    """Takes an archive apart. Of the same files there is one archive, byte for byte; what is different in any way differs."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as raw:
        names, end = [entry.filename for entry in archive.infolist()], 0
        require(names == sorted(set(names), key=str.encode), path, "its names are not sorted, or one stands there twice")
        for entry in archive.infolist():
            if re.search(r"(^|/)\.{0,2}(/|$)|[\\:\0-\x1f]", entry.filename) or entry.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{entry.filename!r} is no plain relative name, or is compressed")
            raw.seek(entry.header_offset + 28)
            form = (entry.header_offset, entry.compress_size, entry.extra + entry.comment + raw.read(2), entry.flag_bits & ~0x800)
            require(form == (end, entry.file_size, b"\0\0", 0), entry.filename, "more than a file, stored behind the last one")
            form = (entry.date_time, entry.external_attr >> 16)
            require(form == ((1980, 1, 1, 0, 0, 0), stat.S_IFREG | 0o644), entry.filename, "not of 1980-01-01, mode 0100644")
            (into / entry.filename).parent.mkdir(parents=True, exist_ok=True)
            (into / entry.filename).write_bytes(archive.read(entry))
            end += 30 + len(entry.filename.encode()) + entry.file_size
        size = end + sum(46 + len(name.encode()) for name in names) + 22
        require((archive.start_dir, os.path.getsize(path)) == (end, size), path, "bytes that belong to no entry")

def inventory(root, is_listed=lambda name: name != "SHA256SUMS"):
    """The names of all files, compared with SHA256SUMS; none where something is neither file nor folder."""
    found = [pathlib.Path(folder, name) for folder, folders, files in os.walk(root) for name in folders + files]
    strange = [path for path in found if not stat.S_ISREG(path.lstat().st_mode) and not stat.S_ISDIR(path.lstat().st_mode)]
    for path in strange:
        require(False, path, "neither file nor folder")
    if strange:
        return []
    names = sorted((path.relative_to(root).as_posix() for path in found if path.is_file()), key=os.fsencode)
    folded = collections.Counter(map(str.casefold, names))
    digests = {name: sha256(root / name) for name in names if is_listed(name)}
    if "SHA256SUMS" not in names:
        INCOMPLETE.append(f"INCOMPLETE {root}: there is no SHA256SUMS, so nothing vouches for its files")
        return names
    TOLD["files listed"] += len(digests)
    text = text_of(root / "SHA256SUMS")
    listed = {line[66:]: line[:64] for line in text.splitlines()}
    for name in sorted(listed.keys() | digests.keys()):
        require(name in digests, root / name, "missing")
        require(name in listed, root / name, "extra: SHA256SUMS does not have it")
        require(len({digests.get(name), listed.get(name)} - {None}) == 1, root / name, "changed")
        require(folded[name.casefold()] == 1, root / name, "another name differs only in case")
    form = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    require(text == form or listed != digests, root / "SHA256SUMS", "not `digest  path` a line, sorted by path")
    return names

def ask(database, how, query):
    """The answer to a query that can do nothing but read, and ends after so many steps."""
    def text(value):
        return value.decode() if value.isascii() or value.decode(errors="replace").encode() == value else {"bytes_hex": value.hex()}
    connection, rounds = sqlite3.connect(f"{database.absolute().as_uri()}?{how}", uri=True), iter(range(QUERY_STEPS // 10_000))
    try:
        connection.text_factory = text
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, DOCUMENT_BYTES)
        connection.set_progress_handler(lambda: next(rounds, None) is None, 10_000)
        connection.set_authorizer(lambda act, *_: sqlite3.SQLITE_OK if act in READS else sqlite3.SQLITE_DENY)
        answer = connection.execute(query["sql"], query["parameters"])
        rows = [[{"bytes_hex": cell.hex()} if isinstance(cell, bytes) else cell for cell in row] for row in answer.fetchmany(ANSWER_ROWS)]
        return {"rows": {"columns": [column[0] for column in answer.description], "rows": rows}}
    except sqlite3.OperationalError as error:
        return {"nothing" if "no such table" in str(error) else "unreadable": str(error)}
    finally:
        connection.close()

def readings(what):
    return [(name, one) for name, one in [("effects", what["effects"]), ("ledger", what.get("ledger")), *what.get("more", {}).items()] if one]

def count_again(path, observation, base, scratch):
    """Asks each query once more, of the read copy and of one made of the frozen bytes. Returns the files of the store."""
    store, copies = observation["read"]["store"], {}
    files = {base / file["name"]: (file["bytes"], file["sha256"]) for file in store["files"]}
    for file, form in files.items():
        require((file.stat().st_size, sha256(file)) == form, file, f"not the bytes that {path.name} lists")
    for number, database in enumerate(one for one in store["databases"] if one["read_copy"]):
        main, again = base / database["name"], pathlib.Path(scratch, f"{path.stem}-{number}")
        copies[database["name"]] = [(base / database["read_copy"], "mode=ro&immutable=1")]
        if not os.path.exists(f"{main}-journal"):    # which could name other files, to be deleted
            for suffix in ["", "-wal"] if os.path.exists(f"{main}-wal") else [""]:
                shutil.copyfile(f"{main}{suffix}", f"{again}{suffix}")
            copies[database["name"]].append((again, "mode=rw"))
    for what in observation["operations"].values():
        for name, reading in readings(what):
            asked = copies.get(reading["query"].get("path") or next(iter(copies), None), []) if reading["query"].get("sql") else []
            TOLD["readings counted again" if asked or not files else "readings not counted again"] += 1
            for answer in [ask(*copy, reading["query"]) for copy in asked]:
                equal = same(answer, reading["outcome"]) if "rows" in answer else answer.keys() == reading["outcome"].keys()
                require(equal, path, f"{name}: asked again, the store says {answer}")
    return files.keys() | {copy for (copy, _), *_ in copies.values()}

def reply_facts(reply, plan):
    """What a reply says, read by the pointers of the plan."""
    style, body = ("error", reply["error"]) if "error" in reply else ("tool_error", reply["result"])
    places, conflict = plan["replies"], plan["contract"]["conflict"]
    if style == "error" or pointer(body, "/isError") is True:
        is_conflict = conflict and same(pointer(body, conflict["at"][style]), conflict["is"])
        return {"outcome": "refused", "refusal": "conflict" if is_conflict else pointer(body, places["refusal"][style])}
    if pointer(body, "/resultType") == "input_required":
        return {"outcome": "asked"}
    found = [pointer(body, place) for place in ([places["result"]] if places["result"] else ["/structuredContent", "/content"])]
    result = next((one for one in found if one is not ABSENT), ABSENT)
    return {"outcome": "result", "result": bare(result), "replayed": pointer(body, places["replayed"])}

def bare(result):
    return {key: result[key] for key in result if key != "replayed"} if isinstance(result, dict) else result

def frames(event):
    payload = event.get("payload")
    return [frame for frame in (payload if isinstance(payload, list) else [payload]) if isinstance(frame, dict)]

def count_facts(observation, step, before, results, plan):
    facts = collections.defaultdict(dict)
    for operation, what in observation["operations"].items():
        for name, reading in readings(what):
            rows = reading["outcome"].get("rows", {"rows": [] if "nothing" in reading["outcome"] else UNOBSERVED})["rows"]
            facts[name][operation] = UNOBSERVED if rows is UNOBSERVED else len(rows)
            facts["entries"].setdefault(name, {})[operation] = UNOBSERVED if rows is UNOBSERVED else [row[0] for row in rows]
            if name == "effects" and before.get(operation) and rows is not UNOBSERVED:
                facts["kept"][operation] = all(before[operation].count(row) <= rows.count(row) for row in before[operation])
            before[operation] = rows if name == "effects" and rows is not UNOBSERVED else before.get(operation)
        if what.get("doctored"):
            facts["doubled" if step["doubled"] == "always" else "effects"][operation] = what["doctored"]["count"]
        told = results[operation]
        facts["agree"][operation] = all(same(one["result"], told[0]["result"]) for one in told)
        facts["replays"][operation] = sorted(one["replayed"] for one in told if isinstance(one["replayed"], bool))
        changed, cells = plan["operations"][operation]["changed_input"], [str(cell) for row in before[operation] or [] for cell in row]
        facts["new_data"][operation] = sum(changed in cell for cell in cells)
    return facts

def facts_of(plan, events, observations):
    """What record and observations say, by the names of cases/README.md, as far as this verifier reads them."""
    facts, step, waiting, last, before = collections.defaultdict(dict), {}, {}, {}, {}
    results = collections.defaultdict(list)
    for event in events:
        if event["kind"] == "step-started":
            step = plan["steps"][event["step"]]
            waiting = {key: sent for key, sent in waiting.items() if sent["do"] == "send"}
            facts[step.get("name")] = {"outcome": "unknown", "answered": False}
        elif event["kind"] == "process-ended":
            facts[event["process"]]["survivors"] = event["survivors"]
        elif event["kind"] == "lock-released":
            facts[step["name"]] = event
        elif event["kind"] == "observed":
            facts[event["label"]] = count_facts(observations[event["label"]], step, before, results, plan)
        for frame in frames(event):
            if event["direction"] == "client-to-server" and frame.get("method") == "tools/call" and step.get("name"):
                call, waiting[frame["id"]] = {**frame, "id": None}, step
                exactly = same(call, last.get(step.get("of") or step["operation"]))
                facts[step["name"]] = {"outcome": "unknown", "answered": False, "repeats_exactly": exactly, "last_round": {"delivered_bytes": 0}}
                if step["do"] != "status":
                    last[step["name"]] = last[step["operation"]] = call
                facts[event["process"]].setdefault("writes", 0)
                facts[event["process"]].setdefault("statuses", 0)
                facts[event["process"]]["statuses" if step["do"] == "status" else "writes"] += 1
            elif event["direction"] == "client-to-server" and "method" not in frame:
                facts[step.get("name")]["repeats_exactly"] = UNJUDGED    # it answered a question inside the call
            elif event["direction"] == "server-to-client" and "method" not in frame:
                sent = waiting.pop(frame.get("id"), None)
                if not sent: continue
                told = reply_facts(frame, plan)
                told |= {"answered": True}
                if event.get("withheld"):
                    told = {"withheld": told}
                elif sent["do"] == "status" and told["outcome"] == "result":
                    status = pointer(frame["result"], plan["operations"][sent["operation"]]["status"]["result"])
                    told = {**told, **status, "stored_result": bare(status.get("result", ABSENT))}
                elif told["outcome"] == "result":
                    results[sent["operation"]].append(told)
                facts[sent["name"]].update(told)
                if not event.get("withheld") and facts[sent["name"]].get("last_round"):
                    facts[sent["name"]]["last_round"]["delivered_bytes"] += 1
    return facts

def fact(facts, path):
    """The fact at a path; ABSENT where the record has none, UNSEEN where that is nobody's fault, UNJUDGED where it is not read here."""
    name, *keys = path.split(".")
    value = facts.get(name, UNJUDGED)
    for key in keys:
        if not isinstance(value, dict):
            return value
        value = value.get(key, UNSEEN if key in ("withheld", "kept") else ABSENT if key in READ_HERE or value is not facts[name] else UNJUDGED)
    return value

def judge(check, facts, plan):
    """The outcome of a check; None where what is read here does not decide it."""
    basis, promise, preset = check["basis"], check.get("promise", "effects"), plan["contract"]["preset"]
    if check.get("only", "write") not in ["write", *plan["surfaces"]] or basis == "reference" and preset != "guarded":
        return "not-applicable"
    pairs = [(fact(facts, path), [value]) for path, value in check.get("expect", {}).items()]
    pairs += [(fact(facts, path), values) for path, values in check.get("among", {}).items()]
    pairs += [(fact(facts, one), [fact(facts, other)]) for one, other in check.get("same", [])]
    values = [value for found, wanted in pairs for value in (found, *wanted)]
    if UNOBSERVED in values:
        return "inconclusive"
    if UNSEEN in values:
        return "not-applicable"
    holds = all(found is UNJUDGED or wanted == [UNJUDGED] or found is not ABSENT and any(same(found, one) for one in wanted) for found, wanted in pairs)
    if holds:
        return None if UNJUDGED in values else "held"
    if basis == "machinery":
        return "inconclusive"
    if basis == "spec-should":
        return "broken" if preset == "guarded" else "warning"
    promised = preset == "guarded" or preset == "at-most-once" and promise != "discretion"
    return "broken" if basis != "contract" or promised else UNPROMISED[promise]

def verify_case(root, run, case, frozen, scratch):
    """One case: its definition, its record, its counts, its verdict. Returns the files that these account for."""
    folder = root / "cases" / case
    record, definition = folder / "record.jsonl", tomllib.loads(text_of(folder / "case.toml"))
    digest, stated = sha256(folder / "case.toml"), parse(text_of(folder / "verdict.json"))
    events = [parse(line) for line in text_of(record).removesuffix("\n").split("\n")]
    plan = events[0]["plan"]
    require(case in run.get("case_files", {}) or frozen.get(case) == f"{definition['revision']} {digest}", folder / "case.toml", "not the frozen case")
    require([event["seq"] for event in events] == list(range(1, len(events) + 1)), record, "its numbers are not 1, 2, 3 ...")
    planned = [plan["case"], plan["revision"], plan["digest"], plan["target"], plan["naming"], plan["contract"], plan["replies"], plan["identity"]]
    target = run["target"]
    is_run = [case, definition["revision"], digest, target["name"], run["naming"], target["contract"], target["replies"], target["identity"]]
    require(same(planned, is_run), record, "its plan is not of this run and this case")
    expected = {folder / "case.toml", record, folder / "verdict.json"}
    observations = {}
    for event in events:
        if event["kind"] == "observed":
            path = folder / "observations" / f"{event['label']}.json"
            require(sha256(path) == event["sha256"], path, "not the observation that the record names")
            observation = observations[event["label"]] = parse(text_of(path))
            expected.add(path)
            if observation["read"]["from"] == "frozen":
                expected |= count_again(path, observation, folder / (observation["read"]["folder"] or "no store"), scratch)
        elif event["kind"] == "process-started":
            expected.add(folder / "stderr" / f"{event['process']}.log")
        elif event["kind"] == "message":
            raw = base64.b64decode(event.get("bytes") or "", validate=True)
            if event.get("length") is not None:
                require(len(raw) < event["length"] and len(event["sha256"]) == 64, record, f"{event['seq']}: no head of an oversize frame")
            elif "payload" in event and raw:
                require(same(json.loads(raw), event["payload"]), record, f"{event['seq']}: payload and bytes differ")
            else:
                require("payload" in event or raw, record, f"{event['seq']}: neither payload nor bytes")
    facts = facts_of(plan, events, observations)
    checks = definition["check"] if set(definition["needs"]) <= set(plan["surfaces"]) else []
    outcomes = {check["id"]: check["outcome"] for check in stated["checks"]}
    require(list(outcomes) == [check["id"] for check in checks], folder / "verdict.json", "other checks than the case has")
    for check in checks:
        found, says = judge(check, facts, plan), outcomes.get(check["id"])
        fits = found in (None, says) or says == "not-judged" and found not in ("held", "not-applicable")
        require(fits, folder / "verdict.json", f"{check['id']}: it says {says}, judged again it is {found}")
        TOLD["checks judged again" if found else "checks not judged again"] += 1
    beside = [run["verdicts"][control]["verdict"] for control in definition.get("controls", [])]
    words = list(outcomes.values())
    if not checks:
        verdict = "unsupported"
    elif "inconclusive" in words or events[-1].get("outcome") != {"how": "finished"} or set(beside) - {"pass"}:
        verdict = "inconclusive"
    else:
        verdict = "fail" if "broken" in words else "unguarded" if "unguarded" in words else "pass"
    for path, says in [(folder / "verdict.json", stated["verdict"]), (root / "run.json", run["verdicts"][case]["verdict"])]:
        require(says == verdict, path, f"{case}: it says {says}, judged again it is {verdict}")
    return expected

def verify_run(root, frozen, names):
    run, expected = parse(text_of(root / "run.json")), {root / "run.json", root / "SHA256SUMS"}
    require(run["format"] == 1, root / "run.json", "not of format 1")
    if run["state"] != "finished":
        INCOMPLETE.append(f"INCOMPLETE {root}: the run was interrupted")
    with tempfile.TemporaryDirectory() as scratch:
        for case in run["executed"]:
            if not (root / "cases" / case).exists():
                continue
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    expected |= verify_case(root, run, case, frozen, scratch)
            except MALFORMED as error:
                require(False, root / "cases" / case, f"not as documented: {error!r}")
    for name in names:
        require(root / name in expected or name.split("/")[0] in ("probe", "calibration", "calibration-two"), root / name, "nothing speaks of it")

if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    frozen = dict(line.split(" ", 1) for line in (pathlib.Path(__file__).parent.parent / "cases/FROZEN").read_text().splitlines())
    if (root / "matrix.json").exists():
        for one in sorted(root.iterdir()):
            if one.is_dir():
                verify_run(one, frozen, inventory(one))
    else:
        verify_run(root, frozen, inventory(root))
    print("\n".join(DIFFERS + INCOMPLETE))
    print(TOLD)
