"""What a user of an SDK does, in the words that SDK 1.x and 2.x share: session is an initialised ClientSession. Runs in that SDK's own environment."""
import base64


def texts(result):
    return "\n".join(c.text for c in result.content if c.type == "text")


def pick(result, snake, camel):
    """SDK 1.x names members as the protocol does, 2.x as Python does."""
    return getattr(result, snake) if hasattr(result, snake) else getattr(result, camel)


async def exercise(session, ticks=True):
    tools = (await session.list_tools()).tools
    assert [t.name for t in tools] == ["execute_python", "execute_command", "put_file", "get_file", "list_files", "reset_sandbox", "fork_sandbox"], tools
    first = await session.call_tool("execute_python", {"code": "x = 6\nprint('out')\nx * 7"})
    assert texts(first).startswith("out\n42"), first
    data = pick(first, "structured_content", "structuredContent")        # the SDK has held it against the tool's output schema
    handle = data["sandbox"]
    assert data["value"] == "42", data
    again = await session.call_tool("execute_python", {"code": "x", "sandbox": handle})
    assert texts(again) == "6", again
    failed = await session.call_tool("execute_python", {"code": "{}['k']"})
    assert pick(failed, "is_error", "isError") and "KeyError" in texts(failed), failed

    for language, code, value in (("js", "const n = [6, 7]; await n.reduce((a, b) => a * b)", "42"), ("js", "n.length", "2"), ("sh", "echo $((6 * 7))", "42\n"),
                                  ("sql", "select 6 * 7 as n", "    n\n0  42")):
        ran = await session.call_tool("execute_python", {"code": code, "language": language, "sandbox": handle})
        assert texts(ran) == value or "there is no node" in texts(ran), ran

    told = []

    async def on_progress(progress, total, message):
        told.append(message)
    live = await session.call_tool("execute_python", {"code": "for i in range(3): print('tick', i, flush=True)", "sandbox": handle},
                                   progress_callback=on_progress)
    assert texts(live) == "tick 0\ntick 1\ntick 2\n" and (not ticks or "tick 0" in "".join(told)), (live, told)

    drawn = await session.call_tool("execute_python", {"code": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nopen('a.csv', 'w').write('x\\n1\\n')",
                                                       "sandbox": handle})
    images = [c for c in drawn.content if c.type == "image"]
    assert len(images) == 1 and base64.b64decode(images[0].data).startswith(b"\x89PNG"), drawn
    links = [c for c in drawn.content if c.type == "resource_link"]
    assert [str(c.name) for c in links] == ["a.csv"], drawn
    read = await session.read_resource(links[0].uri)
    assert read.contents[0].text == "x\n1\n", read

    put = await session.call_tool("put_file", {"name": "b.txt", "content": "text\n", "sandbox": handle})
    assert pick(put, "structured_content", "structuredContent")["size"] == 5, put
    got = await session.call_tool("get_file", {"name": "b.txt", "sandbox": handle})
    assert texts(got) == "text\n", got
    listed = pick(await session.call_tool("list_files", {"sandbox": handle}), "structured_content", "structuredContent")
    assert {f["name"] for f in listed["files"]} == {"a.csv", "b.txt"}, listed
    ran = await session.call_tool("execute_command", {"command": "cat b.txt; exit 3", "sandbox": handle})
    assert pick(ran, "is_error", "isError") and texts(ran).startswith("text\n"), ran
    forked = await session.call_tool("fork_sandbox", {"sandbox": handle})
    copy = pick(forked, "structured_content", "structuredContent")
    assert copy, forked
    assert copy["copy_of"] == handle and copy["sandbox"] != handle, copy
    there = await session.call_tool("execute_python", {"code": "x", "sandbox": copy["sandbox"]})
    reset = await session.call_tool("reset_sandbox", {"sandbox": handle})
    assert not pick(reset, "is_error", "isError"), reset
    gone = await session.call_tool("execute_python", {"code": "x", "sandbox": handle})
    assert "NameError" in texts(gone) and "NameError" not in texts(there), (gone, there)
