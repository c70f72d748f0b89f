"""openai-agents: function_tool and output_type, over Responses (its default) and over chat completions."""
import asyncio

from agents import Agent, Runner, function_tool, set_default_openai_api
from pydantic import BaseModel


class Answer(BaseModel):
    degrees: int


@function_tool
def weather(city: str) -> str:
    """The weather of a city."""
    print("asked for", city)
    return "12 degrees"


async def main():
    for api in ("responses", "chat_completions"):
        set_default_openai_api(api)
        agent = Agent(name="a", model="sandpiper", tools=[weather], output_type=Answer)
        print((await Runner.run(agent, "How warm is it in Ulm?")).final_output)
        run = Runner.run_streamed(agent, "And now?")
        async for _ in run.stream_events():
            pass
        print(run.final_output)
asyncio.run(main())
