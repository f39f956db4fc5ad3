import sqlite3, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("ten-lines")
@server.tool()
def add_order(note: str) -> str:
    with sqlite3.connect(sys.argv[1]) as store:
        store.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, note TEXT)")
        order = store.execute("INSERT INTO orders (note) VALUES (?)", [note]).lastrowid
        return f"order {order} added"
server.run()
