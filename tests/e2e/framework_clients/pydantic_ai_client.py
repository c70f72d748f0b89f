"""pydantic-ai: output_type as a tool (its default) and as the service's own form, and a tool of the agent's."""
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel


class Place(BaseModel):
    city: str
    size: int


model = OpenAIChatModel("sandpiper")
print("tool", Agent(model, output_type=Place).run_sync("Ulm?").output)
print("native", Agent(model, output_type=NativeOutput(Place)).run_sync("Ulm?").output)
agent = Agent(model)


@agent.tool_plain
def weather(city: str) -> str:
    """The weather of a city."""
    return "12 degrees in " + city


print(agent.run_sync("Warm?").output)
