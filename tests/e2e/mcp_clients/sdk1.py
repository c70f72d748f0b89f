"""The Python SDK before 2026-07-28: sdk1.py stdio PROGRAM ARGUMENT... | http URL TOKEN."""
import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

from exercise import exercise


async def use(streams):
    async with streams as opened, ClientSession(opened[0], opened[1]) as session:
        hello = await session.initialize()
        assert hello.protocolVersion == "2025-11-25" and hello.serverInfo.name == "sandpiper", hello
        await session.send_ping()
        await exercise(session)
        await session.set_logging_level("info")


if sys.argv[1] == "stdio":
    asyncio.run(use(stdio_client(StdioServerParameters(command=sys.argv[2], args=sys.argv[3:], env=dict(os.environ)))))
else:
    asyncio.run(use(streamablehttp_client(sys.argv[2], headers={"Authorization": "Bearer " + sys.argv[3]})))
print("done")
