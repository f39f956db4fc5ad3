// Asks for a confirmation, then appends a line: what the documentation of the TypeScript SDK makes of it, and nothing more.
import { appendFileSync } from "node:fs";
import { acceptedContent, createRequestStateCodec, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const state = createRequestStateCodec({ key: process.env.REQUEST_STATE_KEY });
const confirmation = z.object({ ok: z.boolean() });

serveStdio(() => {
    const info = { name: "typescript-sdk-mrtr", version: "1.0.0" };
    const server = new McpServer(info, { capabilities: { tools: {} }, requestState: { verify: state.verify } });
    server.registerTool("add_note", { inputSchema: z.object({ text: z.string() }) }, async ({ text }, context) => {
        const answer = acceptedContent(context.mcpReq.inputResponses, "confirmation", confirmation);
        if (context.mcpReq.requestState()?.text !== text || !answer?.ok) {
            const ask = inputRequired.elicit({ message: `Add the note "${text}"?`, requestedSchema: confirmation });
            return inputRequired({ inputRequests: { confirmation: ask }, requestState: await state.mint({ text }) });
        }
        appendFileSync(process.argv[2], JSON.stringify({ text }) + "\n");
        return { content: [{ type: "text", text: "added" }] };
    });
    return server;
});
