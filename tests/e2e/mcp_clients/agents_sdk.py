"""openai-agents with a scripted model that uses the sandbox twice: agents_sdk.py stdio PROGRAM ARGUMENT... | http URL TOKEN."""
import asyncio
import json
import os
import sys

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)


class Scripted(Model):
    """Computes, goes on with what it computed, then answers with what the tool gave back."""
    CODE = ["x = 6", "print(x * 7)"]

    async def get_response(self, system_instructions, input, model_settings, tools, *args, **kwargs):
        outputs = [i for i in input if i.get("type") == "function_call_output"] if isinstance(input, list) else []
        if len(outputs) < len(self.CODE):
            assert "execute_python" in [t.name for t in tools], tools
            made = ResponseFunctionToolCall(type="function_call", call_id="c%d" % len(outputs), name="execute_python",
                                            arguments=json.dumps({"code": self.CODE[len(outputs)]}))
        else:
            text = ResponseOutputText(type="output_text", text="It is %s" % outputs[-1]["output"], annotations=[])
            made = ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[made], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


def server(how, first, *rest):
    if how == "stdio":
        return MCPServerStdio(params={"command": first, "args": rest, "env": dict(os.environ)}, client_session_timeout_seconds=240)
    return MCPServerStreamableHttp(params={"url": first, "headers": {"Authorization": "Bearer " + rest[0]}}, client_session_timeout_seconds=240)


async def main():
    async with server(*sys.argv[1:]) as python:
        result = await Runner.run(Agent(name="test", model=Scripted(), mcp_servers=[python]), "What is 6 times 7?")
        assert "42" in str(result.final_output), result.final_output
        print(result.final_output)


asyncio.run(main())
