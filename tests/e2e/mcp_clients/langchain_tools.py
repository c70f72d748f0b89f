"""LangChain's tools from a server of MCP, as langchain-mcp-adapters makes them: in one session, and (as by default) with a session for each call."""
import asyncio
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

how, *rest = sys.argv[1:]
server = ({"transport": "streamable_http", "url": rest[0], "headers": {"Authorization": "Bearer " + rest[1]}} if how != "stdio"
          else {"transport": "stdio", "command": rest[0], "args": rest[1:]})
if how == "named":      # so each call's session is for the same variables
    server["headers"]["Sandpiper-Conversation"] = "my agent"


async def use(tools, *codes):
    (run,) = [t for t in tools if t.name == "execute_python"]
    return ["".join(part.get("text", "") for part in await run.ainvoke({"code": code})) for code in codes]


async def main():
    client = MultiServerMCPClient({"python": server})
    tools = await client.get_tools()
    assert await use(tools, "6 * 7") == ["42"]
    print(await use(tools, "y = 1", "y = globals().get('y', 0) + 1; y", "globals().get('y', 'gone')"))
    if how == "named":
        await use(tools, "_ = open('/mnt/data/notes.txt', 'w').write('kept')")
        print([r.as_string() for r in await client.get_resources("python")])
    async with client.session("python") as session:
        print(await use(await load_mcp_tools(session), "x = 41", "x + 1"))


asyncio.run(main())
