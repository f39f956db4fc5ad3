"""Asks for a confirmation, then adds a row: what the Python SDK's tutorial makes of it, and nothing more."""

import os
import sqlite3
import sys
from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, RequestStateSecurity, Resolve
from pydantic import BaseModel

# Without a key of its own the SDK makes one for this process.
key = os.environ.get("REQUEST_STATE_KEY")
server = MCPServer("python-sdk-mrtr", request_state_security=RequestStateSecurity(keys=[key]) if key else None)


class Confirmation(BaseModel):
    ok: bool


def ask(text: str) -> Elicit[Confirmation]:
    return Elicit(f"Add the note {text!r}?", Confirmation)


@server.tool()
def add_note(text: str, confirmation: Annotated[Confirmation, Resolve(ask)]) -> str:
    if not confirmation.ok:
        return "nothing added"
    with sqlite3.connect(sys.argv[1]) as store:
        store.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT)")
        return f"note {store.execute('INSERT INTO notes (text) VALUES (?)', [text]).lastrowid}"


server.run()
