"""openai-agents with a scripted model that uses the sandbox: agents_sdk.py PROGRAM ARGUMENT..."""
import asyncio
import os
import sys

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)


class Scripted(Model):
    """Computes, then answers with what the tool gave back."""

    async def get_response(self, system_instructions, input, model_settings, tools, *args, **kwargs):
        outputs = [i for i in input if i.get("type") == "function_call_output"] if isinstance(input, list) else []
        if not outputs:
            assert "execute_python" in [t.name for t in tools], tools
            made = ResponseFunctionToolCall(type="function_call", call_id="c1", name="execute_python", arguments='{"code": "print(6 * 7)"}')
        else:
            text = ResponseOutputText(type="output_text", text="It is %s" % outputs[0]["output"], annotations=[])
            made = ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[made], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def main():
    params = {"command": sys.argv[1], "args": sys.argv[2:], "env": dict(os.environ)}
    async with MCPServerStdio(params=params, client_session_timeout_seconds=60) as server:
        result = await Runner.run(Agent(name="test", model=Scripted(), mcp_servers=[server]), "What is 6 times 7?")
        assert "42" in str(result.final_output), result.final_output
        print(result.final_output)


asyncio.run(main())
