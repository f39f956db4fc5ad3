#!/usr/bin/env python3
"""Answers the vectors of this folder, one JSON line each, as README.md says. Standard library only."""
import datetime, hashlib, hmac, json, re, sys

def integer(number):  # 5 and 5.0 are one number
    return int(number) if abs(number) < 2**53 and number == int(number) else None

def canonical(value, place="$"):
    if isinstance(value, dict):
        step = lambda key: "." + key if re.fullmatch(r"\w+", key) else f"[{canonical(key, place)}]"
        members = (canonical(key, place) + ":" + canonical(value[key], place + step(key)) for key in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item, f"{place}[{index}]") for index, item in enumerate(value)) + "]"
    if isinstance(value, str) and re.search("[\ud800-\udfff]", value): raise ValueError(place)
    if type(value) in (int, float) and (value := integer(value)) is None: raise ValueError(place)
    return json.dumps(value, ensure_ascii=False)

def fingerprint(key_hex, request):
    if len(key := bytes.fromhex(key_hex)) < 32: raise ValueError("key")
    texts, values = ("principal", "tool_id", "tool_version"), ("arguments", "continuation_state", "input_responses")
    if set(request) != {*texts, *values}: raise ValueError("$")
    for name in texts:
        if not isinstance(request[name], str): raise ValueError("$." + name)
    canonical(request)  # all of it, so that a place is named from the root
    keyed = lambda name: hmac.new(key, f"{name}\0{canonical(request[name])}".encode(), "sha256").hexdigest()
    text = canonical(request | {name: keyed(name) for name in values[1:]})
    return {"canonical": text, "fingerprint": hashlib.sha256(text.encode()).hexdigest()}

def is_timestamp(text):
    form = r"(?!9999)(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)"
    try: return datetime.date.fromisoformat(re.fullmatch(form, text, re.ASCII)[1])
    except (TypeError, ValueError): return False

def effect(value):  # what names an effect; true is no number
    return integer(value) if type(value) in (int, float) else value if isinstance(value, str) and value else None

MEMBERS = "operation_id state authoritative scope observed_at effect_ids result fresh_write_authorized".split()

def broken_rules(attempt, seen):
    if not isinstance(seen, dict): yield "not-an-object"
    if any(name not in seen for name in MEMBERS): yield "member-missing"
    identity, state, authoritative, scope, time, ids, result, offer = (seen[name] for name in MEMBERS)
    if identity != attempt["operation_id"]: yield "other-operation"
    if scope != attempt["scope"]: yield "other-scope"
    if state not in (states := ("unknown", "in_progress", "applied", "partial")): yield "state-not-recognised"
    settled = state in states[2:]
    if authoritative is not True and (settled or authoritative is not False): yield "not-authoritative"
    if offer is not False: yield "fresh-write-offered"
    if not is_timestamp(time): yield "no-zoned-timestamp"
    if not isinstance(ids, list) or None in (ids := [effect(item) for item in ids]): yield "effect-ids-malformed"
    if len(set(ids)) < len(ids): yield "effect-id-repeated"
    if not (len(ids) == 1 or state == "partial" and ids if settled else not ids): yield "effect-count-contradicts-state"
    if not isinstance(result, dict) if settled else result is not None: yield "result-contradicts-state"
    told = result or {}
    if told.get("state", state) in states and told.get("state", state) != state: yield "result-contradicts-state"
    if told.get("operation_id", identity) != identity: yield "result-of-other-operation"
    named = [effect(item) for value in told.values() for item in (value if isinstance(value, list) else [value])]
    if not set(ids) <= set(named): yield "result-omits-effect"

def recover(question):
    if "observation" not in question: return {"action": "status-only"}
    seen = question["observation"]
    if reason := next(broken_rules(question["attempt"], seen), None): return {"action": "stop", "reason": reason}
    if seen["state"] == "applied": return {"action": "return-stored-result", "result": seen["result"]}
    reasons = {"unknown": "outcome-unknown", "in_progress": "in-progress", "partial": "partly-applied"}
    return {"action": "stop", "reason": reasons[seen["state"]]}

def continue_with(question):
    if question["transport"] == "lost_reply": return "status_only"
    if question["transport"] == "lost_reply_missing_record": return "stop_unknown"
    if question["request"]["continuation_state"] is None: return "reject"
    made = [fingerprint(question["key_hex"], question[name]) for name in ("base", "request")]
    return "replay" if made[0] == made[1] else "conflict"

def answer(question):
    if question["set"] == "recovery": return recover(question)
    if question["set"] == "continuation": return {"decision": continue_with(question)}
    try: return fingerprint(question["key_hex"], json.loads(question["request_json"]))
    except ValueError as error: return {"refused": str(error)}

for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"name": question["name"]} | answer(question)), flush=True)
