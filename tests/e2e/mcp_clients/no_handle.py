"""A program that never passes a handle, with the Python SDK of 2026-07-28 over HTTP: no_handle.py URL TOKEN. Its variables stay, those of another
client of the same token are its own."""
import asyncio
import sys

from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from exercise import texts


def client(mode):
    http = create_mcp_http_client(headers={"Authorization": "Bearer " + sys.argv[2]})
    return Client(streamable_http_client(sys.argv[1], http_client=http), mode=mode)


async def python(c, code):
    return texts(await c.call_tool("execute_python", {"code": code}))


async def main():
    async with client("auto") as one, client("2026-07-28") as other:
        assert one.protocol_version == other.protocol_version == "2026-07-28"
        assert await asyncio.gather(*[python(one, "x = %d" % i) for i in range(3)]) == ["(no output)"] * 3
        assert await python(one, "x + 40") in ("40", "41", "42")
        first = await python(other, "y = 1")        # no request came before, so the model is told the handle
        assert "pass \"sandbox\": " in first, first
        assert await python(other, "y") == "1"
        assert "NameError" in await python(other, "x") and "NameError" in await python(one, "y")


asyncio.run(main())
print("done")
