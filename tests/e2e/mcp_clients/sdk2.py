"""The Python SDK of 2026-07-28: sdk2.py MODE stdio PROGRAM ARGUMENT... | MODE http URL TOKEN; MODE: auto, legacy or a revision."""
import asyncio
import os
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from exercise import exercise


def transport(how, *rest):
    if how == "stdio":
        return stdio_client(StdioServerParameters(command=rest[0], args=list(rest[1:]), env=dict(os.environ)))
    return streamable_http_client(rest[0], http_client=create_mcp_http_client(headers={"Authorization": "Bearer " + rest[1]}))


async def main(mode, *rest):
    async with Client(transport(*rest), mode=mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28"), client.protocol_version
        await exercise(client)


asyncio.run(main(*sys.argv[1:]))
print("done")
